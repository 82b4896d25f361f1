// Shares of columns and correlations of shared parts as tables.
#include "kinflow/pages/shared_parts_section.h"

#include <nlohmann/json.hpp>
#include <string>

#include "kinflow/pages/record_lookup.h"

namespace kinflow {
namespace {

nlohmann::json row_of(const std::string& name, const nlohmann::json& estimate,
                      const std::string& key) {
  return {name, found_at(estimate, "/" + key), found_at(estimate, "/low"),
          found_at(estimate, "/high")};
}

nlohmann::json table_of(const std::string& title, const std::string& lead,
                        const std::string& name, const std::string& number,
                        nlohmann::json rows) {
  return {{"type", "table"},
          {"title", title},
          {"lead", lead},
          {"columns",
           {{{"name", name}, {"text", true}},
            {{"name", number}, {"decimals", 3}},
            {{"name", "95% from"}, {"decimals", 3}},
            {{"name", "to"}, {"decimals", 3}}}},
          {"rows", std::move(rows)}};
}

// Shares of columns of normal scores where those of the columns are not known.
nlohmann::json shares_table(const nlohmann::json& way) {
  auto rows = nlohmann::json::array();
  for (const auto& column : found_at(way, "/columns")) {
    const bool is_known = found_at(column, "/share").is_number();
    rows.push_back(
        row_of(text_at(column, "/column") + (is_known ? "" : " (normal scores)"),
               is_known ? column : found_at(column, "/of_normal_scores"), "share"));
  }
  const auto share = text_at(way, "/share");
  return table_of("What rows have in common: " + share,
                  "How much of each column's variance rows have in common, by "
                  "simulation from the model. A column whose variance is that of few "
                  "far values is shown by its normal scores.",
                  "column", share, std::move(rows));
}

nlohmann::json correlations_table(const nlohmann::json& way) {
  auto rows = nlohmann::json::array();
  for (const auto& pair : found_at(way, "/correlations")) {
    rows.push_back(
        row_of(text_at(pair, "/columns/0") + ", " + text_at(pair, "/columns/1"), pair,
               "correlation"));
  }
  if (rows.empty()) return {};
  const auto correlation = text_at(way, "/correlation");
  return table_of("Do columns share it? The " + correlation,
                  "How far what rows have in common in one column goes with what they "
                  "have in common in another: 1 where it is the same, 0 where it is "
                  "unrelated.",
                  "columns", correlation, std::move(rows));
}

}  // namespace

void add_shared_parts_sections(const nlohmann::json& result, nlohmann::json& document) {
  const auto ways = found_at(result, "/shared_parts");
  if (!ways.is_array()) return;
  for (const auto& way : ways) {
    if (!found_at(way, "/columns").is_array()) continue;
    document["sections"].push_back(shares_table(way));
    const auto correlations = correlations_table(way);
    if (!correlations.is_null()) document["sections"].push_back(correlations);
  }
}

}  // namespace kinflow
