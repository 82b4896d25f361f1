// Learned densities with rows and draws.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "kinflow/array/array.h"
#include "kinflow/array/array_numbers.h"
#include "kinflow/core/random.h"
#include "kinflow/core/size.h"
#include "kinflow/evaluate/sample.h"
#include "kinflow/pages/model/density_maps.h"
#include "kinflow/pages/model/model_sections.h"
#include "kinflow/pages/packed_numbers.h"
#include "kinflow/pages/record_lookup.h"

namespace kinflow {
namespace {

constexpr std::int64_t kMapSide = 120;
constexpr std::int64_t kPlottedRows = 2200;
constexpr std::int64_t kDraws = 8000;
constexpr std::int64_t kBars = 48;
constexpr std::int64_t kMostColumns = 16;
constexpr std::uint64_t kDrawSeed = 1;

// What nearly all values of both lie between, with some room.
std::pair<double, double> range_of(const Array& rows, const Array& draws) {
  const auto bounds = [](std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const auto last = static_cast<double>(values.size() - 1);
    return std::pair(values[static_cast<std::size_t>(0.002 * last)],
                     values[static_cast<std::size_t>(std::ceil(0.998 * last))]);
  };
  const auto a = bounds(numbers_of(rows)), b = bounds(numbers_of(draws));
  const double low = std::min(a.first, b.first), high = std::max(a.second, b.second);
  const double room = high > low ? 0.07 * (high - low) : std::abs(high) * 0.1 + 1;
  return {low - room, high + room};
}

// Every so many of n rows, `most` at most.
Array thinned(std::int64_t rows, std::int64_t most) {
  const auto count = std::min(rows, most);
  auto places = nd::empty({count}, nd::kLong);
  for (std::int64_t i = 0; i < count; ++i) places[i] = i * rows / count;
  return places;
}

nlohmann::json row_numbers(const TableRows& rows, const Array& places) {
  auto list = nlohmann::json::array();
  for (std::int64_t i = 0; i < places.numel(); ++i) {
    list.push_back(rows.kept_rows[to_size(places[i].item<std::int64_t>())] + 1);
  }
  return list;
}

std::string shown_note(std::int64_t plotted, std::int64_t rows) {
  if (plotted == rows) return with_commas(static_cast<double>(rows)) + " rows";
  return fmt::format("{} of {} rows", with_commas(static_cast<double>(plotted)),
                     with_commas(static_cast<double>(rows)));
}

nlohmann::json map_section(const Model& model, const RunSample& sample,
                           const Array& draws) {
  const auto& data = sample.shown.rows.data;
  const auto x = range_of(data.select(1, 0), draws.select(1, 0)),
             y = range_of(data.select(1, 1), draws.select(1, 1));
  const auto density = density_on_grid(model, x, y, kMapSide);
  const double largest = nearly_largest(density);
  const auto rows = thinned(data.size(0), kPlottedRows),
             drawn = thinned(draws.size(0), kPlottedRows);
  const auto column = [&](const Array& from, const Array& places, std::int64_t which) {
    return packed(numbers_of(from.index_select(0, places).select(1, which)));
  };
  return {
      {"type", "density"},
      {"title", "The learned density"},
      {"lead",
       "The map is the density of one row; darker is denser. Where rows and draws "
       "lie alike, the model has learned the shape of the data. They need not lie "
       "alike where a few large groups make up many rows."},
      {"columns", model.columns},
      {"x", {x.first, x.second}},
      {"y", {y.first, y.second}},
      {"side", kMapSide},
      {"map", map_bytes(density, largest)},
      {"largest", largest},
      {"rows",
       {{"x", column(data, rows, 0)},
        {"y", column(data, rows, 1)},
        {"number", row_numbers(sample.shown.rows, rows)}}},
      {"draws", {{"x", column(draws, drawn, 0)}, {"y", column(draws, drawn, 1)}}},
      {"rows_note", shown_note(rows.numel(), sample.table_rows)},
      {"draws_note",
       with_commas(static_cast<double>(drawn.numel())) + " independent draws"},
      {"caption",
       "Drag over a part to see it larger, in both pictures. The colour follows the "
       "square root of the density, so that its tails can be seen."}};
}

nlohmann::json counts_in(const Array& values, double low, double high) {
  std::vector<double> counts(kBars, 0);
  const auto numbers = numbers_of(values);
  for (const double value : numbers) {
    const double share = (value - low) / (high - low);
    if (share >= 0 && share < 1) ++counts[static_cast<std::size_t>(share * kBars)];
  }
  auto list = nlohmann::json::array();
  for (const double count : counts) {
    list.push_back(rounded(count / static_cast<double>(numbers.size()), 4));
  }
  return list;
}

nlohmann::json pairs_section(const Model& model, const RunSample& sample,
                             const Array& draws) {
  const auto& data = sample.shown.rows.data;
  const auto columns = std::min<std::int64_t>(data.size(1), kMostColumns);
  const auto plotted = thinned(data.size(0), 1400),
             drawn = thinned(draws.size(0), 1400);
  auto rows_packed = nlohmann::json::array(), draws_packed = nlohmann::json::array(),
       ranges = nlohmann::json::array(), marginals = nlohmann::json::array();
  for (std::int64_t c = 0; c < columns; ++c) {
    const auto [low, high] = range_of(data.select(1, c), draws.select(1, c));
    ranges.push_back({low, high});
    rows_packed.push_back(
        packed(numbers_of(data.index_select(0, plotted).select(1, c))));
    draws_packed.push_back(
        packed(numbers_of(draws.index_select(0, drawn).select(1, c))));
    marginals.push_back({{"low", low},
                         {"high", high},
                         {"rows", counts_in(data.select(1, c), low, high)},
                         {"draws", counts_in(draws.select(1, c), low, high)}});
  }
  const auto names =
      std::vector<std::string>(model.columns.begin(), model.columns.begin() + columns);
  std::string caption = shown_note(plotted.numel(), sample.table_rows) + " and " +
                        with_commas(static_cast<double>(drawn.numel())) +
                        " draws; the distributions on the diagonal are of more.";
  if (columns < data.size(1)) {
    caption += fmt::format(" The first {} of {} columns can be chosen.", columns,
                           data.size(1));
  }
  return {
      {"type", "pairs"},
      {"title", columns > 1 ? "Rows beside draws" : "The learned density"},
      {"lead",
       "Every pair of columns: rows of the table below the diagonal, draws from the "
       "model above it. Where the model has learned the data, each picture is the "
       "mirror image of its counterpart."},
      {"columns", names},
      {"ranges", ranges},
      {"rows", rows_packed},
      {"draws", draws_packed},
      {"marginals", marginals},
      {"numbers", row_numbers(sample.shown.rows, plotted)},
      {"caption", caption}};
}

}  // namespace

Array draw_rows(const Model& model, const TableRows& rows, std::int64_t count) {
  const auto members = model.row_members();
  Random random(kDrawSeed, stream(Purpose::draws));
  const auto latents = normal_numbers({count, std::ssize(model.columns)}, random);
  auto source = nd::empty({count}, nd::kLong);
  auto* member = source.data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < count; ++i)
    member[i] = random.below(std::ssize(members));
  Array context;
  if (rows.context.defined()) {
    const auto places = nd::arange(count, nd::kLong).remainder(rows.context.size(0));
    context = rows.context.index_select(0, places);
  }
  return data_of_members(members, source, latents, context);
}

nlohmann::json density_section(const Model& model, const RunSample& sample) {
  const auto draws = draw_rows(model, sample.shown.rows, kDraws);
  const bool is_plane = model.columns.size() == 2 && model.context_columns.empty();
  return is_plane ? map_section(model, sample, draws)
                  : pairs_section(model, sample, draws);
}

}  // namespace kinflow
