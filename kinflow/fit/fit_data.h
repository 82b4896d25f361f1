// From tables to the rows that a training needs, and how they depend on each other.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kinflow/data/column_bounds.h"
#include "kinflow/fit/row_relations.h"
#include "kinflow/fit/table_rows.h"
#include "kinflow/flow/flow_options.h"

namespace kinflow {

/// Range of DataRequest::valid_fraction.
inline constexpr double kSmallestValidFraction = 0.001;
inline constexpr double kLargestValidFraction = 0.9;

/// Which rows are held out together where there is no validation table.
enum class HoldOutBy {
  dependence,  ///< rows that depend on each other: groups, relatives, both
  group,       ///< rows of a group
  rows,        ///< every row by itself
  time         ///< stretches of time; of one part the latest rows
};

/// Folds where the user names no number. A dense matrix of more rows than
/// kManyDenseRows is decomposed for one part only.
inline constexpr std::int64_t kDefaultFolds = 5;
inline constexpr std::int64_t kManyDenseRows = 5000;
inline constexpr std::int64_t kMostFolds = 100;

/// Which columns of which table, and how their rows depend on each other.
struct DataRequest {
  std::string table;
  std::string valid_table;  ///< empty: a part of `table` is held out
  std::vector<std::string>
      columns;  ///< empty: all but the group, id, context and time columns
  std::vector<std::string> context;
  DependenceRequest dependence;
  /// Not given: by the dependence, of a kernel of time by time, else rows.
  std::optional<HoldOutBy> split_by;
  /// Parts of the rows that are held out in turn; 1: one part of `valid_fraction`, 0:
  /// the default. No meaning with a validation table.
  std::int64_t folds = 0;
  /// Column whose equal labels are held out together, in addition.
  std::string fold_by = {};
  double valid_fraction = 0.15;
  bool drop_missing = false;
  MinusNine minus_nine = MinusNine::careful;
  /// Modelled columns in which many rows may have one value.
  std::vector<std::string> allow_ties = {};
  /// Modelled columns whose values lie between bounds.
  std::vector<BoundedColumn> bounds = {};
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
  std::string hint = {};  ///< on an option that the columns ask for, or empty
};

/// Reads and checks. Rows to be held out stand among the training rows still. Throws
/// InputError; writes nothing.
/// @param flow  that the rows are for
FitRows read_fit_rows(const DataRequest& request, const FlowOptions& flow);

/// InputError for fewer than two training rows, for instance after some were held out.
void check_row_count(const DataRequest& request, const FitRows& rows);
/// The same, and InputError where a column of the training rows has one value only.
void check_training_rows(const DataRequest& request, const FitRows& rows);

/// Folds of rows that were read: those of the request, or the default; 1 with a
/// validation table.
std::int64_t folds_of(const DataRequest& request, const FitRows& rows);

}  // namespace kinflow
