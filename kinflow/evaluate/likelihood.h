// Held-out likelihood: rows by themselves, all rows together, and given others.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include "kinflow/array/array.h"
#include "kinflow/evaluate/row_law.h"
#include "kinflow/fit/table_rows.h"
#include "kinflow/model/model.h"

namespace kinflow {

struct Likelihood {
  std::int64_t rows = 0;           ///< that have a score
  std::int64_t rows_left_out = 0;  ///< for missing values
  double mean_nll_nats = 0;        ///< of single rows
  /// Of that mean, as if rows were independent; NaN for one row.
  double standard_error_nats = std::numeric_limits<double>::quiet_NaN();
  double bits_per_dimension = 0;
  /// [rows] float64, of single rows; undefined where they were not kept.
  Array row_log_density_nats;
  /// log p of all rows together under the learned dependence, where one was given.
  std::optional<double> joint_log_density_nats;
};

/// Mean and sum of squared deviations from it, value by value (Welford): the same for
/// any division of the values into pieces.
struct RunningMean {
  std::int64_t count = 0;
  double mean = 0;
  double squares = 0;

  void add(const Array& values);
};

/// The measures that follow from the mean of the rows' log-densities.
Likelihood likelihood_of(const RunningMean& log_density, std::int64_t columns);

/// NumericalError that names the first row whose density is not finite.
void check_finite_density(const Array& density, const TableRows& rows);

/// Scores rows under the mixture of the model's members, and all of them together under
/// the mixture of the members' joint laws, where these are given. Blocks are drawn from
/// the mixture one by one; with other structures one member is behind all rows.
Likelihood evaluate_likelihood(const Model& model, const TableRows& rows,
                               const RowLaws* laws = nullptr);

/// Logarithms of the weights of a model's members once rows were observed, [K]: equal
/// weights times each member's joint density of these rows.
/// @param observed  latents and log-determinants, as member_latents() gives them
/// @param laws  of the observed rows, followed by others
/// @param observed_laws  of the observed rows alone; null where there are none, which
///     costs a matrix of all rows
Array member_log_weights(const LatentResult& observed, const RowLaws& laws,
                         const RowLaws* observed_laws);

/// The same for every block of laws of blocks, by its own observed rows: [K, B].
/// @param observed  the first rows of the laws
Array member_log_weights_by_block(const LatentResult& observed, const RowLaws& laws);

/// Scores rows given observed ones: single rows given all observed rows, and all rows
/// together given these. Members count by their weights given the observed rows, in
/// every block by those of its own.
/// @param laws, observed_laws  as in member_log_weights()
Likelihood evaluate_given(const Model& model, const TableRows& observed,
                          const TableRows& rows, const RowLaws& laws,
                          const RowLaws* observed_laws);

}  // namespace kinflow
