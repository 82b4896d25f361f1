// Flows, sets of traits, and one scan for all methods.
#include "studies/gwas_trial.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <utility>

#include "kinflow/data/write_relationship.h"
#include "kinflow/fit/run_folder.h"
#include "kinflow/genetics/association_scan.h"
#include "kinflow/genetics/relationship_eigen.h"
#include "kinflow/genetics/trait_values.h"
#include "kinflow/gwas/trait_sets.h"
#include "kinflow/model/model.h"

namespace kinflow {
namespace {

constexpr double kFamilyWise = 0.05;  // over all variants of a study

NamedColumns one_column(const NamedColumns& columns, std::size_t number,
                        std::int64_t rows) {
  const auto first =
      columns.values.begin() + static_cast<std::ptrdiff_t>(number) * rows;
  return {{columns.names[number]}, {first, first + rows}};
}

class Trial {
 public:
  Trial(const GwasTrial& trial, GwasInputs& inputs, Logger& logger)
      : trial_(trial),
        inputs_(inputs),
        logger_(logger),
        residuals_(residuals_of(inputs)) {}

  std::vector<GwasTrialMethod> run() {
    make_sets();
    std::vector<std::vector<double>> log10_p(
        sets_.size(), std::vector<double>(inputs_.genotypes().variants().size(),
                                          Association::kUnknown));
    inputs_.visit_groups(
        [](const VariantGroup&) { return true; },
        [&](const VariantGroup& group, std::vector<double> relationship) {
          center_relationship(relationship, inputs_.count());
          const auto eigen =
              eigen_of_relationship(std::move(relationship), inputs_.count());
          for (const auto& part : group.parts) {
            const AssociationTests tests(eigen, sets_, inputs_.covariates_of(part),
                                         TestKind::score);
            scan_variants(
                inputs_.genotypes(), inputs_.people().people, part.variants, tests,
                {.autosomes = trial_.data.variants.autosomes, .stop = trial_.stop},
                [&](const ScannedBlock& block) {
                  for (std::size_t s = 0; s < sets_.size(); ++s) {
                    for (std::size_t i = 0; i < block.variants.size(); ++i) {
                      log10_p[s][static_cast<std::size_t>(block.variants[i])] =
                          block.log10_p[s][i];
                    }
                  }
                });
          }
        });
    return methods(std::move(log10_p));
  }

 private:
  void make_sets() {
    const auto normal = rank_normal_scores(residuals_, inputs_.count());
    for (std::size_t t = 0; t < traits(); ++t) {
      sets_.push_back({normal.names[t], one_column(normal, t, inputs_.count())});
    }
    sets_.push_back({gwas_method::kRankNormal, normal});
    std::filesystem::create_directories(trial_.directory);
    const auto file = trial_.directory + "/relationship.grm.bin";
    write_relationship(file, inputs_.relationship());
    const auto add = [&](const char* name, const NamedColumns& traits,
                         const std::string& relationship,
                         std::optional<bool> per_latent = {}) {
      sets_.push_back({name, latents(name, traits, relationship, per_latent)});
    };
    add(gwas_method::kBaseline, residuals_, "");
    add(gwas_method::kAdjusted, residuals_, file);
    add(gwas_method::kBaselineOfScores, normal, "");
    add(gwas_method::kAdjustedOfScores, normal, file);
    // What the default has chosen need not be trained again.
    const bool has_own = has_own_lambdas(gwas_method::kAdjustedOfScores);
    chosen_ = has_own ? gwas_method::kOwnOfScores : gwas_method::kSharedOfScores;
    add(has_own ? gwas_method::kSharedOfScores : gwas_method::kOwnOfScores, normal,
        file, !has_own);
  }

  std::string directory_of(const std::string& name) const {
    return trial_.directory + "/" + name;
  }

  bool has_own_lambdas(const std::string& name) const {
    return load_model(model_path_of(directory_of(name))).dependence.latents > 1;
  }

  NamedColumns latents(const std::string& name, const NamedColumns& traits,
                       const std::string& relationship,
                       std::optional<bool> per_latent) const {
    auto fit = default_trait_flow(/*adjusted=*/!relationship.empty());
    fit.data.dependence.per_latent = per_latent;
    fit.train.seed = fit.flow.permutation_seed = trial_.seed;
    fit.device = trial_.device;
    fit.inference = false;
    return latents_of_flow({.traits = traits,
                            .context = {},
                            .ids = inputs_.ids(),
                            .relationship = relationship,
                            .relationship_ids = {},
                            .fit = fit,
                            .table = trial_.directory + "/" + name + ".tsv",
                            .directory = directory_of(name)},
                           trial_.stop, logger_);
  }

  std::size_t traits() const { return residuals_.names.size(); }

  std::vector<GwasTrialMethod> methods(std::vector<std::vector<double>> log10_p) const {
    std::vector<GwasTrialMethod> found;
    const auto count = static_cast<double>(traits());
    GwasTrialMethod single{gwas_method::kSingle, log10_p.front(), {}, 1};
    for (std::size_t t = 0; t < traits(); ++t) {
      for (std::size_t i = 0; i < log10_p[t].size(); ++i) {
        single.log10_p[i] = std::max(single.log10_p[i], log10_p[t][i]);
      }
      single.uniform_log10_p.push_back(std::move(log10_p[t]));
    }
    for (auto& value : single.log10_p) {
      if (!std::isnan(value)) value = std::max(0.0, value - std::log10(count));
    }
    found.push_back(std::move(single));
    for (std::size_t s = traits(); s < sets_.size(); ++s) {
      found.push_back({sets_[s].name, log10_p[s], {log10_p[s]}, count});
      if (sets_[s].name != gwas_method::kAdjustedOfScores) continue;
      found.push_back(found.back());
      found.back().name = chosen_;
    }
    // Of the last two either may be the one that was chosen.
    if (found.back().name != gwas_method::kOwnOfScores) {
      std::swap(found[found.size() - 2], found.back());
    }
    return found;
  }

  const GwasTrial& trial_;
  GwasInputs& inputs_;
  Logger& logger_;
  NamedColumns residuals_;
  std::vector<TraitSet> sets_;
  std::string chosen_;  // of the two ways to adjust the flow of rank-normal traits
};

}  // namespace

std::vector<GwasTrialMethod> run_gwas_trial(const GwasTrial& trial, GwasInputs& inputs,
                                            Logger& logger) {
  return Trial(trial, inputs, logger).run();
}

std::vector<std::string> gwas_methods() {
  return {gwas_method::kSingle,           gwas_method::kRankNormal,
          gwas_method::kBaseline,         gwas_method::kAdjusted,
          gwas_method::kBaselineOfScores, gwas_method::kAdjustedOfScores,
          gwas_method::kSharedOfScores,   gwas_method::kOwnOfScores};
}

std::vector<Locus> loci_of(const GwasTrialMethod& method, const GwasInputs& inputs) {
  ClumpOptions options;
  const auto tested = std::count_if(method.log10_p.begin(), method.log10_p.end(),
                                    [](double value) { return !std::isnan(value); });
  options.p1 = kFamilyWise / static_cast<double>(tested);
  options.autosomes = inputs.data().variants.autosomes;
  return clump(inputs.genotypes(), inputs.people().people, method.log10_p, options);
}

}  // namespace kinflow
