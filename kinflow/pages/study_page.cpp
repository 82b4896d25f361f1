// study.json, the report in Markdown, and scores.csv.
#include "kinflow/pages/study_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "kinflow/core/error.h"
#include "kinflow/core/json_reader.h"
#include "kinflow/data/delimited_lines.h"
#include "kinflow/pages/packed_numbers.h"
#include "kinflow/pages/record_lookup.h"
#include "kinflow/pages/repeat_command.h"
#include "kinflow/pages/run_record.h"

namespace kinflow {
namespace {

constexpr std::size_t kMostPanels = 12;

std::vector<std::string> reports_in(const std::string& directory) {
  std::vector<std::string> reports;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    if (entry.path().extension() == ".md") reports.push_back(entry.path().string());
  }
  std::sort(reports.begin(), reports.end());
  return reports;
}

// "blocks-crescent" of "blocks-crescent-4001".
std::string without_seed(const std::string& set) {
  const auto dash = set.rfind('-');
  const bool has_seed =
      dash != std::string::npos && dash + 1 < set.size() &&
      std::all_of(set.begin() + static_cast<std::ptrdiff_t>(dash) + 1, set.end(),
                  [](char c) { return c >= '0' && c <= '9'; });
  return has_seed ? set.substr(0, dash) : set;
}

// Test scores of every method, a panel for each kind of data.
nlohmann::json scores_section(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return {};
  DelimitedLines lines(path);
  const auto& header = lines.header();
  const auto column = [&](const std::string& name) {
    return static_cast<std::size_t>(std::find(header.begin(), header.end(), name) -
                                    header.begin());
  };
  const auto method = column("method"), score = column("test_nll_nats"),
             set = column("set");
  if (std::max(method, score) >= header.size()) return {};
  std::vector<std::string> order;
  std::map<std::string, std::vector<std::string>> methods_of;
  std::map<std::pair<std::string, std::string>, std::vector<double>> values_of;
  while (lines.next()) {
    const auto& cells = lines.cells();
    const double value = cell_number(cells[score]);
    if (!std::isfinite(value)) continue;
    const auto name = set < cells.size() ? without_seed(cells[set]) : std::string();
    if (!methods_of.contains(name)) order.push_back(name);
    auto& methods = methods_of[name];
    if (std::find(methods.begin(), methods.end(), cells[method]) == methods.end()) {
      methods.push_back(cells[method]);
    }
    values_of[{name, cells[method]}].push_back(value);
  }
  auto panels = nlohmann::json::array();
  for (const auto& name : order) {
    if (panels.size() == kMostPanels) break;
    auto methods = nlohmann::json::array();
    for (const auto& one : methods_of[name]) {
      auto values = nlohmann::json::array();
      for (const double value : values_of[{name, one}])
        values.push_back(rounded(value));
      methods.push_back({{"name", one}, {"values", values}});
    }
    panels.push_back({{"title", name}, {"methods", methods}});
  }
  if (panels.empty()) return {};
  return {
      {"type", "scores"},
      {"title", "Every repetition"},
      {"lead", "Grey points are repetitions, blue ones their means. Lower is better."},
      {"label", "test NLL, nats"},
      {"panels", panels}};
}

}  // namespace

bool is_study(const std::string& directory) {
  std::error_code ignored;
  return std::filesystem::exists(directory + "/study.json", ignored) ||
         std::filesystem::exists(directory + "/scores.csv", ignored);
}

nlohmann::json study_page(const std::string& directory) {
  auto document = empty_document("kinflow \u00b7 reproduce", last_name(directory));
  auto& watch = document["watch"];
  std::string experiment;
  try {
    const auto record =
        parse_json(file_content(directory + "/study.json"), "study.json");
    experiment = text_at(record, "/description/experiment");
    document["options"] = flattened(record);
    document["provenance"].push_back(
        {"made by",
         fmt::format("kinflow {} ({})", text_at(record, "/kinflow_version", "?"),
                     text_at(record, "/commit", "?"))});
    std::string command = "kinflow reproduce " + experiment;
    const double seeds = number_at(record, "/description/seeds"),
                 first = number_at(record, "/description/first_seed");
    if (std::isfinite(seeds)) command += fmt::format(" --seeds {:.0f}", seeds);
    if (std::isfinite(first)) command += fmt::format(" --first-seed {:.0f}", first);
    if (flag_at(record, "/description/quick")) {
      command += " --quick";
      watch.push_back(watch_line(
          "warn",
          "A reduced version (--quick): its numbers are not those of the paper."));
    }
    document["commands"] = {command + " --out " + shell_word(directory)};
    document["subtitle"] = experiment;
  } catch (const std::exception& error) {
    watch.push_back(watch_line(
        "missing", std::string("study.json cannot be read: ") + error.what()));
  }
  document["provenance"].push_back({"folder", directory});
  const auto reports = reports_in(directory);
  if (reports.empty()) {
    watch.push_back(watch_line(
        "missing", "There is no report yet. The same command goes on with the study."));
  }
  for (const auto& report : reports) {
    auto blocks = markdown_blocks(file_content(report), directory);
    std::string title = last_name(report);
    if (!blocks.empty() && blocks[0]["kind"] == "heading" &&
        !blocks[0]["text"].empty()) {
      title = blocks[0]["text"][0].value("text", title);
      blocks.erase(0);
    }
    document["sections"].push_back(
        {{"type", "report"}, {"title", title}, {"blocks", blocks}});
  }
  try {
    auto scores = scores_section(directory + "/scores.csv");
    if (!scores.is_null()) document["sections"].push_back(std::move(scores));
  } catch (const InputError& error) {
    watch.push_back(watch_line(
        "missing", std::string("The scores cannot be read: ") + error.what()));
  }
  return document;
}

}  // namespace kinflow
