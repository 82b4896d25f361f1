// Observed information, likelihood profiles and likelihood ratios.
#include "kinflow/dependence/inference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kinflow/array/array.h"
#include "kinflow/core/error.h"
#include "kinflow/dependence/blocks.h"
#include "kinflow/dependence/independent.h"
#include "kinflow/dependence/minimize.h"
#include "kinflow/dependence/per_latent.h"
#include "kinflow/dependence/placement.h"
#include "kinflow/statistics/chi_squared.h"
#include "kinflow/statistics/p_value.h"

namespace kinflow {
namespace {

constexpr std::int64_t kMostParameters = 50;
/// A share this close to 0 or 1 is at the end of its range.
constexpr double kEdge = 1e-6;
/// Beyond this standard error on the unbounded scale the latents say nothing.
constexpr double kNothingKnown = 100;
/// Step of the central differences. The gradient on the unbounded scale bends over
/// distances of order 1, whatever n is, so the error is 1e-7 of the information;
/// rounding adds about as many digits less than the gradient has.
constexpr double kDifference = 1e-3;
/// 0.975 quantile of the normal, 0.95 quantile of the chi-squared distribution with 1
/// degree of freedom.
constexpr double kNormalQuantile = 1.959963984540054;
constexpr double kChiSquaredQuantile = kNormalQuantile * kNormalQuantile;
/// Differences of 2 log-likelihoods that do not count.
constexpr double kNoDifference = 1e-6;

/// Latents with the most likely location and scale taken out.
struct Placed {
  Array latents;          // [1, n, p]
  double log_scales = 0;  // n times the sum of the logarithms of the deviations
};

Placed place_latents(const Dependence& law, const Array& parameters,
                     const Array& latents) {
  const auto placement = place(law, parameters, latents);
  return {.latents = standardized(latents, placement),
          .log_scales = static_cast<double>(latents.size(1)) *
                        placement.deviation.log().sum().item<double>()};
}

/// Latents and the most likely parameters, on both scales. Where location and scale are
/// unknown, all functions of the parameters are those with the most likely location and
/// scale for them.
struct Fit {
  const Dependence& law;
  Array latents;          // [1, n, p]
  bool is_placed;         // location and scale are known
  Array parameters = {};  // [1, k]
  Array place = {};       // [1, k], on the unbounded scale
  double objective = 0;

  std::int64_t count() const { return parameters.size(1); }
  Placed placed_at(const Array& here) const {
    if (is_placed) return {.latents = latents};
    return place_latents(law, here, latents);
  }
  double objective_at(const Array& unconstrained) const {
    const Array here = law.from_unconstrained(unconstrained);
    const auto placed = placed_at(here);
    return law.objective(here, placed.latents).item<double>() + placed.log_scales;
  }
  /// On the unbounded scale, [1, k]. The location and the scale are at their optimum,
  /// so that their own change adds nothing.
  Array gradient_at(const Array& unconstrained) const {
    const Array here = law.from_unconstrained(unconstrained);
    return law.unconstrained_gradient(
        here, law.parameter_gradient(here, placed_at(here).latents));
  }
  bool has_separate_parameters() const {
    return is_placed && law.has_separate_parameters();
  }
};

/// Which parameters are shares, that is, reach 0 and 1 on the unbounded scale: [k].
Array find_shares(const Fit& fit) {
  const auto reach = [&](double far) {
    if (fit.law.has_separate_parameters()) {
      return fit.law.from_unconstrained(fit.place + far)[0];
    }
    const Array one_each = far * nd::eye(fit.count(), fit.place.options());
    return fit.law.from_unconstrained(fit.place + one_each).diagonal().clone();
  };
  // Further than the logit of any share that is kept.
  const double far = 60;
  return (reach(-far) < kEdge).logical_and((reach(far) - 1).abs() < kEdge);
}

Array is_at_edge(const Fit& fit) {
  const Array value = fit.parameters[0];
  return find_shares(fit).logical_and((value < kEdge).logical_or(value > 1 - kEdge));
}

/// Standard errors and intervals of parameters whose likelihoods are separate.
void add_separate_errors(const Fit& fit, DependenceInference& result) {
  const Array information = (fit.gradient_at(fit.place + kDifference) -
                             fit.gradient_at(fit.place - kDifference)) /
                            (2 * kDifference);
  const Array slope =
      fit.law.unconstrained_gradient(fit.parameters, nd::ones_like(fit.parameters));
  const double none = std::numeric_limits<double>::quiet_NaN();
  const Array known = (information > 1 / (kNothingKnown * kNothingKnown))
                          .logical_and(is_at_edge(fit).logical_not().unsqueeze(0));
  const Array error = information.rsqrt().masked_fill(known.logical_not(), none);
  const auto end = [&](double sign) {
    return fit.law.from_unconstrained(fit.place + sign * kNormalQuantile * error)
        .masked_fill(known.logical_not(), none)[0]
        .cpu();
  };
  result.standard_error = (error * slope.abs())[0].cpu();
  result.low = end(-1);
  result.high = end(1);
}

/// The derivatives of the parameters on the unbounded scale: row i belongs to parameter
/// i, [k, k].
Array jacobian(const Fit& fit) {
  const std::int64_t k = fit.count();
  return fit.law.unconstrained_gradient(fit.parameters.expand({k, k}),
                                        nd::eye(k, fit.parameters.options()));
}

bool is_diagonal(const Array& matrix) {
  return nd::equal(matrix, nd::diag(matrix.diagonal()));
}

/// An orthonormal basis of the directions in which parameters change: [k, r]. Weights
/// that have the sum 1 do not change where all unbounded numbers move together.
Array directions(const Array& derivatives) {
  if (is_diagonal(derivatives)) {
    return nd::eye(derivatives.size(0), derivatives.options());
  }
  const Array scaled = derivatives / derivatives.norm(2, /*dim=*/1, /*keepdim=*/true);
  const auto [left, values, right] = nd::linalg_svd(scaled, /*full_matrices=*/false);
  const auto rank = (values > 1e-8 * values[0]).sum().item<std::int64_t>();
  return right.narrow(0, 0, rank).t();
}

/// Standard errors and intervals from the whole matrix of information.
void add_joint_errors(const Fit& fit, DependenceInference& result) {
  const double none = std::numeric_limits<double>::quiet_NaN();
  result.standard_error = nd::full({fit.count()}, none, nd::kDouble);
  result.low = result.standard_error.clone();
  result.high = result.standard_error.clone();
  // Parameters at an end of their range are held there.
  const Array free = nd::nonzero(is_at_edge(fit).logical_not()).squeeze(1);
  const std::int64_t count = free.size(0);
  if (count == 0) return;
  std::vector<Array> columns;
  for (std::int64_t j = 0; j < count; ++j) {
    Array step = nd::zeros_like(fit.place);
    step[0][free[j].item<std::int64_t>()] = kDifference;
    const Array change =
        fit.gradient_at(fit.place + step) - fit.gradient_at(fit.place - step);
    columns.push_back(change[0].index_select(0, free) / (2 * kDifference));
  }
  const Array twice = nd::stack(columns) + nd::stack(columns, 1);
  const Array slopes = jacobian(fit).index_select(0, free).index_select(1, free);
  const Array basis = directions(slopes);
  const auto [root, info] =
      nd::linalg_cholesky_ex(0.5 * nd::mm(basis.t(), nd::mm(twice, basis)));
  if (info.item<int>() != 0) {
    result.why_no_errors = "the observed information is not positive definite";
    return;
  }
  const Array covariance = nd::mm(basis, nd::cholesky_solve(basis.t(), root));
  const Array error = (nd::mm(slopes, covariance) * slopes).sum(1).sqrt();
  const Array value = fit.parameters[0].index_select(0, free);
  // On the scale of the intervals.
  Array spread, ends;
  if (is_diagonal(slopes)) {
    spread = covariance.diagonal().sqrt();
    const auto end = [&](double sign) {
      const Array moved =
          fit.place[0].index_add(0, free, sign * kNormalQuantile * spread);
      return fit.law.from_unconstrained(moved.unsqueeze(0))[0].index_select(0, free);
    };
    ends = nd::stack({end(-1), end(1)});
  } else {
    spread = error / (value * (1 - value));
    const Array reach = kNormalQuantile * spread;
    ends = nd::stack({nd::logit(value) - reach, nd::logit(value) + reach}).sigmoid();
  }
  const Array unknown = (spread < kNothingKnown).logical_not();
  const auto place = free.cpu();
  result.standard_error.index_copy_(0, place, error.masked_fill(unknown, none).cpu());
  result.low.index_copy_(0, place, ends[0].masked_fill(unknown, none).cpu());
  result.high.index_copy_(0, place, ends[1].masked_fill(unknown, none).cpu());
}

/// The objective as a function of the first parameter, the second, if there is one, at
/// its most likely value.
class Profile {
 public:
  explicit Profile(const Fit& fit) : fit_(fit), place_(fit.place.clone()) {}

  double operator()(double first) {
    place_[0][0] = first;
    if (fit_.count() == 1) return fit_.objective_at(place_);
    const auto by_second = [&](const std::vector<double>& second,
                               std::vector<double>& slope) {
      Array here = place_.clone();
      here[0][1] = second[0];
      slope[0] = fit_.gradient_at(here)[0][1].item<double>();
      return fit_.objective_at(here);
    };
    // From the value at the last point, which is not far.
    const Minimum minimum = minimize(by_second, {place_[0][1].item<double>()});
    place_[0][1] = minimum.place[0];
    return minimum.value;
  }

 private:
  const Fit& fit_;
  Array place_;
};

/// A zero of a function between `low`, where it is negative, and `high`, where it is
/// positive, by the Illinois method.
template <typename Function>
double find_zero(Function& function, double low, double value_low, double high,
                 double value_high) {
  int same_side = 0;
  double middle = low;
  for (int i = 0; i < 100; ++i) {
    middle = low + (high - low) * value_low / (value_low - value_high);
    if (!(middle > low && middle < high)) middle = 0.5 * (low + high);
    const double value = function(middle);
    if (std::abs(value) < kNoDifference || high - low < 1e-9) break;
    if (value < 0) {
      low = middle;
      value_low = value;
      same_side = std::min(same_side, 0) - 1;
      if (same_side < -1) value_high *= 0.5;
    } else {
      high = middle;
      value_high = value;
      same_side = std::max(same_side, 0) + 1;
      if (same_side > 1) value_low *= 0.5;
    }
  }
  return middle;
}

/// How far from the estimate, up or down on the unbounded scale, the interval ends;
/// nothing where it is open up to `farthest`.
std::optional<double> profile_reach(const Fit& fit, double sign, double farthest) {
  Profile profile(fit);
  const double centre = fit.place[0][0].item<double>();
  auto excess = [&](double distance) {
    return 2 * (profile(centre + sign * distance) - fit.objective) -
           kChiSquaredQuantile;
  };
  double low = 0, value_low = -kChiSquaredQuantile;
  for (double step = 0.5; low < farthest; step *= 2) {
    const double high = std::min(low + step, farthest);
    const double value_high = excess(high);
    if (value_high > 0) return find_zero(excess, low, value_low, high, value_high);
    low = high;
    value_low = value_high;
  }
  return std::nullopt;
}

std::optional<Interval> profile_interval(const Fit& fit) {
  const bool has_one_of_interest =
      fit.count() == 1 || (fit.count() == 2 && !fit.law.has_separate_parameters());
  if (!has_one_of_interest || !find_shares(fit)[0].item<bool>() ||
      !is_diagonal(jacobian(fit))) {
    return std::nullopt;
  }
  const auto end_of_range = [&](double share) {
    Array parameters = fit.parameters.clone();
    parameters[0][0] = share;
    return fit.law.to_unconstrained(parameters)[0][0].item<double>();
  };
  const auto share_at = [&](double unconstrained) {
    Array place = fit.place.clone();
    place[0][0] = unconstrained;
    return fit.law.from_unconstrained(place)[0][0].item<double>();
  };
  const double centre = fit.place[0][0].item<double>();
  const auto down = profile_reach(fit, -1, centre - end_of_range(0));
  const auto up = profile_reach(fit, 1, end_of_range(1) - centre);
  return Interval{down ? share_at(centre - *down) : 0, up ? share_at(centre + *up) : 1};
}

/// The test of a fitted law; independent rows have the objective |U|^2 / 2.
IndependenceTest test_independence(const Fit& fit, std::int64_t edges) {
  auto placed = Placed{.latents = fit.latents};
  if (!fit.is_placed) {
    placed = place_latents(Independent(fit.latents.size(1)),
                           fit.parameters.narrow(1, 0, 0), fit.latents);
  }
  const double independent =
      0.5 * placed.latents.square().sum().item<double>() + placed.log_scales;
  const double gain = 2 * (independent - fit.objective);
  const double statistic = gain < kNoDifference ? 0 : gain;
  return {statistic, edges, independence_log10_p(statistic, edges)};
}

/// The most likely parameters, with an unknown location and scale together with those.
Fit fit_law(const Dependence& law, const Array& latents, const Array& start,
            bool is_placed) {
  Fit fit{.law = law, .latents = latents, .is_placed = is_placed};
  fit.parameters = is_placed ? law.most_likely(latents, start, /*prior=*/0)
                             : most_likely_placed(law, latents, start, /*prior=*/0);
  fit.place = law.to_unconstrained(fit.parameters);
  fit.objective = fit.objective_at(fit.place);
  return fit;
}

}  // namespace

DependenceInference infer(const Dependence& law, const Array& latents,
                          const Array& start, const InferenceOptions& options) {
  DependenceInference result;
  if (!law.has_separate_parameters() && law.parameter_count() > kMostParameters) {
    result.why_no_errors = result.why_no_test =
        fmt::format("there are {} parameters; up to {} are looked into together",
                    law.parameter_count(), kMostParameters);
    return result;
  }
  const Array all = latents.to(nd::kDouble).unsqueeze(0);
  bool has_looked_for_errors = false, has_looked_for_test = false;
  try {
    const bool is_placed = options.location_and_scale_are_known || !can_be_placed(law);
    const Fit fit = fit_law(law, all, start.unsqueeze(0), is_placed);
    result.estimate = fit.parameters[0].cpu();
    result.log_likelihood = law.log_density(fit.parameters, all).item<double>();
    if (fit.count() == 0) {
      result.why_no_errors = result.why_no_test = "there are no parameters";
      result.standard_error = result.low = result.high = result.estimate;
      return result;
    }
    if (fit.has_separate_parameters()) {
      add_separate_errors(fit, result);
    } else {
      add_joint_errors(fit, result);
    }
    has_looked_for_errors = true;
    if (const auto* blocks = blocks_of(law)) {
      const Blocks shared(blocks->block_of_row(),
                          {.correlation = BlockCorrelation::shared});
      const Fit of_shared =
          fit_law(shared, all, fit.parameters.narrow(1, 0, 1), is_placed);
      result.test = test_independence(of_shared, 1);
    } else if (const auto edges = law.edges_of_independence()) {
      result.test = test_independence(fit, *edges);
    } else {
      result.why_no_test =
          "the likelihood ratio has no known distribution where rows are independent: "
          "a parameter has no meaning there, or is not at an end of its range";
    }
    has_looked_for_test = true;
    result.profile = profile_interval(fit);
  } catch (const NumericalError& error) {
    if (!has_looked_for_errors) result.why_no_errors = error.what();
    if (!has_looked_for_test) result.why_no_test = error.what();
  }
  return result;
}

double independence_log10_p(double x, std::int64_t edges) {
  if (edges < 1) {
    throw InputError(fmt::format(
        "[independence_log10_p] expected at least 1 parameter at an edge, received {}",
        edges));
  }
  if (!(x > 0)) return 0;
  const double log_tail = log_chi_squared_tail(x, static_cast<double>(edges));
  // Without degrees of freedom there is no tail.
  const double ratio =
      edges == 1 ? 0
                 : std::exp(log_chi_squared_tail(x, static_cast<double>(edges - 1)) -
                            log_tail);
  return log10_p_of_log(log_tail + std::log(0.5 * (1 + ratio)));
}

}  // namespace kinflow
