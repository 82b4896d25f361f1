// Parts of what `inspect` shows.
#include "inspect_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "kinflow/core/log.h"
#include "kinflow/data/table.h"
#include "kinflow/engine/names.h"
#include "kinflow/engine/options.h"
#include "kinflow/fit/late_best.h"
#include "kinflow/fit/run_folder.h"
#include "kinflow/report/text_table.h"

namespace kinflow::cli {
namespace {

constexpr std::size_t kShownBlocks = 10;

}  // namespace

nlohmann::json dependence_json(const LearnedDependence& dependence) {
  if (dependence.latents > 1) {
    // The means, and what each latent has of its own.
    auto one = dependence;
    one.latents = 1;
    one.parameters = dependence.mean_parameters();
    auto json = dependence_json(one);
    json["latents"] = nlohmann::json::array();
    for (std::int64_t latent = 0; latent < dependence.latents; ++latent) {
      one.parameters = dependence.parameters_of(latent);
      json["latents"].push_back(dependence_json(one));
    }
    return json;
  }
  nlohmann::json json = {{"kind", name_of(dependence_kind_names(), dependence.kind)}};
  const auto& parameters = dependence.parameters;
  switch (dependence.kind) {
    case DependenceKind::independent:
      break;
    case DependenceKind::blocks:
      json["column"] = dependence.column;
      json["typical_rho"] = dependence.typical_parameter();
      json["blocks"] = nlohmann::json::array();
      for (std::size_t i = 0; i < dependence.labels.size(); ++i) {
        json["blocks"].push_back({{"label", dependence.labels[i]},
                                  {"rows", dependence.sizes[i]},
                                  {"rho", parameters[i]}});
      }
      break;
    case DependenceKind::relationship:
      json["lambda"] = parameters.at(0);
      break;
    case DependenceKind::time:
      json["kernel"] = name_of(time_kernel_names(), dependence.time_kernel);
      json["lambda"] = parameters.at(0);
      json["gamma"] = parameters.at(1);
      break;
    case DependenceKind::sum:
      json["own_share"] = parameters.at(0);
      json["parts"] = nlohmann::json::array();
      for (std::size_t i = 0; i < dependence.parts.size(); ++i) {
        json["parts"].push_back(
            {{"part", dependence.parts[i]}, {"weight", parameters.at(i + 1)}});
      }
      break;
    case DependenceKind::unstructured:
      json["precision_factor"] = parameters;
      break;
  }
  return json;
}

nlohmann::json history_json(const std::string& run, ValidScore score) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(run, ignored)) return nlohmann::json::array();
  const auto table = read_table(RunFolder::open(run).metrics_path());
  auto history = nlohmann::json::array();
  // Runs of before had one name for both scores.
  const auto key = valid_score_key(score);
  const auto& names = table.names();
  const bool is_named = std::find(names.begin(), names.end(), key) != names.end();
  const auto column = is_named ? key : valid_score_key(ValidScore::rows);
  std::vector<std::string> columns = {"epoch", "replica", column, "typical_parameter"};
  // Images, and runs of before, have none.
  const bool has_folds = std::find(names.begin(), names.end(), "fold") != names.end();
  if (has_folds) columns.emplace_back("fold");
  const auto numbers = numeric_matrix(table, columns, {.missing = MissingPolicy::drop});
  for (std::int64_t i = 0; i < numbers.rows; ++i) {
    const auto* row = &numbers.values[static_cast<std::size_t>(i) * columns.size()];
    history.push_back({{"epoch", static_cast<std::int64_t>(row[0])},
                       {"replica", static_cast<std::int64_t>(row[1])},
                       {key, row[2]},
                       {"typical_parameter", row[3]}});
    if (has_folds) history.back()["fold"] = static_cast<std::int64_t>(row[4]);
  }
  return history;
}

std::string text_at(const nlohmann::json& record, const std::string& pointer) {
  const nlohmann::json::json_pointer place(pointer);
  if (!record.contains(place)) return "?";
  const auto& value = record.at(place);
  if (value.is_number_float()) return format_nats(value.get<double>());
  return value.is_string() ? value.get<std::string>() : value.dump();
}

void print_blocks(const LearnedDependence& dependence) {
  std::vector<std::size_t> order(dependence.labels.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return dependence.sizes[a] > dependence.sizes[b];
  });
  const auto correlations = dependence.mean_parameters();
  TextTable table({{"largest blocks", Align::kLeft},
                   {"rows"},
                   {dependence.latents > 1 ? "mean rho of the latents" : "rho"}});
  for (std::size_t i = 0; i < std::min(kShownBlocks, order.size()); ++i) {
    table.add_row({dependence.labels[order[i]],
                   std::to_string(dependence.sizes[order[i]]),
                   fmt::format("{:.4f}", correlations[order[i]])});
  }
  fmt::print("\n{}", table.plain());
  if (order.size() > kShownBlocks) {
    fmt::print("... and {} more (--json shows all)\n", order.size() - kShownBlocks);
  }
}

void print_history(const std::string& run, ValidScore score) {
  const auto history = history_json(run, score);
  if (history.empty()) return;
  TextTable epochs({{"epoch"},
                    {"fold"},
                    {"replica"},
                    {valid_score_label(score)},
                    {"typical parameter"}});
  const std::size_t stride = std::max<std::size_t>(1, history.size() / 10);
  for (std::size_t i = 0; i < history.size(); i += stride) {
    const auto& row = history[i];
    epochs.add_row({row["epoch"].dump(), std::to_string(row.value("fold", 1)),
                    row["replica"].dump(),
                    fmt::format("{:.4f}", row[valid_score_key(score)].get<double>()),
                    fmt::format("{:.4f}", row["typical_parameter"].get<double>())});
  }
  fmt::print("\n{}", epochs.plain());
}

std::string late_best_line(const nlohmann::json& record) {
  const auto at = [&](const std::string& pointer, std::int64_t otherwise) {
    const nlohmann::json::json_pointer place(pointer);
    if (!record.contains(place) || !record.at(place).is_number_integer()) {
      return otherwise;
    }
    return record.at(place).get<std::int64_t>();
  };
  return late_best_hint(at("/best_epoch", 0), at("/request/train/epochs", kManySteps),
                        at("/request/train/patience", kManySteps));
}

}  // namespace kinflow::cli
