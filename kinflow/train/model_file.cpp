// Models as safetensors files.
#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <cfloat>
#include <map>
#include <set>

#include "kinflow/core/error.h"
#include "kinflow/core/json_reader.h"
#include "kinflow/data/in_quotes.h"
#include "kinflow/data/safetensors.h"
#include "kinflow/train/model.h"
#include "kinflow/train/names.h"
#include "kinflow/train/tensor_file.h"

namespace kinflow {
namespace {

// Raised when a reader of an older version could misread a file.
constexpr std::int64_t kFormatVersion = 1;
constexpr const char* kMetadataKey = "kinflow";

nlohmann::json describe(const LearnedDependence& dependence) {
  return {{"kind", name_of(dependence_kind_names(), dependence.kind)},
          {"column", dependence.column},
          {"labels", dependence.labels},
          {"sizes", dependence.sizes},
          {"time_kernel", name_of(time_kernel_names(), dependence.time_kernel)},
          {"time_decay", dependence.time_decay},
          {"parts", dependence.parts}};
}

LearnedDependence dependence_from(const JsonReader& json, const std::string& path,
                                  const NamedTensors& tensors) {
  LearnedDependence learned{
      .kind = json.one_of("kind", dependence_kind_names()),
      .column = json.text("column"),
      .labels = json.texts("labels"),
      .sizes = json.integers("sizes", 2, INT64_MAX),
      .time_kernel = json.one_of("time_kernel", time_kernel_names()),
      .time_decay = json.number("time_decay", 0, DBL_MAX),
      .parts = json.texts("parts")};
  const auto labels = static_cast<std::int64_t>(learned.labels.size());
  const bool blocks = learned.kind == DependenceKind::blocks;
  if (learned.sizes.size() != (blocks ? learned.labels.size() : 0)) {
    throw InputError(path + ": key 'dependence.sizes': expected one for each label");
  }
  const auto found = tensors.find("dependence.parameters");
  const std::int64_t count =
      blocks || found == tensors.end() ? labels : found->second.numel();
  const auto parameters =
      expect_tensor(tensors, "dependence.parameters", {count}, at::kDouble, path);
  const auto* values = parameters.data_ptr<double>();
  learned.parameters.assign(values, values + count);
  check_parameters(learned, path + ": tensor 'dependence.parameters'");
  return learned;
}

// Names of columns: text that fits into the header of a table, each once.
void check_names(const std::vector<std::string>& columns,
                 const std::vector<std::string>& context_columns,
                 const std::string& path) {
  std::set<std::string> seen;
  for (const auto& names : {columns, context_columns}) {
    for (const auto& name : names) {
      if (!name.empty() && is_printable_utf8(name) && seen.insert(name).second)
        continue;
      throw InputError(path + ": expected different names of columns, found " +
                       in_quotes(name));
    }
  }
}

Standardization standardization_from(const NamedTensors& tensors,
                                     const std::string& name, std::int64_t columns,
                                     const std::string& path) {
  Standardization standardization{
      .mean = expect_tensor(tensors, name + ".mean", {columns}, at::kDouble, path),
      .deviation =
          expect_tensor(tensors, name + ".deviation", {columns}, at::kDouble, path)};
  if (!standardization.deviation.gt(0).all().item<bool>() ||
      !at::isfinite(standardization.mean + standardization.deviation)
           .all()
           .item<bool>()) {
    throw InputError(path + ": tensors '" + name +
                     ".*': expected finite means and positive deviations");
  }
  return standardization;
}

std::unique_ptr<Flow> flow_from(const FlowOptions& options, const NamedTensors& tensors,
                                const std::string& path, at::Device device,
                                std::optional<at::ScalarType> arithmetic) {
  // Before a flow of the described size is made, the file must hold as many numbers.
  double stored = 0;
  at::ScalarType type = at::kFloat;
  for (const auto& [name, tensor] : tensors) {
    if (name.rfind("flow.", 0) != 0) continue;
    stored += static_cast<double>(tensor.numel());
    type = tensor.scalar_type();
  }
  if (stored != parameter_count(options)) {
    throw InputError(
        fmt::format("{}: expected {:.0f} weights of the flow, found {:.0f}", path,
                    parameter_count(options), stored));
  }
  if (type != at::kFloat && type != at::kDouble) {
    throw InputError(path + ": expected weights of type F32 or F64");
  }
  auto flow = std::make_unique<Flow>(options, std::vector<std::uint64_t>{0},
                                     arithmetic.value_or(type), device);
  const c10::NoGradGuard no_grad;
  for (const auto& slot : flow->slots()) {
    const auto values =
        expect_tensor(tensors, "flow." + slot.name, slot.shape, type, path);
    if (!at::isfinite(values).all().item<bool>()) {
      throw InputError(path + ": tensor 'flow." + slot.name +
                       "': expected finite values");
    }
    flow->values().narrow(1, slot.offset, slot.count).copy_(values.reshape({1, -1}));
  }
  return flow;
}

}  // namespace

void save_model(const std::string& path, const Model& model) {
  NamedTensors tensors;
  const c10::NoGradGuard no_grad;
  for (const auto& slot : model.flow->slots()) {
    tensors["flow." + slot.name] =
        model.flow->values()[0].narrow(0, slot.offset, slot.count).view(slot.shape);
  }
  const auto add = [&](const std::string& name,
                       const Standardization& standardization) {
    tensors[name + ".mean"] = standardization.mean;
    tensors[name + ".deviation"] = standardization.deviation;
  };
  add("standardization", model.standardization);
  if (!model.context_columns.empty()) {
    add("context_standardization", model.context_standardization);
  }
  tensors["dependence.parameters"] =
      at::tensor(model.dependence.parameters, at::kDouble);
  const nlohmann::json description = {{"format_version", kFormatVersion},
                                      {"columns", model.columns},
                                      {"context_columns", model.context_columns},
                                      {"flow", to_json(model.flow->options())},
                                      {"dependence", describe(model.dependence)},
                                      {"record", model.record}};
  save_tensors(path, {{kMetadataKey, description.dump()}}, tensors);
}

Model load_model(const std::string& path, at::Device device,
                 std::optional<at::ScalarType> arithmetic) {
  const auto [metadata, tensors] = load_tensors(path);
  const auto text = metadata.find(kMetadataKey);
  if (text == metadata.end()) {
    throw InputError(path +
                     ": expected a kinflow model, found a safetensors file of "
                     "something else");
  }
  const auto description = parse_json(text->second, path);
  const JsonReader json(description, path);
  const auto version = json.integer("format_version", 1, INT64_MAX);
  if (version > kFormatVersion) {
    throw InputError(fmt::format(
        "{}: written by a newer kinflow (format {}, this one reads up to {})", path,
        version, kFormatVersion));
  }
  const auto options = flow_options_from(json.object("flow"));
  Model model{.columns = json.texts("columns"),
              .context_columns = json.texts("context_columns"),
              .standardization = standardization_from(tensors, "standardization",
                                                      options.dimension, path),
              .context_standardization = {},
              .flow = flow_from(options, tensors, path, device, arithmetic),
              .dependence = dependence_from(json.object("dependence"), path, tensors),
              .record = description.value("record", nlohmann::json::object())};
  check_names(model.columns, model.context_columns, path);
  if (static_cast<std::int64_t>(model.columns.size()) != options.dimension ||
      static_cast<std::int64_t>(model.context_columns.size()) != options.context) {
    throw InputError(path + ": column names do not match the flow's dimension");
  }
  if (options.context > 0) {
    model.context_standardization =
        standardization_from(tensors, "context_standardization", options.context, path);
  }
  return model;
}

}  // namespace kinflow
