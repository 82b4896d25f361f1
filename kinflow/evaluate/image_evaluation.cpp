// Likelihoods and distances, of all images and of one for each person.
#include "kinflow/evaluate/image_evaluation.h"

#include "kinflow/array/array.h"
#include "kinflow/evaluate/image_draws.h"
#include "kinflow/images/split_images.h"

namespace kinflow {
namespace {

ImageFeatures features_of_draws(const ImageModel& model, const ImageSet& set,
                                const Array& pixels,
                                const ImageEvaluationOptions& options) {
  const auto generated =
      draw_images(model, {.count = options.samples, .seed = options.seed});
  return built_in_features(spread_to_eight_bits(pixels, set.bits),
                           spread_to_eight_bits(generated, set.bits));
}

}  // namespace

ImageEvaluation evaluate_images(const ImageModel& model, const ImageSet& set,
                                const ImageEvaluationOptions& options) {
  const auto rows = rows_of(set);
  const auto one_each = nd::tensor(one_image_per_person(set, options.seed), nd::kLong);
  ImageEvaluation result{
      .scores = {},
      .people = set.people(),
      .log_density_nats = -image_nll(*model.flow, rows, options.seed)};
  auto& scores = result.scores;
  scores.likelihood = image_likelihood(result.log_density_nats, set.dimension());
  scores.indiv_likelihood = image_likelihood(
      result.log_density_nats.index_select(0, one_each), set.dimension());
  if (options.samples == 0 && options.features == nullptr) return result;
  auto features = options.features != nullptr
                      ? *options.features
                      : features_of_draws(model, set, rows.pixels, options);
  scores.distances = image_distances(features);
  // A few people fill no clusters.
  if (one_each.size(0) >= PrdOptions{}.clusters) {
    features.real = features.real.index_select(0, one_each);
    scores.indiv_distances = image_distances(features);
  }
  return result;
}

}  // namespace kinflow
