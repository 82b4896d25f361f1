// Runs beside each other: scores, paired differences, densities on one scale.
#include "kinflow/pages/model/compare_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "kinflow/array/array.h"
#include "kinflow/core/error.h"
#include "kinflow/evaluate/compare_runs.h"
#include "kinflow/pages/model/density_maps.h"
#include "kinflow/pages/model/run_sample.h"
#include "kinflow/pages/packed_numbers.h"
#include "kinflow/pages/record_lookup.h"
#include "kinflow/pages/repeat_command.h"
#include "kinflow/pages/run_record.h"

namespace kinflow {
namespace {

constexpr std::int64_t kSideOfMaps = 100;
constexpr std::size_t kMostMaps = 6;

// Names that tell the runs apart.
std::vector<std::string> names_of(const std::vector<std::string>& paths) {
  std::vector<std::string> names;
  std::map<std::string, int> seen;
  for (const auto& path : paths) ++seen[last_name(path)];
  for (const auto& path : paths) {
    const auto name = last_name(path);
    names.push_back(seen[name] > 1 ? path : name);
  }
  return names;
}

std::string dependence_of(const nlohmann::json& record) {
  std::vector<std::string> parts;
  for (const auto* key : {"group", "components", "time"}) {
    const auto value = text_at(record, std::string("/request/dependence/") + key);
    if (!value.empty()) parts.push_back(last_name(value));
  }
  for (const auto& file : texts_at(record, "/request/dependence/relationships")) {
    parts.push_back(last_name(file));
  }
  const bool is_baseline = text_at(record, "/request/train/schedule") == "baseline";
  return parts.empty() || is_baseline ? "none" : listed(parts);
}

double score_of(const nlohmann::json& record) {
  const double validated = number_at(record, "/result/cross_validation/nll_nats");
  if (std::isfinite(validated)) return validated;
  const double rows = number_at(record, "/result/valid_nll_nats");
  return std::isfinite(rows) ? rows
                             : number_at(record, "/result/valid_weighted_nll_nats");
}

nlohmann::json scores_table(const std::vector<std::string>& names,
                            const std::vector<RunRecord>& runs,
                            const std::vector<std::vector<nlohmann::json>>& more,
                            const nlohmann::json& more_columns,
                            nlohmann::json& section) {
  section["columns"] = {{{"name", "run"}, {"text", true}},
                        {{"name", "dependence"}, {"text", true}},
                        {{"name", "rows"}}};
  for (const auto& column : more_columns) section["columns"].push_back(column);
  section["columns"].push_back({{"name", "seconds"}, {"decimals", 1}});
  auto rows = nlohmann::json::array();
  for (std::size_t i = 0; i < runs.size(); ++i) {
    auto row = nlohmann::json::array(
        {names[i], dependence_of(runs[i].record),
         finite_or_null(number_at(runs[i].record, "/result/train_rows"))});
    for (const auto& cell : more[i]) row.push_back(cell);
    row.push_back(rounded(number_at(runs[i].record, "/seconds"), 3));
    rows.push_back(std::move(row));
  }
  return rows;
}

// Gives the NLL of each run, by the weights of the comparison where there is one.
std::vector<double> add_differences(const std::vector<std::string>& paths,
                                    const std::vector<std::string>& names,
                                    const std::vector<RunRecord>& runs,
                                    nlohmann::json& document) {
  nlohmann::json section = {{"type", "compare"},
                            {"title", "Which run is better"},
                            {"short", "Scores"},
                            {"score_title", "Cross-validated NLL"},
                            {"score_note", "of held-out rows, with 95% intervals"},
                            {"runs", nlohmann::json::array()}};
  std::vector<std::vector<nlohmann::json>> cells(paths.size());
  nlohmann::json columns = {{{"name", "NLL, nats"}, {"decimals", 4}},
                            {{"name", "\u00b1"}, {"decimals", 4}}};
  std::optional<RunComparison> comparison;
  std::vector<double> scores;
  try {
    comparison = compare_runs(paths);
  } catch (const InputError& error) {
    document["watch"].push_back(watch_line(
        "missing", std::string("There are no paired differences: ") + error.what()));
    section["score_title"] = "NLL of held-out rows";
    section["score_note"] =
        "as each run has it; scores of different rows say little "
        "about each other";
  }
  for (std::size_t i = 0; i < paths.size(); ++i) {
    double nll = score_of(runs[i].record),
           error = number_at(runs[i].record, "/result/cross_validation/standard_error");
    nlohmann::json run = {{"name", names[i]}};
    if (comparison) {
      const auto& own = comparison->runs[i];
      nll = own.nll_nats;
      error = own.standard_error;
      run["difference"] = i == 0
                              ? nlohmann::json()
                              : nlohmann::json{rounded(own.difference.mean),
                                               rounded(own.difference.standard_error)};
    }
    scores.push_back(nll);
    run["nll"] = rounded(nll, 6);
    run["error"] = rounded(error);
    cells[i] = {rounded(nll, 5), rounded(error, 2)};
    if (comparison) {
      cells[i].push_back(run["difference"].is_null() ? nlohmann::json()
                                                     : run["difference"][0]);
      cells[i].push_back(run["difference"].is_null() ? nlohmann::json()
                                                     : run["difference"][1]);
    }
    section["runs"].push_back(std::move(run));
  }
  if (comparison) {
    columns.push_back({{"name", "minus the first"}, {"decimals", 4}});
    columns.push_back({{"name", "\u00b1"}, {"decimals", 4}});
    section["caption"] = fmt::format(
        "{} rows in {} units that were held out whole; a row counts by what it is "
        "worth "
        "in {}. A difference beyond two errors is hardly chance.",
        with_commas(static_cast<double>(comparison->rows)),
        with_commas(static_cast<double>(comparison->units)), comparison->weights_of);
    const auto best = std::min_element(
        comparison->runs.begin(), comparison->runs.end(),
        [](const auto& a, const auto& b) { return a.nll_nats < b.nll_nats; });
    const auto place = static_cast<std::size_t>(best - comparison->runs.begin());
    document["words"].push_back(words_under(
        "Which is better",
        {fmt::format("{} describes held-out rows best: {:.3f} \u00b1 {} nats a row.",
                     names[place], best->nll_nats, in_prose(best->standard_error, 2)),
         place == 0 ? std::string("It is the first run.")
                    : fmt::format("Its difference to {} is {} \u00b1 {} nats a row{}.",
                                  names[0], in_prose(best->difference.mean),
                                  in_prose(best->difference.standard_error, 2),
                                  std::abs(best->difference.mean) >
                                          2 * best->difference.standard_error
                                      ? ", hardly chance"
                                      : ", which may be chance")}));
    for (std::size_t i = 0; i < paths.size(); ++i) {
      if (!comparison->runs[i].has_seen_relatives) continue;
      document["watch"].push_back(watch_line(
          "warn", names[i] + " was trained on relatives of the rows that it scores, "
                             "which another run holds out: its NLL is too low. "
                             "--fold-by gives it the same folds."));
    }
  }
  section["rows"] = scores_table(names, runs, cells, columns, section);
  document["sections"].push_back(std::move(section));
  return scores;
}

std::optional<Model> model_of_plane(const RunRecord& run) {
  try {
    auto model = load_model(run.model_path(), nd::kCPU, nd::kDouble);
    if (model.columns.size() == 2 && model.context_columns.empty()) return model;
  } catch (const std::exception&) {
    // The table of scores says what the run is.
  }
  return std::nullopt;
}

/// Panels of densities and rows on one scale.
struct Maps {
  Range x, y;
  std::vector<std::string> columns;
  nlohmann::json panels = nlohmann::json::array();
  std::vector<std::vector<double>> densities;

  void add(const std::string& title, const std::string& subtitle,
           std::vector<double> density) {
    panels.push_back(
        {{"title", title}, {"subtitle", subtitle}, {"which", densities.size()}});
    densities.push_back(std::move(density));
  }
  nlohmann::json section(const std::string& title, double largest) {
    for (auto& panel : panels) {
      if (!panel.contains("which")) continue;
      panel["map"] = map_bytes(densities[panel["which"].get<std::size_t>()], largest);
    }
    return {{"type", "maps"},
            {"title", title},
            {"short", "Densities"},
            {"columns", columns},
            {"x", {x.first, x.second}},
            {"y", {y.first, y.second}},
            {"side", kSideOfMaps},
            {"largest", largest},
            {"panels", panels},
            {"caption",
             "One scale for all. Drag over a part to see it larger in all of "
             "them; the colour follows the square root of the density."}};
  }
};

Range wide_range(Array values) {
  values = std::get<0>(nd::sort(values));
  const auto last = values.size(0) - 1;
  const auto at = [&](double share) {
    return values[static_cast<std::int64_t>(share * static_cast<double>(last))]
        .item<double>();
  };
  const double low = at(0.002), high = at(0.998);
  const double room = high > low ? 0.07 * (high - low) : 1;
  return {low - room, high + room};
}

nlohmann::json packed_column(const Array& rows, std::int64_t column) {
  const auto values = rows.select(1, column).contiguous();
  return packed({values.data_ptr<double>(), static_cast<std::size_t>(values.numel())});
}

void add_maps(const std::vector<std::string>& names, const std::vector<RunRecord>& runs,
              const std::vector<double>& scores, nlohmann::json& document) {
  Maps maps;
  for (std::size_t i = 0; i < runs.size() && maps.densities.size() < kMostMaps; ++i) {
    auto model = model_of_plane(runs[i]);
    if (!model) continue;
    if (maps.columns.empty()) {
      try {
        const auto sample = sample_run(runs[i], *model);
        const auto& data = sample.shown.rows.data;
        maps.x = wide_range(data.select(1, 0));
        maps.y = wide_range(data.select(1, 1));
        const auto some = data.narrow(0, 0, std::min<std::int64_t>(data.size(0), 2200));
        maps.panels.push_back(
            {{"title", "Rows of the table"},
             {"subtitle", with_commas(static_cast<double>(some.size(0))) + " of them"},
             {"rows", {{"x", packed_column(some, 0)}, {"y", packed_column(some, 1)}}}});
      } catch (const std::exception&) {
        return;
      }
      maps.columns = model->columns;
    }
    if (model->columns != maps.columns) continue;
    maps.add(
        names[i],
        std::isfinite(scores[i]) ? fmt::format("NLL {:.3f}", scores[i]) : std::string(),
        density_on_grid(*model, maps.x, maps.y, kSideOfMaps));
  }
  if (maps.densities.size() < 2) return;
  double largest = 0;
  for (const auto& density : maps.densities) {
    largest = std::max(largest, nearly_largest(density));
  }
  document["sections"].push_back(maps.section("What each run has learned", largest));
}

}  // namespace

nlohmann::json compare_page(const std::vector<std::string>& paths) {
  const auto names = names_of(paths);
  auto document = empty_document("kinflow \u00b7 comparison", listed(names, 4));
  std::vector<RunRecord> runs;
  for (const auto& path : paths) {
    runs.push_back(read_run_record(path));
    const auto& run = runs.back();
    if (!run.problem.empty()) {
      document["watch"].push_back(
          watch_line("missing", names[runs.size() - 1] + ": " + run.problem));
    } else if (!run.is_finished()) {
      document["watch"].push_back(watch_line(
          "warn", names[runs.size() - 1] + " is " +
                      text_at(run.record, "/status", "in an unknown state") + "."));
    }
    document["commands"].push_back(repeat_fit_command(run.record, run.directory));
    document["provenance"].push_back(
        {names[runs.size() - 1],
         fmt::format("{}, kinflow {}, table {}", path,
                     text_at(run.record, "/kinflow_version", "?"),
                     text_at(run.record, "/data_hash", "?"))});
  }
  const auto scores = add_differences(paths, names, runs, document);
  add_maps(names, runs, scores, document);
  return document;
}

}  // namespace kinflow
