// Held-out likelihood: rows by themselves, all rows together, and given others.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "kinflow/evaluate/row_law.h"
#include "kinflow/train/model.h"
#include "kinflow/train/table_rows.h"

namespace kinflow {

struct Likelihood {
  std::int64_t rows = 0;
  double mean_nll_nats = 0;  ///< of single rows
  /// Of that mean, as if rows were independent; NaN for one row.
  double standard_error_nats = std::numeric_limits<double>::quiet_NaN();
  double bits_per_dimension = 0;
  /// [rows] float64, of single rows; undefined where they were not kept.
  at::Tensor row_log_density_nats;
  /// log p of all rows together under the learned dependence, where one was given.
  std::optional<double> joint_log_density_nats;
};

/// Mean and sum of squared deviations from it, value by value (Welford): the same for
/// any division of the values into pieces.
struct RunningMean {
  std::int64_t count = 0;
  double mean = 0;
  double squares = 0;

  void add(const at::Tensor& values);
};

/// The measures that follow from the mean of the rows' log-densities.
Likelihood likelihood_of(const RunningMean& log_density, std::int64_t columns);

/// Log-density of every row by itself, [n], from its latents.
at::Tensor row_log_density(const LatentResult& latents);
/// NumericalError that names the first row whose density is not finite.
void check_finite_density(const at::Tensor& density, const TableRows& rows);

/// Scores rows, and all of them together under their law where there is one.
Likelihood evaluate_likelihood(const Model& model, const TableRows& rows,
                               const RowLaw* law = nullptr);

/// Scores rows given observed ones: single rows given all observed rows, and all rows
/// together given these.
/// @param law  of the observed rows followed by the others
/// @param observed_law  of the observed rows alone; null where there is none, which
///     costs a matrix of all rows
Likelihood evaluate_given(const Model& model, const TableRows& observed,
                          const TableRows& rows, const RowLaw& law,
                          const RowLaw* observed_law);

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
