// Likelihoods and distances, of all images and of one for each person.
#include "kinflow/evaluate/image_evaluation.h"

#include <ATen/ATen.h>

#include "kinflow/evaluate/image_draws.h"
#include "kinflow/images/split_images.h"

namespace kinflow {

ImageEvaluation evaluate_images(const ImageModel& model, const ImageSet& set,
                                const ImageEvaluationOptions& options) {
  const auto rows = rows_of(set);
  const auto one_each = at::tensor(one_image_per_person(set, options.seed), at::kLong);
  ImageEvaluation result{
      .scores = {},
      .people = set.people(),
      .log_density_nats = -image_nll(*model.flow, rows, options.seed)};
  auto& scores = result.scores;
  scores.likelihood = image_likelihood(result.log_density_nats, set.dimension());
  scores.indiv_likelihood = image_likelihood(
      result.log_density_nats.index_select(0, one_each), set.dimension());
  if (options.samples == 0) return result;
  const auto generated = spread_to_eight_bits(
      draw_images(model, {.count = options.samples, .seed = options.seed}), set.bits);
  const auto real = spread_to_eight_bits(rows.pixels, set.bits);
  const auto built_in = options.features == nullptr
                            ? built_in_features(model.flow->values().device())
                            : nullptr;
  const auto& features = built_in ? *built_in : *options.features;
  scores.distances = image_distances(real, generated, features);
  // A few people fill no clusters.
  if (one_each.size(0) >= PrdOptions{}.clusters) {
    scores.indiv_distances =
        image_distances(real.index_select(0, one_each), generated, features);
  }
  return result;
}

}  // namespace kinflow
