// The paper's Figure 1 from the folder of a demo.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "kinflow/array/array.h"
#include "kinflow/core/json_reader.h"
#include "kinflow/data/label_key.h"
#include "kinflow/data/simulate.h"
#include "kinflow/evaluate/likelihood.h"
#include "kinflow/pages/model/compare_page.h"
#include "kinflow/pages/model/density_maps.h"
#include "kinflow/pages/packed_numbers.h"
#include "kinflow/pages/record_lookup.h"
#include "kinflow/pages/repeat_command.h"
#include "kinflow/pages/run_record.h"

namespace kinflow {
namespace {

constexpr std::int64_t kMapCells = 110;
constexpr Range kFigureX{-3.5, 3.5};
constexpr Range kFigureY{-2.0, 3.0};
constexpr int kColouredGroups = 5;

/// One of the demo's fits.
struct DemoRun {
  const char* name;
  const char* title;
  const char* data;
  bool is_adjusted;
};
constexpr std::array kDemoRuns = {
    DemoRun{"one-table-ordinary", "Ordinary flow", "this table alone", false},
    DemoRun{"one-table-adjusted", "Dependence learned", "this table alone", true},
    DemoRun{"baseline", "Ordinary flow", "with validation rows", false},
    DemoRun{"joint", "Dependence learned", "with validation rows", true}};

// Rows of the table in the plane, those of the largest groups marked.
nlohmann::json sample_panel(const TableRows& train) {
  std::unordered_map<std::string, int> size;
  for (const auto& label : train.labels) ++size[label];
  std::vector<std::pair<int, std::string>> largest;
  for (const auto& [label, count] : size) largest.emplace_back(-count, label);
  std::sort(largest.begin(), largest.end());
  std::unordered_map<std::string, int> number;
  for (int i = 0; i < kColouredGroups && i < std::ssize(largest); ++i) {
    number[largest[static_cast<std::size_t>(i)].second] = i + 1;
  }
  const auto rows = train.data.size(0);
  constexpr std::int64_t kShown = 2600;
  const auto step = std::max<std::int64_t>(1, rows / kShown);
  std::vector<double> x, y;
  auto group = nlohmann::json::array();
  double coloured = 0;
  for (std::int64_t i = 0; i < rows; i += step) {
    x.push_back(train.data[i][0].item<double>());
    y.push_back(train.data[i][1].item<double>());
    const auto found = number.find(train.labels[static_cast<std::size_t>(i)]);
    group.push_back(found == number.end() ? 0 : found->second);
    coloured += found != number.end();
  }
  return {{"title", "Dependent sample"},
          {"subtitle",
           fmt::format("{} groups in colour hold {:.0f}% of the rows", kColouredGroups,
                       100 * coloured / static_cast<double>(x.size()))},
          {"rows", {{"x", packed(x)}, {"y", packed(y)}, {"group", group}}}};
}

nlohmann::json recovered_section(const Model& model, const nlohmann::json& truth) {
  const auto rho = found_at(truth, "/rho"), sizes = found_at(truth, "/block_sizes");
  auto groups = nlohmann::json::array();
  double squares = 0;
  const auto correlations = model.dependence.mean_parameters();
  for (std::size_t i = 0; i < model.dependence.labels.size(); ++i) {
    const auto& label = model.dependence.labels[i];
    if (!rho.is_object() || !rho.contains(label) || !rho[label].is_number()) continue;
    const double learned = correlations[i], real = rho[label];
    squares += (learned - real) * (learned - real);
    groups.push_back({{"name", label},
                      {"truth", rounded(real, 4)},
                      {"learned", rounded(learned, 4)},
                      {"size", model.dependence.sizes[i]}});
  }
  if (groups.empty()) return {};
  return {
      {"type", "recovered"},
      {"title", "Learned and true correlations"},
      {"short", "Correlations"},
      {"lead",
       "The rows were simulated, so the correlation within each group is "
       "known. Large groups say more about theirs."},
      {"groups", groups},
      {"caption",
       fmt::format("{} groups with several rows; mean squared error {:.3f}. The fit "
                   "with validation rows.",
                   groups.size(), squares / static_cast<double>(groups.size()))}};
}

void add_demo(const std::string& directory, nlohmann::json& document) {
  const auto text = file_content(directory + "/data/truth.json");
  const auto truth = parse_json(text, "truth.json");
  const auto shape = plane_shape(text_at(truth, "/shape", "abs"));
  const double entropy = number_at(truth, "/entropy_nats");
  const auto train = read_rows(directory + "/data/train.csv",
                               {.columns = {"x1", "x2"}, .group = "group"});
  const auto test = read_rows(directory + "/data/test.csv", {.columns = {"x1", "x2"}});

  const auto real = density_on_grid(
      [&](double x1, double x2) {
        return std::exp(shape_log_density(shape, {.x1 = x1, .x2 = x2}));
      },
      kFigureX, kFigureY, kMapCells);
  const double largest = 1.2 * nearly_largest(real);
  nlohmann::json panels = {{{"title", "True density"},
                            {"subtitle", fmt::format("entropy {:.3f} nats", entropy)},
                            {"map", map_bytes(real, largest)}},
                           sample_panel(train)};
  nlohmann::json compared = {{"type", "compare"},
                             {"title", "How far each fit is from the truth"},
                             {"short", "Scores"},
                             {"score_title", "Mean NLL of 5,000 new, independent rows"},
                             {"score_note", "with 95% intervals; lower is better"},
                             {"runs", nlohmann::json::array()},
                             {"columns",
                              {{{"name", "fit"}, {"text", true}},
                               {{"name", "rows to learn from"}, {"text", true}},
                               {{"name", "test NLL, nats"}, {"decimals", 3}},
                               {{"name", "above the entropy"}, {"decimals", 3}},
                               {{"name", "seconds"}, {"decimals", 1}}}},
                             {"rows", nlohmann::json::array()}};
  nlohmann::json recovered;
  double ordinary = std::nan(""), adjusted = std::nan("");
  for (const auto& run : kDemoRuns) {
    try {
      const auto record = read_run_record(directory + "/" + run.name);
      const auto model = load_model(record.model_path(), nd::kCPU, nd::kDouble);
      const auto scored = evaluate_likelihood(model, test);
      const double above = scored.mean_nll_nats - entropy;
      if (std::string(run.name) == "one-table-ordinary") ordinary = above;
      if (std::string(run.name) == "one-table-adjusted") adjusted = above;
      panels.push_back(
          {{"title", run.title},
           {"subtitle",
            fmt::format("{}, test NLL {:.3f}", run.data, scored.mean_nll_nats)},
           {"map", map_bytes(density_on_grid(model, kFigureX, kFigureY, kMapCells),
                             largest)}});
      const auto name = fmt::format(
          "{}, {}", run.is_adjusted ? "learned" : "ordinary",
          std::string(run.data) == "this table alone" ? "one table" : "two tables");
      compared["runs"].push_back({{"name", name},
                                  {"nll", rounded(scored.mean_nll_nats, 6)},
                                  {"error", rounded(scored.standard_error_nats)}});
      compared["rows"].push_back({run.title, run.data, rounded(scored.mean_nll_nats),
                                  rounded(above, 3),
                                  rounded(number_at(record.record, "/seconds"), 3)});
      if (std::string(run.name) == "joint") recovered = recovered_section(model, truth);
      document["commands"].push_back(
          repeat_fit_command(record.record, record.directory));
    } catch (const std::exception& error) {
      document["watch"].push_back(watch_line(
          "missing", fmt::format("The fit \u2018{}\u2019 cannot be shown: {}", run.name,
                                 error.what())));
    }
  }
  compared["rows"].push_back(
      {"entropy", "no model can do better", rounded(entropy), 0, nullptr});
  document["sections"].push_back(
      {{"type", "maps"},
       {"title", "What dependence does to a flow"},
       {"short", "Figure 1"},
       {"lead",
        "Rows in groups that depend on each other: an ordinary flow takes the "
        "large groups for the shape of the density. With the dependence learned "
        "beside it, the flow finds the true one."},
       {"columns", {"x1", "x2"}},
       {"x", {kFigureX.first, kFigureX.second}},
       {"y", {kFigureY.first, kFigureY.second}},
       {"side", kMapCells},
       {"largest", largest},
       {"panels", panels},
       {"caption",
        "One scale for all; the colour follows the square root of the "
        "density. Figure 1 of the paper."}});
  document["sections"].push_back(std::move(compared));
  if (!recovered.is_null()) document["sections"].push_back(std::move(recovered));
  document["facts"].push_back(
      fact("entropy", fmt::format("{:.3f}", entropy), "nats; no model can do better"));
  if (std::isfinite(ordinary)) {
    document["facts"].push_back(fact("ordinary flow", fmt::format("+{:.3f}", ordinary),
                                     "nats above it, from one table"));
  }
  if (std::isfinite(adjusted)) {
    document["facts"].push_back(fact("dependence learned",
                                     fmt::format("+{:.3f}", adjusted),
                                     "nats above it, from the same table"));
  }
  if (ordinary > 0 && adjusted > 0) {
    const double times = ordinary / adjusted;
    document["words"].push_back(words_under(
        "What this shows",
        {fmt::format(
            "From one table of {} dependent rows, an ordinary flow ends {:.2f} "
            "nats a row above the best that is possible. With the dependence "
            "learned, {:.2f}{}.",
            with_commas(static_cast<double>(train.data.size(0))), ordinary, adjusted,
            times >= 1.5 ? fmt::format(": {:.0f} times nearer", times) : "")}));
    document["words"].push_back(words_under(
        "Why",
        {"A group of many alike rows counts as that many rows for an ordinary flow. It "
         "is worth hardly more than one."}));
  }
}

}  // namespace

bool is_demo(const std::string& directory) {
  std::error_code ignored;
  return std::filesystem::exists(directory + "/teaser.json", ignored);
}

nlohmann::json demo_page(const std::string& directory) {
  auto document = empty_document("kinflow \u00b7 demo",
                                 "What dependence does to a flow, and what to do");
  document["subtitle"] =
      "Simulated rows in groups, fitted as if they were independent, "
      "and with their dependence learned.";
  try {
    add_demo(directory, document);
  } catch (const std::exception& error) {
    document["watch"].push_back(watch_line(
        "missing", std::string("The demo cannot be shown: ") + error.what()));
  }
  document["provenance"].push_back({"folder", directory});
  std::string command = "kinflow demo --out " + shell_word(directory);
  const auto first = read_run_record(directory + "/" + kDemoRuns[0].name);
  const double seed = number_at(first.record, "/request/train/seed");
  if (std::isfinite(seed)) command += fmt::format(" --seed {:.0f}", seed);
  document["commands"].insert(document["commands"].begin(), command);
  return document;
}

}  // namespace kinflow
