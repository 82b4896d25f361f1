// Which rows a fit holds out in which fold.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kinflow/fit/fit_data.h"

namespace kinflow {

/// Folds of the rows of a table. Rows of a unit depend on each other and are held out
/// together; standard errors go by units.
struct FoldPlan {
  std::int64_t folds = 0;
  std::vector<std::int64_t> fold_of_row = {};
  std::vector<std::int64_t> unit_of_row = {};
  std::int64_t units = 0;
  /// Rows that a fold neither trains on nor holds out: those next to its stretch of
  /// time. Empty, or one list for each fold.
  std::vector<std::vector<std::int64_t>> gaps = {};
  std::string note = {};  ///< one line for the user: what is held out

  /// Row numbers, ascending.
  std::vector<std::int64_t> held_out_rows(std::int64_t fold) const;
  std::vector<std::int64_t> training_rows(std::int64_t fold) const;
};

/// Folds that keep dependent rows together: groups, connected relatives, both together;
/// stretches of time; single rows where rows are independent or all depend on all.
/// There are fewer folds than asked for where there are fewer units. Folds are balanced
/// by what their units are worth: m rows with correlations of 1/2 are worth 2 m / (m +
/// 1) independent ones.
/// @param request  with a way to split
/// @param all      rows of the table, none of them held out
FoldPlan plan_folds(const DataRequest& request, const FitRows& all, std::int64_t folds,
                    std::uint64_t seed);

/// The training and held-out rows of a fold, with their relations.
FitRows rows_of_fold(const FitRows& all, const FoldPlan& plan, std::int64_t fold);

/// Takes one part of about DataRequest::valid_fraction out of the rows, by the same
/// units, or by time the latest rows.
void hold_out(const DataRequest& request, std::uint64_t seed, FitRows& rows);

}  // namespace kinflow
