// Which relationship format a name stands for, and which files belong to it.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace kinflow {

enum class RelationshipFormat {
  npy,            ///< n x n array
  text,           ///< n x n or lower triangle, with or without ids in the file
  grm_binary,     ///< GCTA's .grm.bin: float32 lower triangle
  grm_list,       ///< GCTA's .grm.gz: i j variants value, from 1
  grm_sparse,     ///< GCTA's .grm.sp: i j value, from 0
  rel_text,       ///< plink's .rel: lower triangle or square
  rel_binary,     ///< plink's .rel.bin: float64 or float32
  king_text,      ///< plink2's .king: kinships, lower triangle without the diagonal
  king_binary,    ///< plink2's .king.bin
  pairs,          ///< a table with two ids and a value a line, such as .kin0
  matrix_market,  ///< .mtx
  pedigree        ///< id, father and mother a line, such as .fam
};

/// Names of the formats as a person types them.
const std::vector<std::pair<std::string, RelationshipFormat>>&
relationship_format_names();
const std::string& name_of(RelationshipFormat format);

/// The format that the ending of a name stands for: `.npy`, `.grm.bin`, `.grm.gz` and
/// `.grm`, `.grm.sp`, `.rel`, `.rel.bin`, `.king`, `.king.bin`, `.kin0` and `.kin`,
/// `.mtx`, `.fam`, `.psam`, `.ped` and `.pedigree`, all but the binary ones also with
/// `.gz`. Any other name is text. InputError for .zst.
RelationshipFormat relationship_format(const std::string& path);

/// How to find and read a relationship matrix.
struct RelationshipOptions {
  std::string ids = {};  ///< file of ids, one a row; empty: the one beside the matrix
  std::optional<RelationshipFormat> format = {};  ///< not given: by the name
  /// Pedigrees: leave parents that have no line of their own out of the result.
  bool drop_unlisted_parents = false;
};

/// The files of one relationship matrix.
struct RelationshipFiles {
  RelationshipFormat format;
  std::string matrix;
  std::string ids;     ///< empty where there is no file of ids
  std::string counts;  ///< GCTA's .grm.N.bin, empty where there is none
};

/// Finds the files. `path` may be a file, or GCTA's prefix with or without .grm. A file
/// of ids that is not given is looked for beside the matrix: the tool's own
/// (PREFIX.grm.id, PREFIX.rel.id, PREFIX.king.id), else PATH.id, else SAIGE's
/// PATH.sampleIDs.txt. Reads nothing but the names.
RelationshipFiles find_relationship(const std::string& path,
                                    const RelationshipOptions& options = {});

/// The tool's own name for the ids of a matrix that is to be written.
std::string ids_path_for(const std::string& matrix, RelationshipFormat format);

}  // namespace kinflow
