// Location and scale by generalised least squares, in turns with the parameters.
#include "kinflow/dependence/placement.h"

#include "kinflow/array/array.h"

namespace kinflow {
namespace {

constexpr std::int64_t kMostPlacedParameters = 50;
/// Turns between the parameters and the location and scale, and a change of the
/// parameters that ends them. They come nearer by a half or so in each.
constexpr int kMostTurns = 100;
constexpr double kTurnsEnd = 1e-7;

}  // namespace

Placement place(const Dependence& law, const Array& parameters, const Array& latents) {
  const Array all = latents.to(nd::kDouble);
  const Array worth = law.row_worth_by_latent(parameters);
  const Array mean = (worth * all).sum(1, true) / worth.sum(1, true);
  const Array centred = all - mean;
  const Array variance = (centred * law.precision_times(parameters, centred)).mean(1);
  return {.mean = mean.squeeze(1), .deviation = variance.sqrt()};
}

Array standardized(const Array& latents, const Placement& placement) {
  return (latents.to(nd::kDouble) - placement.mean.unsqueeze(1)) /
         placement.deviation.unsqueeze(1);
}

bool can_be_placed(const Dependence& law) {
  return !law.has_costly_parameters() && law.parameter_count() <= kMostPlacedParameters;
}

Array most_likely_placed(const Dependence& law, const Array& latents,
                         const Array& start, double prior) {
  Array parameters = start;
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
