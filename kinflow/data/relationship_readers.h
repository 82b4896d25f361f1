// Readers of the single relationship formats, one function each. Their users call
// read_relationship().
#pragma once

#include <string_view>

#include "kinflow/data/relationship_file.h"
#include "kinflow/data/text_lines.h"

namespace kinflow {

/// Variants of matrices as text and as plink's binary files.
struct MatrixLayout {
  /// KING's kinships: a triangle has no diagonal, which is 0.5.
  bool is_kinship = false;
  /// plink's square0: a square with zeros above the diagonal stands for its triangle.
  bool zeros_above_mean_triangle = false;
};

/// Numbers, n x n or one more in each line (a lower triangle). A square may have a
/// header of ids, and a first column of ids or two of family and individual; ids that
/// are all numbers are taken for such only where the shape leaves no doubt.
RelationshipFile read_text_matrix(TextLines& lines, const MatrixLayout& layout = {});

/// GCTA's list: i j variants value, i and j from 1, every pair once, in any order.
RelationshipFile read_grm_list(TextLines& lines);
/// GCTA's sparse list: i j value, i and j from 0.
/// @param rows  n, or 0 where there are no ids: the largest index tells it
RelationshipFile read_sparse_grm(TextLines& lines, std::int64_t rows);
/// MatrixMarket: coordinate or array; real, integer or pattern; general or symmetric.
RelationshipFile read_matrix_market(TextLines& lines);

/// A table of pairs. Its header names the columns: [FID1] IID1 [FID2] IID2 (or ID1 and
/// ID2) and a value, KINSHIP, RELATIONSHIP or VALUE; without a header: id id value. A
/// missing pair is 0, a missing diagonal of kinships 0.5.
/// @param ids  the rows of the result; empty: the people of the table in the order of
///             their first appearance
RelationshipFile read_pairs(TextLines& lines, std::vector<SampleId> ids);

/// GCTA's .grm.bin: the float32 lower triangle, row by row.
/// @param ids  empty where there are none: the length tells the number of rows
RelationshipFile read_grm_binary(const std::string& path, std::vector<SampleId> ids);
RelationshipFile parse_grm_binary(std::string_view bytes, std::string source,
                                  std::vector<SampleId> ids);

/// The mean of GCTA's .grm.N.bin: the numbers of variants, laid out like the matrix.
double read_mean_count(const std::string& path, std::int64_t rows);

/// plink's .rel.bin and .king.bin. The length and the number of ids tell float64 from
/// float32 and a square from a triangle.
RelationshipFile read_plink_binary(const std::string& path, std::vector<SampleId> ids,
                                   const MatrixLayout& layout);
RelationshipFile parse_plink_binary(std::string_view bytes, std::string source,
                                    std::vector<SampleId> ids,
                                    const MatrixLayout& layout);

/// True where the first line is the header of a table of pairs, or of a pedigree. The
/// line stays the next one.
bool starts_like_pairs(TextLines& lines);
bool starts_like_pedigree(TextLines& lines);

/// Copies the lower triangle of a dense matrix, row-major, to the upper one.
void mirror_lower_triangle(std::vector<double>& values, std::int64_t rows);

}  // namespace kinflow
