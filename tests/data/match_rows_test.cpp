// Rows of a table found in a matrix by their ids, and in its own order.
#include "kinflow/data/match_rows.h"

#include <gtest/gtest.h>

#include "tests/data/helpers.h"

namespace kinflow {
namespace {

using Numbers = std::vector<double>;
using Rows = std::vector<std::int64_t>;

TableIds matrix(std::vector<SampleId> ids) {
  return {.source = "g.grm.bin", .ids = std::move(ids)};
}

std::string error(const TableIds& file, const std::vector<SampleId>& ids) {
  return input_error_of([&] { match_rows(file, {.source = "t.csv", .ids = ids}); });
}

TEST(MatchRows, AnyOrderAndFewerRowsThanTheMatrix) {
  const auto file = matrix({{"f", "a"}, {"f", "b"}, {"g", "c"}});
  const auto match =
      match_rows(file, {.source = "t.csv", .ids = {{"g", "c"}, {"f", "a"}}});
  EXPECT_EQ(match.rows, (Rows{2, 0}));
  EXPECT_EQ(match.note,
            "2 rows matched by id, 0 only in the table, 1 only in the file");
}

TEST(MatchRows, WithoutFamiliesOnOneSideIndividualsDecide) {
  EXPECT_EQ(match_rows(matrix({{"f", "a"}, {"g", "b"}}),
                       {.source = "t.csv", .ids = {{"", "b"}, {"", "a"}}})
                .rows,
            (Rows{1, 0}));
  EXPECT_EQ(match_rows(matrix({{"", "a"}, {"", "b"}}),
                       {.source = "t.csv", .ids = {{"f", "b"}, {"f", "a"}}})
                .rows,
            (Rows{1, 0}));
}

TEST(MatchRows, TheSameIndividualInTwoFamiliesNeedsTheFamily) {
  const auto file = matrix({{"f", "a"}, {"g", "a"}, {"g", "b"}});
  EXPECT_EQ(
      error(file, {{"", "a"}}),
      "t.csv: expected one person 'a' in g.grm.bin, found it in several families; "
      "give --id FAMILY,INDIVIDUAL");
  EXPECT_EQ(match_rows(file, {.source = "t.csv", .ids = {{"", "b"}}}).rows, (Rows{2}));
  EXPECT_EQ(match_rows(file, {.source = "t.csv", .ids = {{"g", "a"}}}).rows, (Rows{1}));
}

TEST(MatchRows, UnknownAndRepeatedIdsAreNamed) {
  const auto file = matrix({{"", "a"}, {"", "b"}});
  EXPECT_EQ(
      error(file, {{"", "a"}, {"", "x"}, {"", "y"}}),
      "t.csv: expected ids that g.grm.bin has, found 2 of 3 that it has not: 'x', "
      "'y'");
  EXPECT_EQ(
      error(file, {{"", "a"},
                   {"", "1"},
                   {"", "2"},
                   {"", "3"},
                   {"", "4"},
                   {"", "5"},
                   {"", "6"}}),
      "t.csv: expected ids that g.grm.bin has, found 6 of 7 that it has not: '1', "
      "'2', '3', '4', '5', ...");
  EXPECT_EQ(
      error(file, {{"", "b"}, {"", "a"}, {"", "b"}}),
      "t.csv: expected different ids, found 'b' in rows 1 and 3 (of those without "
      "missing values)");
}

TEST(MatchRows, WhereNobodyMatchesTheFileIsBlamedAndTheReasonGiven) {
  EXPECT_EQ(error(matrix({{"", "a"}, {"", "b"}}), {{"", "1"}, {"", "2"}}),
            "g.grm.bin: expected ids of t.csv such as '1', found none of them; the "
            "first id is 'a'");
  EXPECT_EQ(error(matrix({{"f", "a"}, {"f", "b"}}), {{"g", "b"}}),
            "g.grm.bin: expected ids of t.csv such as 'g b', found none of them; the "
            "first id is 'f a'; only the families differ, as in 'f b' and 'g b'");
  EXPECT_EQ(error(matrix({{"f", "a"}, {"f", "b"}}), {{"", "f_b"}}),
            "g.grm.bin: expected ids of t.csv such as 'f_b', found none of them; the "
            "first id is 'f a'; t.csv has family and individual in one id, 'f_b' for "
            "'f b' of g.grm.bin");
  EXPECT_EQ(error(matrix({{"f", "a"}, {"h", "b"}}), {{"", "h"}}),
            "g.grm.bin: expected ids of t.csv such as 'h', found none of them; the "
            "first id is 'f a'; t.csv has families in place of individuals, 'h' for "
            "'h b' of g.grm.bin");
}

TEST(RelationshipForTable, RowsFollowTheTableAndTheScaleTheFile) {
  const TemporaryFolder folder;
  const auto path = folder.write("g.cXX.txt", "2 1 0\n1 4 0.5\n0 0.5 6\n");
  const auto ids = folder.write("people.txt", "f a\nf b\nf c\n");
  const auto [file, note] = relationship_for_table(
      {.path = path, .ids = ids}, {.source = "t.csv", .ids = {{"", "c"}, {"", "b"}}});
  EXPECT_EQ(file.dense, (Numbers{1.5, 0.125, 0.125, 1}));
  EXPECT_EQ(file.ids, (std::vector<SampleId>{{"f", "c"}, {"f", "b"}}));
  EXPECT_EQ(note,
            path +
                ": dense relationship matrix of 3 rows, mean diagonal 4, rescaled "
                "to 1 (times 0.25); 2 rows matched by id, 0 only in the table, 1 "
                "only in the file");
  EXPECT_EQ(relationship_for_table(
                {.path = path, .ids = ids, .scale = RelationshipScale::none},
                {.source = "t.csv", .ids = {{"", "c"}}})
                .matrix.dense,
            (Numbers{6}));
}

TEST(RelationshipForTable, AMatrixWithoutIdsAsksForThem) {
  const TemporaryFolder folder;
  const auto path = folder.write("g.txt", "1 0\n0 1\n");
  EXPECT_EQ(
      input_error_of([&] {
        relationship_for_table({.path = path}, {.source = "t.csv", .ids = {{"", "a"}}});
      }),
      path +
          ": expected ids to match the table's rows with, found none; give "
          "--relationship-ids FILE, or --relationship-by-position in place of --id "
          "where both have the same rows in the same order");
}

TEST(RelationshipForTable, SparseMatricesStaySparse) {
  const TemporaryFolder folder;
  const auto path = folder.write("p.fam", "f c a b\nf d a b\nf a 0 0\nf e 0 0\n");
  const auto file =
      relationship_for_table(
          {.path = path}, {.source = "t.csv", .ids = {{"", "e"}, {"", "d"}, {"", "c"}}})
          .matrix;
  EXPECT_TRUE(file.is_sparse());
  EXPECT_EQ(file.sparse.columns, (Rows{0, 1, 2, 1, 2}));
  EXPECT_EQ(to_dense(file), (Numbers{1, 0, 0, 0, 1, .5, 0, .5, 1}));
}

TEST(RelationshipForTable, ByPositionTheCountsMustAgree) {
  const TemporaryFolder folder;
  const auto path = folder.write("p.fam", "f c a b\nf d a b\n");
  EXPECT_EQ(relationship_by_position({.path = path}, 2).matrix.rows, 2);
  EXPECT_EQ(input_error_of([&] { relationship_by_position({.path = path}, 3); }),
            path +
                ": expected a 3 x 3 matrix, one row for each row of the table, found "
                "2 x 2; --id COLUMN matches rows by their ids");
}

}  // namespace
}  // namespace kinflow
