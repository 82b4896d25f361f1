// The steps of a study, and its files.
#include "kinflow/gwas/gwas.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "kinflow/core/atomic_file.h"
#include "kinflow/core/error.h"
#include "kinflow/core/hash.h"
#include "kinflow/core/version.h"
#include "kinflow/data/write_phenotypes.h"
#include "kinflow/data/write_relationship.h"
#include "kinflow/genetics/association_scan.h"
#include "kinflow/genetics/inflation.h"
#include "kinflow/genetics/trait_values.h"
#include "kinflow/gwas/null_model_table.h"
#include "kinflow/gwas/partial_results.h"
#include "kinflow/gwas/preflight.h"
#include "kinflow/gwas/trait_sets.h"
#include "kinflow/report/manhattan_figure.h"
#include "kinflow/report/qq_figure.h"

namespace kinflow {
namespace {

using Clock = std::chrono::steady_clock;

/// All that decides the tests.
nlohmann::json describe(const GwasRequest& request, const GwasInputs& inputs,
                        const std::vector<TraitSet>& sets) {
  nlohmann::json description = {
      {"version", version()},
      {"commit", commit()},
      {"bfile", request.data.bfile},
      {"bytes", std::filesystem::file_size(request.data.bfile + ".bed")},
      {"changed", std::filesystem::last_write_time(request.data.bfile + ".bed")
                      .time_since_epoch()
                      .count()},
      {"relationship", request.data.relationship},
      {"kind", static_cast<int>(request.data.kind)},
      {"loco", request.data.leave_chromosome_out},
      {"test", request.test == TestKind::score ? "score" : "wald"},
      {"people", inputs.people().people},
      {"variants", inputs.variants().rows},
      {"relationship_variants", inputs.relationship_variants()},
      {"covariates", hash_of(inputs.people().covariates.values)}};
  for (const auto& set : sets) {
    description["sets"].push_back(
        {set.name, set.traits.names, set.is_joint, hash_of(set.traits.values)});
  }
  return description;
}

void warn_of_null_models(const std::vector<NullModel>& models, const std::string& group,
                         Logger& logger) {
  const std::string without = group.empty() ? "" : " without chromosome " + group;
  for (const auto& model : models) {
    const auto name =
        model.traits.size() == 1
            ? quoted_names(model.traits)
            : fmt::format("the {} traits of '{}'", model.traits.size(), model.set);
    if (!model.fit.has_converged) {
      logger.warning(fmt::format(
          "null model of {}{}: not converged after {} steps, p-values may be off", name,
          without, model.fit.iterations));
    }
    if (model.fit.ratios_at_bound > 0) {
      logger.warning(fmt::format(
          "null model of {}{}: relatives are as good as alike in {} directions, where "
          "the environment has no part",
          name, without, model.fit.ratios_at_bound));
    }
  }
}

class Study {
 public:
  Study(const GwasRequest& request, const std::atomic<bool>* stop, RunLog& log)
      : request_(request), stop_(stop), log_(log), inputs_(request.data, log) {}

  GwasResult run() {
    report_before(request_, inputs_, log_);
    std::filesystem::create_directories(
        std::filesystem::absolute(request_.out).parent_path());
    const auto sets = make_sets();
    write_people();
    PartialResults partial(request_.out + ".partial", describe(request_, inputs_, sets),
                           sets.size());
    test(sets, partial);
    for (std::size_t i = 0; i < sets.size(); ++i) finish(sets[i], i, partial);
    partial.remove();
    return std::move(result_);
  }

 private:
  std::string prefix_of(const TraitSet& set) const {
    return set.is_joint ? request_.out : request_.out + ".single";
  }
  void add_file(const std::string& path) { result_.files.push_back(path); }

  std::vector<TraitSet> make_sets() {
    const bool has_flow = request_.transform == TraitTransform::flow;
    const bool is_adjusted =
        has_flow && request_.flow.train.schedule != Schedule::baseline;
    // The relationship of a study by chromosomes is made for the flow alone.
    std::string file;
    if (is_adjusted || !request_.data.leave_chromosome_out) {
      report_relationship(inputs_.relationship(), log_);
    }
    if (is_adjusted) file = relationship_file();
    std::vector<TraitSet> sets = {joint_set(request_, inputs_, file, stop_, log_)};
    if (has_flow) {
      add_file(request_.out + ".traits.tsv");
      add_file(request_.out + ".model");
    }
    write_tested(sets.front().traits);
    if (request_.single) sets.push_back(single_set(inputs_));
    return sets;
  }

  /// A file of the relationship that a flow can use.
  std::string relationship_file() {
    const double smallest = inputs_.repair_relationship();
    if (smallest < 0) {
      log_.warning(
          fmt::format("the relationship has negative eigenvalues (the smallest is "
                      "{:.3g}), as where "
                      "entries come from different variants; the flow has them as 0",
                      smallest));
    }
    if (smallest == 0 && !inputs_.relationship_is_computed()) {
      return request_.data.relationship;
    }
    const auto path = request_.out + ".grm.bin";
    for (const auto& file : write_relationship(path, inputs_.relationship())) {
      add_file(file);
    }
    return path;
  }

  void write_tested(const NamedColumns& traits) {
    PhenotypeFiles files({.prefix = request_.out, .names = traits.names});
    PhenotypeRows rows{request_.data.bfile + ".fam",
                       inputs_.ids(),
                       {},
                       by_rows(traits, inputs_.count())};
    for (const auto person : inputs_.people().people) rows.lines.push_back(person + 1);
    files.append(rows, files.format(rows));
    files.finish();
    add_file(PhenotypeFiles::pheno_path(request_.out));
  }

  void write_people() {
    write_file_atomically(request_.out + ".id", sample_id_lines(inputs_.ids()));
    add_file(request_.out + ".id");
  }

  void test(const std::vector<TraitSet>& sets, PartialResults& partial) {
    const auto covariates =
        with_intercept(inputs_.people().covariates, inputs_.count());
    const auto start = Clock::now();
    const auto done_before = partial.done();
    if (done_before > 0) {
      log_.info(fmt::format("going on after {} variants", done_before));
    }
    std::int64_t end_of_group = 0;
    const auto is_wanted = [&](const VariantGroup& group) {
      end_of_group += static_cast<std::int64_t>(group.variants.size());
      return end_of_group > partial.done();
    };
    inputs_.visit_groups(is_wanted, [&](const VariantGroup& group,
                                        std::vector<double> relationship) {
      const AssociationTests tests(std::move(relationship), sets, covariates,
                                   request_.test);
      partial.keep(group.name, null_model_rows(group.name, tests.null_models()));
      warn_of_null_models(tests.null_models(), group.name, log_);
      const auto size = static_cast<std::int64_t>(group.variants.size());
      const auto done = partial.done() - (end_of_group - size);
      scan_variants(inputs_.genotypes(), inputs_.people().people,
                    std::span(group.variants).subspan(static_cast<std::size_t>(done)),
                    tests, {.threads = request_.threads, .stop = stop_},
                    [&](const ScannedBlock& block) {
                      partial.append(block);
                      report_progress(partial.done(), done_before, start, group.name);
                    });
    });
    std::string null_models = null_model_header();
    for (const auto& group : inputs_.groups()) null_models += partial.kept(group.name);
    write_file_atomically(request_.out + ".null.tsv", null_models);
    add_file(request_.out + ".null.tsv");
  }

  void report_progress(std::int64_t done, std::int64_t before, Clock::time_point start,
                       const std::string& chromosome) const {
    const std::chrono::duration<double> seconds = Clock::now() - start;
    const double rate = static_cast<double>(done - before) / seconds.count();
    log_.progress(
        {.job = "gwas",
         .done = done,
         .total = inputs_.tested(),
         .unit = "variant",
         .status = fmt::format("{:.0f} variants/s{}", rate,
                               chromosome.empty() ? "" : ", chromosome " + chromosome),
         .seconds_left = static_cast<double>(inputs_.tested() - done) / rate});
  }

  void finish(const TraitSet& set, std::size_t number, const PartialResults& partial) {
    GwasMethod method{.name = set.name, .traits = set.traits.names};
    const auto prefix = prefix_of(set);
    method.table = prefix + (request_.zipped ? ".assoc.tsv.gz" : ".assoc.tsv");
    AssociationWriter writer(method.table, set.traits.names);
    partial.visit_rows(number, [&](std::string_view rows) { writer.append(rows); });
    writer.finish();
    add_file(method.table);

    std::vector<double> p(inputs_.genotypes().variants().size(), Association::kUnknown);
    std::size_t next = 0;
    for (const auto& group : inputs_.groups()) {
      for (const auto variant : group.variants) {
        p[static_cast<std::size_t>(variant)] = partial.p(number)[next++];
      }
    }
    summarize(p, set, method);
    method.loci = clump(inputs_.genotypes(), people_for_linkage(), p, request_.clump);
    write_loci(prefix + ".loci.tsv", method.loci, inputs_.genotypes().variants());
    add_file(prefix + ".loci.tsv");
    if (method.tested > 0) draw(p, prefix, method);
    result_.methods.push_back(std::move(method));
  }

  void summarize(const std::vector<double>& p, const TraitSet& set,
                 GwasMethod& method) const {
    for (const double value : p) {
      if (std::isnan(value)) continue;
      ++method.tested;
      method.smallest_p = std::min(method.smallest_p, value);
    }
    // The p-value of single traits is a corrected one, which is not uniform by itself.
    method.inflation =
        set.is_joint
            ? genomic_inflation(p, static_cast<double>(set.traits.names.size()))
            : Association::kUnknown;
    if (method.tested < inputs_.tested()) {
      log_.warning(fmt::format(
          "{}: {} of {} variants do not vary among the people who are analysed, or are "
          "determined by the covariates, and have no p-value",
          method.table, inputs_.tested() - method.tested, inputs_.tested()));
    }
  }

  /// Founders among the people who are analysed, as for plink's r2; all of them where
  /// there are none.
  std::vector<std::int64_t> people_for_linkage() const {
    auto rows = inputs_.people().people;
    std::erase_if(rows, [&](std::int64_t row) {
      return !inputs_.genotypes().people()[static_cast<std::size_t>(row)].is_founder();
    });
    return rows.empty() ? inputs_.people().people : rows;
  }

  void draw(const std::vector<double>& p, const std::string& prefix,
            const GwasMethod& method) {
    ManhattanFigure manhattan{
        .p = p,
        .threshold = request_.clump.p1,
        .title = fmt::format("{} traits, {}", method.traits.size(), method.name),
        .subtitle = fmt::format("{} people, {} variants, {} loci", inputs_.count(),
                                method.tested, method.loci.size())};
    for (const auto& variant : inputs_.genotypes().variants()) {
      manhattan.chromosome.push_back(variant.chromosome);
      manhattan.position.push_back(variant.position);
    }
    for (const auto& locus : method.loci) {
      manhattan.index.push_back(static_cast<std::size_t>(locus.index));
    }
    write_manhattan_figure(prefix + ".manhattan.png", manhattan);
    QqPValues values{.name = method.name, .p = p};
    if (!std::isnan(method.inflation)) values.inflation = method.inflation;
    write_qq_figure(prefix + ".qq.png", {.methods = {values},
                                         .title = manhattan.title,
                                         .subtitle = manhattan.subtitle});
    add_file(prefix + ".manhattan.png");
    add_file(prefix + ".qq.png");
  }

  const GwasRequest& request_;
  const std::atomic<bool>* stop_;
  RunLog& log_;
  GwasInputs inputs_;
  GwasResult result_;
};

}  // namespace

GwasResult run_gwas(const GwasRequest& request, const std::atomic<bool>* stop,
                    RunLog& log) {
  try {
    return Study(request, stop, log).run();
  } catch (const Interrupted&) {
    throw Interrupted("interrupted; the same command goes on");
  }
}

}  // namespace kinflow
