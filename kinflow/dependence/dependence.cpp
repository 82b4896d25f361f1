// What all dependence structures share.
#include "kinflow/dependence/dependence.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <tuple>
#include <vector>

#include "kinflow/array/array.h"
#include "kinflow/array/steady_math.h"
#include "kinflow/core/error.h"
#include "kinflow/core/random.h"
#include "kinflow/dependence/minimize.h"

namespace kinflow {
namespace {

/// Distance that the logit keeps from 0 and 1.
constexpr double kSmallestShare = 1e-9;

std::string shape_text(const Array& tensor) {
  return fmt::format("[{}]", fmt::join(tensor.sizes(), ", "));
}

double unconstrained_from_share(double share) {
  const double inside = std::clamp(share, kSmallestShare, 1 - kSmallestShare);
  return std::log(inside / (1 - inside));
}

/// The elements of an array, on any device, in a vector of as many numbers.
void copy_numbers(const Array& tensor, std::vector<double>& numbers) {
  const Array from = tensor.to(nd::kCPU, nd::kDouble).contiguous();
  std::copy_n(from.data_ptr<double>(), numbers.size(), numbers.begin());
}

/// Rows split into observed and unknown, and the factor of the observed rows' C.
struct Observation {
  Array observed;    // [q]
  Array unknown;     // [m], increasing
  Array latents;     // [q, p] float64
  Array covariance;  // [n, n]
  Array cholesky;    // [q, q], lower

  Array covariance_of(const Array& rows, const Array& columns) const {
    return covariance.index_select(0, rows).index_select(1, columns);
  }
};

Observation observe(const Dependence& dependence, const Array& parameters,
                    const Array& observed, const Array& unknown, const Array& latents) {
  Observation result{observed, unknown, latents.to(nd::kDouble),
                     dependence.covariance(parameters)[0], Array()};
  Array info;
  std::tie(result.cholesky, info) =
      nd::linalg_cholesky_ex(result.covariance_of(observed, observed));
  if (info.item<int>() != 0) {
    throw NumericalError(fmt::format(
        "[{}] the covariance of the {} observed rows is not positive definite",
        dependence.kind(), observed.size(0)));
  }
  return result;
}

}  // namespace

Array on_cpu(const Array& tensor) {
  return tensor.to(nd::kCPU, nd::kDouble).contiguous();
}

LatentMemory::~LatentMemory() = default;

void LatentMemory::reset(const Array& latents) {
  if (latents.dim() != 3 || latents.size(1) != rows_) {
    throw InputError(
        fmt::format("[LatentMemory] expected latents [R, {}, p], received {}", rows_,
                    shape_text(latents)));
  }
  set_in_place(latents_, latents.detach());
}

void LatentMemory::set_in_place(Array& kept, const Array& values) {
  if (kept.defined() && kept.sizes() == values.sizes() &&
      kept.scalar_type() == values.scalar_type() && kept.device() == values.device()) {
    kept.copy_(values);
  } else {
    kept = values.clone(nd::MemoryFormat::Contiguous);
  }
}

Array LatentMemory::exchange_rows(const Array& rows, const Array& latents) {
  if (!latents_.defined() || latents.dim() != 3 || rows.dim() != 1 ||
      latents.size(0) != latents_.size(0) || latents.size(1) != rows.size(0) ||
      latents.size(2) != latents_.size(2)) {
    throw InputError(fmt::format(
        "[LatentMemory] expected latents [R, b, p] for rows [b] of a memory [R, n, p], "
        "received {}, {} and {}",
        shape_text(latents), shape_text(rows),
        latents_.defined() ? shape_text(latents_) : "an empty memory"));
  }
  const Array previous = latents_.index_select(1, rows).to(nd::kDouble);
  latents_.index_copy_(1, rows, latents.detach().to(latents_.scalar_type()));
  return previous;
}

Array Dependence::interpreted(const Array& parameters) const {
  return checked_parameters(parameters);
}

double share_from_unconstrained(double unconstrained) {
  return std::clamp(1 / (1 + std::exp(-unconstrained)), kSmallestShare,
                    1 - kSmallestShare);
}

Dependence::~Dependence() = default;

Array Dependence::quadratic(const Array& parameters, const Array& latents) const {
  return (precision_times(parameters, latents) * latents).sum({1, 2});
}

Array Dependence::row_worth_by_latent(const Array& parameters) const {
  const auto ones = nd::ones({parameters.size(0), rows(), distinct_latents()},
                             parameters.options().dtype(nd::kDouble));
  return precision_times(parameters, ones);
}

Array Dependence::row_worth(const Array& parameters) const {
  return row_worth_by_latent(parameters).mean(2);
}

Array Dependence::objective(const Array& parameters, const Array& latents) const {
  const double columns = static_cast<double>(latents.size(-1));
  return 0.5 * (columns * log_det(parameters) + quadratic(parameters, latents));
}

Array Dependence::log_density(const Array& parameters, const Array& latents) const {
  const double numbers = static_cast<double>(rows() * latents.size(-1));
  return -0.5 * numbers * std::log(2 * std::numbers::pi) -
         objective(parameters, latents);
}

Array Dependence::to_unconstrained(const Array& parameters) const {
  if (parameters.is_cpu()) return steady_map(parameters, unconstrained_from_share);
  return nd::logit(parameters.to(nd::kDouble), kSmallestShare);
}

Array Dependence::from_unconstrained(const Array& unconstrained) const {
  if (unconstrained.is_cpu())
    return steady_map(unconstrained, share_from_unconstrained);
  return nd::sigmoid(unconstrained.to(nd::kDouble))
      .clamp(kSmallestShare, 1 - kSmallestShare);
}

Array Dependence::unconstrained_gradient(const Array& parameters,
                                         const Array& gradient) const {
  return gradient * parameters * (1 - parameters);
}

Array Dependence::unconstrained_prior_gradient(const Array& parameters) const {
  return 2 * parameters - 1;
}

Array Dependence::prior_objective(const Array& parameters) const {
  const Array shares = checked_parameters(parameters);
  return -(shares.log() + nd::log1p(-shares)).sum(1);
}

Array Dependence::most_likely(const Array& latents, const Array& start,
                              double prior) const {
  Array result = checked_parameters(start).clone();
  const Array all = checked_latents(result, latents, rows());
  if (parameter_count() == 0) return result;
  // The unbounded scale makes the gradient small next to an end of the range, however
  // steep the objective is; at 1e-9 from it, it is 1e-9 times a slope of the order np.
  const MinimizeOptions options{.largest_slope =
                                    1e-5 + 1e-8 * static_cast<double>(all[0].numel())};
  for (std::int64_t r = 0; r < result.size(0); ++r) {
    const Array of_replica = all.narrow(0, r, 1);
    const auto parameters_at = [&](const std::vector<double>& place) {
      return from_unconstrained(nd::tensor(place, nd::kDouble).unsqueeze(0))
          .to(result.device());
    };
    const auto value = [&](const std::vector<double>& place,
                           std::vector<double>& slope) {
      const Array parameters = parameters_at(place);
      const Array gradient =
          unconstrained_gradient(parameters,
                                 parameter_gradient(parameters, of_replica)) +
          prior * unconstrained_prior_gradient(parameters);
      copy_numbers(gradient, slope);
      return (objective(parameters, of_replica) + prior * prior_objective(parameters))
          .item<double>();
    };
    // A trial step may lead to where C is not positive definite in float64.
    const auto value_or_infinity = [&](const std::vector<double>& place,
                                       std::vector<double>& slope) {
      try {
        return value(place, slope);
      } catch (const NumericalError&) {
        return std::numeric_limits<double>::infinity();
      }
    };
    std::vector<double> first(static_cast<std::size_t>(parameter_count()));
    copy_numbers(to_unconstrained(result.narrow(0, r, 1)), first);
    const Minimum minimum = minimize(value_or_infinity, first, options);
    if (!minimum.has_converged) {
      throw NumericalError(fmt::format(
          "[{}] the search for the most likely of {} parameters did not converge; it "
          "ended at an objective of {:.6g}",
          kind(), parameter_count(), minimum.value));
    }
    result[r].copy_(parameters_at(minimum.place)[0]);
  }
  return result;
}

std::optional<std::int64_t> Dependence::edges_of_independence() const {
  if (parameter_count() != 1) return std::nullopt;
  return 1;
}

Array Dependence::default_parameters() const {
  return nd::full({parameter_count()}, 0.5, nd::kDouble);
}

ConditionalLaw Dependence::condition(const Array& parameters, const Array& observed,
                                     const Array& latents) const {
  const Observation given = observe(*this, parameters, observed,
                                    checked_unknown_rows(observed, latents), latents);
  const Array whitened_latents =
      nd::linalg_solve_triangular(given.cholesky, given.latents, /*upper=*/false);
  const Array whitened_covariance = nd::linalg_solve_triangular(
      given.cholesky, given.covariance_of(given.observed, given.unknown),
      /*upper=*/false);
  return {given.unknown, nd::mm(whitened_covariance.t(), whitened_latents),
          (given.covariance_of(given.unknown, given.unknown) -
           nd::mm(whitened_covariance.t(), whitened_covariance))
              .unsqueeze(0)};
}

ConditionalRows Dependence::condition_rows(const Array& parameters,
                                           const Array& observed,
                                           const Array& latents) const {
  const ConditionalLaw law = condition(parameters, observed, latents);
  return {law.rows, law.mean, law.covariance.diagonal(0, 1, 2).t().contiguous()};
}

Array Dependence::sample_given(const Array& parameters, const Array& observed,
                               const Array& latents, Random& random) const {
  // An unconditional draw, corrected by the regression of the unknown rows on what the
  // draw has wrong in the observed ones. Unlike a factor of the conditional covariance
  // this works where that covariance is singular.
  const Observation given = observe(*this, parameters, observed,
                                    checked_unknown_rows(observed, latents), latents);
  Array draw = sample(parameters, latents.size(1), random).to(observed.device());
  const Array error = given.latents - draw.index_select(0, observed);
  const Array correction = nd::mm(given.covariance_of(given.unknown, given.observed),
                                  nd::cholesky_solve(error, given.cholesky));
  draw.index_add_(0, given.unknown, correction);
  draw.index_copy_(0, observed, given.latents);
  return draw.cpu();
}

Array Dependence::checked_parameters(const Array& parameters) const {
  if (parameters.dim() != 2 || parameters.size(1) != parameter_count()) {
    throw InputError(fmt::format("[{}] expected parameters [R, {}], received {}",
                                 kind(), parameter_count(), shape_text(parameters)));
  }
  return parameters.to(nd::kDouble);
}

Array Dependence::checked_one_replica(const Array& parameters) const {
  if (parameters.dim() != 1 || parameters.size(0) != parameter_count()) {
    throw InputError(fmt::format("[{}] expected parameters [{}], received {}", kind(),
                                 parameter_count(), shape_text(parameters)));
  }
  return parameters.to(nd::kDouble);
}

Array Dependence::checked_latents(const Array& parameters, const Array& latents,
                                  std::int64_t row_count) const {
  if (latents.dim() != 3 || latents.size(0) != parameters.size(0) ||
      latents.size(1) != row_count) {
    throw InputError(fmt::format("[{}] expected latents [{}, {}, p], received {}",
                                 kind(), parameters.size(0), row_count,
                                 shape_text(latents)));
  }
  return latents.to(nd::kDouble);
}

Array Dependence::checked_unknown_rows(const Array& observed,
                                       const Array& latents) const {
  const std::int64_t n = rows();
  if (observed.dim() != 1 || observed.scalar_type() != nd::kLong ||
      latents.dim() != 2 || latents.size(0) != observed.size(0)) {
    throw InputError(fmt::format(
        "[{}] expected observed rows [q] int64 and latents [q, p], received {} and {}",
        kind(), shape_text(observed), shape_text(latents)));
  }
  Array is_observed = nd::zeros({n}, observed.options().dtype(nd::kBool));
  if (observed.size(0) > 0) {
    const auto low = observed.min().item<std::int64_t>();
    const auto high = observed.max().item<std::int64_t>();
    if (low < 0 || high >= n) {
      throw InputError(
          fmt::format("[{}] expected observed rows in 0 .. {}, received {}", kind(),
                      n - 1, low < 0 ? low : high));
    }
    is_observed.index_fill_(0, observed, true);
  }
  const Array unknown = nd::nonzero(is_observed.logical_not()).squeeze(1);
  if (unknown.size(0) + observed.size(0) != n) {
    throw InputError(fmt::format(
        "[{}] expected distinct observed rows, received some row more than once",
        kind()));
  }
  return unknown;
}

double Dependence::pair_weight(std::int64_t batch) const {
  if (batch == 1) return 0;
  return static_cast<double>(rows() - 1) / static_cast<double>(batch - 1);
}

}  // namespace kinflow
