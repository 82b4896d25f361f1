// Image models as safetensors files.
#include "kinflow/model/images/image_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "kinflow/array/array.h"
#include "kinflow/array/tensor_file.h"
#include "kinflow/core/error.h"
#include "kinflow/core/json_reader.h"
#include "kinflow/engine/images/image_names.h"
#include "kinflow/model/model_kind.h"

namespace kinflow {
namespace {

// Raised when a reader of an older version could misread a file.
// Latents have correlations of their own in the newest alone.
constexpr std::int64_t kFormatVersion = 3, kFormatWithMean = 2;
constexpr const char* kLatentMean = "latent_mean";
constexpr const char* kParameters = "dependence.parameters";
constexpr const char* kOfLatents = "dependence.latent_correlations";

std::string fixed_name(std::size_t scale) { return fmt::format("fixed.{}", scale); }

// A permutation matrix over signs, of each step: [S, c + 1, c].
void check_fixed(const Array& fixed, const std::string& name, const std::string& path) {
  const auto channels = fixed.size(2);
  const auto permutation = fixed.narrow(1, 0, channels);
  const auto signs = fixed.select(1, channels);
  const bool holds =
      permutation.eq(0).logical_or(permutation.eq(1)).all().item<bool>() &&
      permutation.sum(1).eq(1).all().item<bool>() &&
      permutation.sum(2).eq(1).all().item<bool>() &&
      signs.abs().eq(1).all().item<bool>();
  if (holds) return;
  throw InputError(path + ": tensor '" + name +
                   "': expected permutation matrices and signs");
}

// The layout of a described flow, whose numbers the file must hold before memory is
// spent on it.
GlowLayout checked_layout(const GlowOptions& options, const NamedTensors& tensors,
                          const std::string& path) {
  try {
    glow_scales(options);
  } catch (const InputError& error) {
    throw InputError(path + ": " + error.what());
  }
  GlowLayout layout(options);
  std::int64_t stored = 0;
  for (const auto& [name, tensor] : tensors) {
    if (name.rfind("flow.", 0) == 0) stored += tensor.numel();
  }
  if (stored == layout.count) return layout;
  throw InputError(fmt::format("{}: expected {} weights of the flow, found {}", path,
                               layout.count, stored));
}

Array checked_mean(const GlowOptions& options, const NamedTensors& tensors,
                   const std::string& path) {
  const auto mean =
      expect_tensor(tensors, kLatentMean, {dimension(options)}, nd::kFloat, path);
  if (nd::isfinite(mean).all().item<bool>()) return mean;
  throw InputError(
      fmt::format("{}: tensor '{}': expected finite values", path, kLatentMean));
}

// @param format  in format 1 latents had no mean
std::unique_ptr<GlowFlow> flow_from(const GlowOptions& options, std::int64_t format,
                                    const NamedTensors& tensors,
                                    const std::string& path, nd::Device device) {
  const auto layout = checked_layout(options, tensors, path);
  const auto values = nd::empty({layout.count}, nd::kFloat);
  for (const auto& [name, slot] : layout.named()) {
    const auto part = expect_tensor(tensors, "flow." + name, {slot.rows, slot.columns},
                                    nd::kFloat, path);
    if (!nd::isfinite(part).all().item<bool>()) {
      throw InputError(path + ": tensor 'flow." + name + "': expected finite values");
    }
    values.narrow(0, slot.offset, slot.count()).copy_(part.reshape({-1}));
  }
  std::vector<Array> fixed;
  for (std::size_t scale = 0; scale < layout.scales.size(); ++scale) {
    const auto channels = layout.scales[scale].channels;
    fixed.push_back(expect_tensor(tensors, fixed_name(scale),
                                  {options.steps, channels + 1, channels}, nd::kFloat,
                                  path));
    check_fixed(fixed.back(), fixed_name(scale), path);
  }
  auto flow = std::make_unique<GlowFlow>(options, 0, nd::kFloat, device);
  flow->values().copy_(values);
  flow->set_fixed(fixed);
  if (format >= kFormatWithMean)
    flow->latent_mean().copy_(checked_mean(options, tensors, path));
  return flow;
}

LearnedDependence dependence_from(const JsonReader& json, const NamedTensors& tensors,
                                  const std::string& path) {
  auto learned = learned_dependence_from(json, path);
  if (learned.kind != DependenceKind::independent &&
      learned.kind != DependenceKind::blocks) {
    throw InputError(path + ": key 'dependence.kind': expected independent or blocks");
  }
  const auto count = static_cast<std::int64_t>(learned.labels.size());
  const auto parameters =
      expect_tensor(tensors, kParameters, {count}, nd::kDouble, path);
  const auto* values = parameters.data_ptr<double>();
  learned.parameters.assign(values, values + count);
  check_parameters(learned, path + ": tensor '" + kParameters + "'");
  return learned;
}

std::vector<double> latent_correlations_from(const ImageModel& model,
                                             const NamedTensors& tensors,
                                             const std::string& path) {
  if (model.dependence.kind != DependenceKind::blocks) {
    throw InputError(path +
                     ": key 'dependence.kind': expected blocks beside correlations of "
                     "latents");
  }
  const auto count = latent_groups(model.flow->options()).count();
  const auto found = expect_tensor(tensors, kOfLatents, {count}, nd::kDouble, path);
  const auto* first = found.data_ptr<double>();
  for (std::int64_t i = 0; i < count; ++i) {
    if (first[i] >= 0 && first[i] < 1) continue;
    throw InputError(
        fmt::format("{}: tensor '{}': expected correlations in [0, 1), found {}", path,
                    kOfLatents, first[i]));
  }
  return {first, first + count};
}

std::string shape_text(std::int64_t channels, std::int64_t height, std::int64_t width,
                       std::int64_t bits) {
  return fmt::format("{} images of {} x {} pixels and {} bits",
                     channels == 1 ? "grey" : "RGB", width, height, bits);
}

}  // namespace

std::string ImageModel::summary() const {
  if (latent_correlations.empty()) return dependence.summary();
  const auto [lowest, highest] =
      std::minmax_element(latent_correlations.begin(), latent_correlations.end());
  return fmt::format("{}, {:.4f} to {:.4f} in {} channels of latents",
                     dependence.summary(), *lowest, *highest,
                     latent_correlations.size());
}

double ScaleCorrelations::lowest() const {
  return *std::min_element(correlations.begin(), correlations.end());
}

double ScaleCorrelations::mean() const {
  return std::accumulate(correlations.begin(), correlations.end(), 0.0) /
         static_cast<double>(correlations.size());
}

double ScaleCorrelations::highest() const {
  return *std::max_element(correlations.begin(), correlations.end());
}

std::vector<ScaleCorrelations> correlations_by_scale(const ImageModel& model) {
  std::vector<ScaleCorrelations> found;
  if (model.latent_correlations.empty()) return found;
  auto next = model.latent_correlations.begin();
  for (const auto& scale : latent_scales(model.flow->options())) {
    found.push_back({.scale = scale, .correlations = {next, next + scale.groups}});
    next += scale.groups;
  }
  return found;
}

void save_image_model(const std::string& path, const ImageModel& model) {
  NamedTensors tensors;
  const auto& flow = *model.flow;
  const auto values = flow.values().cpu();
  for (const auto& [name, slot] : flow.layout().named()) {
    tensors["flow." + name] =
        values.narrow(0, slot.offset, slot.count()).view({slot.rows, slot.columns});
  }
  const auto fixed = flow.fixed();
  for (std::size_t scale = 0; scale < fixed.size(); ++scale) {
    tensors[fixed_name(scale)] = fixed[scale];
  }
  tensors[kLatentMean] = flow.latent_mean().cpu();
  tensors[kParameters] = nd::tensor(model.dependence.parameters, nd::kDouble);
  const bool has_own = !model.latent_correlations.empty();
  if (has_own) tensors[kOfLatents] = nd::tensor(model.latent_correlations, nd::kDouble);
  const nlohmann::json description = {
      {"format_version", has_own ? kFormatVersion : kFormatWithMean},
      {"kind", "images"},
      {"flow", to_json(flow.options())},
      {"prepare", to_json(model.prepare)},
      {"dependence", to_json(model.dependence)},
      {"record", model.record}};
  save_tensors(path, metadata_of(description), tensors);
}

ImageModel load_image_model(const std::string& path, nd::Device device) {
  const auto [metadata, tensors] = load_tensors(path);
  const auto description =
      read_description(metadata, ModelKind::images, kFormatVersion, path);
  const JsonReader json(description, path);
  const auto format = json.integer("format_version", 1, kFormatVersion);
  ImageModel model{
      .flow = flow_from(glow_options_from(json.object("flow")), format, tensors, path,
                        device),
      .prepare = prepare_options_from(json.object("prepare")),
      .dependence = dependence_from(json.object("dependence"), tensors, path),
      .record = description.value("record", nlohmann::json::object())};
  if (format == kFormatVersion) {
    model.latent_correlations = latent_correlations_from(model, tensors, path);
  }
  return model;
}

ImageRows rows_of(const ImageSet& set) {
  const auto n = set.images();
  const auto pixels = nd::from_blob(const_cast<std::uint8_t*>(set.pixels.data()),
                                    {n, set.channels, set.height, set.width}, nd::kByte)
                          .clone();
  return {
      .pixels = pixels, .bits = set.bits, .person = nd::tensor(set.person, nd::kLong)};
}

void check_shape(const ImageModel& model, const ImageSet& set,
                 const std::string& path) {
  const auto& flow = model.flow->options();
  const auto expected =
      shape_text(flow.channels, flow.height, flow.width, model.bits());
  const auto found = shape_text(set.channels, set.height, set.width, set.bits);
  if (expected == found) return;
  throw InputError(fmt::format("{}: expected {}, as the model has, found {}", path,
                               expected, found));
}

}  // namespace kinflow
