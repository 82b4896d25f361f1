// Models as safetensors files.
#include <fmt/format.h>

#include <algorithm>
#include <cfloat>
#include <functional>
#include <map>
#include <set>

#include "kinflow/array/array.h"
#include "kinflow/array/tensor_file.h"
#include "kinflow/core/error.h"
#include "kinflow/core/in_quotes.h"
#include "kinflow/core/json_reader.h"
#include "kinflow/data/safetensors.h"
#include "kinflow/engine/names.h"
#include "kinflow/engine/valid_score.h"
#include "kinflow/model/model.h"
#include "kinflow/model/model_kind.h"
#include "kinflow/model/standardization_file.h"

namespace kinflow {
namespace {

// Raised when a reader of an older version could misread a file. A model of one member
// without a calibration is of format 1. In format 2 the key `members` counts them;
// where there are several the arrays of the flow and the dependence have a leading
// axis of members. The calibration always has it. In format 3 the key `context_levels`
// has the categories of context columns. In format 4 the key `has_map` says whether
// there are arrays `map.*` of one more flow. In format 5 the key `parts` has the flow
// and the number of members of each part, `map` the flow of all rows where there is
// one, and the names of their arrays begin with `part1.`, `part2.`, ..., `map.`.
// Format 6 is as 5, with flows that have the key `latent_map`, a dependence that has
// the key `latents` (the parameters of each latent), a standardisation with normal
// scores or bounds of columns, or the key `row_parts`, as `parts`, with arrays
// `row_part1.`, ....
constexpr std::int64_t kFormatOfOneMember = 1;
constexpr std::int64_t kFormatOfMembers = 2;
constexpr std::int64_t kFormatOfLevels = 3;
constexpr std::int64_t kFormatOfMap = 4;
constexpr std::int64_t kFormatOfParts = 5;
constexpr std::int64_t kFormatVersion = 6;

std::string prefix_of_part(const char* name, std::size_t part) {
  return fmt::format("{}{}.", name, part + 1);
}

// The shape of an array that every member has.
std::vector<std::int64_t> shape_for(std::int64_t members,
                                    std::vector<std::int64_t> shape) {
  if (members > 1) shape.insert(shape.begin(), members);
  return shape;
}

// Gives every member of a model its dependence parameters.
void read_parameters(const NamedTensors& tensors, const std::string& path,
                     Model& model) {
  const std::string name = "dependence.parameters";
  const auto members = model.members();
  const auto found = tensors.find(name);
  const auto count =
      model.dependence.kind == DependenceKind::blocks || found == tensors.end()
          ? static_cast<std::int64_t>(model.dependence.labels.size()) *
                model.dependence.latents
          : found->second.numel() / members;
  const auto parameters =
      expect_tensor(tensors, name, shape_for(members, {count}), nd::kDouble, path);
  const auto* values = parameters.data_ptr<double>();
  for (std::int64_t member = 0; member < members; ++member) {
    auto learned = model.dependence;
    learned.parameters.assign(values + member * count, values + (member + 1) * count);
    check_parameters(learned, path + ": tensor '" + name + "'");
    if (member > 0) model.further_parameters.push_back(learned.parameters);
  }
  model.dependence.parameters.assign(values, values + count);
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

// What the flow's context is made of: a column for each number, and for each category
// but the first.
CategoryLevels context_levels_from(const JsonReader& json,
                                   const std::vector<std::string>& context_columns,
                                   const std::string& path) {
  CategoryLevels result;
  const auto levels = json.object("context_levels");
  for (const auto& [column, ignored] : levels.json().items()) {
    const auto names = levels.texts(column);
    const bool is_column = std::find(context_columns.begin(), context_columns.end(),
                                     column) != context_columns.end();
    const bool is_ordered = std::adjacent_find(names.begin(), names.end(),
                                               std::greater_equal<>()) == names.end();
    const bool is_text = std::all_of(names.begin(), names.end(), [](const auto& name) {
      return !name.empty() && is_printable_utf8(name);
    });
    if (!is_column || !is_ordered || !is_text || names.size() < 2 ||
        names.size() > kMostLevels) {
      throw InputError(
          fmt::format("{}: key 'context_levels': expected 2 to {} different categories "
                      "in order for a context column, found others for {}",
                      path, kMostLevels, in_quotes(column)));
    }
    result[column] = names;
  }
  return result;
}

// Nothing where the file has none.
std::optional<Calibration> calibration_from(const NamedTensors& tensors,
                                            std::int64_t members, std::int64_t columns,
                                            const std::string& path) {
  if (tensors.count("calibration.mean") == 0 &&
      tensors.count("calibration.deviation") == 0) {
    return {};
  }
  const auto read = [&](const std::string& name) {
    return expect_tensor(tensors, name, {members, columns}, nd::kDouble, path);
  };
  Calibration calibration{.mean = read("calibration.mean"),
                          .deviation = read("calibration.deviation")};
  check_location(calibration.mean, calibration.deviation, "calibration", path);
  return calibration;
}

// @param part  what the names of its arrays begin with, as "flow."
std::unique_ptr<Flow> flow_from(const FlowOptions& options, std::int64_t members,
                                const NamedTensors& tensors, const std::string& part,
                                const std::string& path, nd::Device device,
                                std::optional<nd::ScalarType> arithmetic) {
  // Before a flow of the described size is made, the file must hold as many numbers.
  double stored = 0;
  nd::ScalarType type = nd::kFloat;
  for (const auto& [name, tensor] : tensors) {
    if (!name.starts_with(part)) continue;
    stored += static_cast<double>(tensor.numel());
    type = tensor.scalar_type();
  }
  const double expected = parameter_count(options) * static_cast<double>(members);
  if (stored != expected) {
    throw InputError(
        fmt::format("{}: expected {:.0f} weights of the flow, found {:.0f}", path,
                    expected, stored));
  }
  if (type != nd::kFloat && type != nd::kDouble) {
    throw InputError(path + ": expected weights of type F32 or F64");
  }
  auto flow = std::make_unique<Flow>(
      options, std::vector<std::uint64_t>(static_cast<std::size_t>(members), 0),
      arithmetic.value_or(type), device);
  for (const auto& slot : flow->slots()) {
    const auto values = expect_tensor(tensors, part + slot.name,
                                      shape_for(members, slot.shape), type, path);
    if (!nd::isfinite(values).all().item<bool>()) {
      throw InputError(path + ": tensor '" + part + slot.name +
                       "': expected finite values");
    }
    flow->values()
        .narrow(1, slot.offset, slot.count)
        .copy_(values.reshape({members, slot.count}));
  }
  return flow;
}

struct PartReader {
  const NamedTensors& tensors;
  const std::string& path;
  nd::Device device;
  std::optional<nd::ScalarType> arithmetic;

  std::unique_ptr<Flow> flow(const FlowOptions& options, std::int64_t members,
                             const std::string& prefix) const {
    return flow_from(options, members, tensors, prefix, path, device, arithmetic);
  }
  // @param prefix  of the names of its arrays
  ModelPart part(const FlowOptions& options, std::int64_t members,
                 const std::string& prefix) const {
    ModelPart part{.standardization = standardization_from(
                       tensors, prefix + "standardization", options.dimension, path),
                   .context_standardization = {},
                   .flow = flow(options, members, prefix + "flow.")};
    if (options.context > 0) {
      part.context_standardization = standardization_from(
          tensors, prefix + "context_standardization", options.context, path);
    }
    return part;
  }
};

// The parts, and in formats with one the flow of all rows.
void read_parts(const JsonReader& json, std::int64_t version, const PartReader& reader,
                Model& model) {
  if (version < kFormatOfParts) {
    const auto members = version == kFormatOfOneMember
                             ? std::int64_t{1}
                             : json.integer("members", 1, kLargestEnsemble);
    const auto options = flow_options_from(json.object("flow"));
    model.parts.push_back(reader.part(options, members, ""));
    if (version == kFormatOfMap && json.boolean("has_map")) {
      model.map = model.parts[0].select({0}, reader.device);
      model.map->flow = reader.flow(options, 1, "map.");
    }
    return;
  }
  const auto read = [&](const char* key, const char* name, std::vector<ModelPart>& to) {
    for (const auto& described : json.objects(key)) {
      to.push_back(reader.part(flow_options_from(described.object("flow")),
                               described.integer("members", 1, kLargestEnsemble),
                               prefix_of_part(name, to.size())));
    }
  };
  read("parts", "part", model.parts);
  if (version == kFormatVersion && json.json().contains("row_parts")) {
    read("row_parts", "row_part", model.row_parts);
  }
  if (model.parts.empty() || model.members() > kLargestEnsemble) {
    throw InputError(fmt::format("{}: key 'parts': expected 1 to {} members, found {}",
                                 reader.path, kLargestEnsemble, model.members()));
  }
  if (json.json().contains("map")) {
    model.map = reader.part(flow_options_from(json.object("map")), 1, "map.");
  }
}

void check_dimensions(const Model& model, const std::string& path) {
  const auto context = expanded_names(model.context_columns, model.context_levels);
  const auto check = [&](const ModelPart& part) {
    const auto& options = part.flow->options();
    if (std::ssize(model.columns) == options.dimension &&
        std::ssize(context) == options.context) {
      return;
    }
    throw InputError(path + ": column names do not match the flow's dimension");
  };
  const auto check_bounds = [&](const ModelPart& part) {
    if (part.standardization.bounds == model.bounds()) return;
    throw InputError(path + ": tensors '*.bounds': expected the same in all parts");
  };
  for (const auto* parts : {&model.parts, &model.row_parts}) {
    for (const auto& part : *parts) {
      check(part);
      check_bounds(part);
    }
  }
  if (model.map) {
    check(*model.map);
    check_bounds(*model.map);
  }
  const auto latents = model.dependence.latents;
  if (latents != 1 && latents != std::ssize(model.columns)) {
    throw InputError(fmt::format(
        "{}: key 'dependence.latents': expected 1 or the number of columns, {}, found "
        "{}",
        path, model.columns.size(), latents));
  }
}

// Whether a reader of format 5 would misread the model.
bool is_beyond_parts(const Model& model) {
  const auto is_new = [](const ModelPart& part) {
    const auto& by = part.standardization;
    return part.flow->options().latent_map || !by.scores.empty() || !by.bounds.empty();
  };
  return model.dependence.latents > 1 || !model.row_parts.empty() ||
         std::any_of(model.parts.begin(), model.parts.end(), is_new) ||
         (model.map && is_new(*model.map));
}

}  // namespace

void save_model(const std::string& path, const Model& model) {
  NamedTensors tensors;
  const auto members = model.members();
  const auto add_part = [&](const std::string& prefix, const ModelPart& part) {
    const auto& flow = *part.flow;
    for (const auto& slot : flow.slots()) {
      tensors[prefix + "flow." + slot.name] =
          flow.values()
              .narrow(1, slot.offset, slot.count)
              .reshape(shape_for(flow.replicas(), slot.shape));
    }
    add_standardization(prefix + "standardization", part.standardization, tensors);
    if (!model.context_columns.empty()) {
      add_standardization(prefix + "context_standardization",
                          part.context_standardization, tensors);
    }
  };
  const auto& first = model.parts.at(0);
  const bool is_latest = is_beyond_parts(model);
  const bool has_parts = model.parts.size() > 1 || model.map || is_latest ||
                         first.standardization.decorrelation.defined();
  if (has_parts) {
    for (std::size_t i = 0; i < model.parts.size(); ++i) {
      add_part(prefix_of_part("part", i), model.parts[i]);
    }
    for (std::size_t i = 0; i < model.row_parts.size(); ++i) {
      add_part(prefix_of_part("row_part", i), model.row_parts[i]);
    }
    if (model.map) add_part("map.", *model.map);
  } else {
    add_part("", first);
  }
  if (model.calibration) {
    tensors["calibration.mean"] = model.calibration->mean;
    tensors["calibration.deviation"] = model.calibration->deviation;
  }
  const bool is_plain = members == 1 && !model.calibration;
  const bool has_levels = !model.context_levels.empty() || has_parts;
  auto parameters = model.dependence.parameters;
  for (const auto& further : model.further_parameters) {
    parameters.insert(parameters.end(), further.begin(), further.end());
  }
  tensors["dependence.parameters"] =
      nd::tensor(parameters, nd::kDouble)
          .view(shape_for(members, {static_cast<std::int64_t>(
                                       model.dependence.parameters.size())}));
  nlohmann::json description = {
      {"format_version", is_latest    ? kFormatVersion
                         : has_parts  ? kFormatOfParts
                         : has_levels ? kFormatOfLevels
                         : is_plain   ? kFormatOfOneMember
                                      : kFormatOfMembers},
      {"columns", model.columns},
      {"context_columns", model.context_columns},
      {"dependence", to_json(model.dependence)},
      {"minus_nine",
       {{"meaning", name_of(minus_nine_names(), model.minus_nine.meaning)},
        {"value_columns", model.minus_nine.value_columns}}},
      {"record", model.record}};
  if (has_levels) description["context_levels"] = model.context_levels;
  if (has_parts) {
    const auto describe = [](const std::vector<ModelPart>& parts) {
      auto list = nlohmann::json::array();
      for (const auto& part : parts) {
        list.push_back(
            {{"flow", to_json(part.flow->options())}, {"members", part.members()}});
      }
      return list;
    };
    description["parts"] = describe(model.parts);
    if (!model.row_parts.empty()) description["row_parts"] = describe(model.row_parts);
    if (model.map) description["map"] = to_json(model.map->flow->options());
  } else {
    description["flow"] = to_json(first.flow->options());
    if (!is_plain || has_levels) description["members"] = members;
  }
  save_tensors(path, metadata_of(description), tensors);
}

Model load_model(const std::string& path, nd::Device device,
                 std::optional<nd::ScalarType> arithmetic) {
  const auto [metadata, tensors] = load_tensors(path);
  const auto description =
      read_description(metadata, ModelKind::table, kFormatVersion, path);
  const JsonReader json(description, path);
  const auto version = json.integer("format_version", 1, kFormatVersion);
  Model model{.columns = json.texts("columns"),
              .context_columns = json.texts("context_columns"),
              .parts = {},
              .dependence = learned_dependence_from(json.object("dependence"), path),
              .record = description.value("record", nlohmann::json::object())};
  read_parts(json, version, {tensors, path, device, arithmetic}, model);
  name_scores(model.record);
  model.calibration = calibration_from(tensors, model.members(),
                                       model.parts[0].flow->options().dimension, path);
  if (model.calibration && !model.row_parts.empty()) {
    throw InputError(path + ": expected no calibration beside 'row_parts', found one");
  }
  if (model.calibration && version == kFormatOfOneMember) {
    throw InputError(path + ": expected format 2 with a calibration, found format 1");
  }
  if (description.contains("minus_nine")) {
    const auto rule = json.object("minus_nine");
    model.minus_nine.meaning = rule.one_of("meaning", minus_nine_names());
    model.minus_nine.value_columns = rule.texts("value_columns");
  }
  read_parameters(tensors, path, model);
  check_names(model.columns, model.context_columns, path);
  if (version >= kFormatOfLevels) {
    model.context_levels = context_levels_from(json, model.context_columns, path);
  }
  check_dimensions(model, path);
  return model;
}

}  // namespace kinflow
