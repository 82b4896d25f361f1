// Is one run better than another on the same table? Paired differences of the scores of
// held-out rows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kinflow/fit/cross_validation.h"

namespace kinflow {

/// One run beside the first of a comparison.
struct ComparedRun {
  std::string run;
  double nll_nats = 0;  ///< cross-validated, with the weights of the comparison
  double standard_error = 0;
  /// Its NLL minus that of the first run, row by row, and the error of the mean by
  /// units: below 0 the run is better than the first.
  MeanByUnits difference;
  MeanByUnits difference_of_rows;  ///< the same with all rows counted alike
  /// Whether it was trained on rows that another run holds out together with those that
  /// it scores: its own score is then too good.
  bool has_seen_relatives = false;
};

struct RunComparison {
  std::int64_t rows = 0;
  std::int64_t units = 0;  ///< rows that any of the runs held out together
  std::string weights_of;  ///< the run whose weights of rows are taken
  std::vector<ComparedRun> runs;
};

/// Compares cross-validated runs of one table. InputError where a run has no
/// cross-validation, or where tables, columns or rows differ.
/// @param runs  run folders, at least two
RunComparison compare_runs(const std::vector<std::string>& runs);

}  // namespace kinflow
