// kinflow evaluate on images.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "image_commands.h"
#include "kinflow/array/device.h"
#include "kinflow/core/error.h"
#include "kinflow/core/output_folder.h"
#include "kinflow/data/write_table.h"
#include "kinflow/evaluate/image_evaluation.h"
#include "kinflow/report/prd_figure.h"
#include "kinflow/report/text_table.h"

namespace kinflow::cli {
namespace {

constexpr std::int64_t kMostSamples = 10'000'000;

using Measures = nlohmann::ordered_json;

void add_likelihood(const std::string& prefix, const ImageLikelihood& likelihood,
                    Measures& measures) {
  measures[prefix + "images"] = likelihood.images;
  measures[prefix + "mean_nll_nats"] = likelihood.mean_nll_nats;
  measures[prefix + "bits_per_dimension"] = likelihood.bits_per_dimension;
}

void add_distances(const std::string& prefix,
                   const std::optional<ImageDistances>& distances, Measures& measures) {
  if (!distances) return;
  measures["features"] = distances->features;
  measures["drawn_images"] = distances->generated_images;
  measures[prefix + "frechet_distance"] = distances->frechet;
  measures[prefix + "prd_f8"] = distances->prd.f_8;
  measures[prefix + "prd_f1/8"] = distances->prd.f_one_8th;
  measures[prefix + "prd_f4"] = distances->prd.f_4;
  measures[prefix + "prd_f1/4"] = distances->prd.f_one_4th;
}

void print(const ImageEvaluation& evaluation, bool as_json) {
  const auto& scores = evaluation.scores;
  Measures measures = {{"people", evaluation.people}};
  add_likelihood("", scores.likelihood, measures);
  add_likelihood("indiv_", scores.indiv_likelihood, measures);
  add_distances("", scores.distances, measures);
  add_distances("indiv_", scores.indiv_distances, measures);
  if (as_json) {
    fmt::print("{}\n", measures.dump(2));
    return;
  }
  TextTable table({{"measure", Align::kLeft}, {"value"}});
  for (const auto& [name, value] : measures.items()) {
    table.add_row(
        {name, value.is_number_float()
                   ? fmt::format("{:.6f}", value.get<double>())
                   : (value.is_string() ? value.get<std::string>() : value.dump())});
  }
  fmt::print("{}", table.plain());
}

void write_densities(const std::string& path, const ImageEvaluation& evaluation,
                     const ImageSet& set) {
  const auto densities = evaluation.log_density_nats.contiguous();
  std::vector<TextColumn> text = {{"person", set.person_of_image}};
  if (!set.files.empty()) text.push_back({"file", set.files});
  write_table(
      path, {"log_density_nats"},
      {densities.data_ptr<double>(), static_cast<std::size_t>(densities.numel())},
      text);
}

void write_curves(const std::string& path, const ImageScores& scores) {
  PrdFigure figure{.title = "Precision and recall of drawn images",
                   .subtitle = "features: " + scores.distances->features};
  const auto add = [&](const std::string& name,
                       const std::optional<ImageDistances>& distances) {
    if (!distances) return;
    figure.curves.push_back({.name = name,
                             .precision = distances->prd_curve.precision,
                             .recall = distances->prd_curve.recall});
  };
  add("all images", scores.distances);
  add("one image of each person", scores.indiv_distances);
  write_prd_figure(path, figure);
}

void check_options(const EvaluateImagesGiven& given) {
  if (!given.out.empty() && table_format(given.out) == TableFormat::npy) {
    throw InputError("--out: expected a table with people (.csv or .tsv), found " +
                     given.out);
  }
  const std::vector<std::string> inputs = {given.model, given.path,
                                           given.images.request.ids,
                                           given.test_features, given.drawn_features};
  if (!given.out.empty()) {
    check_not_an_input(given.out, inputs);
    require_no_result({given.out}, given.overwrite);
    require_writable(given.out);
  }
  check_picture(given.prd, inputs, "--prd", given.overwrite);
  check_outside(given.prd, given.path, "--prd");
  check_outside(given.out, given.path, "--out");
}

// Fewer fill no clusters of a precision-recall curve.
void check_enough_to_compare(const ImageSet& set, const std::string& path) {
  constexpr auto kFewest = PrdOptions{}.clusters;
  if (set.images() >= kFewest) return;
  throw InputError(
      fmt::format("{}: expected at least {} images to compare drawn ones with "
                  "(--samples, --prd), found {}",
                  path, kFewest, set.images()));
}

void check_rows(const ImageFeatures& features, const EvaluateImagesGiven& given,
                const ImageSet& set) {
  const auto rows = features.real.size(0);
  if (rows == set.images()) return;
  throw InputError(
      fmt::format("{}: expected {} rows, one for each image of {}, found {}",
                  given.test_features, set.images(), given.path, rows));
}

}  // namespace

void add_evaluate_images_options(CLI::App& verb, EvaluateImagesGiven& given) {
  const auto add = [](CLI::Option* option) { return option->group(kImageOptions); };
  add_images_options(verb, given.images);
  add(verb.add_option("--samples", given.samples,
                      "Images to draw and compare with the others: Frechet distance, "
                      "precision and recall (with --prd as many as there are)"))
      ->check(integer_in(PrdOptions{}.clusters, kMostSamples));
  add(verb.add_option("--test-features", given.test_features,
                      "Features of the images to compare, by a network of your own: "
                      ".npy [images, d], in the order of --out (default: built-in "
                      "features)"));
  add(verb.add_option("--drawn-features", given.drawn_features,
                      "The same of images that sample drew: .npy [any number, d]"));
  add(verb.add_option("--prd", given.prd,
                      "PNG to draw the precision-recall curves to"));
  add(add_seed(verb, given.seed, "Seed of noise and draws"));
}

void check_evaluate_images_options(const CLI::App& verb,
                                   const EvaluateImagesGiven& given,
                                   const std::string& images) {
  check_effects(verb,
                {needs_option({"--test-features"}, {"--drawn-features"}),
                 needs_option({"--drawn-features"}, {"--test-features"}),
                 idle_beside({"--samples"}, "--drawn-features")},
                verb);
  check_images_options(verb, given.images, images);
}

void evaluate_images(const EvaluateImagesGiven& given, Console& console) {
  check_options(given);
  const auto device = find_device(given.device);
  std::optional<ImageFeatures> features;
  if (!given.test_features.empty()) {
    features = read_features(given.test_features, given.drawn_features);
  }
  const auto model = load_image_model(given.model, device);
  const auto read = read_images(given.images.resolve(given.path, model.prepare), 1);
  for (const auto& note : read.report.notes()) console.info(note);
  check_shape(model, read.set, given.path);
  ImageEvaluationOptions options{.seed = given.seed};
  if (features) {
    check_rows(*features, given, read.set);
    options.features = &*features;
  } else if (given.samples || !given.prd.empty()) {
    check_enough_to_compare(read.set, given.path);
    options.samples = given.samples.value_or(read.set.images());
  }
  const auto evaluation = kinflow::evaluate_images(model, read.set, options);
  if (!given.out.empty()) write_densities(given.out, evaluation, read.set);
  if (!given.prd.empty()) write_curves(given.prd, evaluation.scores);
  print(evaluation, given.json);
}

}  // namespace kinflow::cli
