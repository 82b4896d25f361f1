// The rows of a relationship matrix for the rows of a table.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kinflow/data/relationship_file.h"
#include "kinflow/data/relationship_format.h"

namespace kinflow {

/// The rows of a table, or of another file, by their ids.
struct TableIds {
  std::string source;         ///< the file, for messages
  std::vector<SampleId> ids;  ///< [rows]; families are empty where there are none
};

/// Where the rows of a table stand in another file.
struct RowMatch {
  std::vector<std::int64_t> rows;  ///< [rows of the table] row of the file
  std::string note;  ///< for the user: how many rows were matched, and what is left
};

/// Finds every row of a table in a file, in any order. Where the table or the file has
/// no families, individual ids alone decide. InputError where an id of the table occurs
/// twice, is not in the file (the first few are named) or stands for several people of
/// the file. Where none is in the file, the message is about the file.
RowMatch match_rows(const TableIds& file, const TableIds& table);

/// What two lists of people differ in that have nobody in common, where it can be seen:
/// in families alone, or in ids that are made of family and individual. Else empty.
std::string why_nobody_matches(const TableIds& left, const TableIds& right);

enum class RelationshipScale {
  unit_diagonal,  ///< to a mean diagonal of 1
  none            ///< as it is in the file
};

/// What to tell the user where rows are matched by position, though the file may have
/// ids.
std::string position_note(const std::vector<SampleId>& ids_of_file);

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
