// Relationship matrices: formats, and every way in which one can be wrong.
#include "kinflow/data/relationship_matrix.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kinflow/data/npy.h"
#include "tests/data/helpers.h"

namespace kinflow {
namespace {

using Numbers = std::vector<double>;

std::vector<double> text(const std::string& bytes, std::int64_t rows) {
  return parse_relationship_matrix(bytes, "g.txt", rows);
}

std::string text_error(const std::string& bytes, std::int64_t rows) {
  return input_error_of([&] { text(bytes, rows); });
}

TEST(RelationshipMatrix, TextWithAnySeparatorIsRead) {
  const Numbers expected = {1, 0.5, 0.5, 2};
  EXPECT_EQ(text("1 0.5\n0.5 2\n", 2), expected);
  EXPECT_EQ(text("1,0.5\r\n0.5,2\r\n\n", 2), expected);
  EXPECT_EQ(text("\t1\t0.5\n 0.5 , 2", 2), expected);
}

TEST(RelationshipMatrix, ArraysAreReadFromFiles) {
  const TemporaryFolder folder;
  write_npy(folder.path("g.npy"), {2, 2}, Numbers{1, 0.5, 0.5, 2});
  EXPECT_EQ(read_relationship_matrix(folder.path("g.npy"), 2),
            (Numbers{1, 0.5, 0.5, 2}));
  EXPECT_EQ(read_relationship_matrix(folder.write("g.txt", "1 0\n0 1\n"), 2),
            (Numbers{1, 0, 0, 1}));
  EXPECT_EQ(input_error_of([&] { read_relationship_matrix(folder.path("no.npy"), 2); }),
            folder.path("no.npy") + ": cannot read (No such file or directory)");
}

TEST(RelationshipMatrix, OtherShapesAreRefused) {
  EXPECT_EQ(text_error("1 2 3\n4 5 6\n", 2),
            "g.txt: expected a square matrix, found 2 x 3");
  EXPECT_EQ(
      text_error("1 0\n0 1\n", 3),
      "g.txt: expected a 3 x 3 matrix, one row for each row of the table, found 2 x "
      "2");
  EXPECT_EQ(text_error("1 0\n0\n", 2),
            "g.txt:2: expected 2 numbers as in line 1, found 1");
  EXPECT_EQ(text_error("", 2), "g.txt: the file is empty");
  const TemporaryFolder folder;
  write_npy(folder.path("g.npy"), {4}, Numbers{1, 0, 0, 1});
  EXPECT_EQ(input_error_of([&] { read_relationship_matrix(folder.path("g.npy"), 2); }),
            folder.path("g.npy") +
                ": expected a square matrix, found an array of 1 dimensions");
}

TEST(RelationshipMatrix, EntriesThatAreNoNumbersAreRefused) {
  EXPECT_EQ(text_error("1 x\n0 1\n", 2),
            "g.txt:1: column 2: expected a number, found 'x'");
  EXPECT_EQ(text_error("1 0\n0 nan\n", 2),
            "g.txt:2: column 2: expected a finite number, found 'nan'");
  EXPECT_EQ(text_error(std::string("1\0", 2), 1),
            "g.txt: not a file of text: found a NUL byte");
  const TemporaryFolder folder;
  write_npy(folder.path("g.npy"), {2, 2}, Numbers{1, 0, INFINITY, 1});
  EXPECT_EQ(
      input_error_of([&] { read_relationship_matrix(folder.path("g.npy"), 2); }),
      folder.path("g.npy") + ": expected finite numbers, found inf in row 2, column 1");
}

TEST(RelationshipMatrix, TheDiagonalMustBePositive) {
  EXPECT_EQ(text_error("1 0\n0 0\n", 2),
            "g.txt: expected a positive diagonal, found 0 in row 2");
  EXPECT_EQ(text_error("-1 0\n0 1\n", 2),
            "g.txt: expected a positive diagonal, found -1 in row 1");
}

TEST(RelationshipMatrix, TheWorstAsymmetryIsNamed) {
  EXPECT_EQ(
      text_error("1 0.5 0.1\n0.4 1 0.2\n0.3 0.2 1\n", 3),
      "g.txt: expected a symmetric matrix, found 0.3 in row 3, column 1, but 0.1 in "
      "row 1, column 3");
}

TEST(RelationshipMatrix, SmallAsymmetriesAreAveraged) {
  const auto matrix = text("1 0.5000001\n0.4999999 1\n", 2);
  EXPECT_EQ(matrix[1], matrix[2]);
  EXPECT_NEAR(matrix[1], 0.5, 1e-12);
  // Noise in an entry near 0 is judged by the size of the diagonal.
  EXPECT_NO_THROW(text("1 1e-9\n3e-9 1\n", 2));
}

TEST(RelationshipMatrix, LargeMatricesAreSymmetricAfterReading) {
  constexpr std::int64_t kRows = 150;
  Numbers values(kRows * kRows);
  for (std::int64_t i = 0; i < kRows; ++i) {
    for (std::int64_t j = 0; j < kRows; ++j) {
      values[static_cast<std::size_t>(i * kRows + j)] =
          (i == j ? 2 : 0.1) + 1e-9 * static_cast<double>(i - j);
    }
  }
  const TemporaryFolder folder;
  write_npy(folder.path("g.npy"), {kRows, kRows}, values);
  const auto matrix = read_relationship_matrix(folder.path("g.npy"), kRows);
  for (std::size_t i = 0; i < kRows; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      ASSERT_EQ(matrix[i * kRows + j], matrix[j * kRows + i]);
      ASSERT_NEAR(matrix[i * kRows + j], 0.1, 1e-12);
    }
  }
}

TEST(RelationshipMatrix, SubsetTakesRowsAndColumns) {
  const Numbers matrix = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  EXPECT_EQ(subset(matrix, {2, 0}), (Numbers{9, 7, 3, 1}));
  EXPECT_EQ(subset(matrix, {0, 1, 2}), matrix);
}

}  // namespace
}  // namespace kinflow
