// The arithmetic of standardisation.
#include "kinflow/flow/standardization.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kinflow/array/array.h"

namespace kinflow {
namespace {

// Splines should hold the largest of so many independent rows, but reach at most so
// much further than the rows at hand: their bins would become too wide.
constexpr double kRowsToHold = 1e4;
constexpr double kFurthest = 1.6;

// The largest of n standard normal numbers is about sqrt(2 log n).
double reach_beyond(double information) {
  if (information <= 1) return kFurthest;
  return std::clamp(std::sqrt(std::log(kRowsToHold) / std::log(information)), 1.0,
                    kFurthest);
}

// Every number by the map of its column; the numbers themselves without maps.
template <typename OfColumn, typename Map>
Array map_columns(const Array& rows, const std::vector<OfColumn>& maps,
                  const Map& map) {
  if (maps.empty()) return rows;
  auto result = rows.contiguous().clone();
  auto* number = result.data_ptr<double>();
  for (std::int64_t row = 0; row < result.size(0); ++row) {
    for (const auto& of_column : maps) {
      *number = map(of_column, *number);
      ++number;
    }
  }
  return result;
}

}  // namespace

Standardization Standardization::from(const Array& rows, const Array& weights,
                                      std::vector<ColumnBounds> bounds) {
  auto result = none(rows.size(1), std::move(bounds));
  const auto data = result.unbounded(rows);
  const auto given =
      weights.defined() ? weights : nd::ones({data.size(0)}, data.options());
  const auto column = given.unsqueeze(1);
  const auto weighted = (data * column).sum(0) / given.sum();
  const auto in_range =
      weighted.ge(data.amin(0)).logical_and(weighted.le(data.amax(0)));
  const auto mean = nd::where(in_range, weighted, data.mean(0));
  // Scaling by the largest distance first keeps the squares in range.
  const auto largest = (data - mean).abs().amax(0);
  const auto positive = column.clamp_min(0);
  const auto square =
      (((data - mean) / largest).square() * positive).sum(0) / positive.sum();
  result.mean = mean;
  result.deviation = square.sqrt() * largest;
  return result;
}

std::optional<Standardization> Standardization::with_scores(const Array& data,
                                                            const Array& weights,
                                                            double information) const {
  const auto columns = scaled(data).t().contiguous();
  const auto given = weights.contiguous();
  const auto rows = static_cast<std::size_t>(data.size(0));
  std::vector<std::optional<NormalScores>> found;
  for (std::int64_t column = 0; column < data.size(1); ++column) {
    found.push_back(NormalScores::from({columns[column].data_ptr<double>(), rows},
                                       {given.data_ptr<double>(), rows}, information));
  }
  const auto any = std::find_if(found.begin(), found.end(),
                                [](const auto& one) { return one.has_value(); });
  if (any == found.end()) return {};
  auto result = *this;
  for (const auto& one : found) {
    result.scores.push_back(one ? *one : NormalScores::identity((*any)->scores));
  }
  return result;
}

std::optional<Standardization> Standardization::decorrelated(
    const Array& data, const Array& weights) const {
  const auto rows = apply(data);
  const auto column = weights.defined() ? weights.clamp_min(0).unsqueeze(1)
                                        : nd::ones({data.size(0), 1}, data.options());
  const auto total = column.sum();
  const auto centred = rows - (rows * column).sum(0) / total;
  const auto covariance = nd::mm(centred.t(), centred * column) / total;
  const auto [factor, failed] = nd::linalg_cholesky_ex(covariance);
  if (failed.item<int>() != 0) return {};
  auto result = *this;
  result.decorrelation = nd::linalg_solve_triangular(
      factor, nd::eye(data.size(1), data.options()), /*upper=*/false);
  return result;
}

Standardization Standardization::none(std::int64_t columns,
                                      std::vector<ColumnBounds> bounds) {
  return {.mean = nd::zeros({columns}, nd::kDouble),
          .deviation = nd::ones({columns}, nd::kDouble),
          .bounds = std::move(bounds)};
}

Array Standardization::unbounded(const Array& data) const {
  return map_columns(data, bounds, [](const auto& of_column, double x) {
    return of_column.to_line(x);
  });
}

Array Standardization::scaled(const Array& data) const {
  return (unbounded(data) - mean) / deviation;
}

Array Standardization::apply(const Array& data) const {
  const auto scored = map_columns(scaled(data), scores, [](const auto& map, double x) {
    return map.to_score(x).score;
  });
  return decorrelation.defined() ? nd::mm(scored, decorrelation.t()) : scored;
}

Array Standardization::undo(const Array& standardized) const {
  const auto scored = decorrelation.defined()
                          ? nd::linalg_solve_triangular(decorrelation.t(), standardized,
                                                        /*upper=*/true, /*left=*/false)
                          : standardized;
  const auto values = map_columns(
      scored, scores, [](const auto& map, double z) { return map.to_value(z); });
  return map_columns(
      values * deviation + mean, bounds,
      [](const auto& of_column, double place) { return of_column.from_line(place); });
}

Array Standardization::log_abs_det(const Array& data) const {
  auto same = -deviation.log().sum();
  if (decorrelation.defined()) same += decorrelation.diagonal().log().sum();
  auto sum = same.expand({data.size(0)});
  if (!bounds.empty()) {
    const auto slopes = map_columns(data, bounds, [](const auto& of_column, double x) {
      return of_column.log_slope(x);
    });
    sum = sum + slopes.sum(1);
  }
  if (!scores.empty()) {
    const auto slopes = map_columns(
        scaled(data), scores,
        [](const auto& map, double x) { return map.to_score(x).log_slope; });
    sum = sum + slopes.sum(1);
  }
  return sum;
}

double spline_bound_for(const Array& standardized, double information) {
  const double reach =
      std::clamp(1.1 * standardized.abs().max().item<double>(), 4.0, 12.0);
  return reach * reach_beyond(information);
}

}  // namespace kinflow
