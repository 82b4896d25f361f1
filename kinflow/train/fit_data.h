// From tables to the rows that a training needs, and how they depend on each other.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kinflow/data/split.h"
#include "kinflow/flow/flow_options.h"
#include "kinflow/train/row_relations.h"
#include "kinflow/train/table_rows.h"

namespace kinflow {

/// Range of DataRequest::valid_fraction.
inline constexpr double kSmallestValidFraction = 0.001;
inline constexpr double kLargestValidFraction = 0.9;

/// Which columns of which table, and how their rows depend on each other.
struct DataRequest {
  std::string table;
  std::string valid_table;  ///< empty: a part of `table` is held out
  std::vector<std::string>
      columns;  ///< empty: all but the group, id, context and time columns
  std::vector<std::string> context;
  DependenceRequest dependence;
  std::optional<SplitBy> split_by;  ///< not given: group where there is one, else rows
  double valid_fraction = 0.15;
  bool drop_missing = false;
  MinusNine minus_nine = MinusNine::careful;
  /// Modelled columns in which many rows may have one value.
  std::vector<std::string> allow_ties = {};
};

/// Training and validation rows.
struct FitRows {
  std::vector<std::string> columns;
  std::int64_t dropped_rows = 0;  ///< of the training table, for missing values
  TableRows train;
  TableRows valid;
  RowRelations relations;  ///< of the training rows, with the notes of all
  /// Of held-out rows; none (0 rows) for those of a validation table, which are taken
  /// as independent.
  RowRelations valid_relations;
  bool has_valid_table = false;
  MinusNineRule minus_nine;                ///< for further rows of the same columns
  std::vector<std::string> warnings = {};  ///< about the tables, for the user
};

/// Takes validation rows out of the training rows and their relations.
/// @param request  with a way to split
void hold_out(const DataRequest& request, std::uint64_t seed, FitRows& rows);

/// Reads, checks and splits. Throws InputError; writes nothing.
/// @param flow  that the rows are for
FitRows read_fit_rows(const DataRequest& request, const FlowOptions& flow,
                      std::uint64_t seed);

}  // namespace kinflow
