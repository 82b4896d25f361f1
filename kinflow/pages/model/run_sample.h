// The rows of a run that its page looks at: a sample of all, rows that belong together,
// and those with the lowest density. The table is read once, piece by piece, so that
// memory does not grow with it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kinflow/array/array.h"
#include "kinflow/evaluate/row_law.h"
#include "kinflow/fit/table_rows.h"
#include "kinflow/model/model.h"
#include "kinflow/pages/run_record.h"

namespace kinflow {

/// Scores of held-out rows as held_out.csv has them, by the row of the table from 0.
struct HeldOutScores {
  std::vector<std::int64_t> row;
  std::vector<std::int32_t> fold, unit;
  std::vector<double> log_density;

  bool empty() const { return row.empty(); }
};

/// Reads held_out.csv; empty where it is not there, InputError where it is broken.
HeldOutScores read_held_out(const std::string& path);

/// Some rows of the training table, each with what is known of it.
struct SampledRows {
  TableRows rows;                  ///< `kept_rows` are places in the table
  std::vector<std::int64_t> fold;  ///< [n] that held it out, from 1; 0: none
  std::vector<std::int64_t> unit;  ///< [n] of rows that were held out together; 0: none

  std::int64_t count() const { return rows.data.defined() ? rows.data.size(0) : 0; }
};

struct RunSample {
  DependenceRequest dependence;  ///< of the training rows
  std::int64_t table_rows = 0;   ///< without those that were dropped
  SampledRows shown;             ///< spread evenly over the table
  SampledRows related;           ///< whole units, or parts of large ones
  bool related_are_all = false;
  SampledRows lowest;  ///< of held-out rows, in the order of the table
  /// Scores of those, and of all held-out rows.
  std::vector<double> lowest_scores;
  HeldOutScores held_out;
  std::string held_out_problem = {};  ///< why they are not there; empty: they are
};

/// Rows that are looked at, at most.
inline constexpr std::int64_t kShownRows = 12'000;
inline constexpr std::int64_t kRelatedRows = 1'600;
inline constexpr std::int64_t kLargestPartOfUnit = 80;
inline constexpr std::size_t kLowestRows = 40;

/// Reads the run's table. InputError where it is not there, cannot be read, or has
/// another content than the run saw.
RunSample sample_run(const RunRecord& run, const Model& model);

/// Latents of sampled rows [n, p] float64, each under the best flow that has not seen
/// it, where there is one; else under the first member.
Array held_out_latents(const Model& model, const SampledRows& sample);

}  // namespace kinflow
