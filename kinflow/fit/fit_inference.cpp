// Inference on the training rows' latents, as JSON.
#include "kinflow/fit/fit_inference.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "kinflow/array/array.h"
#include "kinflow/core/error.h"
#include "kinflow/core/log.h"
#include "kinflow/dependence/blocks.h"
#include "kinflow/dependence/per_latent.h"
#include "kinflow/dependence/placement.h"
#include "kinflow/statistics/p_value.h"

namespace kinflow {
namespace {

nlohmann::json number(double value) {
  return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json();
}

// Names of the law's parameters, and where each stands in it: blocks by their labels,
// and latents by their numbers.
struct NamedParameters {
  std::vector<std::string> names;
  std::vector<std::int64_t> places;
};

NamedParameters name_parameters(const Dependence& law,
                                const LearnedDependence& learned) {
  NamedParameters named;
  if (const auto* folded = dynamic_cast<const FoldedLatents*>(&law)) {
    const auto own = name_parameters(folded->inner(), learned);
    const auto count = folded->inner().parameter_count();
    for (std::int64_t latent = 0; latent < law.distinct_latents(); ++latent) {
      for (std::size_t i = 0; i < own.names.size(); ++i) {
        named.names.push_back(fmt::format("{} of latent {}", own.names[i], latent + 1));
        named.places.push_back(latent * count + own.places[i]);
      }
    }
    return named;
  }
  if (const auto* blocks = dynamic_cast<const Blocks*>(&law)) {
    const auto of_block = blocks->parameter_of_block().cpu();
    const auto* place = of_block.data_ptr<std::int64_t>();
    std::set<std::int64_t> seen;
    std::size_t repeated = 0;  // number of the block among those with repeats
    for (std::int64_t i = 0; i < of_block.numel(); ++i) {
      if (place[i] < 0) continue;
      const auto number = repeated++;
      if (!seen.insert(place[i]).second) continue;
      named.places.push_back(place[i]);
      switch (blocks->options().correlation) {
        case BlockCorrelation::shared:
          named.names.push_back("rho");
          break;
        case BlockCorrelation::per_size:
          named.names.push_back(fmt::format("blocks of {}", learned.sizes[number]));
          break;
        default:
          named.names.push_back(learned.labels[number]);
      }
    }
    return named;
  }
  if (learned.kind == DependenceKind::sum) {
    named.names = {"own share"};
    named.names.insert(named.names.end(), learned.parts.begin(), learned.parts.end());
  } else {
    named.names = {"lambda", "gamma"};
  }
  named.names.resize(static_cast<std::size_t>(law.parameter_count()));
  for (std::int64_t i = 0; i < law.parameter_count(); ++i) {
    named.places.push_back(i);
  }
  return named;
}

nlohmann::json estimates(const Dependence& law, const LearnedDependence& learned,
                         const DependenceInference& inference) {
  auto list = nlohmann::json::array();
  const auto named = name_parameters(law, learned);
  for (std::size_t i = 0; i < named.names.size(); ++i) {
    const auto at_place = [&](const Array& values) {
      return number(values[named.places[i]].item<double>());
    };
    list.push_back({{"parameter", named.names[i]},
                    {"estimate", at_place(inference.estimate)},
                    {"standard_error", at_place(inference.standard_error)},
                    {"low", at_place(inference.low)},
                    {"high", at_place(inference.high)}});
  }
  return list;
}

nlohmann::json infer_dependence(const FittedDependence& fitted, const Array& parameters,
                                const LatentResult& latents) {
  const auto& law = *fitted.law;
  nlohmann::json json = {
      {"log_likelihood_nats", number(joint_log_density(law, parameters, latents))}};
  if (law.parameter_count() == 0) return json;
  // Effects of blocks are too many for errors of each; what is asked for is the
  // correlation of each latent.
  std::shared_ptr<const Dependence> of_latents;
  auto start = parameters;
  if (const auto* effects = dynamic_cast<const BlockAndLatentEffects*>(&law)) {
    of_latents = make_blocks(effects->blocks().block_of_row(),
                             {.correlation = BlockCorrelation::per_latent,
                              .columns = law.distinct_latents()});
    start = parameters.narrow(0, effects->block_effects(), law.distinct_latents())
                .sigmoid();
  }
  const auto& inferred = of_latents ? *of_latents : law;
  const auto inference =
      infer(inferred, latents.latents, start, {.location_and_scale_are_known = false});
  const auto* blocks = dynamic_cast<const Blocks*>(&law);
  if (blocks != nullptr && blocks->options().correlation == BlockCorrelation::pooled) {
    const auto pooling = blocks->pooling_law(parameters.unsqueeze(0));
    json["pooling"] = {{"mean_logit_rho", number(pooling.mu.item<double>())},
                       {"deviation_logit_rho", number(pooling.tau.item<double>())}};
    json["why_no_errors"] =
        "pooled correlations borrow from each other; alone they have no errors";
  } else if (inference.why_no_errors.empty()) {
    json["estimates"] = estimates(inferred, fitted.learned, inference);
  } else {
    json["why_no_errors"] = inference.why_no_errors;
  }
  if (inference.profile) {
    json["profile_interval"] = {{"low", number(inference.profile->low)},
                                {"high", number(inference.profile->high)}};
  }
  if (inference.test) {
    json["independence_test"] = {
        {"statistic", number(inference.test->statistic)},
        {"edges", inference.test->edges},
        {"p_value", number(p_of_log10(inference.test->log10_p))},
        {"log10_p", number(inference.test->log10_p)}};
  } else {
    json["why_no_test"] = inference.why_no_test;
  }
  return json;
}

}  // namespace

Array likely_parameters(const FittedDependence& fitted, const FitRequest& request,
                        const Array& latents, const Array& trained, Logger& logger,
                        const InferenceOptions& options) {
  const auto& law = *fitted.law;
  if (law.parameter_count() == 0 || request.train.schedule == Schedule::grid ||
      fitted.learned.kind == DependenceKind::unstructured) {
    return trained;
  }
  try {
    const auto all = latents.to(trained.device()).unsqueeze(0);
    const auto start = trained.unsqueeze(0);
    return options.location_and_scale_are_known || !can_be_placed(law)
               ? law.most_likely(all, start, request.train.prior)[0]
               : most_likely_placed(law, all, start, request.train.prior)[0];
  } catch (const NumericalError& error) {
    logger.warning(fmt::format("the dependence stays as trained: {}", error.what()));
    return trained;
  }
}

void add_inference(const FittedDependence& fitted, const Array& parameters,
                   const LatentResult& latents, Model& model, Logger& logger) {
  try {
    model.record["inference"] =
        infer_dependence(fitted, parameters,
                         {.latents = latents.latents.to(parameters.device()),
                          .log_abs_det = latents.log_abs_det});
  } catch (const std::exception& error) {
    logger.warning(fmt::format("no standard errors and tests: {}", error.what()));
    model.record["inference"] = {{"why_no_errors", error.what()},
                                 {"why_no_test", error.what()}};
  }
}

}  // namespace kinflow
