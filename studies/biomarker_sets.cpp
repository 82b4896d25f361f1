// Residuals of a split, their laws by every source of relatedness, and the methods.
#include "studies/biomarker_sets.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "kinflow/array/array.h"
#include "kinflow/array/device.h"
#include "kinflow/array/device_stream.h"

namespace kinflow {
namespace {

using namespace method_name;
using namespace biomarker_method;

// Appendix B of the paper.
constexpr std::int64_t kLayers = 16;
const std::vector<std::int64_t> kHidden = {128, 128};
// A flow that trains some ten times as fast.
constexpr std::int64_t kQuickLayers = 8;
const std::vector<std::int64_t> kQuickHidden = {64, 64};
// As many values of lambda as the paper's grid has.
constexpr std::int64_t kMoreTrainings = 12;

const char* const kSnpMatrix = "relationship from SNPs";
const char* const kComponentTable = "principal components";
const char* const kPedigreeMatrix = "relationship from the pedigree";

DependenceRequest request_for(const std::string& prefix) {
  DependenceRequest request;
  request.cache = "none";
  request.relationship_by_position = true;
  if (prefix == kComponents) {
    request.components = kComponentTable;
    request.cache.clear();
  } else {
    request.relationships = {prefix == kSnps ? kSnpMatrix : kPedigreeMatrix};
  }
  return request;
}

RowRelations relations_of(const BiomarkerData& data, const std::string& prefix,
                          const std::vector<std::int64_t>& rows) {
  RowRelations all;
  all.rows = data.rows;
  if (prefix == kComponents) {
    all.components =
        nd::tensor(data.components, nd::kDouble).view({data.rows, kGeneticComponents});
  } else {
    all.relationships = {prefix == kSnps ? data.snps : data.pedigree};
  }
  return select_rows(all, rows);
}

// Rows of one split, and their laws.
class SplitData {
 public:
  SplitData(const BiomarkerData& data, std::uint64_t seed, const std::string& device,
            Logger& logger)
      : columns_(data.traits) {
    const auto parts = split_families(data, seed);
    const auto residuals = residuals_of(data, parts.train);
    train_ = rows_of(residuals, parts.train);
    valid_ = rows_of(residuals, parts.valid);
    test_ = rows_of(residuals, parts.test);
    const auto where = find_device(device);
    for (const auto& prefix : relatedness_prefixes()) {
      FitRows rows;
      rows.train.data = train_;
      rows.relations = relations_of(data, prefix, parts.train);
      if (prefix == kPedigree) pedigree_ = rows.relations;
      const auto request = request_for(prefix);
      laws_[key_of(request)] =
          make_fitted_dependence(request, Schedule::joint, rows, where, logger);
    }
    FitRows rows;
    rows.train.data = train_;
    rows.relations.rows = train_.size(0);
    independent_ = make_fitted_dependence({}, Schedule::baseline, rows, where, logger);
    wait_for_stream(where);
  }

  const Array& test() const { return test_; }

  StudyRows rows_for(const Method& method) const {
    const auto& request = method.runs.front();
    StudyRows ready;
    ready.rows.columns = columns_;
    ready.rows.train.data = train_;
    if (method.one_table) {
      ready.rows.relations.rows = train_.size(0);
      if (kind_of(request.data.dependence) != DependenceKind::independent) {
        ready.rows.relations = pedigree_;
      }
      for (std::int64_t row = 0; row < train_.size(0); ++row) {
        ready.rows.train.kept_rows.push_back(row);
      }
      return ready;
    }
    ready.rows.valid.data = valid_;
    ready.rows.has_valid_table = true;
    ready.dependence = request.train.schedule == Schedule::baseline
                           ? independent_
                           : laws_.at(key_of(request.data.dependence));
    return ready;
  }

 private:
  static std::string key_of(const DependenceRequest& request) {
    return request.components.empty() ? request.relationships.front()
                                      : request.components;
  }
  static Array rows_of(const Array& all, const std::vector<std::int64_t>& rows) {
    return all.index_select(0, nd::tensor(rows, nd::kLong));
  }
  // Of all rows, with coefficients and scale of the given ones.
  static Array residuals_of(const BiomarkerData& data,
                            const std::vector<std::int64_t>& train) {
    const auto values = nd::tensor(data.values, nd::kDouble).view({data.rows, -1});
    const auto design = nd::tensor(data.design, nd::kDouble).view({data.rows, -1});
    const auto coefficients =
        nd::pinverse(rows_of(design, train)).matmul(rows_of(values, train));
    const auto residuals = values - design.matmul(coefficients);
    return residuals / rows_of(residuals, train).square().mean(0).sqrt();
  }

  std::vector<std::string> columns_;
  Array train_, valid_, test_;
  std::map<std::string, FittedDependence> laws_;  // by key_of()
  RowRelations pedigree_;                         // for methods of one table
  FittedDependence independent_;
};

Method named(const std::string& prefix, Method method) {
  method.name = prefix + method.name;
  for (auto* name : {&method.mixture_name, &method.calibrated_name}) {
    if (!name->empty()) *name = prefix + *name;
  }
  return method;
}

Method unadjusted(MethodSettings settings) {
  settings.dependence = request_for(kSnps);
  auto method = named(kUnadjusted, default_fit(settings));
  for (auto& run : method.runs) run.train.schedule = Schedule::baseline;
  return method;
}

std::vector<Method> methods_of_one_table(MethodSettings settings) {
  std::vector<Method> methods = {ordinary_fit(settings)};
  settings.dependence = request_for(kPedigree);
  methods.push_back(named(kPedigree, cross_fit(settings)));
  settings.dependence.per_latent = false;
  methods.push_back(named(kPedigreeShared, cross_fit(settings)));
  settings.dependence.per_latent = true;
  methods.push_back(named(kPedigreeOwn, cross_fit(settings)));
  return methods;
}

std::vector<Method> methods_for(MethodSettings settings) {
  const auto of_one_table = methods_of_one_table(settings);
  if (settings.one_table) return of_one_table;
  auto paper = settings;
  paper.flow.kind = FlowKind::affine;
  paper.flow.layers = settings.quick ? kQuickLayers : kLayers;
  paper.flow.hidden = settings.quick ? kQuickHidden : kHidden;
  auto baseline = paper_baseline(paper);
  auto more = baseline;
  baseline.calibrated_name = kBaselineCalibrated;
  more.name = kBaselineMore;
  for (auto& run : more.runs) run.replicas.count = kMoreTrainings;
  std::vector<Method> methods = {
      baseline, more, named(kIndependent, default_fit(settings)), unadjusted(settings)};
  for (const auto& prefix : relatedness_prefixes()) {
    paper.dependence = settings.dependence = request_for(prefix);
    for (const auto& method : {paper_grid(paper), paper_alternating(paper),
                               paper_joint(paper), default_fit(settings)}) {
      methods.push_back(named(prefix, method));
    }
  }
  methods.insert(methods.end(), of_one_table.begin(), of_one_table.end());
  return methods;
}

}  // namespace

std::vector<std::string> relatedness_prefixes() {
  return {kSnps, kComponents, kPedigree};
}

std::vector<PlannedSet> plan_biomarker_sets(
    const std::shared_ptr<const BiomarkerData>& data, const MethodSettings& settings,
    const std::vector<std::uint64_t>& seeds, Logger& logger) {
  std::vector<PlannedSet> plan;
  for (const auto seed : seeds) {
    const auto name = fmt::format("biomarkers-{}", seed);
    plan.push_back({.name = name, .make = [=, &logger] {
                      auto own = settings;
                      own.seed = seed;
                      const auto rows = std::make_shared<const SplitData>(
                          *data, seed, settings.device, logger);
                      StudySet set;
                      set.name = name;
                      set.rows_for = [rows](const Method& method) {
                        return rows->rows_for(method);
                      };
                      set.test.data = rows->test();
                      set.methods = methods_for(own);
                      return set;
                    }});
  }
  return plan;
}

}  // namespace kinflow
