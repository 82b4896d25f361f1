// What rows of a group have in common, in terms of the table's columns.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "inspect_parts.h"
#include "kinflow/pages/record_lookup.h"
#include "kinflow/report/text_table.h"

namespace kinflow::cli {
namespace {

constexpr std::size_t kShownRows = 20;
// Shares on the two scales that say different things.
constexpr double kOtherScale = 0.05;

std::string two_places(const nlohmann::json& numbers, const std::string& pointer) {
  const double value = kinflow::number_at(numbers, pointer);
  return std::isfinite(value) ? fmt::format("{:.3f}", value) : "-";
}

std::vector<std::string> with_interval(const std::string& name,
                                       const nlohmann::json& numbers,
                                       const std::string& key) {
  return {name, two_places(numbers, "/" + key), two_places(numbers, "/low"),
          two_places(numbers, "/high")};
}

bool is_list(const nlohmann::json& json, const char* key) {
  return json.is_object() && json.contains(key) && json[key].is_array();
}

void print_table(const TextTable& table, std::size_t shown, std::size_t all) {
  fmt::print("\n{}", table.plain());
  if (all > shown) fmt::print("... and {} more (--json shows all)\n", all - shown);
}

void print_shares(const nlohmann::json& way) {
  const auto& columns = way["columns"];
  const bool with_scores =
      std::any_of(columns.begin(), columns.end(), [](const auto& column) {
        return !(std::abs(kinflow::number_at(column, "/share") -
                          kinflow::number_at(column, "/of_normal_scores/share")) <
                 kOtherScale);
      });
  std::vector<TableColumn> heads = {
      {kinflow::text_at(way, "/share"), Align::kLeft}, {"share"}, {"95% from"}, {"to"}};
  if (with_scores) {
    heads.insert(heads.end(), {{"of normal scores"}, {"95% from"}, {"to"}});
  }
  TextTable table(heads);
  const auto shown = std::min(kShownRows, columns.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const auto name = kinflow::text_at(columns[i], "/column");
    auto row = with_interval(name, columns[i], "share");
    if (with_scores) {
      const auto scores = with_interval(
          name, kinflow::found_at(columns[i], "/of_normal_scores"), "share");
      row.insert(row.end(), scores.begin() + 1, scores.end());
    }
    table.add_row(row);
  }
  print_table(table, shown, columns.size());
  if (std::any_of(columns.begin(), columns.end(), [](const auto& column) {
        return std::isnan(kinflow::number_at(column, "/share"));
      })) {
    fmt::print(
        "-: few far values make up most of the column's variance, so its normal scores "
        "alone are looked at\n");
  }
}

void print_correlations(const nlohmann::json& way) {
  if (!is_list(way, "correlations") || way["correlations"].empty()) return;
  const auto& pairs = way["correlations"];
  TextTable table({{kinflow::text_at(way, "/correlation"), Align::kLeft},
                   {"correlation"},
                   {"95% from"},
                   {"to"}});
  const auto shown = std::min(kShownRows, pairs.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const auto names = kinflow::text_at(pairs[i], "/columns/0") + ", " +
                       kinflow::text_at(pairs[i], "/columns/1");
    table.add_row(with_interval(names, pairs[i], "correlation"));
  }
  print_table(table, shown, pairs.size());
}

}  // namespace

void print_shared_parts(const nlohmann::json& record) {
  if (!is_list(record, "shared_parts")) return;
  for (const auto& way : record["shared_parts"]) {
    if (!is_list(way, "columns") || way["columns"].empty()) continue;
    print_shares(way);
    print_correlations(way);
  }
}

}  // namespace kinflow::cli
