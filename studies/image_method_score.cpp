// Scores of image flows, and their JSON.
#include "studies/image_method_score.h"

#include <limits>
#include <nlohmann/json.hpp>

#include "kinflow/array/array.h"
#include "kinflow/array/array_numbers.h"
#include "kinflow/core/json_reader.h"
#include "kinflow/evaluate/image_draws.h"

namespace kinflow {
namespace {

using nlohmann::json;

constexpr double kAny = std::numeric_limits<double>::max();
constexpr std::int64_t kMany = std::numeric_limits<std::int64_t>::max();

json to_json(const ImageDistances& distances) {
  return {{"features", distances.features},
          {"real_images", distances.real_images},
          {"generated_images", distances.generated_images},
          {"frechet", distances.frechet},
          {"precision", distances.prd_curve.precision},
          {"recall", distances.prd_curve.recall}};
}

ImageDistances distances_from(const JsonReader& reader) {
  ImageDistances distances{
      .features = reader.text("features"),
      .real_images = reader.integer("real_images", 0, kMany),
      .generated_images = reader.integer("generated_images", 0, kMany),
      .frechet = reader.number("frechet", -kAny, kAny),
      .prd_curve = {.precision = reader.numbers("precision", 0, 1),
                    .recall = reader.numbers("recall", 0, 1)},
      .prd = {}};
  distances.prd = prd_scores(distances.prd_curve);
  return distances;
}

json to_json(const SheetImages& images) {
  return {{"channels", images.channels},
          {"height", images.height},
          {"width", images.width},
          {"values", images.values}};
}

SheetImages sheet_images_from(const JsonReader& reader) {
  SheetImages images{
      .channels = static_cast<int>(reader.integer("channels", 1, 3)),
      .height = static_cast<int>(reader.integer("height", 1, kLargestSide)),
      .width = static_cast<int>(reader.integer("width", 1, kLargestSide))};
  for (const auto value : reader.integers("values", 0, 255)) {
    images.values.push_back(static_cast<std::uint8_t>(value));
  }
  return images;
}

}  // namespace

json to_json(const ImageMethodScore& score) {
  json written = {{"method", score.method},
                  {"best_epoch", score.best_epoch},
                  {"valid_nll_nats", score.valid_nll_nats},
                  {"skipped_steps", score.skipped_steps},
                  {"correlations", score.correlations},
                  {"typical_correlation", score.typical_correlation},
                  {"test_nll_nats", score.test_nll_nats},
                  {"distances", to_json(score.distances)},
                  {"samples", to_json(score.samples)}};
  if (score.indiv_distances) {
    written["indiv_distances"] = to_json(*score.indiv_distances);
  }
  return written;
}

ImageMethodScore image_method_score_from(const json& written,
                                         const std::string& source) {
  const JsonReader reader(written, source);
  ImageMethodScore score{
      .method = reader.text("method"),
      .best_epoch = reader.integer("best_epoch", 0, kMany),
      .valid_nll_nats = reader.number("valid_nll_nats", -kAny, kAny),
      .skipped_steps = reader.integer("skipped_steps", 0, kMany),
      .correlations = reader.numbers("correlations", 0, 1),
      .typical_correlation = reader.number("typical_correlation", 0, 1),
      .test_nll_nats = reader.numbers("test_nll_nats", -kAny, kAny),
      .distances = distances_from(reader.object("distances")),
      .indiv_distances = {},
      .samples = sheet_images_from(reader.object("samples"))};
  if (written.contains("indiv_distances")) {
    score.indiv_distances = distances_from(reader.object("indiv_distances"));
  }
  return score;
}

ImageMethodScore score_images(const std::string& method, const ImageModel& model,
                              const ImageSet& test,
                              const ImageEvaluationOptions& options,
                              std::int64_t kept) {
  const auto evaluation = evaluate_images(model, test, options);
  // The first of those that the evaluation drew.
  const auto drawn = draw_images(model, {.count = kept, .seed = options.seed});
  return {.method = method,
          .correlations = model.latent_correlations.empty()
                              ? model.dependence.parameters
                              : model.latent_correlations,
          .typical_correlation = model.dependence.typical_parameter(),
          .test_nll_nats = numbers_of(-evaluation.log_density_nats),
          .distances = evaluation.scores.distances.value(),
          .indiv_distances = evaluation.scores.indiv_distances,
          .samples = sheet_images(spread_to_eight_bits(drawn, model.bits()))};
}

SheetImages sheet_images(const Array& pixels) {
  const auto whole = pixels.contiguous();
  const auto* first = whole.data_ptr<std::uint8_t>();
  return {.channels = static_cast<int>(whole.size(1)),
          .height = static_cast<int>(whole.size(2)),
          .width = static_cast<int>(whole.size(3)),
          .values = {first, first + whole.numel()}};
}

PrdCurve mean_curve(const std::vector<PrdCurve>& curves) {
  auto mean = curves.front();
  const auto add = [&](std::vector<double>& to, std::vector<double> PrdCurve::*part) {
    for (std::size_t i = 0; i < to.size(); ++i) {
      double sum = 0;
      for (const auto& curve : curves) sum += (curve.*part).at(i);
      to[i] = sum / static_cast<double>(curves.size());
    }
  };
  add(mean.precision, &PrdCurve::precision);
  add(mean.recall, &PrdCurve::recall);
  return mean;
}

}  // namespace kinflow
