// The likelihood of one ratio of variances, and the search for its maximum.
#include "kinflow/genetics/univariate_model.h"

#include <cblas.h>
#include <fmt/format.h>
#include <lapacke.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "kinflow/core/error.h"
#include "kinflow/core/size.h"

namespace kinflow {
namespace {

[[noreturn]] void fail_to_factor(const MixedModelData& data) {
  throw NumericalError(fmt::format(
      "[mixed model] the covariates of trait '{}' are singular", data.traits.names[0]));
}

/// The root of a function that falls from `low` to `high`: secants within the
/// bracket, halves where they are slow.
double falling_root(const std::function<double(double)>& function, double low,
                    double at_low, double high, double at_high, double guess,
                    double curvature) {
  // Of the last step; what is left after it is far smaller.
  constexpr double kPrecision = 1e-5;
  constexpr int kMostSteps = 200;
  const auto between = [&] { return low + (high - low) * at_low / (at_low - at_high); };
  double x = guess > low && guess < high ? guess : between();
  double width = high - low, last_x = 0, last_y = 0;
  for (int i = 0; i < kMostSteps; ++i) {
    const double y = function(x);
    if (y == 0) return x;
    (y > 0 ? low : high) = x;
    (y > 0 ? at_low : at_high) = y;
    double next = i > 0           ? x - y * (x - last_x) / (y - last_y)
                  : curvature < 0 ? x - y / curvature
                                  : between();
    last_x = x;
    last_y = y;
    const bool is_slow = i % 3 == 2 && high - low > 0.5 * width;
    if (i % 3 == 2) width = high - low;
    const bool is_outside = !(next > low && next < high);
    if (is_outside || is_slow) next = 0.5 * (low + high);
    if (std::abs(next - x) < kPrecision && (i > 0 || high - low < kPrecision)) {
      return next;
    }
    x = next;
  }
  return x;
}

}  // namespace

UnivariateModel::UnivariateModel(const MixedModelData& data, LikelihoodKind kind)
    : data_(data), kind_(kind) {
  if (data.trait_count() != 1) {
    throw InputError(fmt::format("[UnivariateModel] expected 1 trait, received {}",
                                 data.trait_count()));
  }
  const auto n = static_cast<int>(data.rows);
  const auto c = static_cast<int>(data.covariate_count());
  if (c == 0) return;
  std::vector<double> square(to_size(c) * to_size(c));
  cblas_dsyrk(CblasColMajor, CblasLower, CblasTrans, c, n, 1,
              data.covariates.values.data(), n, 0, square.data(), c);
  if (LAPACKE_dpotrf(LAPACK_COL_MAJOR, 'L', c, square.data(), c) != 0) {
    fail_to_factor(data);
  }
  for (int j = 0; j < c; ++j)
    log_det_design_ += 2 * std::log(square[to_size(j * c + j)]);
}

void UnivariateModel::go_to(double ratio, RatioPlace& place) const {
  const auto rows = data_.rows;
  const auto n = static_cast<int>(rows);
  const auto c = static_cast<int>(data_.covariate_count());
  const double* eigenvalues = data_.eigenvalues.data();
  const double* values = data_.traits.values.data();
  place.ratio = ratio;
  place.weights.resize(to_size(rows));
  place.residuals.resize(to_size(rows));
  place.basis.resize(to_size(rows * c));
  place.scaled_residuals.resize(to_size(rows));
  place.log_det_information = 0;
  for (std::int64_t i = 0; i < rows; ++i) {
    place.weights[to_size(i)] = 1 / (eigenvalues[i] * ratio + 1);
  }
  for (std::int64_t i = 0; i < rows; ++i) {
    place.residuals[to_size(i)] = place.weights[to_size(i)] * values[i];
  }
  place.trace = cblas_ddot(n, eigenvalues, 1, place.weights.data(), 1);
  if (c > 0) {
    for (std::int64_t j = 0; j < c; ++j) {
      const double* column = &data_.covariates.values[to_size(j * rows)];
      double* weighted = &place.basis[to_size(j * rows)];
      for (std::int64_t i = 0; i < rows; ++i) {
        weighted[i] = place.weights[to_size(i)] * column[i];
      }
    }
    std::vector<double> factor(to_size(c) * to_size(c)), shares(to_size(c));
    cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, c, c, n, 1,
                data_.covariates.values.data(), n, place.basis.data(), n, 0,
                factor.data(), c);
    if (LAPACKE_dpotrf(LAPACK_COL_MAJOR, 'L', c, factor.data(), c) != 0) {
      fail_to_factor(data_);
    }
    cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, n, c,
                1, factor.data(), c, place.basis.data(), n);
    cblas_dgemv(CblasColMajor, CblasTrans, n, c, 1, place.basis.data(), n, values, 1, 0,
                shares.data(), 1);
    cblas_dgemv(CblasColMajor, CblasNoTrans, n, c, -1, place.basis.data(), n,
                shares.data(), 1, 1, place.residuals.data(), 1);
    for (int j = 0; j < c; ++j) {
      place.log_det_information += 2 * std::log(factor[to_size(j * c + j)]);
    }
    if (kind_ == LikelihoodKind::restricted) {
      for (std::int64_t j = 0; j < c; ++j) {
        const double* column = &place.basis[to_size(j * rows)];
        for (std::int64_t i = 0; i < rows; ++i) {
          place.scaled_residuals[to_size(i)] = eigenvalues[i] * column[i];
        }
        place.trace -= cblas_ddot(n, column, 1, place.scaled_residuals.data(), 1);
      }
    }
  }
  place.quadratic = cblas_ddot(n, values, 1, place.residuals.data(), 1);
  for (std::int64_t i = 0; i < rows; ++i) {
    place.scaled_residuals[to_size(i)] = eigenvalues[i] * place.residuals[to_size(i)];
  }
  place.quadratic_slope =
      cblas_ddot(n, place.residuals.data(), 1, place.scaled_residuals.data(), 1);
}

double UnivariateModel::degrees() const {
  return static_cast<double>(
      data_.rows - (kind_ == LikelihoodKind::restricted ? data_.covariate_count() : 0));
}

double UnivariateModel::log_likelihood(const RatioPlace& place) const {
  const double f = degrees();
  double twice =
      f * (std::log(f / (2 * std::numbers::pi)) - 1 - std::log(place.quadratic)) -
      log_of_inverses(place.weights.data(), data_.rows);
  if (kind_ == LikelihoodKind::restricted) {
    twice += log_det_design_ - place.log_det_information;
  }
  return 0.5 * twice;
}

double UnivariateModel::slope(const RatioPlace& place) const {
  return 0.5 * place.ratio *
         (degrees() * place.quadratic_slope / place.quadratic - place.trace);
}

const std::vector<double>& ratio_grid() {
  static const std::vector<double> grid = [] {
    constexpr int kRegions = 10;
    std::vector<double> points;
    const double low = std::log(kSmallestRatio), high = std::log(kLargestRatio);
    for (int i = 0; i <= kRegions; ++i) {
      points.push_back(low + (high - low) * i / kRegions);
    }
    return points;
  }();
  return grid;
}

double best_log_ratio(const std::vector<double>& slopes,
                      const std::function<double(double)>& slope,
                      const std::function<double(double)>& log_likelihood, double guess,
                      double curvature) {
  const auto& grid = ratio_grid();
  std::vector<double> maxima;
  if (slopes.front() <= 0) maxima.push_back(grid.front());
  for (std::size_t i = 0; i + 1 < grid.size(); ++i) {
    if (slopes[i] > 0 && slopes[i + 1] <= 0) {
      maxima.push_back(falling_root(slope, grid[i], slopes[i], grid[i + 1],
                                    slopes[i + 1], guess, curvature));
    }
  }
  if (slopes.back() > 0) maxima.push_back(grid.back());
  if (maxima.size() == 1) return maxima.front();
  if (maxima.empty()) {
    throw NumericalError(
        "[best_log_ratio] the slopes of the likelihood are no numbers");
  }
  double best = maxima.front(), highest = log_likelihood(best);
  for (std::size_t i = 1; i < maxima.size(); ++i) {
    const double value = log_likelihood(maxima[i]);
    if (value > highest) {
      highest = value;
      best = maxima[i];
    }
  }
  return best;
}

UnivariateFit fit_univariate(const UnivariateModel& model) {
  UnivariateFit fit;
  RatioPlace place;
  const auto go_to = [&](double log_ratio) {
    ++fit.evaluations;
    model.go_to(std::exp(log_ratio), place);
  };
  const auto slope = [&](double log_ratio) {
    go_to(log_ratio);
    return model.slope(place);
  };
  const auto log_likelihood = [&](double log_ratio) {
    go_to(log_ratio);
    return model.log_likelihood(place);
  };
  std::vector<double> slopes;
  for (const double point : ratio_grid()) slopes.push_back(slope(point));
  const double best =
      best_log_ratio(slopes, slope, log_likelihood, ratio_grid().front(),
                     std::numeric_limits<double>::quiet_NaN());
  fit.log_likelihood = log_likelihood(best);
  fit.slope = model.slope(place);
  fit.ratio = place.ratio;
  fit.residual = place.quadratic / model.degrees();
  fit.genetic = fit.ratio * fit.residual;
  return fit;
}

}  // namespace kinflow
