// Pedigrees and the relationships that follow from them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kinflow/data/relationship_file.h"

namespace kinflow {

class TextLines;

/// People and their parents.
struct Pedigree {
  std::string source;         ///< the file, for messages
  std::vector<SampleId> ids;  ///< all different
  std::int64_t listed = 0;    ///< the first ones have a line of their own; the others
                              ///< are known as parents only, and are founders
  std::vector<std::int64_t> father;  ///< row in `ids`, -1 where unknown
  std::vector<std::int64_t> mother;
};

/// Reads a pedigree: id, father, mother in a line, or family, id, father, mother and
/// more, as in a .fam file; separated by blanks, tabs or commas. A first line that
/// names the columns (FID; IID or ID; PAT, FATHER or SIRE; MAT, MOTHER or DAM) is a
/// header. 0, NA, . and an empty cell stand for an unknown parent. Parents belong to
/// the family of their child. InputError for a person with two lines, one that is its
/// own parent, and one that is its own ancestor, with the people of the circle.
Pedigree read_pedigree(const std::string& path);
Pedigree read_pedigree(TextLines& lines);

/// The additive relationship matrix by the tabular recursion, inbreeding included:
/// A_ij = (A_jf + A_jm) / 2 for parents f and m of i and any j that is no descendant
/// of i, A_ii = 1 + A_fm / 2. Sparse, rows as in `ids`; time and memory grow with the
/// number of pairs of relatives. InputError where these do not fit into memory.
RelationshipFile pedigree_relationship(const Pedigree& pedigree,
                                       bool drop_unlisted_parents = false);

}  // namespace kinflow
