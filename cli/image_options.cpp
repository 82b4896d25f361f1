// Declaring the options for images and turning them into requests.
#include "image_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>

#include "kinflow/core/error.h"
#include "kinflow/core/output_folder.h"
#include "kinflow/data/text_lines.h"
#include "kinflow/engine/images/image_names.h"
#include "kinflow/fit/run_folder.h"

namespace kinflow::cli {
namespace {

// Options of a fit that tables and images have.
const std::set<std::string> kShared = {
    "--valid",         "--valid-fraction", "--flow",   "--precision",
    "--schedule",      "--estimator",      "--epochs", "--batch-size",
    "--learning-rate", "--weight-decay",   "--start",  "--dependence-rate",
    "--prior",         "--grid",           "--seed",   "--correlation"};

// Declares an option anew, with other choices.
void widen(CLI::App& verb, const std::string& name, std::string& value,
           const std::vector<std::string>& choices, const std::string& help) {
  verb.remove_option(verb.get_option(name));
  verb.add_option(name, value, help)->check(one_of(choices));
}

// "64" or "64x48".
std::pair<std::int64_t, std::int64_t> parse_size(const std::string& text) {
  const auto cross = text.find('x');
  const auto side = [&](const std::string& part) {
    auto copy = part;
    const auto problem = integer_in(1, kLargestSide)(copy);
    if (problem.empty()) return static_cast<std::int64_t>(std::stoll(part));
    throw InputError(fmt::format(
        "--size: expected a side or WIDTHxHEIGHT with sides from 1 to {}, found '{}'",
        kLargestSide, text));
  };
  if (cross == std::string::npos) return {side(text), side(text)};
  return {side(text.substr(0, cross)), side(text.substr(cross + 1))};
}

// Replicas of tables take several values in turn; images have one training.
double only_one(const CLI::App& verb, const std::string& name,
                const std::vector<double>& values, double otherwise) {
  if (!is_given(verb, name)) return otherwise;
  if (values.size() == 1) return values.front();
  throw InputError(
      fmt::format("{}: expected one value for images, found {}", name, values.size()));
}

GlowOptions flow_of(const ImageFitGiven& given) {
  const GlowOptions any_shape;
  auto flow = glow_preset(chosen(glow_preset_names(), given.preset), any_shape.channels,
                          any_shape.height, any_shape.width);
  flow.scales = given.scales.value_or(flow.scales);
  flow.steps = given.steps.value_or(flow.steps);
  flow.dense_channels = given.dense_channels.value_or(flow.dense_channels);
  flow.dense_layers = given.dense_layers.value_or(flow.dense_layers);
  flow.dense_growth = given.dense_growth.value_or(flow.dense_growth);
  if (given.no_activation_norm) flow.activation_norm = false;
  return flow;
}

ImageTrainOptions training_of(const CLI::App& verb, const FitGiven& shared,
                              const ImageFitGiven& given) {
  ImageTrainOptions train;
  const auto& typed = shared.request.train;
  const auto& replicas = shared.request.replicas;
  train.schedule = chosen(schedule_names(), shared.schedule);
  if (!shared.estimator.empty()) {
    train.estimator = chosen(estimator_names(), shared.estimator);
  }
  if (train.estimator == Estimator::pairs) train.dependence_rate = 1;
  if (is_given(verb, "--correlation")) {
    train.correlation = image_correlation(shared.correlation);
  }
  if (is_given(verb, "--epochs")) train.epochs = typed.epochs;
  if (is_given(verb, "--batch-size")) train.batch_size = typed.batch_size;
  train.learning_rate =
      only_one(verb, "--learning-rate", replicas.learning_rates, train.learning_rate);
  train.weight_decay =
      only_one(verb, "--weight-decay", replicas.weight_decays, train.weight_decay);
  train.start = only_one(verb, "--start", replicas.starts, train.start);
  train.dependence_rate = shared.dependence_rate.value_or(train.dependence_rate);
  train.prior = typed.prior;
  train.seed = typed.seed;
  train.clip = given.clip.value_or(train.clip);
  train.recompute = given.recompute;
  train.mirror = given.mirror;
  return train;
}

// By the schedule.
const std::vector<EffectRule<std::string>>& image_fit_rules() {
  const auto unless = [](const std::string& schedule, const std::string& wanted) {
    return schedule == wanted ? "" : "--schedule " + schedule;
  };
  static const std::vector<EffectRule<std::string>> rules = {
      {{"--correlation", "--start", "--prior", "--dependence-rate"},
       "--schedule joint",
       [=](const std::string& schedule) { return unless(schedule, "joint"); }},
      {{"--grid"},
       "--schedule grid",
       [=](const std::string& schedule) { return unless(schedule, "grid"); }},
      {{"--estimator"}, "--schedule joint or grid", [=](const std::string& schedule) {
         return schedule == "baseline" ? "--schedule baseline" : "";
       }}};
  return rules;
}

void check_people(const ImageFitGiven& given) {
  const bool has_ids = !given.data.request.ids.empty();
  if (given.group_by_folder != has_ids) return;
  throw InputError(fmt::format(
      "fit: expected --group-by-folder or --ids FILE with --images, found {}",
      has_ids ? "both" : "neither"));
}

ImageRequest valid_of(const ImageFitGiven& given, const std::string& path,
                      const PrepareOptions& prepare) {
  const bool has_ids = !given.data.request.ids.empty();
  if (path.empty() && given.valid_ids.empty()) return {};
  if (path.empty() || has_ids == given.valid_ids.empty()) {
    throw InputError(
        fmt::format("--valid: expected {}, found {}",
                    path.empty() ? "images beside --valid-ids"
                                 : (has_ids ? "--valid-ids beside it, as --ids is given"
                                            : "no --valid-ids without --ids"),
                    path.empty() || has_ids ? "none" : given.valid_ids));
  }
  auto valid = given.data.resolve(path, prepare);
  valid.ids = absolute(given.valid_ids);
  return valid;
}

// Says what images have in place of a default of tables.
void tell_image_defaults(CLI::App& verb) {
  const ImageTrainOptions train;
  const std::vector<std::pair<std::string, std::string>> defaults = {
      {"--epochs", std::to_string(train.epochs)},
      {"--batch-size", std::to_string(train.batch_size)},
      {"--learning-rate", fmt::format("{}", train.learning_rate)},
      {"--weight-decay", fmt::format("{}", train.weight_decay)},
      {"--start", fmt::format("{}", train.start)},
      {"--estimator", name_of(estimator_names(), train.estimator)},
      {"--grid", fmt::format("{}", fmt::join(ImageFitRequest{}.grid, ","))},
      {"--correlation",
       name_of(image_correlation_names(), train.correlation) +
           ", the blocks being people, else shared or per-latent, one for each channel "
           "of a scale"}};
  for (const auto& [name, value] : defaults) {
    auto* option = verb.get_option(name);
    option->description(
        fmt::format("{}; of images by default {}", option->get_description(), value));
  }
}

}  // namespace

void mark_table_options(CLI::App& verb, const std::set<std::string>& shared) {
  for (auto* option : verb.get_options()) {
    const auto name = option->get_name();
    if (option->get_positional() || name == "--help" || shared.contains(name)) continue;
    option->group(kTableOptions);
  }
}

void check_options_for(const CLI::App& verb, ModelKind kind) {
  const bool for_images = kind == ModelKind::images;
  for (const auto* option : verb.get_options()) {
    if (option->count() == 0) continue;
    if (option->get_group() != (for_images ? kTableOptions : kImageOptions)) continue;
    throw InputError(
        fmt::format("{}: expected {}, found an option for {}", option->get_name(),
                    for_images ? "options for images" : "options for tables",
                    for_images ? "tables" : "images"));
  }
}

void call_by_model_kind(
    const CLI::App& verb, const std::string& run,
    const std::function<void(const std::string& model)>& for_table,
    const std::function<void(const std::string& model)>& for_images) {
  const auto model = model_path_of(run);
  const auto kind = model_kind(model);
  check_options_for(verb, kind);
  (kind == ModelKind::images ? for_images : for_table)(model);
}

void check_picture(const std::string& path, const std::vector<std::string>& inputs,
                   const std::string& option, bool overwrite) {
  if (path.empty()) return;
  if (!lower_case(path).ends_with(".png")) {
    throw InputError(fmt::format("{}: expected a .png file, found {}", option, path));
  }
  check_not_an_input(path, inputs, option);
  require_no_result({path}, overwrite, option);
  require_writable(path);
}

ImageRequest ImagesGiven::resolve(const std::string& path,
                                  const PrepareOptions& prepare) const {
  auto made = request;
  made.path = absolute(path);
  made.ids = absolute(made.ids);
  const auto crop = made.prepare.crop;
  made.prepare = prepare;
  if (crop > 0) made.prepare.crop = crop;
  if (size) std::tie(made.prepare.width, made.prepare.height) = parse_size(*size);
  if (grey) made.prepare.colors = ImageColors::grey;
  if (rgb) made.prepare.colors = ImageColors::rgb;
  return made;
}

void add_images_options(CLI::App& verb, ImagesGiven& given) {
  auto& request = given.request;
  const auto add = [](CLI::Option* option) { return option->group(kImageOptions); };
  add(verb.add_option(
      "--ids", request.ids,
      "Who the images show: a table with a row for each, or .npy integers"));
  add(verb.add_option("--file-column", request.file_column,
                      "Column of --ids with the names of files"));
  add(verb.add_option("--person-column", request.person_column,
                      "Column of --ids with the people"));
  add(verb.add_option("--crop", request.prepare.crop,
                      "Side of a square around the centre to cut out first"))
      ->check(integer_in(1, 1'000'000))
      ->default_str("");
  add(verb.add_option("--size", given.size,
                      "Side, or WIDTHxHEIGHT, to scale images to"));
  add(verb.add_flag("--grey", given.grey, "Make all images grey"));
  add(verb.add_flag("--rgb", given.rgb, "Make all images RGB"));
  add(verb.add_flag("--skip-corrupt", request.skip_corrupt,
                    "Leave out images that cannot be decoded"));
}

void check_images_options(const CLI::App& verb, const ImagesGiven& given,
                          const std::string& path) {
  check_effects(
      verb,
      {needs_option({"--file-column", "--person-column"}, {"--ids"}),
       idle_beside({"--grey"}, "--rgb"), idle_beside({"--valid-fraction"}, "--valid")},
      verb);
  const auto unless_array = [](const std::string& file) {
    return lower_case(file).ends_with(".npy") ? file : "";
  };
  const std::vector<EffectRule<std::string>> of_ids = {
      {{"--file-column", "--person-column"}, "a table of --ids", unless_array}};
  check_effects(verb, of_ids, given.request.ids);
  const std::vector<EffectRule<std::string>> of_images = {
      {{"--file-column"}, "a folder of images", unless_array}};
  check_effects(verb, of_images, path);
}

ImageFitRequest ImageFitGiven::resolve(const CLI::App& verb,
                                       const FitGiven& shared) const {
  check_options_for(verb, ModelKind::images);
  check_images_options(verb, data, shared.request.data.table);
  check_effects(verb, image_fit_rules(), shared.schedule);
  check_people(*this);
  if (is_given(verb, "--flow") && shared.flow != "glow") {
    throw InputError("--flow: expected glow for images, found " + shared.flow);
  }
  PrepareOptions prepare;
  prepare.bits = bits.value_or(prepare.bits);
  const auto& typed = shared.request;
  ImageFitRequest made{.data = data.resolve(typed.data.table, prepare),
                       .valid = {},
                       .valid_fraction = typed.data.valid_fraction,
                       .valid_every = valid_every,
                       .flow = flow_of(*this),
                       .train = training_of(verb, shared, *this),
                       .minutes = minutes,
                       .device = typed.device,
                       .threads = typed.threads};
  made.valid = valid_of(*this, typed.data.valid_table, made.data.prepare);
  if (is_given(verb, "--precision")) {
    if (shared.precision == "float64") {
      throw InputError(
          "--precision: expected float32 or mixed for images, found float64");
    }
    made.precision = chosen(image_precision_names(), shared.precision);
  }
  if (!typed.train.grid.empty()) made.grid = typed.train.grid;
  return with_defaults(made);
}

void add_image_fit_options(CLI::App& verb, FitGiven& shared, ImageFitGiven& given) {
  tell_image_defaults(verb);
  widen(verb, "--flow", shared.flow, {"auto", "spline", "affine", "glow"},
        verb.get_option("--flow")->get_description() + "; glow for images");
  widen(verb, "--precision", shared.precision, {"float32", "float64", "mixed"},
        "Arithmetic of the flow; of images float32 or mixed (default: mixed on a GPU)");
  verb.get_option("table")->description(
      "Training table: .csv, .tsv or .npy; or images, with --images");
  mark_table_options(verb, kShared);
  const auto add = [](CLI::Option* option) { return option->group(kImageOptions); };
  add(verb.add_flag("--images", given.images,
                    "Train on images: a folder, or an .npy array of uint8"));
  add(verb.add_flag("--group-by-folder", given.group_by_folder,
                    "Every person has a folder of images"));
  add_images_options(verb, given.data);
  add(verb.add_option("--valid-ids", given.valid_ids,
                      "As --ids, of the --valid images"));
  add(verb.add_option("--bits", given.bits, "Bits of a pixel (default: 8)"))
      ->check(integer_in(1, 8));
  add(add_choice(verb, "--preset", given.preset, glow_preset_names(),
                 "Network: the paper's, or a lighter one"));
  add(verb.add_option("--scales", given.scales, "Scales of the flow (default: 2)"))
      ->check(integer_in(1, 8));
  add(verb.add_option("--steps", given.steps, "Steps of each scale (default: 12)"))
      ->check(integer_in(1, 1000));
  add(verb.add_option("--dense-channels", given.dense_channels,
                      "Width of the networks' first layers (default: by the preset)"))
      ->check(integer_in(8, 4096));
  add(verb.add_option("--dense-layers", given.dense_layers,
                      "Layers of the networks (default: by the preset)"))
      ->check(integer_in(1, 100));
  add(verb.add_option("--dense-growth", given.dense_growth,
                      "Channels that each layer adds (default: by the preset)"))
      ->check(integer_in(8, 4096));
  add(verb.add_flag("--no-activation-norm", given.no_activation_norm,
                    "No scale and shift of channels before the steps"));
  add(verb.add_option("--clip", given.clip,
                      "Gradients longer than this many times their usual length are "
                      "shortened (default: 5)"))
      ->check(number_in(kSmallestClip, kLargestRate));
  add(verb.add_option("--minutes", given.minutes,
                      "Train fewer epochs where all would take longer"))
      ->check(number_in(kFewestMinutes, kMostMinutes));
  add(verb.add_option("--valid-every", given.valid_every,
                      "Epochs between two validations (default: so many that they take "
                      "less than a tenth of the time)"))
      ->check(integer_in(1, kManySteps))
      ->default_str("");
  add(verb.add_flag("--mirror", given.mirror,
                    "Train on images and their mirror images, left to right"));
  add(verb.add_flag("--recompute", given.recompute,
                    "Need less memory by computing networks twice"));
}

}  // namespace kinflow::cli
