// The multivariate random-intercept normal distribution: what repeat measurements are
// compared with.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace kinflow {

/// A row of group g is mean + b_g + e, with normal b_g and e of these covariances.
/// Groups are numbered 0 .. in all functions.
struct RandomIntercept {
  at::Tensor mean;     ///< [p]
  at::Tensor between;  ///< [p, p] of b
  at::Tensor within;   ///< [p, p] of e
};

/// The most likely parameters, by the EM algorithm. NumericalError where it does not
/// converge.
/// @param rows  [n, p] float64
RandomIntercept most_likely_random_intercept(
    const at::Tensor& rows, const std::vector<std::int64_t>& group_of_row);

/// Log-densities in nats of every row by itself, [n].
at::Tensor row_log_density(const RandomIntercept& model, const at::Tensor& rows);

/// Log-density of all rows together.
double joint_log_density(const RandomIntercept& model, const at::Tensor& rows,
                         const std::vector<std::int64_t>& group_of_row);

/// Log-densities of every row by itself given the observed rows of its group, [m].
at::Tensor row_log_density_given(const RandomIntercept& model,
                                 const at::Tensor& observed,
                                 const std::vector<std::int64_t>& group_of_observed,
                                 const at::Tensor& rows,
                                 const std::vector<std::int64_t>& group_of_row);

}  // namespace kinflow
