// The multivariate random-intercept normal distribution: what repeat measurements are
// compared with.
#pragma once

#include <cstdint>
#include <vector>

#include "kinflow/array/array.h"

namespace kinflow {

/// A row of group g is mean + b_g + e, with normal b_g and e of these covariances.
/// Groups are numbered 0 .. in all functions.
struct RandomIntercept {
  Array mean;     ///< [p]
  Array between;  ///< [p, p] of b
  Array within;   ///< [p, p] of e
};

/// The most likely parameters, by the EM algorithm. NumericalError where it does not
/// converge.
/// @param rows  [n, p] float64
RandomIntercept most_likely_random_intercept(
    const Array& rows, const std::vector<std::int64_t>& group_of_row);

/// Log-densities in nats of every row by itself, [n].
Array row_log_density(const RandomIntercept& model, const Array& rows);

/// Log-density of all rows together.
double joint_log_density(const RandomIntercept& model, const Array& rows,
                         const std::vector<std::int64_t>& group_of_row);

/// Log-densities of every row by itself given the observed rows of its group, [m].
Array row_log_density_given(const RandomIntercept& model, const Array& observed,
                            const std::vector<std::int64_t>& group_of_observed,
                            const Array& rows,
                            const std::vector<std::int64_t>& group_of_row);

}  // namespace kinflow
