// The steps of a study, and its files.
#include "kinflow/gwas/gwas.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "kinflow/core/atomic_file.h"
#include "kinflow/core/blas_threads.h"
#include "kinflow/core/clock.h"
#include "kinflow/core/counted.h"
#include "kinflow/core/error.h"
#include "kinflow/core/hash.h"
#include "kinflow/core/in_quotes.h"
#include "kinflow/core/time_left.h"
#include "kinflow/core/version.h"
#include "kinflow/data/read_relationship.h"
#include "kinflow/data/write_phenotypes.h"
#include "kinflow/data/write_relationship.h"
#include "kinflow/genetics/association_scan.h"
#include "kinflow/genetics/inflation.h"
#include "kinflow/genetics/relationship_eigen.h"
#include "kinflow/genetics/trait_values.h"
#include "kinflow/gwas/partial_results.h"
#include "kinflow/gwas/study_files.h"
#include "kinflow/gwas/tied_traits.h"
#include "kinflow/gwas/trait_sets.h"

namespace kinflow {
namespace {

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
          "null model of {}{}: the estimated heritability{} is 1, which leaves no "
          "variance to the environment; that happens with few people, and with traits "
          "that nearly determine each other",
          name, without,
          model.traits.size() == 1
              ? ""
              : " of " + counted(model.fit.ratios_at_bound, "combination") +
                    " of the traits"));
    }
  }
}

/// InputError where the files of a run cannot be made, or there is an earlier study.
void check_place(const GwasRequest& request) {
  const auto& prefix = request.out;
  if (prefix.empty() || prefix.ends_with('/')) {
    throw InputError(
        fmt::format("--out: expected a prefix of files, found '{}'", prefix));
  }
  const auto folder = std::filesystem::absolute(prefix).parent_path();
  if (!std::filesystem::is_directory(folder)) {
    throw InputError(fmt::format(
        "--out: expected files in a folder that exists, found '{}'", prefix));
  }
  if (::access(folder.c_str(), W_OK) != 0) {
    throw InputError(system_message(prefix, "write"));
  }
  const auto files = gwas_files(prefix);
  for (const auto& file : files) {
    if (file == partial_of(prefix) || file == model_of(prefix)) continue;
    if (!std::filesystem::is_directory(file)) continue;
    throw InputError(
        fmt::format("{}: expected a file or nothing, found a folder", file));
  }
  // Whether an unfinished study is of the same request is seen once it is read.
  FolderLock::require_free(partial_of(prefix), "gwas");
  if (!std::filesystem::exists(partial_of(prefix))) {
    require_no_result(files, request.overwrite);
  }
}

/// True where both have the same people and, up to the rounding of a file, values.
bool holds_same(const std::string& path, const RelationshipFile& relationship) {
  if (!std::filesystem::exists(path)) return false;
  const auto file = read_relationship(path);
  return file.ids == relationship.ids &&
         std::equal(file.dense.begin(), file.dense.end(), relationship.dense.begin(),
                    relationship.dense.end(), [](double left, double right) {
                      return static_cast<float>(left) == static_cast<float>(right);
                    });
}

/// A name for the null models of a part, fit for a file.
std::string name_of_kept(const TestedPart& part) {
  return std::to_string(part.variants.front());
}

class Study {
 public:
  Study(const GwasRequest& request, const GwasViews& views,
        const std::atomic<bool>* stop, RunLog& log)
      : request_(request),
        views_(views),
        stop_(stop),
        log_(log),
        inputs_(request.data) {}

  GwasResult run() {
    try {
      return checked_run();
    } catch (const InputError&) {
      if (!can_go_on_) remove_new_files();
      throw;
    } catch (const NumericalError&) {
      remove_new_files();
      throw;
    }
  }

 private:
  /// Takes what this call has begun with it.
  void remove_new_files() {
    if (!is_new_) return;
    remove_result(gwas_files(request_.out));
    lock_ = {};
  }

  /// Nothing but an unfinished study of the same request may stand in its place.
  void take_place() {
    if (request_.overwrite) {
      remove_result(gwas_files(request_.out));
      remove_result({request_.out + ".log"});
    }
    const auto partial = partial_of(request_.out);
    is_new_ = !std::filesystem::exists(partial);
    lock_ = PartialResults::claim(partial, describe_study(request_, inputs_));
  }

  GwasResult checked_run() {
    check_sets();
    take_place();
    report_before(request_, inputs_, views_.tables, log_);
    const auto sets = make_sets();
    write_people();
    PartialResults partial(partial_of(request_.out),
                           describe_tests(request_, inputs_, sets), sets.size(),
                           std::exchange(lock_, {}));
    test(sets, partial);
    for (std::size_t i = 0; i < sets.size(); ++i) finish(sets[i], i, partial);
    partial.remove();
    return std::move(result_);
  }

  bool has_flow() const { return request_.transform == TraitTransform::flow; }
  /// A flow that knows the relationship.
  bool is_adjusted() const {
    return has_flow() && request_.flow.train.schedule != Schedule::baseline;
  }
  std::string flow_relationship() const {
    if (!is_adjusted()) return "";
    return inputs_.relationship_is_computed() || smallest_eigenvalue_ ||
                   request_.data.relationship_by_position
               ? flow_matrix_of(request_.out)
               : request_.data.relationship;
  }
  /// The relationship as the flow needs it, without negative eigenvalues.
  void make_flow_relationship() {
    flow_relationship_ = inputs_.relationship();
    if (flow_relationship_.is_sparse()) {
      if (!request_.data.relationship_by_position) return;
      // It is written with ids, in a format of dense matrices.
      flow_relationship_.dense = to_dense(flow_relationship_);
      flow_relationship_.sparse = {};
    }
    smallest_eigenvalue_ =
        clip_negative_eigenvalues(flow_relationship_.dense, flow_relationship_.rows);
  }

  /// In files blanks of names are '_'.
  void check_names() const {
    std::set<std::string> names;
    for (const auto& name : inputs_.people().traits.names) {
      if (names.insert(without_blanks(name)).second) continue;
      throw InputError(fmt::format(
          "{}: expected traits whose names differ with '_' for blanks, found {} twice",
          request_.data.traits.path, in_quotes(without_blanks(name))));
    }
  }

  /// What can be known to fail before anything is told or written.
  void check_sets() {
    if (!request_.overwrite) {
      PartialResults::require_same(partial_of(request_.out),
                                   describe_study(request_, inputs_));
    }
    check_names();
    check_tied_traits(inputs_, request_.transform);
    if (is_adjusted() && !inputs_.relationship_is_computed()) make_flow_relationship();
    check_no_labels_are_traits(inputs_);
    if (has_flow()) check_flow_traits(request_, inputs_);
    const auto check = [&](const TraitSet& set) {
      check_traits_and_covariates(
          set.traits, with_intercept(inputs_.people().covariates, inputs_.count()),
          inputs_.count(), {.traits = request_.data.traits.path + ", " + set.name});
    };
    if (request_.transform == TraitTransform::rank_normal) {
      check(joint_set(request_, inputs_, "", stop_, log_));
    } else if (request_.single) {
      check(single_set(inputs_));
    }
  }

  std::string prefix_of(const TraitSet& set) const {
    return set.is_joint ? request_.out : request_.out + ".single";
  }
  void add_file(const std::string& path) { result_.files.push_back(path); }

  std::vector<TraitSet> make_sets() {
    // The relationship of a study by chromosomes is made for the flow alone.
    if (is_adjusted() || !request_.data.leave_chromosome_out) {
      report_relationship(inputs_.relationship(), log_);
    }
    if (is_adjusted()) prepare_flow_relationship();
    std::vector<TraitSet> sets = {
        joint_set(request_, inputs_, flow_relationship(), stop_, log_)};
    if (has_flow()) {
      add_file(request_.out + ".traits.tsv");
      add_file(model_of(request_.out));
    }
    write_tested(sets.front().traits);
    if (request_.single) sets.push_back(single_set(inputs_));
    return sets;
  }

  /// A flow that is there was trained on the file that is there.
  void prepare_flow_relationship() {
    if (inputs_.relationship_is_computed()) make_flow_relationship();
    const auto path = flow_relationship();
    const auto relationship = std::exchange(flow_relationship_, {});
    if (path == request_.data.relationship) return;
    if (smallest_eigenvalue_) {
      log_.info(fmt::format(
          "{}: for the flow, without the negative eigenvalues of {} (down to {:.3g}), "
          "as missing genotypes leave them",
          path, relationship.source, *smallest_eigenvalue_));
    }
    const auto files = files_of_relationship(path);
    result_.files.insert(result_.files.end(), files.begin(), files.end());
    if (holds_same(path, relationship)) return;
    if (std::filesystem::exists(model_of(request_.out))) {
      throw InputError(fmt::format(
          "{}.model: expected a free folder or the run of this request, found one with "
          "another relationship; remove it or choose another --out",
          request_.out));
    }
    write_relationship(path, relationship);
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
    // The last digits of a decomposition depend on the threads of BLAS.
    const BlasInCallingThread one_thread;
    if (partial.done() > 0) {
      log_.info("going on after " + counted(partial.done(), "variant"));
    }
    std::int64_t end = 0;  // of the tests up to the group or part
    ScanPace pace{.set_up_start = Clock::now(),
                  .groups_left = std::ssize(inputs_.groups())};
    const auto is_wanted = [&](const VariantGroup& group) {
      can_go_on_ = false;
      --pace.groups_left;
      if (end + group.tested() > partial.done()) return true;
      end += group.tested();
      return false;
    };
    inputs_.visit_groups(is_wanted, [&](const VariantGroup& group,
                                        std::vector<double> relationship) {
      center_relationship(relationship, inputs_.count());
      std::optional<RelationshipEigen> eigen =
          eigen_of_relationship(std::move(relationship), inputs_.count());
      ++pace.set_ups;
      for (const auto& part : group.parts) {
        const auto first = end;
        end += static_cast<std::int64_t>(part.variants.size());
        if (end <= partial.done()) continue;
        const AssociationTests tests(*eigen, sets, inputs_.covariates_of(part),
                                     request_.test);
        if (&part == &group.parts.back()) eigen.reset();
        can_go_on_ = partial.done() > 0;
        partial.keep(name_of_kept(part), null_model_rows({.left_out = group.name,
                                                          .adds_sex = part.adds_sex},
                                                         tests.null_models()));
        warn_of_null_models(tests.null_models(), group.name, log_);
        // Whole blocks alone: the last digits of a test may depend on its block.
        const auto done = (partial.done() - first) / kScanBlock * kScanBlock;
        partial.keep_first(first + done);
        pace.set_up_seconds += seconds_since(pace.set_up_start);
        scan_variants(inputs_.genotypes(), inputs_.people().people,
                      std::span(part.variants).subspan(static_cast<std::size_t>(done)),
                      tests,
                      {.threads = request_.threads,
                       .autosomes = request_.data.variants.autosomes,
                       .stop = stop_},
                      [&](const ScannedBlock& block) {
                        partial.append(block);
                        can_go_on_ = true;
                        report_progress(partial.done(), pace, group.name);
                      });
        pace.time_left.begin_set_up();
        pace.set_up_start = Clock::now();
      }
    });
    can_go_on_ = true;
    for (const auto& group : inputs_.groups()) {
      for (const auto& part : group.parts) {
        null_models_ += partial.kept(name_of_kept(part));
      }
    }
    write_file_atomically(request_.out + ".null.tsv",
                          null_model_header() + null_models_);
    add_file(request_.out + ".null.tsv");
  }

  // How fast variants are tested, and what comes before the tests of each group.
  struct ScanPace {
    TimeLeft time_left = {};  // of tests alone
    Clock::time_point set_up_start;
    std::int64_t groups_left = 0;
    double set_up_seconds = 0;  // of all groups so far
    std::int64_t set_ups = 0;

    double seconds_for(std::int64_t variants) const {
      const double tests = time_left.seconds_for(static_cast<double>(variants));
      return tests < 0 ? -1
                       : tests + set_up_seconds / static_cast<double>(set_ups) *
                                     static_cast<double>(groups_left);
    }
  };

  void report_progress(std::int64_t done, ScanPace& pace,
                       const std::string& chromosome) const {
    pace.time_left.observe(static_cast<double>(done));
    std::vector<std::string> status;
    if (const auto rate = pace.time_left.rate()) {
      status.push_back(fmt::format("{:.0f} variants/s", *rate));
    }
    if (!chromosome.empty()) status.push_back("chromosome " + chromosome);
    log_.progress({.job = "gwas",
                   .done = done,
                   .total = inputs_.tested(),
                   .unit = "variant",
                   .status = fmt::format("{}", fmt::join(status, ", ")),
                   .seconds_left = pace.seconds_for(inputs_.tested() - done)});
  }

  void finish(const TraitSet& set, std::size_t number, const PartialResults& partial) {
    GwasMethod method{.name = set.name, .traits = set.traits.names};
    const auto prefix = prefix_of(set);
    method.table = prefix + (request_.zipped ? ".assoc.tsv.gz" : ".assoc.tsv");
    AssociationWriter writer(method.table, set.traits.names);
    partial.visit_rows(number, [&](std::string_view rows) { writer.append(rows); });
    writer.finish();
    add_file(method.table);

    std::vector<double> log10_p(inputs_.genotypes().variants().size(),
                                Association::kUnknown);
    std::size_t next = 0;
    for (const auto& group : inputs_.groups()) {
      for (const auto& part : group.parts) {
        for (const auto variant : part.variants) {
          log10_p[static_cast<std::size_t>(variant)] = partial.log10_p(number)[next++];
        }
      }
    }
    summarize(log10_p, set, method);
    method.heritability = mean_heritability(null_models_, set.name);
    method.loci =
        clump(inputs_.genotypes(), people_for_linkage(), log10_p, request_.clump);
    write_loci(prefix + ".loci.tsv", method.loci, inputs_.genotypes().variants());
    add_file(prefix + ".loci.tsv");
    if (method.tested > 0 && views_.pictures) {
      views_.pictures(prefix, method, inputs_, log10_p);
      for (const auto* ending : kGwasPictures) add_file(prefix + ending);
    }
    result_.methods.push_back(std::move(method));
  }

  void summarize(const std::vector<double>& log10_p, const TraitSet& set,
                 GwasMethod& method) const {
    for (const double value : log10_p) {
      if (std::isnan(value)) continue;
      ++method.tested;
      method.largest_log10_p = std::max(method.largest_log10_p, value);
    }
    // The p-value of single traits is a corrected one, which is not uniform by itself.
    method.inflation =
        set.is_joint
            ? genomic_inflation(log10_p, static_cast<double>(set.traits.names.size()))
            : Association::kUnknown;
    if (method.tested < inputs_.tested()) {
      log_.warning(fmt::format(
          "{}: no p-value for {} of {}, which do not vary among the people who are "
          "analysed or are determined by the covariates",
          method.table, inputs_.tested() - method.tested,
          counted(inputs_.tested(), "variant")));
    }
  }

  /// Founders that --keep and --remove leave, whatever their traits: the people of
  /// plink's and of kinflow's clump. Everyone where there are none.
  std::vector<std::int64_t> people_for_linkage() const {
    const auto& everyone = inputs_.candidates().rows;
    if (request_.data.variants.with_nonfounders) return everyone;
    auto rows = everyone;
    std::erase_if(rows, [&](std::int64_t row) {
      return !inputs_.genotypes().people()[static_cast<std::size_t>(row)].is_founder();
    });
    return rows.empty() ? everyone : rows;
  }

  const GwasRequest& request_;
  const GwasViews& views_;
  const std::atomic<bool>* stop_;
  RunLog& log_;
  GwasInputs inputs_;
  bool is_new_ = false;      // no files of an earlier call
  std::string null_models_;  // rows of their table
  FolderLock lock_;          // of the unfinished study, until there are partial results
  bool can_go_on_ =
      false;  // an InputError now is one of the disk, with variants tested
  RelationshipFile flow_relationship_;
  std::optional<double> smallest_eigenvalue_;  // where it was negative
  GwasResult result_;
};

}  // namespace

GwasResult run_gwas(const GwasRequest& request, const GwasViews& views,
                    const std::atomic<bool>* stop, RunLog& log) {
  check_place(request);
  try {
    return Study(request, views, stop, log).run();
  } catch (const Interrupted&) {
    throw Interrupted("interrupted; the same command goes on");
  }
}

}  // namespace kinflow
