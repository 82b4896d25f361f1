// The arithmetic of standardisation.
#include "kinflow/flow/standardization.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

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

}  // namespace

Standardization Standardization::from(const at::Tensor& data,
                                      const at::Tensor& weights) {
  const auto given =
      weights.defined() ? weights : at::ones({data.size(0)}, data.options());
  const auto column = given.unsqueeze(1);
  const auto weighted = (data * column).sum(0) / given.sum();
  const auto in_range =
      weighted.ge(data.amin(0)).logical_and(weighted.le(data.amax(0)));
  const auto mean = at::where(in_range, weighted, data.mean(0));
  // Scaling by the largest distance first keeps the squares in range.
  const auto largest = (data - mean).abs().amax(0);
  const auto positive = column.clamp_min(0);
  const auto square =
      (((data - mean) / largest).square() * positive).sum(0) / positive.sum();
  return {.mean = mean, .deviation = square.sqrt() * largest};
}

std::optional<Standardization> Standardization::decorrelated(
    const at::Tensor& data, const at::Tensor& weights) const {
  const auto rows = apply(data);
  const auto column = weights.defined() ? weights.clamp_min(0).unsqueeze(1)
                                        : at::ones({data.size(0), 1}, data.options());
  const auto total = column.sum();
  const auto centred = rows - (rows * column).sum(0) / total;
  const auto covariance = at::mm(centred.t(), centred * column) / total;
  const auto [factor, failed] = at::linalg_cholesky_ex(covariance);
  if (failed.item<int>() != 0) return {};
  auto result = *this;
  result.decorrelation = at::linalg_solve_triangular(
      factor, at::eye(data.size(1), data.options()), /*upper=*/false);
  return result;
}

Standardization Standardization::none(std::int64_t columns) {
  return {.mean = at::zeros({columns}, at::kDouble),
          .deviation = at::ones({columns}, at::kDouble)};
}

at::Tensor Standardization::apply(const at::Tensor& data) const {
  const auto scaled = (data - mean) / deviation;
  return decorrelation.defined() ? at::mm(scaled, decorrelation.t()) : scaled;
}

at::Tensor Standardization::undo(const at::Tensor& standardized) const {
  const auto scaled = decorrelation.defined()
                          ? at::linalg_solve_triangular(decorrelation.t(), standardized,
                                                        /*upper=*/true, /*left=*/false)
                          : standardized;
  return scaled * deviation + mean;
}

double Standardization::log_abs_det() const {
  const double scaling = -deviation.log().sum().item<double>();
  return decorrelation.defined()
             ? scaling + decorrelation.diagonal().log().sum().item<double>()
             : scaling;
}

double spline_bound_for(const at::Tensor& standardized, double information) {
  const double reach =
      std::clamp(1.1 * standardized.abs().max().item<double>(), 4.0, 12.0);
  return reach * reach_beyond(information);
}

}  // namespace kinflow
