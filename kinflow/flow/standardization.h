// Centring and scaling of columns, always in float64, as the first step of a model; on
// request columns leave their bounds before, and get normal scores and become
// uncorrelated after it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kinflow/array/array.h"
#include "kinflow/data/column_bounds.h"
#include "kinflow/flow/normal_scores.h"

namespace kinflow {

/// standardised = D s((b(data) - mean) / deviation), with a map b of each column with
/// bounds to the real line, and a map s of each column to normal scores. It is part of
/// the model: its log-determinant belongs to the log-density.
struct Standardization {
  Array mean;                             ///< [p] float64, of b(data)
  Array deviation;                        ///< [p] float64, positive
  std::vector<NormalScores> scores = {};  ///< s, [p]; empty: the identity
  /// D, [p, p] float64, lower triangular with a positive diagonal; undefined: the
  /// identity.
  Array decorrelation = {};
  std::vector<ColumnBounds> bounds = {};  ///< of b, [p]; empty: the identity

  /// Weighted mean and standard deviation of the columns of data [n, p] float64, n >=
  /// 2, none of them constant and all within their bounds. A mean outside the data's
  /// range, which negative weights can give, is replaced by the plain one; the
  /// deviation counts negative weights as 0.
  /// @param weights [n] float64, or undefined for equal ones
  static Standardization from(const Array& data, const Array& weights = {},
                              std::vector<ColumnBounds> bounds = {});

  /// The same with normal scores, of the weighted distribution of the columns of data
  /// [n, p]; columns that are as good as normal stay as they are. Nothing where all
  /// are, or where the rows are worth too few to tell.
  /// @param information  independent rows that they are worth
  std::optional<Standardization> with_scores(const Array& data, const Array& weights,
                                             double information) const;

  /// The same with a decorrelation: the standardised columns of data [n, p] are
  /// uncorrelated. Nothing where their correlations have no Cholesky factor.
  std::optional<Standardization> decorrelated(const Array& data,
                                              const Array& weights = {}) const;

  /// Neither centres nor scales.
  static Standardization none(std::int64_t columns,
                              std::vector<ColumnBounds> bounds = {});

  Array apply(const Array& data) const;
  /// Always within the bounds.
  Array undo(const Array& standardized) const;
  /// log |det| of apply() for every row, [n] float64; -infinity for a row that is not
  /// within the bounds.
  Array log_abs_det(const Array& data) const;
  /// b(data).
  Array unbounded(const Array& data) const;

 private:
  Array scaled(const Array& data) const;
};

/// A bound for the splines from standardised training data [n, p]: a little beyond the
/// largest absolute value, taken as 4 to 12 standard deviations. Normal latents need 4;
/// further outliers do well in the linear tails.
///
/// Rows that are worth few independent ones show less than the population: for them the
/// bound is up to 1.6 times as far, so that the splines hold about the largest of
/// 10,000.
/// @param information  independent rows that they are worth, 1' C^-1 1
double spline_bound_for(const Array& standardized, double information);

}  // namespace kinflow
