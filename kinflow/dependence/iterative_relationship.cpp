// Likelihood, gradients and estimators of a relationship matrix that is only
// multiplied.
#include "kinflow/dependence/iterative_relationship.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "kinflow/array/array.h"
#include "kinflow/core/error.h"
#include "kinflow/core/random.h"
#include "kinflow/dependence/side_by_side.h"

namespace kinflow {
namespace {

/// Numbers in the basis of the dominant subspace, at most: 0.8 GB.
constexpr std::int64_t kBasisNumbers = 100'000'000;
/// Steps between looks at the error of a quadrature.
constexpr std::int64_t kStepsPerLook = 8;
/// Lambda at which quadratures for all lambda are judged.
constexpr double kHardLambda = 0.01;
/// The quadratic form at this lambda is known when further steps change it by less
/// than this share.
constexpr double kQuadraticChange = 1e-7;
/// Eigenvalues below this share of the largest one are rounding of 0.
constexpr double kNothing = 1e-10;
/// An error of log det C for each row that is rounding.
constexpr double kNoError = 1e-12;
/// Functions whose exact sums over the eigenvalues are known: 1, x and x^2.
constexpr std::int64_t kMomentCount = 3;

/// Half the width of a 95% interval in standard errors: the quantile of Student's
/// distribution, expanded in one over the degrees of freedom.
double standard_errors(double freedom) {
  const double z = 1.959964;
  const double z3 = z * z * z, z5 = z3 * z * z;
  return z + (z3 + z) / (4 * freedom) +
         (5 * z5 + 16 * z3 + 3 * z) / (96 * freedom * freedom);
}

}  // namespace

std::string IterativeAccuracy::text() const {
  return fmt::format(
      "{} rows, {} eigenvectors known; log det at lambda = {:.4g} is {:.8g} +- {:.2g} "
      "(95%, {} probes, {} quadrature steps); solutions with relative residual {:.1g}",
      rows, eigenvectors, lambda, log_det.value, log_det.error, probes,
      quadrature_steps, tolerance);
}

IterativeRelationship::IterativeRelationship(
    std::shared_ptr<const RelationshipOperator> relationship,
    IterativeRelationshipOptions options)
    : relationship_(std::move(relationship)), options_(options) {
  if (options_.basis < 1 || options_.probes < kMomentCount + 2 ||
      options_.quadrature_steps < 1 || !(options_.tolerance > 0) ||
      options_.max_iterations < 1 || !(options_.memory_share >= 0) ||
      !(options_.memory_logit >= 0)) {
    throw InputError(fmt::format(
        "[IterativeRelationship] expected basis, quadrature_steps, max_iterations from "
        "1, probes from {}, a positive tolerance, memory_share and memory_logit from "
        "0, received {}, {}, {}, {}, {}, {}, {}",
        kMomentCount + 2, options_.basis, options_.quadrature_steps,
        options_.max_iterations, options_.probes, options_.tolerance,
        options_.memory_share, options_.memory_logit));
  }
  const std::int64_t affordable = std::max<std::int64_t>(8, kBasisNumbers / rows());
  subspace_ = find_dominant_subspace(
      *relationship_,
      {.basis = std::min(options_.basis, affordable), .seed = options_.seed});
  if (subspace_.count() > 0) {
    largest_eigenvalue_ = subspace_.values.max().item<double>();
  }
  if (!subspace_.is_complete()) make_probes();
}

void IterativeRelationship::make_probes() {
  Random random(options_.seed, stream(Purpose::probes));
  Array signs = nd::empty({rows(), options_.probes}, nd::kDouble);
  for (std::int64_t i = 0; i < signs.numel(); ++i) {
    signs.data_ptr<double>()[i] = random.next() >> 63 ? 1 : -1;
  }
  LanczosQuadrature lanczos(*relationship_, subspace_,
                            signs.to(relationship_->device()));
  while (true) {
    lanczos.advance(
        std::min(kStepsPerLook, options_.quadrature_steps - lanczos.steps()));
    probes_ = lanczos.gauss();
    enclosing_ = lanczos.radau();
    largest_of_rest_ =
        std::max({probes_.nodes.max().item<double>(), kNothing * largest_eigenvalue_,
                  std::numeric_limits<double>::min()});
    match_moments();
    const LogDetEstimate estimate = log_det_estimate(kHardLambda);
    const double enough =
        std::max(0.1 * estimate.probe_error, kNoError * static_cast<double>(rows()));
    if (estimate.quadrature_error <= enough ||
        lanczos.steps() >= options_.quadrature_steps) {
      break;
    }
  }
  largest_eigenvalue_ = std::max(largest_eigenvalue_, largest_of_rest_);
}

Array IterativeRelationship::moment_functions() const {
  const Array is_number = probes_.nodes > kNothing * largest_eigenvalue_;
  const Array x = probes_.nodes * is_number / largest_of_rest_;
  return nd::stack({nd::ones_like(x), x, x.square()});
}

void IterativeRelationship::match_moments() {
  // The weights w / N become w / N (1 - d' M^-1 c(x)) with c(x) = (1, x, x^2), M the
  // mean of c c' and d what the moments have too much. This takes the best quadratic
  // approximation of f out of what the probes have to estimate, for every f.
  const auto n = static_cast<double>(rows() - subspace_.count());
  const double first = relationship_->trace() - subspace_.values.sum().item<double>();
  const double second =
      relationship_->sum_of_squares() - subspace_.values.square().sum().item<double>();
  const Array exact = nd::tensor(
      {n, first / largest_of_rest_, second / largest_of_rest_ / largest_of_rest_},
      nd::kDouble);
  const Array functions = moment_functions().view({kMomentCount, -1});
  const Array shares =
      (probes_.weights / static_cast<double>(options_.probes)).reshape({-1});
  moments_inverse_ = nd::linalg_pinv(nd::mm(functions * shares, functions.t()),
                                     /*rcond=*/1e-12, /*hermitian=*/true);
  const Array excess = nd::mv(functions, shares) - exact;
  const Array correction = nd::mv(functions.t(), nd::mv(moments_inverse_, excess));
  counts_ = (shares * (1 - correction)).view_as(probes_.weights);
}

Array IterativeRelationship::log_variances(const Array& nodes, double lambda) {
  return (lambda + (1 - lambda) * nodes).log();
}

LogDetEstimate IterativeRelationship::log_det_estimate(double lambda) const {
  const Array known = lambda + (1 - lambda) * subspace_.values;
  LogDetEstimate result{known.log().sum().item<double>(), 0, 0, 0};
  if (subspace_.is_complete()) return result;
  const Array values = log_variances(probes_.nodes, lambda);
  result.value += (counts_ * values).sum().item<double>();

  const auto probes = static_cast<double>(options_.probes);
  const Array functions = moment_functions();
  const Array products = (functions * (probes_.weights * values / probes)).sum({1, 2});
  const Array quadratic =
      nd::tensordot(nd::mv(moments_inverse_, products), functions, {0}, {0});
  const Array sums = (probes_.weights * (values - quadratic)).sum(1);
  const double spread = sums.std().item<double>() / std::sqrt(probes - kMomentCount);
  const Array enclosure =
      (probes_.weights * values).sum(1) -
      (enclosing_.weights * log_variances(enclosing_.nodes, lambda)).sum(1);
  // Between eigenvectors with residuals r and the rest C has elements of the length
  // (1 - lambda) r, which change its determinant in second order.
  const double mixed = (subspace_.residuals.square() / known).sum().item<double>() *
                       (1 - lambda) * (1 - lambda) / lambda;
  result.probe_error = standard_errors(probes - 1 - kMomentCount) * spread;
  result.quadrature_error = enclosure.mean().abs().item<double>();
  result.error = result.probe_error + result.quadrature_error + mixed;
  return result;
}

IterativeAccuracy IterativeRelationship::accuracy(double lambda) const {
  return {lambda,
          log_det_estimate(lambda),
          rows(),
          subspace_.count(),
          subspace_.is_complete() ? 0 : options_.probes,
          subspace_.is_complete() ? 0 : probes_.nodes.size(1),
          options_.tolerance};
}

Array IterativeRelationship::log_det(const Array& parameters) const {
  const Array lambda = checked_parameters(parameters).select(1, 0);
  Array result =
      subspace_.variances(lambda.to(relationship_->device())).log().sum(0).cpu();
  if (!subspace_.is_complete()) {
    const Array own_share = lambda.cpu().view({-1, 1, 1});
    result =
        result +
        (counts_ * (own_share + (1 - own_share) * probes_.nodes).log()).sum({1, 2});
  }
  return result.to(parameters.device());
}

Array IterativeRelationship::log_det_slope(const Array& parameters) const {
  const Array lambda = checked_parameters(parameters).select(1, 0);
  const Array known = (1 - subspace_.values).unsqueeze(1) /
                      subspace_.variances(lambda.to(relationship_->device()));
  Array result = known.sum(0).cpu();
  if (!subspace_.is_complete()) {
    const Array own_share = lambda.cpu().view({-1, 1, 1});
    result = result + (counts_ * (1 - probes_.nodes) /
                       (own_share + (1 - own_share) * probes_.nodes))
                          .sum({1, 2});
  }
  return result.to(relationship_->device());
}

IterativeRelationship::RestMeans IterativeRelationship::rest_means(
    const Array& lambda) const {
  if (subspace_.is_complete()) return {nd::zeros_like(lambda), nd::zeros_like(lambda)};
  const Array own_share = lambda.cpu().view({-1, 1, 1});
  const Array variance = own_share + (1 - own_share) * probes_.nodes;
  const auto count = static_cast<double>(rows() - subspace_.count());
  return {((counts_ / variance).sum({1, 2}) / count).to(lambda.device()),
          ((counts_ * (1 - probes_.nodes) / variance.square()).sum({1, 2}) / count)
              .to(lambda.device())};
}

Array IterativeRelationship::lambda_of_columns(const Array& parameters,
                                               std::int64_t columns) const {
  return checked_parameters(parameters)
      .to(relationship_->device())
      .expand({parameters.size(0), columns})
      .reshape({-1});
}

Array IterativeRelationship::times(const Array& matrix, const Array& lambda) const {
  return lambda * matrix + (1 - lambda) * relationship_->times(matrix);
}

Solution IterativeRelationship::solve(const Array& right, const Array& lambda,
                                      double tolerance, const Array& start) const {
  const ShiftedSystem system{
      .times = [this](const Array& x,
                      const Array& of_columns) { return times(x, of_columns); },
      .precondition =
          [this](const Array& x, const Array& of_columns) {
            return apply(subspace_, subspace_.inverse(of_columns), x);
          },
      .largest_eigenvalue = largest_eigenvalue_};
  return conjugate_gradients(
      system, right, lambda, start,
      {.tolerance = tolerance, .max_iterations = options_.max_iterations});
}

Array IterativeRelationship::solve_replicas(const Array& parameters,
                                            const Array& latents) const {
  return solve(side_by_side(latents), lambda_of_columns(parameters, latents.size(2)),
               options_.tolerance)
      .values;
}

Array IterativeRelationship::precision_times(const Array& parameters,
                                             const Array& latents) const {
  const Array all =
      checked_latents(parameters, latents, rows()).to(relationship_->device());
  return apart(solve_replicas(parameters, all), all.size(0)).to(latents.device());
}

Array IterativeRelationship::form_of_slope(const Array& solution,
                                           std::int64_t replicas) const {
  return sum_by_replica(solution * (solution - relationship_->times(solution)),
                        replicas);
}

Array IterativeRelationship::parameter_gradient(const Array& parameters,
                                                const Array& latents) const {
  const Array all =
      checked_latents(parameters, latents, rows()).to(relationship_->device());
  const auto columns = static_cast<double>(all.size(2));
  return (0.5 * (columns * log_det_slope(parameters) -
                 form_of_slope(solve_replicas(parameters, all), all.size(0))))
      .unsqueeze(1)
      .to(latents.device());
}

Array IterativeRelationship::padded(const Array& rows, const Array& latents) const {
  return nd::zeros({latents.size(0), this->rows(), latents.size(2)}, latents.options())
      .index_copy(1, rows, latents);
}

IterativeRelationship::DiagonalElements IterativeRelationship::diagonal_elements(
    const Array& parameters, const Array& rows) const {
  const Array lambda =
      checked_parameters(parameters).select(1, 0).to(relationship_->device());
  const Array variance = subspace_.variances(lambda);
  const Array squares = subspace_.vectors.index_select(0, rows).square();
  DiagonalElements result{
      nd::mm(squares, variance.reciprocal()),
      nd::mm(squares, (subspace_.values - 1).unsqueeze(1) / variance.square())};
  if (subspace_.is_complete()) return result;
  Array units = nd::zeros({this->rows(), rows.size(0)}, variance.options());
  units.index_put_({rows, nd::arange(rows.size(0), rows.options())},
                   nd::ones({rows.size(0)}, units.options()));
  LanczosQuadrature lanczos(*relationship_, subspace_, units);
  const Array own_share = lambda.cpu().view({-1, 1, 1});
  const auto elements = [&] {
    const SpectralMeasures measures = lanczos.gauss();
    const Array of_nodes = own_share + (1 - own_share) * measures.nodes;
    return DiagonalElements{
        (measures.weights / of_nodes).sum(2).t(),
        (measures.weights * (measures.nodes - 1) / of_nodes.square()).sum(2).t()};
  };
  DiagonalElements outside;
  double change = 1;
  while (change > options_.tolerance) {
    if (lanczos.steps() >= options_.max_iterations) {
      throw NumericalError(fmt::format(
          "[iterative-relationship] the diagonal of the inverse covariance for lambda "
          "from {:.4g} on still changes by {:.2g} after {} iterations, above the "
          "tolerance of {:.2g}; allow more iterations or a larger tolerance, or keep "
          "lambda further from 0",
          lambda.min().item<double>(), change, lanczos.steps(), options_.tolerance));
    }
    lanczos.advance(std::min(kStepsPerLook, options_.max_iterations - lanczos.steps()));
    const DiagonalElements next = elements();
    if (outside.precision.defined()) {
      const auto share = [](const Array& now, const Array& before) {
        return ((now - before).abs().max() / now.abs().max().clamp_min(1e-300))
            .item<double>();
      };
      change = std::max(share(next.precision, outside.precision),
                        share(next.slope, outside.slope));
    }
    outside = next;
  }
  result.precision = result.precision + outside.precision.to(lambda.device());
  result.slope = result.slope + outside.slope.to(lambda.device());
  return result;
}

Array IterativeRelationship::pairs_rows(const Array& parameters, const Array& rows,
                                        const Array& latents) const {
  const nd::Device device = relationship_->device();
  const Array batch = checked_latents(parameters, latents, rows.size(0)).to(device);
  const Array chosen = rows.to(device);
  const double weight = pair_weight(rows.size(0));
  const Array diagonal =
      diagonal_elements(parameters, chosen).precision.t().unsqueeze(2);
  const Array solution = solve_replicas(parameters, padded(chosen, batch));
  const Array all_pairs = apart(solution.index_select(0, chosen), batch.size(0));
  return (weight * all_pairs + (1 - weight) * diagonal * batch).to(latents.device());
}

Array IterativeRelationship::pairs_parameter_gradient(const Array& parameters,
                                                      const Array& rows,
                                                      const Array& latents) const {
  const nd::Device device = relationship_->device();
  const Array batch = checked_latents(parameters, latents, rows.size(0)).to(device);
  const Array chosen = rows.to(device);
  const double weight = pair_weight(rows.size(0));
  const Array all_pairs =
      -form_of_slope(solve_replicas(parameters, padded(chosen, batch)), batch.size(0));
  const Array diagonal =
      (diagonal_elements(parameters, chosen).slope.t() * batch.square().sum(2)).sum(1);
  const double scale =
      static_cast<double>(this->rows()) / static_cast<double>(rows.size(0));
  const auto columns = static_cast<double>(batch.size(2));
  return (0.5 * (columns * log_det_slope(parameters) +
                 scale * (weight * all_pairs + (1 - weight) * diagonal)))
      .unsqueeze(1)
      .to(latents.device());
}

std::vector<SpectralTerm> IterativeRelationship::likelihood_terms(
    const Array& latents) const {
  if (latents.dim() != 2 || latents.size(0) != rows()) {
    throw InputError(fmt::format(
        "[iterative-relationship] expected latents [{}, p], received {} dimensions "
        "with {} numbers",
        rows(), latents.dim(), latents.numel()));
  }
  const Array all = latents.to(relationship_->device(), nd::kDouble);
  const Array along =
      nd::mm(subspace_.vectors.t(), all).square().sum(1).cpu().contiguous();
  const Array values = subspace_.values.cpu().contiguous();
  std::vector<SpectralTerm> terms;
  for (std::int64_t j = 0; j < values.size(0); ++j) {
    terms.push_back({values.data_ptr<double>()[j], 1, along.data_ptr<double>()[j]});
  }
  if (subspace_.is_complete()) return terms;
  const auto add = [&](const Array& nodes, const Array& numbers,
                       double SpectralTerm::*member) {
    const Array node = nodes.contiguous(), number = numbers.contiguous();
    for (std::int64_t j = 0; j < node.numel(); ++j) {
      SpectralTerm term{node.data_ptr<double>()[j], 0, 0};
      term.*member = number.data_ptr<double>()[j];
      terms.push_back(term);
    }
  };
  add(probes_.nodes, counts_, &SpectralTerm::count);
  LanczosQuadrature lanczos(*relationship_, subspace_, all);
  SpectralMeasures measures;
  double sum = 0, change = 1;
  while (change > kQuadraticChange) {
    if (lanczos.steps() >= options_.max_iterations) {
      throw NumericalError(fmt::format(
          "[iterative-relationship] the likelihood curve at lambda = {} still changes "
          "by {:.2g} after {} iterations; allow more iterations",
          kHardLambda, change, lanczos.steps()));
    }
    lanczos.advance(std::min(kStepsPerLook, options_.max_iterations - lanczos.steps()));
    measures = lanczos.gauss();
    const double next =
        (measures.weights / (kHardLambda + (1 - kHardLambda) * measures.nodes))
            .sum()
            .item<double>();
    change = std::abs(next - sum) / std::max(next, 1e-300);
    sum = next;
  }
  add(measures.nodes, measures.weights, &SpectralTerm::sum_of_squares);
  return terms;
}

Array IterativeRelationship::most_likely(const Array& latents, const Array& start,
                                         double prior) const {
  Array result = nd::empty(start.sizes(), nd::kDouble);
  const Array all = checked_latents(result, latents, rows());
  for (std::int64_t r = 0; r < all.size(0); ++r) {
    result[r][0] = most_likely_lambda(likelihood_terms(all[r]),
                                      static_cast<double>(all.size(2)), prior);
  }
  return result.to(start.device());
}

Array IterativeRelationship::covariance(const Array& parameters) const {
  const Array lambda = checked_one_replica(parameters);
  const Array all =
      nd::arange(rows(), nd::TensorOptions(relationship_->device()).dtype(nd::kLong));
  const Array matrix = relationship_->block(all, all).to(lambda.device());
  return (lambda * nd::eye(rows(), lambda.options()) + (1 - lambda) * matrix)
      .unsqueeze(0);
}

}  // namespace kinflow
