// Held-out likelihood: rows by themselves, and all rows together.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kinflow/train/fit_data.h"
#include "kinflow/train/model.h"

namespace kinflow {

struct Likelihood {
  std::int64_t rows = 0;
  double mean_nll_nats = 0;        ///< of single rows
  double standard_error_nats = 0;  ///< of that mean, as if rows were independent
  double bits_per_dimension = 0;
  at::Tensor row_log_density_nats;  ///< [rows] float64, of single rows
  /// log p of all rows together under the learned dependence, where one was given.
  std::optional<double> joint_log_density_nats;
};

/// How the evaluated rows depend on each other; empty: only single rows are scored.
struct EvaluatedDependence {
  bool by_group = false;    ///< the rows carry labels
  at::Tensor relationship;  ///< [n, n] or undefined
  /// Instead of what the model learned: rho of all blocks, or lambda.
  std::optional<double> parameter;
};

/// Scores rows. InputError where a dependence is given that the model has no parameter
/// for.
Likelihood evaluate_likelihood(const Model& model, const TableRows& rows,
                               const EvaluatedDependence& dependence);

/// How far learned correlations are from the truth; blocks of one row do not count.
struct CorrelationError {
  std::int64_t blocks = 0;
  double mean_squared = 0;
  double mean_absolute = 0;
};
CorrelationError correlation_error(const LearnedDependence& learned,
                                   const std::vector<std::string>& true_labels,
                                   const std::vector<double>& true_correlations);

}  // namespace kinflow
