// The options of a fit, as typed.
#pragma once

#include <CLI/App.hpp>
#include <optional>
#include <string>

#include "kinflow/fit/fit.h"
#include "options.h"

namespace kinflow::cli {

struct FitGiven {
  FitRequest request;
  bool independent = false;
  std::string schedule = "joint", flow, permutation = "random";
  std::string correlation = "choose", precision = "float32";
  std::string estimator, split_by, normal_scores = "choose";
  DependenceGiven dependence;
  std::optional<MinusNine> minus_nine;
  std::optional<std::int64_t> layers, bins, patience;
  std::vector<std::int64_t> hidden;
  std::vector<std::string> bounds, positive;
  std::optional<double> dependence_rate;

  /// Whether the kind or the size of the flow was typed.
  bool names_flow() const;
  /// The request, with defaults. InputError for choices that exclude each other.
  FitRequest resolve() const;
};

/// What was typed, and what it comes to.
struct FitChoice {
  const FitGiven& typed;
  const FitRequest& request;
};
/// When the options of a flow and its training have an effect.
const std::vector<EffectRule<FitChoice>>& fit_rules();
/// Lists that were given and that replicas take in turn, of which there are too few for
/// the last value.
std::vector<IdleOption> find_idle_values(const CLI::App& verb,
                                         const FitRequest& request);
/// All options of a fit that were given and have none, those on its dependence
/// included.
std::vector<IdleOption> find_idle_fit_options(const CLI::App& verb,
                                              const FitChoice& choice);

/// The options of a flow and its training, whatever it is trained on.
void add_flow_options(CLI::App& verb, FitGiven& given);

/// The table and all options that decide the result of a fit; not where it is computed
/// and kept.
void add_fit_options(CLI::App& verb, FitGiven& given);

}  // namespace kinflow::cli
