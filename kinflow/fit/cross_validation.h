// Scores of rows by flows that have not seen them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kinflow {

struct CrossValidation {
  double nll_nats = 0;  ///< of single rows, each weighted by what it is worth
  double standard_error = 0;
  std::int64_t folds = 0;
  std::int64_t units = 0;                    ///< of rows that were held out together
  double worth_of_rows = 0;                  ///< 1' C^-1 1
  std::vector<std::int64_t> table_row = {};  ///< of every row, in the table, from 0
  std::vector<std::int64_t> fold_of_row = {};
  std::vector<std::int64_t> unit_of_row = {};
  std::vector<double> weight_of_row = {};  ///< C^-1 1, at least 0
  std::vector<double> log_density_of_row = {};
};

struct MeanByUnits {
  double mean = 0;
  double standard_error = 0;  ///< NaN for fewer than two units
};

/// The weighted mean of values, and its standard error where rows of one unit depend on
/// each other and units do not: the spread of the units' sums of weighted residuals.
MeanByUnits weighted_mean_by_units(const std::vector<double>& values,
                                   const std::vector<double>& weights,
                                   const std::vector<std::int64_t>& unit_of_row);

/// Writes a table with the score of every row: row, fold, unit, weight and
/// log_density_nats, numbered from 1.
void write_cross_validation(const std::string& path, const CrossValidation& scores);

}  // namespace kinflow
