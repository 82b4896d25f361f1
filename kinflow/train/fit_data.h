// From tables and a dependence to the tensors that a training needs.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kinflow/data/match_rows.h"
#include "kinflow/data/split.h"
#include "kinflow/dependence/blocks.h"
#include "kinflow/dependence/dependence.h"

namespace kinflow {

class Table;

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
  std::string group;             ///< column of block labels
  std::string relationship;      ///< file of a relationship matrix
  std::string relationship_ids;  ///< file of its rows' ids; empty: the one beside it
  RelationshipScale relationship_scale = RelationshipScale::unit_diagonal;
  std::vector<std::string> id;      ///< columns of ids: individual, or family and
                                    ///< individual; empty: rows match by position
  std::string time;                 ///< column, for splits by time
  std::optional<SplitBy> split_by;  ///< not given: group where there is one, else rows
  double valid_fraction = 0.15;
  bool drop_missing = false;
};

/// Rows of a table as float64 tensors in original units.
struct TableRows {
  at::Tensor data;                  ///< [n, p]
  at::Tensor context;               ///< [n, c] or undefined
  std::vector<std::string> labels;  ///< [n] block labels, empty without a group column
  std::vector<double> times;        ///< [n] empty without a time column
  std::vector<SampleId> ids = {};   ///< [n] empty without columns of ids
  std::vector<std::int64_t> kept_rows;  ///< [n] row of the table
  std::int64_t table_rows = 0;  ///< before rows with missing values were dropped
};

/// Columns to read from a table that holds data for a model or a request.
struct ColumnChoice {
  std::vector<std::string> columns;
  std::vector<std::string> context = {};
  std::string group = {};
  std::string time = {};
  bool drop_missing = false;
  std::vector<std::string> id = {};
};
TableRows read_rows(const Table& table, const ColumnChoice& choice);
TableRows read_rows(const std::string& path, const ColumnChoice& choice);

/// The blocks of rows by their labels.
struct LabelledBlocks {
  std::unique_ptr<Blocks> blocks;
  /// Label of every parameter when each block has its own, and the block's size.
  std::vector<std::string> labels;
  std::vector<std::int64_t> sizes;
};
LabelledBlocks make_blocks(const std::vector<std::string>& label_of_row,
                           BlockCorrelation correlation, at::Device device = at::kCPU);

/// A relationship matrix for rows of a table.
struct RelationshipTensor {
  at::Tensor matrix;  ///< [n, n] float64
  std::string note;   ///< one line for the user
};
/// Reads it. Rows with ids are matched by them, others by position: the file then has a
/// row for every row of the table, also for those that were dropped. InputError, with
/// the file's name, also where the matrix is not positive semidefinite.
/// @param table  its name, for messages
RelationshipTensor read_relationship(const RelationshipRequest& request,
                                     const TableRows& rows, const std::string& table);
/// A relationship matrix of `rows` rows in the order of the file.
RelationshipTensor read_relationship(const RelationshipRequest& request,
                                     std::int64_t rows);

/// Training and validation rows.
struct FitRows {
  std::vector<std::string> columns;
  std::int64_t dropped_rows = 0;  ///< of the training table, for missing values
  TableRows train;
  TableRows valid;
  at::Tensor relationship;        ///< [n, n] of the training rows, or undefined
  at::Tensor valid_relationship;  ///< [m, m] of held-out rows, or undefined
  std::string relationship_note;  ///< how it was matched and scaled
};

/// Reads, checks and splits. Throws InputError; writes nothing.
FitRows read_fit_rows(const DataRequest& request, std::uint64_t seed);

}  // namespace kinflow
