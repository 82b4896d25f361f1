// Relationship matrices into the files of other tools.
#pragma once

#include <string>
#include <vector>

#include "kinflow/core/result_files.h"
#include "kinflow/data/relationship_file.h"
#include "kinflow/data/relationship_format.h"

namespace kinflow {

/// Writes a relationship matrix in the format of the ending of `path`, every file
/// atomically, the names of the rows (if there are any) before the matrix:
///
///   .npy                 float64, and PATH.id
///   .grm.bin             float32 lower triangle, .grm.id and .grm.N.bin
///   .grm.gz              i j variants value, and .grm.id
///   .grm.sp              i j value of the entries that are not 0, and .grm.id
///   .rel, .rel.gz        lower triangle as text, and .rel.id
///   .rel.bin             float64 square, and .rel.id
///   .mtx                 symmetric MatrixMarket coordinates, and PATH.id
///   .kin0, .kin          table of pairs with ids (relationships, not kinships)
///   .txt, .tsv, .csv     square as text (GEMMA's .cXX.txt is one), and PATH.id
///
/// Numbers of text have the fewest digits that read back to the same float64. GCTA's
/// numbers of variants are 1 where they are not known. InputError for a format that
/// cannot be written (.king, pedigrees), for GCTA's and plink's without ids, and for
/// ids with blanks. Takes the lower triangle of an asymmetric matrix where a format
/// holds one only. Returns the files it wrote.
std::vector<std::string> write_relationship(const std::string& path,
                                            const RelationshipFile& file);

/// All files that write_relationship() may write for a path.
ResultFiles files_of_relationship(const std::string& path);

}  // namespace kinflow
