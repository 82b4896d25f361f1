// Sections as panels of a figure.
#include "kinflow/pages/page_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "kinflow/core/atomic_file.h"
#include "kinflow/core/output_folder.h"
#include "kinflow/pages/packed_numbers.h"
#include "kinflow/report/color.h"
#include "kinflow/report/svg_figure.h"

namespace kinflow {
namespace {

using nlohmann::json;

// The colours of the page's script.
constexpr Color kModelBlue{0, 114, 178};
constexpr Color kSecondOrange{213, 94, 0};
constexpr Color kLightBlue{86, 167, 216};
constexpr Color kFaintGrey{134, 141, 151};

std::vector<double> numbers(const json& list) {
  std::vector<double> values;
  for (const auto& value : list) {
    values.push_back(value.is_number() ? value.get<double>() : std::nan(""));
  }
  return values;
}

Limits limits(const json& pair) {
  return {pair[0].get<double>(), pair[1].get<double>()};
}

// A map as densities again.
HeatMap heat_map(const json& map, const json& section) {
  const std::size_t side = section["side"];
  HeatMap heat{.density = {.x = limits(section["x"]),
                           .y = limits(section["y"]),
                           .rows = side,
                           .columns = side},
               .maximum = 1};
  for (const auto byte : unpacked_bytes(map))
    heat.density.values.push_back(byte / 255.0);
  return heat;
}

Series diagonal(double low, double high) {
  return {.x = {low, high}, .y = {low, high}, .color = kFaintGrey, .line_width = 0.7};
}

PageFigure density(const json& s) {
  PageFigure figure{.options = {.columns = 2, .panel_width = 230, .panel_height = 210}};
  for (const auto& [key, title, note] :
       {std::tuple{"rows", "The rows of the table", "rows_note"},
        std::tuple{"draws", "Draws from the model", "draws_note"}}) {
    figure.panels.push_back(
        {.title = title,
         .subtitle = s[note],
         .x_label = s["columns"][0],
         .y_label = s["columns"][1],
         .x = limits(s["x"]),
         .y = limits(s["y"]),
         .layers = {heat_map(s["map"], s), Points{.x = unpacked(s[key]["x"]),
                                                  .y = unpacked(s[key]["y"]),
                                                  .radius = 0.6,
                                                  .alpha = 0.4}}});
  }
  return figure;
}

// Rows below the diagonal and draws above it, of the first columns.
PageFigure pairs(const json& s) {
  constexpr std::size_t kMost = 4;
  const auto count = std::min<std::size_t>(s["columns"].size(), kMost);
  PageFigure figure{.options = {.columns = static_cast<int>(count),
                                .panel_width = 110,
                                .panel_height = 95}};
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < count; ++j) {
      Panel panel{.x_label = s["columns"][j], .y_label = s["columns"][i]};
      if (i == j) {
        const auto& marginal = s["marginals"][i];
        const double low = marginal["low"], high = marginal["high"];
        for (const auto& [key, color] :
             {std::pair{"rows", kFaintGrey}, std::pair{"draws", kModelBlue}}) {
          const auto heights = numbers(marginal[key]);
          Series steps{.color = color, .line_width = 1};
          for (std::size_t k = 0; k < heights.size(); ++k) {
            const double step = (high - low) / static_cast<double>(heights.size());
            for (const std::size_t end : {k, k + 1}) {
              steps.x.push_back(low + step * static_cast<double>(end));
              steps.y.push_back(heights[k]);
            }
          }
          panel.layers.emplace_back(std::move(steps));
        }
        panel.y_label.clear();
        panel.tick_labels_y = false;
      } else {
        const bool of_rows = i > j;
        panel.x = limits(s["ranges"][j]);
        panel.y = limits(s["ranges"][i]);
        panel.layers = {Points{.x = unpacked(s[of_rows ? "rows" : "draws"][j]),
                               .y = unpacked(s[of_rows ? "rows" : "draws"][i]),
                               .color = of_rows ? kInk : kModelBlue,
                               .radius = 0.6,
                               .alpha = 0.5}};
      }
      figure.panels.push_back(std::move(panel));
    }
  }
  return figure;
}

PageFigure latents(const json& s) {
  // The latents as they are above those without the dependence.
  const auto columns = std::min<std::size_t>(s["names"].size(), 3);
  PageFigure figure{.options = {.columns = static_cast<int>(columns),
                                .panel_width = 160,
                                .panel_height = 150}};
  for (const auto& [key, what] :
       {std::pair{"before", "as the flow gives it"},
        std::pair{"after", "with the dependence taken out"}}) {
    if (!s.contains(key)) continue;
    const auto& set = s[key];
    const auto normal = numbers(set["normal"]);
    for (std::size_t i = 0; i < s["names"].size(); ++i) {
      figure.panels.push_back({.title = s["names"][i],
                               .subtitle = what,
                               .x_label = "normal quantile",
                               .y_label = "latent",
                               .x = Limits{-4, 4},
                               .y = Limits{-4, 4},
                               .layers = {Band{.x = normal,
                                               .low = numbers(set["low"]),
                                               .high = numbers(set["high"])},
                                          diagonal(-4, 4),
                                          Points{.x = normal,
                                                 .y = numbers(set["quantiles"][i]),
                                                 .color = kModelBlue,
                                                 .radius = 1.4}}});
    }
  }
  return figure;
}

PageFigure adjusted(const json& s) {
  Panel panel{.title = "Pairs of rows",
              .x_label = "correlation of two rows under the model",
              .y_label = "mean product of their latents"};
  std::vector<double> model;
  for (const auto& bin : s["bins"]) model.push_back(bin["model"].get<double>());
  const double top = *std::max_element(model.begin(), model.end());
  panel.layers.emplace_back(
      Series{.x = {0, top}, .y = {0, top}, .color = kSecondOrange, .dashed = true});
  for (const auto& [key, name, color] :
       {std::tuple{"before", "latents", kSecondOrange},
        std::tuple{"after", "dependence taken out", kModelBlue}}) {
    Points points{.name = name, .x = model, .color = color, .radius = 2.4};
    Intervals errors{.x = model, .color = color};
    for (const auto& bin : s["bins"]) {
      const double value = bin[key];
      const auto& error = bin[std::string(key) + "_error"];
      const double half = error.is_number() ? 1.96 * error.get<double>() : std::nan("");
      points.y.push_back(value);
      errors.low.push_back(value - half);
      errors.high.push_back(value + half);
    }
    panel.layers.emplace_back(std::move(errors));
    panel.layers.emplace_back(std::move(points));
  }
  return {.panels = {std::move(panel)},
          .options = {.columns = 1, .panel_width = 260, .panel_height = 200}};
}

PageFigure groups(const json& s) {
  Points points{.color = kModelBlue, .radius = 2, .alpha = 0.8};
  Intervals errors{.color = kFaintGrey, .line_width = 0.6, .cap_width = 0};
  for (const auto& group : s["groups"]) {
    points.x.push_back(std::log10(group["size"].get<double>()));
    points.y.push_back(group["rho"].get<double>());
    errors.x.push_back(points.x.back());
    const bool is_known = group["low"].is_number() && group["high"].is_number();
    errors.low.push_back(is_known ? group["low"].get<double>() : std::nan(""));
    errors.high.push_back(is_known ? group["high"].get<double>() : std::nan(""));
  }
  return {.panels = {{.title = s["title"],
                      .x_label = "rows of the group, log10",
                      .y_label = "learned correlation",
                      .y = Limits{-0.03, 1.03},
                      .layers = {errors, points}}},
          .options = {.columns = 1, .panel_width = 420, .panel_height = 190}};
}

PageFigure latents_strength(const json& s) {
  Points points{.color = kModelBlue, .radius = 2};
  Intervals errors{.color = kModelBlue};
  Ticks ticks;
  for (const auto& latent : s["latents"]) {
    points.x.push_back(static_cast<double>(points.x.size() + 1));
    points.y.push_back(latent["value"].get<double>());
    errors.x.push_back(points.x.back());
    const bool is_known = latent["low"].is_number() && latent["high"].is_number();
    errors.low.push_back(is_known ? latent["low"].get<double>() : std::nan(""));
    errors.high.push_back(is_known ? latent["high"].get<double>() : std::nan(""));
    ticks.positions.push_back(points.x.back());
    ticks.labels.push_back(latent["name"]);
  }
  const auto count = static_cast<double>(points.x.size());
  return {.panels = {{.title = s["title"],
                      .x_label = "latent",
                      .y_label = s["parameter"],
                      .x = Limits{0.5, count + 0.5},
                      .y = Limits{0, 1},
                      .x_ticks = ticks,
                      .layers = {errors, points}}},
          .options = {.columns = 1, .panel_width = 320, .panel_height = 180}};
}

PageFigure likelihood(const json& s) {
  return {.panels = {{.title = s["title"],
                      .x_label = s["parameter"],
                      .y_label = "log-likelihood less its maximum",
                      .y = Limits{-30, 1},
                      .layers = {Series{.x = numbers(s["at"]),
                                        .y = numbers(s["log_likelihood"]),
                                        .color = kModelBlue}}}},
          .options = {.columns = 1, .panel_width = 320, .panel_height = 180}};
}

PageFigure curves(const json& s) {
  Panel panel{.title = s["title"], .x_label = "epoch", .y_label = s["score_label"]};
  double low = 1e300, high = -1e300;
  for (const bool is_member : {false, true}) {
    for (const auto& one : s["series"]) {
      if (one["member"] != is_member) continue;
      auto values = numbers(one["score"]);
      panel.layers.emplace_back(
          Series{.x = numbers(one["epoch"]),
                 .y = values,
                 .color = is_member ? category_color(one["fold"].get<std::size_t>() - 1)
                                    : kRest,
                 .line_width = is_member ? 1.2 : 0.5});
      if (!is_member) continue;
      std::erase_if(values, [](double value) { return !std::isfinite(value); });
      if (values.empty()) continue;
      std::sort(values.begin(), values.end());
      low = std::min(low, values.front());
      high = std::max(high, values[static_cast<std::size_t>(
                                0.95 * static_cast<double>(values.size() - 1))]);
    }
  }
  if (panel.layers.empty()) return {};
  if (low < high)
    panel.y = Limits{low - 0.06 * (high - low), high + 0.06 * (high - low)};
  return {.panels = {std::move(panel)},
          .options = {.columns = 1, .panel_width = 420, .panel_height = 220}};
}

PageFigure manhattan(const json& s) {
  const auto bytes = unpacked_bytes(s["cells"]);
  // Chromosomes take turns.
  std::array<Points, 2> cells, top;
  for (const std::size_t turn : {0, 1}) {
    cells[turn] = {.color = turn == 0 ? kModelBlue : kLightBlue, .radius = 0.6};
    top[turn] = {.color = cells[turn].color, .radius = 0.9};
  }
  Points loci{.color = kSecondOrange, .radius = 2.4};
  std::vector<double> starts;
  for (const auto& one : s["chromosomes"]) starts.push_back(one["start"]);
  const double width = s["cell_width"], height = s["cell_height"];
  for (std::size_t i = 0; i + 3 < bytes.size(); i += 4) {
    const double x = (bytes[i] + 256.0 * bytes[i + 1]) * width;
    const auto next = std::upper_bound(starts.begin(), starts.end(), x);
    auto& own = cells[static_cast<std::size_t>(next - starts.begin() + 1) % 2];
    own.x.push_back(x);
    own.y.push_back((bytes[i + 2] + 256.0 * bytes[i + 3] + 0.5) * height);
  }
  Ticks ticks;
  const auto start_of = [&](const json& one) {
    return s["chromosomes"][one["chromosome"].get<std::size_t>()]["start"]
               .get<double>() +
           one["position"].get<double>();
  };
  for (const auto& one : s["chromosomes"]) {
    ticks.positions.push_back(one["start"].get<double>() +
                              one["length"].get<double>() / 2);
    ticks.labels.push_back(one["name"]);
  }
  for (const auto& one : s["top"]) {
    auto& own = top[one["chromosome"].get<std::size_t>() % 2];
    own.x.push_back(start_of(one));
    own.y.push_back(one["log10_p"]);
  }
  for (const auto& one : s["loci"]) {
    loci.x.push_back(start_of(one));
    loci.y.push_back(one["log10_p"]);
  }
  const auto& end = s["chromosomes"].back();
  const double span = end["start"].get<double>() + end["length"].get<double>();
  const double threshold = s["threshold_log10"];
  return {.panels = {{.title = s["title"],
                      .x_label = "chromosome",
                      .y_label = "-log10 p",
                      .x = Limits{0, span},
                      .x_ticks = ticks,
                      .layers = {cells[0], cells[1], top[0], top[1],
                                 Series{.x = {0, span},
                                        .y = {threshold, threshold},
                                        .color = kSecondOrange,
                                        .line_width = 0.7,
                                        .dashed = true},
                                 loci}}},
          .options = {.columns = 1, .panel_width = 620, .panel_height = 230}};
}

PageFigure quantiles(const json& s) {
  PageFigure figure{.options = {.columns = 2, .panel_width = 210, .panel_height = 190}};
  for (const auto& method : s["methods"]) {
    // From the largest p-value on.
    const auto ascending = [](std::vector<double> values) {
      std::reverse(values.begin(), values.end());
      return values;
    };
    const auto expected = ascending(numbers(method["expected"]));
    figure.panels.push_back(
        {.title = method["title"],
         .subtitle = method["subtitle"],
         .x_label = "-log10 p by chance",
         .y_label = "-log10 p",
         .layers = {Band{.x = expected,
                         .low = ascending(numbers(method["low"])),
                         .high = ascending(numbers(method["high"]))},
                    diagonal(0, expected.back()),
                    Points{.x = expected,
                           .y = ascending(numbers(method["observed"])),
                           .color = kModelBlue,
                           .radius = 1.3}}});
  }
  return figure;
}

PageFigure maps(const json& s) {
  PageFigure figure{.options = {.columns = 3, .panel_width = 165, .panel_height = 150}};
  for (const auto& one : s["panels"]) {
    Panel panel{.title = one["title"],
                .subtitle = one.value("subtitle", ""),
                .x_label = s["columns"][0],
                .y_label = s["columns"][1],
                .x = limits(s["x"]),
                .y = limits(s["y"])};
    if (one.contains("map")) panel.layers.emplace_back(heat_map(one["map"], s));
    if (one.contains("rows")) {
      const auto x = unpacked(one["rows"]["x"]), y = unpacked(one["rows"]["y"]);
      std::map<int, Points> by_group;
      for (std::size_t i = 0; i < x.size(); ++i) {
        const int group =
            one["rows"].contains("group") ? one["rows"]["group"][i].get<int>() : -1;
        auto& points = by_group[group];
        points.color = group < 0 ? kInk
                       : group == 0
                           ? kRest
                           : category_color(static_cast<std::size_t>(group - 1));
        points.radius = 0.6;
        points.x.push_back(x[i]);
        points.y.push_back(y[i]);
      }
      for (auto& [group, points] : by_group)
        panel.layers.emplace_back(std::move(points));
    }
    figure.panels.push_back(std::move(panel));
  }
  return figure;
}

PageFigure recovered(const json& s) {
  Points points{.color = kModelBlue, .alpha = 0.6};
  for (const auto& group : s["groups"]) {
    points.x.push_back(group["truth"]);
    points.y.push_back(group["learned"]);
    points.radii.push_back(1 + 0.5 * std::log2(group["size"].get<double>()));
  }
  return {.panels = {{.title = s["title"],
                      .x_label = "true correlation",
                      .y_label = "learned correlation",
                      .x = Limits{-0.02, 1.02},
                      .y = Limits{-0.02, 1.02},
                      .layers = {diagonal(0, 1), points}}},
          .options = {.columns = 1, .panel_width = 240, .panel_height = 220}};
}

PageFigure prd(const json& s) {
  PageFigure figure{.panels = {{.title = s["title"],
                                .x_label = "recall",
                                .y_label = "precision",
                                .x = Limits{0, 1},
                                .y = Limits{0, 1}}},
                    .options = {.columns = 1, .panel_width = 220, .panel_height = 200}};
  std::size_t number = 0;
  for (const auto& curve : s["curves"]) {
    figure.panels[0].layers.emplace_back(Series{.name = curve["name"],
                                                .x = numbers(curve["recall"]),
                                                .y = numbers(curve["precision"]),
                                                .color = category_color(number++)});
  }
  return figure;
}

}  // namespace

std::vector<PageFigure> page_figures(const json& document) {
  static const std::map<std::string, std::function<PageFigure(const json&)>> kMakers = {
      {"density", density},
      {"pairs", pairs},
      {"latents", latents},
      {"adjusted", adjusted},
      {"groups", groups},
      {"likelihood", likelihood},
      {"curves", curves},
      {"manhattan", manhattan},
      {"quantiles", quantiles},
      {"latents_strength", latents_strength},
      {"maps", maps},
      {"recovered", recovered},
      {"prd", prd}};
  std::vector<PageFigure> figures;
  int number = 0;
  for (const auto& section : document["sections"]) {
    ++number;
    const std::string type = section.value("type", "");
    if (section.contains("missing")) continue;
    if (type == "images") {
      for (const auto& sheet : section["sheets"]) {
        const std::string source = sheet["source"];
        const auto bytes = unpacked_bytes(source.substr(source.find(',') + 1));
        auto& picture = figures.emplace_back();
        picture.name = fmt::format("{}-images-{}", number, figures.size());
        picture.png.assign(bytes.begin(), bytes.end());
      }
      continue;
    }
    const auto maker = kMakers.find(type);
    if (maker == kMakers.end()) continue;
    auto figure = maker->second(section);
    if (figure.panels.empty()) continue;
    figure.name = fmt::format("{}-{}", number, type);
    figures.push_back(std::move(figure));
  }
  return figures;
}

std::vector<std::string> figure_paths(const std::vector<PageFigure>& figures,
                                      const std::string& directory,
                                      const std::string& ending) {
  std::vector<std::string> paths;
  for (const auto& figure : figures) {
    if (figure.png.empty() || ending == ".png") {
      paths.push_back(directory + "/" + figure.name + ending);
    }
  }
  return paths;
}

void write_figures(const std::vector<PageFigure>& figures, const std::string& directory,
                   const std::string& ending) {
  fill_folder(directory, [&] {
    for (const auto& figure : figures) {
      const auto path = directory + "/" + figure.name + ending;
      if (!figure.png.empty()) {
        if (ending == ".png") write_file_atomically(path, figure.png);
      } else if (ending == ".svg") {
        write_file_atomically(path, svg_figure(figure.panels, figure.options));
      } else {
        draw_figure(figure.panels, figure.options).save(path);
      }
    }
  });
}

}  // namespace kinflow
