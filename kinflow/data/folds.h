// Folds of a cross-validation: parts of the rows that keep what belongs together.
#pragma once

#include <cstdint>
#include <vector>

namespace kinflow {

/// The fold of every unit, so that all folds are worth about the same: the unit that is
/// worth most comes first, and each goes to the fold that is worth least so far. Units
/// of one worth come in random order. No fold is empty where there are as many units as
/// folds.
/// @param worth_of_unit  at least 0
std::vector<std::int64_t> deal_units(const std::vector<double>& worth_of_unit,
                                     std::int64_t folds, std::uint64_t seed);

/// The number of independent rows that a unit is worth with correlations of 1/2.
double usual_worth_of_unit(std::int64_t rows);

/// Rows cut into stretches of time with about as many rows in each; rows of one time
/// stay together. Stretches are numbered from the earliest on; there are fewer where
/// there are not as many different times.
/// @param time_of_row  finite
std::vector<std::int64_t> stretches_of_time(const std::vector<double>& time_of_row,
                                            std::int64_t stretches);

}  // namespace kinflow
