// results.csv of a sweep.
#include "kinflow/pages/sweep_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "kinflow/core/json_reader.h"
#include "kinflow/data/delimited_lines.h"
#include "kinflow/pages/packed_numbers.h"
#include "kinflow/pages/record_lookup.h"
#include "kinflow/pages/repeat_command.h"
#include "kinflow/pages/run_record.h"

namespace kinflow {
namespace {

constexpr std::size_t kMostRuns = 3000;

// A number where the whole cell is one, nothing where it is empty, else text.
nlohmann::json cell_value(const std::string& cell) {
  if (cell.empty()) return {};
  double value = 0;
  const auto* end = cell.data() + cell.size();
  const auto result = std::from_chars(cell.data(), end, value);
  if (result.ec == std::errc() && result.ptr == end) return rounded(value, 8);
  return cell;
}

struct Results {
  std::vector<std::string> header;
  std::vector<std::vector<nlohmann::json>> rows;
};

Results read_results(const std::string& path) {
  DelimitedLines lines(path);
  Results results{.header = lines.header(), .rows = {}};
  while (lines.next()) {
    auto& row = results.rows.emplace_back();
    for (const auto& cell : lines.cells()) row.push_back(cell_value(cell));
  }
  return results;
}

bool is_score(const std::string& name) { return name.rfind("valid_", 0) == 0; }

/// Runs with one score. Scores of other names are no match for it.
struct ScoredRuns {
  Results results;
  std::size_t score = 0;
};

void drop_other_scores(ScoredRuns& runs) {
  auto& header = runs.results.header;
  for (std::size_t c = header.size(); c-- > 0;) {
    if (c == runs.score || !is_score(header[c])) continue;
    const auto place = static_cast<std::ptrdiff_t>(c);
    header.erase(header.begin() + place);
    for (auto& row : runs.results.rows) row.erase(row.begin() + place);
    runs.score -= c < runs.score;
  }
}

// By every score that some runs have, the one of most runs first. Runs without any
// stand with these.
std::vector<ScoredRuns> runs_by_score(const Results& results) {
  std::vector<ScoredRuns> all;
  for (std::size_t c = 0; c < results.header.size(); ++c) {
    if (!is_score(results.header[c])) continue;
    ScoredRuns runs{.results = {.header = results.header, .rows = {}}, .score = c};
    for (const auto& row : results.rows) {
      if (row[c].is_number()) runs.results.rows.push_back(row);
    }
    if (!runs.results.rows.empty()) all.push_back(std::move(runs));
  }
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return a.results.rows.size() > b.results.rows.size();
  });
  for (const auto& row : results.rows) {
    const bool is_scored = std::any_of(all.begin(), all.end(), [&](const auto& runs) {
      return row[runs.score].is_number();
    });
    if (!is_scored && !all.empty()) all[0].results.rows.push_back(row);
  }
  for (auto& runs : all) drop_other_scores(runs);
  return all;
}

std::string name_of_column(const std::string& name) {
  if (name == "valid_nll_nats") return "validation NLL";
  if (name == "valid_weighted_nll_nats") return "validation NLL, weighted";
  if (name == "typical_parameter") return "typical strength";
  if (name == "best_epoch") return "best epoch";
  if (name == "epochs_done") return "epochs";
  return name;
}

// Columns of the parallel coordinates: options that vary, then the score.
std::vector<std::size_t> axes_of(const Results& results, std::size_t score) {
  static const std::set<std::string> kNoAxes = {"run", "epochs_done", "status",
                                                "best_epoch"};
  std::vector<std::size_t> axes;
  for (std::size_t c = 0; c < results.header.size(); ++c) {
    if (kNoAxes.contains(results.header[c]) || is_score(results.header[c])) continue;
    std::set<nlohmann::json> values;
    for (const auto& row : results.rows) values.insert(row[c]);
    if (values.size() > 1) axes.push_back(c);
  }
  constexpr std::size_t kMostAxes = 9;
  if (axes.size() > kMostAxes) axes.resize(kMostAxes);
  axes.push_back(score);
  return axes;
}

// What every value of an option reaches, over the other options.
nlohmann::json effects_section(const Results& results,
                               const std::vector<std::size_t>& axes,
                               std::size_t score) {
  auto rows = nlohmann::json::array();
  for (const auto c : axes) {
    if (c == score || results.header[c] == "typical_parameter" ||
        results.header[c] == "seed") {
      continue;
    }
    std::map<nlohmann::json, std::vector<double>> scores_of;
    for (const auto& row : results.rows) {
      if (row[score].is_number()) scores_of[row[c]].push_back(row[score]);
    }
    if (scores_of.size() > 20) continue;
    for (auto& [value, scores] : scores_of) {
      std::sort(scores.begin(), scores.end());
      rows.push_back({results.header[c], value, scores.size(), rounded(scores.front()),
                      rounded(scores[scores.size() / 2])});
    }
  }
  if (rows.empty()) return {};
  return {{"type", "table"},
          {"title", "Option by option"},
          {"lead",
           "The best and the median score of all runs with this value of the option."},
          {"columns",
           {{{"name", "option"}, {"text", true}},
            {{"name", "value"}, {"text", true}},
            {{"name", "runs"}},
            {{"name", "best"}, {"decimals", 4}},
            {{"name", "median"}, {"decimals", 4}}}},
          {"rows", rows},
          {"most", 40}};
}

void add_best(const Results& results, std::size_t score, nlohmann::json& document) {
  const std::vector<nlohmann::json>* best = nullptr;
  for (const auto& row : results.rows) {
    if (!row[score].is_number()) continue;
    if (best == nullptr || row[score] < (*best)[score]) best = &row;
  }
  if (best == nullptr) return;
  document["facts"].push_back(fact("best " + name_of_column(results.header[score]),
                                   fmt::format("{:.4f}", (*best)[score].get<double>()),
                                   "nats a row"));
  std::vector<std::string> options;
  for (std::size_t c = 0; c < results.header.size(); ++c) {
    const auto& name = results.header[c];
    if (name == "run" || name == "status" || name == "epochs_done" || is_score(name) ||
        name == "best_epoch" || name == "typical_parameter" || (*best)[c].is_null()) {
      continue;
    }
    options.push_back(name + " " +
                      ((*best)[c].is_string() ? (*best)[c].get<std::string>()
                                              : in_prose((*best)[c].get<double>(), 6)));
  }
  document["words"].push_back(words_under(
      "Which run is best",
      {fmt::format("Run {} has the lowest {}: {}.",
                   (*best)[0].is_number() ? in_prose((*best)[0].get<double>(), 7)
                                          : std::string("?"),
                   name_of_column(results.header[score]), listed(options, 20)),
       "Its score is the lowest of many, and so a little too low: score its model on "
       "rows that have not chosen it."}));
}

// The parallel coordinates and the table of runs with one score, and its options.
void add_scored(ScoredRuns runs, bool is_only_score, nlohmann::json& document) {
  auto& results = runs.results;
  const auto score = runs.score;
  add_best(results, score, document);
  std::string caption =
      "The highest tenth of the scores is drawn at the top of its axis.";
  if (results.rows.size() > kMostRuns) {
    std::stable_sort(results.rows.begin(), results.rows.end(),
                     [&](const auto& a, const auto& b) {
                       if (a[score].is_number() != b[score].is_number()) {
                         return a[score].is_number();
                       }
                       return a[score].is_number() && a[score] < b[score];
                     });
    caption += fmt::format(" The best {} of {} runs are shown.", kMostRuns,
                           results.rows.size());
    results.rows.resize(kMostRuns);
  }
  const auto axes = axes_of(results, score);
  auto columns = nlohmann::json::array();
  for (std::size_t c = 0; c < results.header.size(); ++c) {
    const auto& name = results.header[c];
    columns.push_back(
        {{"name", name_of_column(name)},
         {"digits", 6},
         {"decimals", is_score(name)                ? 4
                      : name == "typical_parameter" ? 3
                                                    : 0},
         {"text", std::any_of(results.rows.begin(), results.rows.end(),
                              [&](const auto& row) { return row[c].is_string(); })}});
  }
  // What came of the options is no option.
  auto outcomes = nlohmann::json::array({score});
  for (const auto c : axes) {
    if (results.header[c] == "typical_parameter") outcomes.push_back(c);
  }
  const auto of_score =
      is_only_score ? "" : ": " + name_of_column(results.header[score]);
  document["sections"].push_back(
      {{"type", "sweep"},
       {"title", "All runs at a glance" + of_score},
       {"short", "Runs"},
       {"lead",
        "Every line is a run: the values of its options from left to right, and "
        "its score at the end. Lower is better."},
       {"columns", columns},
       {"rows", results.rows},
       {"axes", axes},
       {"outcomes", outcomes},
       {"score", score},
       {"caption", caption}});
  if (auto effects = effects_section(results, axes, score); !effects.is_null()) {
    effects["title"] = effects["title"].get<std::string>() + of_score;
    document["sections"].push_back(std::move(effects));
  }
}

void add_runs(const std::string& path, nlohmann::json& document) {
  const auto results = read_results(path);
  auto by_score = runs_by_score(results);
  if (by_score.empty()) {
    throw std::runtime_error("results.csv holds no finished run yet");
  }
  const auto status = static_cast<std::size_t>(
      std::find(results.header.begin(), results.header.end(), "status") -
      results.header.begin());
  double failed = 0;
  for (const auto& row : results.rows) {
    failed += status < row.size() && row[status] != "finished";
  }
  document["facts"].push_back(
      fact("runs", with_commas(static_cast<double>(results.rows.size())),
           failed > 0 ? with_commas(failed) + " failed" : "all finished"));
  if (failed > 0) {
    document["watch"].push_back(
        watch_line("warn", with_commas(failed) + (failed == 1 ? " run" : " runs") +
                               " failed; the table says why."));
  }
  if (by_score.size() > 1) {
    document["watch"].push_back(watch_line(
        "warn",
        "The runs have different scores, which say nothing about each other: held-out "
        "rows that count alike, and held-out rows weighted by what they are worth. "
        "Each "
        "score has a section of its own."));
  }
  for (auto& runs : by_score) {
    add_scored(std::move(runs), by_score.size() == 1, document);
  }
}

}  // namespace

bool is_sweep(const std::string& directory) {
  std::error_code ignored;
  return std::filesystem::exists(directory + "/sweep.json", ignored) ||
         std::filesystem::exists(directory + "/results.csv", ignored);
}

nlohmann::json sweep_page(const std::string& directory) {
  auto document = empty_document("kinflow \u00b7 sweep", last_name(directory));
  try {
    add_runs(directory + "/results.csv", document);
  } catch (const std::exception& error) {
    document["watch"].push_back(watch_line(
        "missing", std::string("The runs cannot be shown: ") + error.what()));
  }
  const auto text = file_content(directory + "/sweep.json");
  try {
    const auto record = parse_json(text, "sweep.json");
    document["options"] = flattened(record);
    const auto version = text_at(record, "/kinflow_version");
    if (!version.empty()) {
      document["provenance"].push_back(
          {"made by",
           fmt::format("kinflow {} ({})", version, text_at(record, "/commit", "?"))});
    }
  } catch (const std::exception& error) {
    document["watch"].push_back(watch_line(
        "missing", std::string("sweep.json cannot be read: ") + error.what()));
  }
  document["provenance"].push_back({"folder", directory});
  document["commands"] = {"kinflow sweep SPEC.json --out " + shell_word(directory)};
  document["provenance_lead"] =
      "SPEC.json is the specification that stands in sweep.json. The best model is in "
      "the folder \u2018best\u2019.";
  return document;
}

}  // namespace kinflow
