// Puts likelihood, Frechet distance and precision-recall curves of images together.
#include "kinflow/evaluate/image_scores.h"

#include <fmt/format.h>

#include <sstream>

#include "kinflow/array/array.h"
#include "kinflow/core/error.h"
#include "kinflow/evaluate/frechet.h"
#include "kinflow/statistics/bits_per_dimension.h"

namespace kinflow {

ImageLikelihood image_likelihood(const Array& log_density_nats,
                                 std::int64_t dimensions) {
  if (log_density_nats.dim() != 1 || log_density_nats.size(0) < 1 || dimensions < 1) {
    std::ostringstream shape;
    shape << log_density_nats.sizes();
    throw InputError(fmt::format(
        "[image_likelihood] expected log densities of at least one image of at least "
        "one value, received shape {} and {} values",
        shape.str(), dimensions));
  }
  const auto density = log_density_nats.to(nd::kCPU, nd::kDouble);
  const auto bad = nd::isfinite(density).logical_not();
  if (bad.any().item<bool>()) {
    throw NumericalError(
        fmt::format("the density of image {} is not finite: is it far outside the "
                    "training data?",
                    bad.to(nd::kLong).argmax().item<std::int64_t>() + 1));
  }
  const double mean = density.mean().item<double>();
  return {.images = density.size(0),
          .mean_nll_nats = -mean,
          .bits_per_dimension = bits_per_dimension(mean, dimensions)};
}

ImageDistances image_distances(const ImageFeatures& features,
                               const PrdOptions& options) {
  ImageDistances result{
      .features = features.name,
      .real_images = features.real.size(0),
      .generated_images = features.generated.size(0),
      .frechet = frechet_distance(features.real, features.generated),
      .prd_curve = precision_recall(features.real, features.generated, options),
      .prd = {}};
  result.prd = prd_scores(result.prd_curve);
  return result;
}

}  // namespace kinflow
