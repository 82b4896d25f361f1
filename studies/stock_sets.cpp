// Rows for every dependence, and the lists of methods.
#include "studies/stock_sets.h"

#include <fmt/format.h>

#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "kinflow/array/array.h"
#include "kinflow/array/device.h"
#include "kinflow/array/device_stream.h"

namespace kinflow {
namespace {

using namespace method_name;
using namespace stock_method;

constexpr std::int64_t kColumns = 2;
constexpr std::int64_t kLayers = 8;
// As many values of rho as the paper's grid has.
constexpr std::int64_t kMoreTrainings = 12;
// The filter in time runs on the CPU, also where the flows do not.
constexpr std::int64_t kTimeReplicas = 4;
// The smallest correlation there is: n rows of it are as good as independent.
constexpr double kNoCorrelation = kSmallestParameter;
// Adamax has a long way to go from returns of 0.02, so the largest rate of the paper.
constexpr double kQuickLearningRate = 0.03;

const char* const kPairColumn = "pair";
const char* const kDayColumn = "day";

// Rows of one day share the news of the day.
DependenceRequest by_day() {
  DependenceRequest request;
  request.group = kDayColumn;
  request.correlation = BlockCorrelation::shared;
  return request;
}

DependenceRequest by_pair() {
  DependenceRequest request;
  request.group = kPairColumn;
  return request;
}

DependenceRequest by_time() {
  DependenceRequest request;
  request.time = kDayColumn;
  request.time_kernel = TimeKernel::exponential;
  return request;
}

DependenceRequest by_pair_and_time() {
  auto request = by_time();
  request.group = kPairColumn;
  request.time_decay = {kSumDecay};
  return request;
}

Array points(const PairReturns& returns, const std::vector<std::int64_t>& rows) {
  return nd::tensor(returns.returns, nd::kDouble)
      .view({-1, kColumns})
      .index_select(0, nd::tensor(rows, nd::kLong));
}

// What the request asks for, of the training rows.
RowRelations relations_of(const StockData& data, const DependenceRequest& request) {
  const auto& returns = data.returns;
  RowRelations relations;
  relations.rows = static_cast<std::int64_t>(data.parts.train.size());
  for (const auto number : data.parts.train) {
    const auto row = static_cast<std::size_t>(number);
    if (request.group == kPairColumn) {
      const auto pair = static_cast<std::size_t>(returns.pair_of_row[row]);
      relations.labels.push_back(returns.pair_labels[pair]);
    } else if (request.group == kDayColumn) {
      relations.labels.push_back(returns.date_of_row[row]);
    }
    if (!request.time.empty()) {
      relations.times.push_back(static_cast<double>(returns.day_of_row[row]));
    }
  }
  return relations;
}

// The laws of the training rows, which are the same in all sets: each is made once.
class StockLaws {
 public:
  FittedDependence law_for(const FitRequest& request, FitRows& rows, Logger& logger) {
    const auto& dependence = request.data.dependence;
    const auto schedule = request.train.schedule;
    const auto key =
        fmt::format("{} {} {}", to_json(dependence).dump(),
                    schedule == Schedule::baseline, schedule == Schedule::grid);
    const std::lock_guard lock(mutex_);
    const auto known = laws_.find(key);
    if (known != laws_.end()) return known->second;
    const auto device = find_device(request.device);
    const auto made =
        make_fitted_dependence(dependence, schedule, rows, device, logger);
    wait_for_stream(device);
    return laws_.emplace(key, made).first->second;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, FittedDependence> laws_;
};

StudyRows rows_for(const StockData& data, const Method& method, StockLaws& laws,
                   Logger& logger) {
  const auto& request = method.runs.front();
  const auto& dependence = request.data.dependence;
  StudyRows ready;
  auto& rows = ready.rows;
  rows.columns = {"return1", "return2"};
  rows.train.data = points(data.returns, data.parts.train);
  rows.valid.data = points(data.returns, data.parts.valid);
  rows.has_valid_table = true;
  rows.relations = relations_of(data, dependence);
  rows.train.labels = rows.relations.labels;
  ready.dependence = laws.law_for(request, rows, logger);
  return ready;
}

Method scaled(Method method) {
  method.name += kScaled;
  if (!method.calibrated_name.empty()) method.calibrated_name += kScaled;
  for (auto& run : method.runs) run.standardize = true;
  return method;
}

// The paper's methods, and a baseline that chooses among as many flows as the grid.
std::vector<Method> paper_methods(const MethodSettings& settings) {
  auto baseline = paper_baseline(settings);
  baseline.calibrated_name = kBaselineCalibrated;
  auto joint_settings = settings;
  joint_settings.quick = false;
  auto joint = paper_joint(joint_settings);
  // Of the starts only the smallest is safe, so a reduced sweep keeps them all.
  if (settings.quick) {
    const auto kept = baseline.runs.front();
    std::erase_if(joint.runs, [&](const FitRequest& run) {
      return run.replicas.learning_rates != kept.replicas.learning_rates ||
             run.replicas.weight_decays != kept.replicas.weight_decays;
    });
  }
  std::vector<Method> methods = {baseline, paper_grid(settings), joint};
  if (settings.quick) return methods;
  auto more = paper_baseline(settings);
  more.name = kBaselineMore;
  for (auto& run : more.runs) run.replicas.count = kMoreTrainings;
  methods.push_back(more);
  return methods;
}

// The defaults of `kinflow fit` for a dependence, with and without calibration.
std::vector<Method> own_methods(MethodSettings settings, const std::string& prefix,
                                const DependenceRequest& dependence) {
  settings.dependence = dependence;
  std::vector<Method> methods = {default_fit(settings), uncalibrated_fit(settings)};
  for (auto& method : methods) {
    method.name = prefix + method.name;
    if (!method.mixture_name.empty()) {
      method.mixture_name = prefix + method.mixture_name;
    }
  }
  return methods;
}

// Trained as if rows were independent, calibrated as rows in blocks are.
Method fixed_method(const MethodSettings& settings) {
  auto method = default_fit(settings);
  auto& run = method.runs.front();
  run.train.schedule = Schedule::grid;
  run.train.grid = {kNoCorrelation};
  return {.name = kFixed, .runs = {run}};
}

// Every new value of the weights costs a factor of a dense matrix, so they are held.
Method sum_method(MethodSettings settings) {
  settings.dependence = by_pair_and_time();
  auto run = uncalibrated_fit(settings).runs.front();
  run.train.schedule = Schedule::grid;
  run.train.grid = sum_grid();
  run.replicas.count = 1;
  return {.name = kSum, .runs = {run}, .calibrated_name = kSumCalibrated};
}

std::vector<Method> methods_for(MethodSettings settings) {
  settings.dependence = by_pair();
  settings.flow.kind = FlowKind::affine;
  settings.flow.layers = kLayers;
  settings.quick_learning_rate = kQuickLearningRate;
  auto methods = paper_methods(settings);
  for (auto& method : paper_methods(settings)) {
    if (method.name != kBaselineMore) methods.push_back(scaled(method));
  }
  const auto add = [&](const char* prefix, const DependenceRequest& dependence) {
    for (auto& method : own_methods(settings, prefix, dependence)) {
      methods.push_back(std::move(method));
    }
  };
  add(kIndependent, {});
  add(kPair, by_pair());
  if (settings.quick) return methods;
  methods.push_back(fixed_method(settings));
  add(kDay, by_day());
  add(kTime, by_time());
  for (auto& method : methods) {
    auto& run = method.runs.front();
    if (kind_of(run.data.dependence) == DependenceKind::time) {
      run.replicas.count = kTimeReplicas;
    }
  }
  methods.push_back(sum_method(settings));
  return methods;
}

}  // namespace

std::vector<double> sum_grid() { return {0.98, 0.9, 0.5}; }

std::vector<PlannedSet> plan_stock_sets(const std::shared_ptr<const StockData>& data,
                                        const MethodSettings& settings,
                                        const std::vector<std::uint64_t>& seeds,
                                        Logger& logger) {
  const auto laws = std::make_shared<StockLaws>();
  std::vector<PlannedSet> plan;
  for (const auto seed : seeds) {
    const auto name = fmt::format("stocks-{}", seed);
    plan.push_back({.name = name, .make = [=, &logger] {
                      auto own = settings;
                      own.seed = seed;
                      StudySet set;
                      set.name = name;
                      set.rows_for = [data, laws, &logger](const Method& method) {
                        return rows_for(*data, method, *laws, logger);
                      };
                      set.test.data = points(data->returns, data->parts.test);
                      set.methods = methods_for(own);
                      return set;
                    }});
  }
  return plan;
}

}  // namespace kinflow
