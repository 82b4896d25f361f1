// Options of a record as they are typed.
#include "kinflow/pages/repeat_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "kinflow/pages/record_lookup.h"

namespace kinflow {
namespace {

/// An option, where its value stands in a record, and values (as JSON) that need not be
/// typed. A value that is no default of this version may be one of another.
struct RecordedOption {
  const char* pointer;
  const char* option;
  std::vector<std::string_view> defaults;
};

std::string as_typed(const nlohmann::json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return value.dump();
  std::string text;
  for (const auto& entry : value) {
    auto one = as_typed(entry);
    if (entry.is_string() && one.find(',') != std::string::npos)
      one = fmt::format("\"{}\"", one);
    if (!text.empty()) text += ',';
    text += one;
  }
  return text;
}

bool is_default(const nlohmann::json& value, const RecordedOption& option) {
  if (value.is_null() || value == "" || value == false) return true;
  if (value.is_array() && value.empty()) return true;
  return std::any_of(option.defaults.begin(), option.defaults.end(),
                     [&](auto text) { return nlohmann::json::parse(text) == value; });
}

std::string typed_options(const nlohmann::json& request,
                          const std::vector<RecordedOption>& options) {
  std::string text;
  for (const auto& option : options) {
    const auto value = found_at(request, option.pointer);
    if (is_default(value, option)) continue;
    text += fmt::format(" {}", option.option);
    if (value != true) text += fmt::format(" {}", shell_word(as_typed(value)));
  }
  return text;
}

const std::vector<RecordedOption> kOfTables = {
    {"/data/valid_table", "--valid", {}},
    {"/data/columns", "--columns", {}},
    {"/data/context", "--context", {}},
    {"/dependence/group", "--group", {}},
    {"/dependence/correlation", "--correlation", {R"("choose")"}},
    {"/dependence/relationships", "--relationship", {}},
    {"/dependence/relationship_ids", "--relationship-ids", {}},
    {"/dependence/relationship_scale", "--relationship-scale", {R"("mean-diagonal")"}},
    {"/dependence/relationship_by_position", "--relationship-by-position", {}},
    {"/dependence/components", "--relationship-pcs", {}},
    {"/dependence/id", "--id", {}},
    {"/dependence/sparsify", "--sparsify", {}},
    {"/dependence/solver", "--solver", {R"("spectral")"}},
    {"/dependence/time", "--time", {}},
    {"/dependence/time_kernel", "--time-kernel", {R"("none")"}},
    {"/dependence/time_decay", "--time-decay", {}},
    {"/dependence/unstructured", "--unstructured", {}},
    {"/data/allow_ties", "--allow-ties", {}},
    {"/data/bounds", "--bounds", {}},
    {"/data/drop_missing", "--drop-missing", {}},
    {"/data/minus_nine", "--minus-nine", {R"("careful")"}},
    {"/data/fold_by", "--fold-by", {}},
    {"/per_fold", "--per-fold", {"2"}},
    {"/normal_scores", "--normal-scores", {R"("choose")"}},
    {"/ensemble", "--ensemble", {"1"}},
    {"/train/estimator", "--estimator", {R"("memory")", R"("hybrid")"}},
    {"/train/epochs", "--epochs", {"100"}},
    {"/train/batch_size", "--batch-size", {"256"}},
    {"/train/prior", "--prior", {"1.0"}},
    {"/train/seed", "--seed", {"0"}},
    {"/replicas/count", "--replicas", {"16", "8", "0"}},
    {"/replicas/learning_rates", "--learning-rate", {"[0.01,0.03]"}},
    {"/replicas/weight_decays", "--weight-decay", {"[0.001,0.01]", "[0.001]"}},
    {"/replicas/starts", "--start", {"[0.3]", "[0.5]"}}};

const std::vector<RecordedOption> kOfFlows = {{"/flow/kind", "--flow", {}},
                                              {"/flow/layers", "--layers", {"3", "8"}},
                                              {"/flow/hidden", "--hidden", {"[64,64]"}},
                                              {"/flow/bins", "--bins", {"16"}}};

const std::vector<RecordedOption> kOfImages = {
    {"/data/ids", "--ids", {}},
    {"/valid/path", "--valid", {}},
    {"/valid/ids", "--valid-ids", {}},
    {"/data/prepare/crop", "--crop", {"0"}},
    {"/data/prepare/bits", "--bits", {"8"}},
    {"/data/skip_corrupt", "--skip-corrupt", {}},
    {"/flow/scales", "--scales", {"2"}},
    {"/flow/steps", "--steps", {"12"}},
    {"/flow/dense_layers", "--dense-layers", {}},
    {"/flow/dense_channels", "--dense-channels", {}},
    {"/flow/dense_growth", "--dense-growth", {}},
    {"/train/schedule", "--schedule", {R"("joint")"}},
    {"/train/correlation", "--correlation", {R"("per-block")"}},
    {"/train/epochs", "--epochs", {"100"}},
    {"/train/batch_size", "--batch-size", {"64"}},
    {"/train/learning_rate", "--learning-rate", {"0.01"}},
    {"/train/weight_decay", "--weight-decay", {"0.001"}},
    {"/train/mirror", "--mirror", {}},
    {"/train/seed", "--seed", {"0"}},
    {"/minutes", "--minutes", {}}};

}  // namespace

std::string shell_word(const std::string& word) {
  static constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

std::string repeat_fit_command(const nlohmann::json& record,
                               const std::string& directory) {
  const auto request = found_at(record, "/request");
  auto text = "kinflow fit " + shell_word(text_at(request, "/data/table", "TABLE"));
  const auto schedule = text_at(request, "/train/schedule", "joint");
  const bool depends = !text_at(request, "/dependence/group").empty() ||
                       !texts_at(request, "/dependence/relationships").empty() ||
                       !text_at(request, "/dependence/components").empty() ||
                       text_at(request, "/dependence/time_kernel", "none") != "none" ||
                       flag_at(request, "/dependence/unstructured");
  if (!depends) text += " --independent";
  if (depends && schedule != "joint") text += " --schedule " + schedule;
  if (schedule == "grid") {
    text += " --grid " + as_typed(found_at(request, "/train/grid"));
  }
  // With a validation table no rows are held out.
  const double folds = number_at(request, "/data/folds", 0);
  if (folds > 0 && text_at(request, "/data/valid_table").empty()) {
    text += fmt::format(" --folds {:.0f}", folds);
  }
  // Affine flows and splits say more than their defaults; the rest follows from these.
  const auto split = text_at(request, "/data/split_by");
  const bool is_usual =
      split.empty() || split == "dependence" || (split == "rows" && !depends);
  if (!is_usual) text += " --split-by " + split;
  text += typed_options(request, kOfTables);
  if (number_at(request, "/train/patience", 30) < 1e9 &&
      number_at(request, "/train/patience", 30) != 30 &&
      number_at(request, "/train/patience") != number_at(request, "/train/epochs")) {
    text += fmt::format(" --patience {:.0f}", number_at(request, "/train/patience"));
  }
  if (!flag_at(request, "/vary_flow")) {
    const bool is_spline = text_at(request, "/flow/kind") == "spline";
    const bool has_valid = !text_at(request, "/data/valid_table").empty();
    if (!(is_spline && has_valid)) {
      text += typed_options(request, {kOfFlows[0]});
    }
    text += typed_options(request, {kOfFlows.begin() + 1, kOfFlows.end() - 1});
    if (is_spline) text += typed_options(request, {kOfFlows.back()});
  }
  const auto per_latent = found_at(request, "/dependence/per_latent");
  if (per_latent == true) text += " --share-per-latent";
  if (per_latent == false && depends) text += " --no-share-per-latent";
  if (found_at(request, "/latent_map") == false) text += " --no-latent-map";
  const bool may_have_row_flows = depends && schedule != "grid" &&
                                  schedule != "baseline" && folds != 1 &&
                                  text_at(request, "/data/valid_table").empty();
  if (may_have_row_flows && found_at(request, "/row_flows") == false) {
    text += " --no-row-flows";
  }
  if (found_at(request, "/standardize") == false) text += " --no-standardize";
  if (found_at(request, "/calibrate") == false) text += " --no-calibrate";
  if (flag_at(request, "/float64")) text += " --precision float64";
  const auto device = text_at(request, "/device", "cpu");
  if (device != "cpu") text += " --device " + device;
  return text + " --out " + shell_word(directory);
}

std::string repeat_image_fit_command(const nlohmann::json& record,
                                     const std::string& directory) {
  const auto request = found_at(record, "/request");
  auto text = "kinflow fit " + shell_word(text_at(request, "/data/path", "IMAGES")) +
              " --images";
  if (text_at(request, "/data/ids").empty()) text += " --group-by-folder";
  text += typed_options(request, kOfImages);
  const auto width = number_at(request, "/data/prepare/width", 0);
  if (width > 0) {
    text += fmt::format(" --size {:.0f}x{:.0f}", width,
                        number_at(request, "/data/prepare/height", 0));
  }
  const auto device = text_at(request, "/device", "cpu");
  if (device != "cpu") text += " --device " + device;
  return text + " --out " + shell_word(directory);
}

}  // namespace kinflow
