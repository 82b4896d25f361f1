// Inference on the training rows' latents, as JSON.
#include "kinflow/train/fit_inference.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "kinflow/core/p_value.h"
#include "kinflow/dependence/blocks.h"
#include "kinflow/dependence/inference.h"

namespace kinflow {
namespace {

nlohmann::json number(double value) {
  return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json();
}

// Names of the law's parameters, and where each stands in it: blocks by their labels.
struct NamedParameters {
  std::vector<std::string> names;
  std::vector<std::int64_t> places;
};

NamedParameters name_parameters(const FittedDependence& fitted) {
  NamedParameters named;
  const auto& learned = fitted.learned;
  if (const auto* blocks = dynamic_cast<const Blocks*>(fitted.law.get())) {
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
  named.names.resize(static_cast<std::size_t>(fitted.law->parameter_count()));
  for (std::int64_t i = 0; i < fitted.law->parameter_count(); ++i) {
    named.places.push_back(i);
  }
  return named;
}

nlohmann::json estimates(const FittedDependence& fitted,
                         const DependenceInference& inference) {
  auto list = nlohmann::json::array();
  const auto named = name_parameters(fitted);
  for (std::size_t i = 0; i < named.names.size(); ++i) {
    const auto at_place = [&](const at::Tensor& values) {
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

}  // namespace

nlohmann::json infer_dependence(const FittedDependence& fitted,
                                const at::Tensor& parameters, const Model& model,
                                const TableRows& train) {
  const auto result = model.to_latent(train.data, train.context);
  const auto& law = *fitted.law;
  const LatentResult latents{.latents = result.latents.to(parameters.device()),
                             .log_abs_det = result.log_abs_det};
  const double log_likelihood = joint_log_density(law, parameters, latents);
  const auto weights = model.flow->values().size(1);
  const auto count = weights + 2 * train.data.size(1) + law.parameter_count();
  const auto criteria = information_criteria(log_likelihood, count, train.data.size(0));
  nlohmann::json json = {{"log_likelihood_nats", number(log_likelihood)},
                         {"parameter_count", count},
                         {"aic", number(criteria.aic)},
                         {"bic", number(criteria.bic)}};
  if (law.parameter_count() == 0) return json;
  const auto inference = infer(law, latents.latents, parameters);
  const auto* blocks = dynamic_cast<const Blocks*>(&law);
  if (blocks != nullptr && blocks->options().correlation == BlockCorrelation::pooled) {
    const auto pooling = blocks->pooling_law(parameters.unsqueeze(0));
    json["pooling"] = {{"mean_logit_rho", number(pooling.mu.item<double>())},
                       {"deviation_logit_rho", number(pooling.tau.item<double>())}};
    json["why_no_errors"] =
        "pooled correlations borrow from each other; alone they have no errors";
  } else if (inference.why_no_errors.empty()) {
    json["estimates"] = estimates(fitted, inference);
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

}  // namespace kinflow
