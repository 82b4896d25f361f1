// Relationship matrices with identities, dense or sparse, as they stand in files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kinflow/core/memory.h"
#include "kinflow/data/compressed_rows.h"
#include "kinflow/data/sample_ids.h"

namespace kinflow {

/// An entry of a sparse matrix in any order.
struct SparseEntry {
  std::int32_t row;
  std::int32_t column;
  double value;
};

/// A relationship matrix G of n rows, finite, with the names of its rows. Either
/// `dense` or `sparse` is filled. As it comes from a reader it may be asymmetric (where
/// the file holds both triangles), have a diagonal that is not positive, or be
/// indefinite: see make_symmetric() and check_relationship.h.
struct RelationshipFile {
  std::string source;         ///< the file, for messages
  std::vector<SampleId> ids;  ///< [n] all different, or empty where there are none
  std::int64_t rows = 0;      ///< n, at least 1
  std::vector<double> dense;  ///< [n x n], row-major
  /// Columns increase within a row, both triangles are stored, the pattern is
  /// symmetric, and every diagonal entry is there.
  CompressedRows sparse;
  double variants = 0;  ///< mean number of variants behind an entry, 0 where unknown
  /// The number behind every entry: [n (n + 1) / 2], the lower triangle row by row.
  /// Empty where it is the same for all or unknown.
  std::vector<float> pair_variants = {};

  bool is_sparse() const { return dense.empty(); }
};

/// Calls visit(column, value) for the stored entries of a row, by increasing column.
template <typename Visit>
void visit_row(const RelationshipFile& file, std::int64_t row, const Visit& visit) {
  const auto i = static_cast<std::size_t>(row);
  if (!file.is_sparse()) {
    const double* values = file.dense.data() + i * static_cast<std::size_t>(file.rows);
    for (std::int64_t j = 0; j < file.rows; ++j) visit(j, values[j]);
    return;
  }
  const auto end = static_cast<std::size_t>(file.sparse.row_starts[i + 1]);
  for (auto at = static_cast<std::size_t>(file.sparse.row_starts[i]); at < end; ++at) {
    visit(file.sparse.columns[at], file.sparse.values[at]);
  }
}

/// G_ij; 0 where a sparse matrix has no entry.
double value_at(const RelationshipFile& file, std::int64_t row, std::int64_t column);

/// "row 3 ('FAMILY INDIVIDUAL')", from 1, for messages.
std::string row_name(const RelationshipFile& file, std::int64_t row);

/// Compressed rows of `rows` rows from entries that are in range.
/// @param mirrored  the entries are one triangle with its diagonal, in whatever half;
///                  else they are the whole matrix, and an entry whose mirror image is
///                  not among them gets one of 0
/// InputError, with `source`, for a place that is named twice and for a diagonal entry
/// that is missing.
CompressedRows compress_rows(std::int64_t rows, std::vector<SparseEntry> entries,
                             bool mirrored, const std::string& source);

/// InputError, with what would need less, where n x n numbers do not fit into memory.
/// @param source  the file, for the message
void require_dense_memory(std::int64_t rows, const std::string& source,
                          const MemorySources& sources = {});

/// All n x n values, row-major. InputError as in require_dense_memory().
std::vector<double> to_dense(RelationshipFile file);

/// The given rows and columns in the given order, each at most once.
RelationshipFile select_rows(const RelationshipFile& file,
                             const std::vector<std::int64_t>& chosen);

/// The mean of G_ii.
double mean_diagonal(const RelationshipFile& file);

/// Scales G to a mean diagonal of 1, which turns KING's kinships into relationships
/// and makes lambda comparable between tools. Returns the factor; 1, with G left as it
/// is, where the mean is 1 up to rounding. InputError unless the mean is positive.
double rescale_to_unit_diagonal(RelationshipFile& file);

/// G as a sparse matrix without the off-diagonal entries whose absolute value is below
/// `threshold`, or 0.
RelationshipFile sparsify(const RelationshipFile& file, double threshold);

/// Makes G exactly symmetric. InputError unless it has a positive diagonal and is
/// symmetric: G_ij and G_ji may differ by 1e-6 of the largest of |G_ij|, |G_ji| and
/// sqrt(G_ii G_jj), and are then replaced by their mean. The message names the worst
/// pair.
void make_symmetric(RelationshipFile& file);

}  // namespace kinflow
