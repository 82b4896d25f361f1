// The rows of a relationship matrix for the rows of a table.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kinflow/data/relationship_file.h"
#include "kinflow/data/relationship_format.h"

namespace kinflow {

/// The rows of a table by their ids.
struct TableIds {
  std::string source;         ///< the table, for messages
  std::vector<SampleId> ids;  ///< [rows]; families are empty where the table has none
};

/// Where the rows of a table stand in a relationship matrix.
struct RowMatch {
  std::vector<std::int64_t> rows;   ///< [rows of the table] row of the matrix
  std::int64_t matched = 0;         ///< rows of the table, all of them
  std::int64_t only_in_matrix = 0;  ///< rows of the matrix that the table does not have
};

/// Finds every row of a table in a matrix, in any order. Where the table or the matrix
/// has no families, individual ids alone decide. InputError where the matrix has no
/// ids, where an id of the table occurs twice, is not in the matrix (the first few are
/// named) or stands for several people of the matrix.
RowMatch match_rows(const RelationshipFile& file, const TableIds& table);

enum class RelationshipScale {
  unit_diagonal,  ///< to a mean diagonal of 1
  none            ///< as it is in the file
};

/// A relationship matrix that a table asks for.
struct RelationshipRequest {
  std::string path;
  std::string ids = {};  ///< file of ids; empty: the one beside the matrix
  RelationshipScale scale = RelationshipScale::unit_diagonal;
};

/// A relationship matrix whose rows are those of a table.
struct TableRelationship {
  RelationshipFile matrix;  ///< symmetric, with a positive diagonal; dense or sparse
  std::string note;  ///< one line for the user: the scale, its factor, and the counts
};

/// Reads a relationship matrix for the rows of a table, matched by their ids. The scale
/// is that of the whole file, so that it does not depend on the table.
TableRelationship relationship_for_table(const RelationshipRequest& request,
                                         const TableIds& table);
/// The same by position: the file must have as many rows as the table, in its order.
/// Parents of a pedigree without a line of their own have no row.
TableRelationship relationship_by_position(const RelationshipRequest& request,
                                           std::int64_t expected_rows);

}  // namespace kinflow
