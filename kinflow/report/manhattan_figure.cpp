// Chromosomes side by side, points of two colours, a line and marks.
#include "kinflow/report/manhattan_figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

#include "kinflow/core/error.h"
#include "kinflow/report/figure.h"
#include "kinflow/report/point_thinner.h"

namespace kinflow {
namespace {

constexpr double kWidth = 640, kHeight = 190;  // points
constexpr double kVariantRadius = 1.1, kIndexRadius = 2.3;
// Between chromosomes, as a part of the genome.
constexpr double kGap = 0.006;
constexpr std::array<Color, 2> kTurns{{{41, 84, 130}, {126, 168, 204}}};

/// Where a chromosome stands among others: by its number, then X, Y, XY, MT, then
/// by name.
struct ChromosomeOrder {
  std::int64_t rank;
  std::string name;

  bool operator<(const ChromosomeOrder& other) const {
    return std::tie(rank, name) < std::tie(other.rank, other.name);
  }
};

ChromosomeOrder order_of(std::string name) {
  constexpr std::int64_t kAfterNumbers = std::numeric_limits<std::int32_t>::max();
  constexpr std::array kLetters{"X", "Y", "XY", "MT"};
  if (name.size() > 3 &&
      (name.starts_with("chr") || name.starts_with("CHR") || name.starts_with("Chr"))) {
    name.erase(0, 3);
  }
  std::int64_t number = 0;
  const char* const end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data(), end, number);
  if (error == std::errc() && stop == end && number < kAfterNumbers) {
    return {number, name};
  }
  for (std::size_t i = 0; i < kLetters.size(); ++i) {
    if (name == kLetters[i]) {
      return {kAfterNumbers + static_cast<std::int64_t>(i), name};
    }
  }
  return {kAfterNumbers + static_cast<std::int64_t>(kLetters.size()), name};
}

/// A chromosome's part of the x axis.
struct Span {
  double last = 0;   // position
  double start = 0;  // on the axis
  Color color = kTurns[0];
};

using Genome = std::map<ChromosomeOrder, Span>;

// "5e\u22128" in place of "5e-08".
std::string short_number(double value) {
  std::string text = fmt::format("{:g}", value);
  const std::size_t exponent = text.find("e-");
  if (exponent == text.npos) return text;
  const std::size_t digits = text.find_first_not_of('0', exponent + 2);
  return text.replace(exponent, digits - exponent, "e\u2212");
}

void check(const ManhattanFigure& figure) {
  const std::size_t count = figure.log10_p.size();
  if (figure.chromosome.size() != count || figure.position.size() != count) {
    throw InputError(fmt::format(
        "[draw_manhattan_figure] expected chromosomes, positions and p-values of the "
        "same variants, received {}, {} and {}",
        figure.chromosome.size(), figure.position.size(), count));
  }
  if (!(figure.threshold > 0 && figure.threshold <= 1)) {
    throw InputError(fmt::format(
        "[draw_manhattan_figure] expected a threshold above 0 and up to 1, received {}",
        figure.threshold));
  }
  bool is_empty = true;
  for (std::size_t i = 0; i < count; ++i) {
    const double height = figure.log10_p[i];
    is_empty = is_empty && std::isnan(height);
    if (!(height < 0 || std::isinf(height)) && figure.position[i] >= 0) continue;
    throw InputError(
        fmt::format("[draw_manhattan_figure] expected -log10 of p-values above 0 and "
                    "positions from "
                    "0, received {} and {} of variant {}",
                    height, figure.position[i], i + 1));
  }
  if (is_empty) {
    throw InputError("[draw_manhattan_figure] expected a p-value, received none");
  }
  for (const std::size_t i : figure.index) {
    if (i < count && !std::isnan(figure.log10_p[i])) continue;
    throw InputError(fmt::format(
        "[draw_manhattan_figure] expected index variants with p-values, received {}",
        i));
  }
}

/// Points of the picture, thinned, by colour.
class Scatter {
 public:
  explicit Scatter(const ManhattanFigure& figure) : figure_(figure) {
    find_spans();
    place_spans();
    for (std::size_t i = 0; i < figure.log10_p.size(); ++i) {
      highest_ = std::max(highest_, std::isnan(figure.log10_p[i]) ? 0 : height(i));
    }
    highest_ = std::max(highest_, -std::log10(figure.threshold));
  }

  Limits x_limits() const { return {-gap_, length_ + gap_}; }

  std::array<Points, 2> clouds() const {
    std::array<Points, 2> clouds;
    PointThinner thinner(x_limits(), {0, highest_},
                         2 * static_cast<std::size_t>(kWidth),
                         2 * static_cast<std::size_t>(kHeight));
    for (std::size_t turn = 0; turn < 2; ++turn) {
      clouds[turn].color = kTurns[turn];
      clouds[turn].radius = kVariantRadius;
    }
    for (std::size_t i = 0; i < figure_.log10_p.size(); ++i) {
      const double x = place(i), y = height(i);
      if (!thinner.takes(x, y)) continue;
      Points& cloud = clouds[span_of_[i]->color == kTurns[0] ? 0 : 1];
      cloud.x.push_back(x);
      cloud.y.push_back(y);
    }
    return clouds;
  }

  Points index_discs() const {
    Points discs{.name = "index SNPs of loci",
                 .color = category_color(1),
                 .radius = kIndexRadius};
    for (const std::size_t i : figure_.index) {
      discs.x.push_back(place(i));
      discs.y.push_back(height(i));
    }
    return discs;
  }

  Ticks ticks() const {
    Ticks ticks;
    for (const auto& [order, span] : genome_) {
      ticks.positions.push_back(span.start + 0.5 * span.last);
      ticks.labels.push_back(order.name);
    }
    return ticks;
  }

 private:
  void find_spans() {
    std::map<std::string, Span*> by_name;
    for (std::size_t i = 0; i < figure_.chromosome.size(); ++i) {
      Span*& span = by_name[figure_.chromosome[i]];
      if (span == nullptr) span = &genome_[order_of(figure_.chromosome[i])];
      span->last = std::max(span->last, static_cast<double>(figure_.position[i]));
      span_of_.push_back(span);
    }
  }

  void place_spans() {
    double total = 0;
    for (const auto& entry : genome_) total += entry.second.last;
    gap_ = kGap * std::max(total, 1.0);
    std::size_t turn = 0;
    for (auto& [order, span] : genome_) {
      span.start = turn == 0 ? 0 : length_ + gap_;
      span.color = kTurns[turn++ % 2];
      length_ = span.start + span.last;
    }
  }

  double place(std::size_t i) const {
    return span_of_[i]->start + static_cast<double>(figure_.position[i]);
  }
  double height(std::size_t i) const { return figure_.log10_p[i]; }

  const ManhattanFigure& figure_;
  Genome genome_;
  std::vector<const Span*> span_of_;  // each variant's
  double gap_ = 0, length_ = 0, highest_ = 0;
};

}  // namespace

Canvas draw_manhattan_figure(const ManhattanFigure& figure) {
  check(figure);
  const Scatter scatter(figure);
  const Limits x = scatter.x_limits();
  const double line = -std::log10(figure.threshold);
  std::vector<PlotLayer> layers;
  for (auto& cloud : scatter.clouds()) layers.emplace_back(std::move(cloud));
  layers.emplace_back(Series{.name = "p = " + short_number(figure.threshold),
                             .x = {x.low, x.high},
                             .y = {line, line},
                             .color = kFaintInk,
                             .line_width = 0.8,
                             .dashed = true});
  if (!figure.index.empty()) layers.emplace_back(scatter.index_discs());
  const Panel panel{.title = figure.title,
                    .subtitle = figure.subtitle,
                    .x_label = "chromosome",
                    .y_label = "\u2212log10 p",
                    .x = x,
                    .x_ticks = scatter.ticks(),
                    .layers = std::move(layers)};
  return draw_figure({panel}, {.panel_width = kWidth, .panel_height = kHeight});
}

void write_manhattan_figure(const std::string& path, const ManhattanFigure& figure) {
  draw_manhattan_figure(figure).save(path);
}

}  // namespace kinflow
