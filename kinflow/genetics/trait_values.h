// Traits made ready for tests: freed of covariates, checked, and as normal scores.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kinflow/genetics/named_columns.h"

namespace kinflow {

/// The covariates behind an intercept, a column of ones.
NamedColumns with_intercept(const NamedColumns& covariates, std::int64_t rows);

/// What a regression on the covariates leaves of the traits.
/// @param covariates  linearly independent, with the intercept if there is one
NamedColumns residuals(const NamedColumns& traits, const NamedColumns& covariates,
                       std::int64_t rows);

/// Every column by its ranks: the normal quantiles of (rank - 3/8) / (rows + 1/4), of
/// equal values the one of their mean rank.
NamedColumns rank_normal_scores(const NamedColumns& columns, std::int64_t rows);

/// Files that traits and covariates come from, for messages; may be empty.
struct TraitSources {
  std::string traits = {}, covariates = {};
};

/// InputError, with the names of columns, where a value is not finite, the largest one
/// of a column is above 1e100 or below 1e-100, a covariate is constant beside an
/// intercept, a covariate or a trait (given the covariates) is a
/// linear combination of others, or there are too few rows for them.
void check_traits_and_covariates(const NamedColumns& traits,
                                 const NamedColumns& covariates, std::int64_t rows,
                                 const TraitSources& sources = {});

/// How traits go together, given the covariates.
struct TraitCorrelations {
  std::vector<double> matrix;  ///< [traits x traits]
  /// The largest over the smallest eigenvalue of the matrix.
  double condition = 1;
};
TraitCorrelations trait_correlations(const NamedColumns& traits,
                                     const NamedColumns& covariates, std::int64_t rows);

}  // namespace kinflow
