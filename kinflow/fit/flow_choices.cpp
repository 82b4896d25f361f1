// Sizes of the flows.
#include "kinflow/fit/flow_choices.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace kinflow {

std::vector<FlowChoice> flow_choices(const FitRequest& request) {
  const auto make = [&](FlowKind kind, std::int64_t layers,
                        std::vector<std::int64_t> hidden) {
    return FlowOptions{.kind = kind,
                       .layers = layers,
                       .hidden = std::move(hidden),
                       .permutation = Permutation::random,
                       .permutation_seed = request.flow.permutation_seed,
                       .latent_map = request.flow.latent_map};
  };
  const bool chooses = request.normal_scores == ScoresUse::choose;
  std::vector<FlowChoice> choices;
  if (request.vary_flow) {
    auto small = make(FlowKind::spline, 4, {16, 16});
    small.bins = 6;
    const auto affine = make(FlowKind::affine, 8, {32, 32});
    choices = {{.flow = make(FlowKind::spline, 3, {64, 64})},
               {.flow = std::move(small), .scores = chooses},
               {.flow = affine},
               {.flow = affine, .decorrelate = true, .scores = chooses}};
  } else {
    choices = {{.flow = request.flow}};
    if (chooses) choices.push_back({.flow = request.flow, .scores = true});
  }
  for (auto& choice : choices) {
    choice.scores |= request.normal_scores == ScoresUse::yes;
  }
  // A kind without a replica is none.
  choices.resize(
      std::min(choices.size(), static_cast<std::size_t>(request.replicas.count)));
  return choices;
}

std::string described(const std::vector<FlowChoice>& choices) {
  std::vector<std::string> all;
  for (const auto& [flow, decorrelate, scores] : choices) {
    all.push_back(fmt::format(
        "{} {} x {}{}{}{}", name_of(flow_kind_names(), flow.kind), flow.layers,
        fmt::join(flow.hidden, "-"),
        flow.kind == FlowKind::spline ? fmt::format(" with {} bins", flow.bins) : "",
        decorrelate ? " of uncorrelated columns" : "",
        scores ? " of normal scores" : ""));
  }
  return fmt::format("{}", fmt::join(all, ", "));
}

}  // namespace kinflow
