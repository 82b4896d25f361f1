// Location and scale by generalised least squares, in turns with the parameters.
#include "kinflow/dependence/placement.h"

#include <ATen/ATen.h>

namespace kinflow {
namespace {

constexpr std::int64_t kMostPlacedParameters = 50;
/// Turns between the parameters and the location and scale, and a change of the
/// parameters that ends them. They come nearer by a half or so in each.
constexpr int kMostTurns = 100;
constexpr double kTurnsEnd = 1e-7;

}  // namespace

Placement place(const Dependence& law, const at::Tensor& parameters,
                const at::Tensor& latents) {
  const at::Tensor all = latents.to(at::kDouble);
  const at::Tensor worth = law.row_worth_by_latent(parameters);
  const at::Tensor mean = (worth * all).sum(1, true) / worth.sum(1, true);
  const at::Tensor centred = all - mean;
  const at::Tensor variance =
      (centred * law.precision_times(parameters, centred)).mean(1);
  return {.mean = mean.squeeze(1), .deviation = variance.sqrt()};
}

at::Tensor standardized(const at::Tensor& latents, const Placement& placement) {
  return (latents.to(at::kDouble) - placement.mean.unsqueeze(1)) /
         placement.deviation.unsqueeze(1);
}

bool can_be_placed(const Dependence& law) {
  return !law.has_costly_parameters() && law.parameter_count() <= kMostPlacedParameters;
}

at::Tensor most_likely_placed(const Dependence& law, const at::Tensor& latents,
                              const at::Tensor& start, double prior) {
  at::Tensor parameters = start;
  for (int turn = 0; turn < kMostTurns; ++turn) {
    const auto before = parameters;
    parameters = law.most_likely(standardized(latents, place(law, before, latents)),
                                 before, prior);
    if (parameters.numel() == 0 ||
        (parameters - before).abs().max().item<double>() < kTurnsEnd) {
      break;
    }
  }
  return parameters;
}

}  // namespace kinflow
