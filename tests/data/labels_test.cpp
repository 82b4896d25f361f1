// Which labels are the same, and which rows two tables share.
#include <gtest/gtest.h>

#include "kinflow/data/label_key.h"
#include "kinflow/data/pedigree.h"
#include "kinflow/data/sample_ids.h"
#include "kinflow/data/shared_rows.h"
#include "kinflow/data/table.h"
#include "tests/data/helpers.h"

namespace kinflow {
namespace {

TEST(LabelKey, EqualNumbersAreOneLabel) {
  for (const char* one :
       {"1", "1.0", "1.000", "1.", "1e0", "1E+00", "+1", "10e-1", "0.1e1"}) {
    EXPECT_EQ(label_key(one), "1") << one;
  }
  EXPECT_EQ(label_key("120"), label_key("1.2e+02"));
  EXPECT_EQ(label_key("-0.0"), label_key("0"));
  EXPECT_EQ(label_key(".5"), label_key("0.50"));
  EXPECT_EQ(label_key("1e50"), label_key("1" + std::string(50, '0')));
  EXPECT_EQ(label_key("-3.0"), label_key("-3"));
}

TEST(LabelKey, OtherLabelsStayApart) {
  EXPECT_NE(label_key("1"), label_key("2"));
  EXPECT_NE(label_key("1"), label_key("-1"));
  EXPECT_NE(label_key("1"), label_key("01"));
  EXPECT_NE(label_key("1"), label_key("1 "));
  // As floating-point numbers these are the same.
  EXPECT_NE(label_key("9007199254740993"), label_key("9007199254740992"));
  EXPECT_NE(label_key("0.1"), label_key("0.1000000000000000055"));
  // Names that only look like numbers.
  for (const char* text : {"", "-", ".", "e5", "1e", "1e+", "10e004", "1x", "0x10",
                           "1.2.3", "00", "nan", "inf", "1e9999999"}) {
    EXPECT_EQ(label_key(text), text);
  }
}

TEST(LabelKey, BlocksAndIdsAreCountedByIt) {
  const auto blocks = number_blocks({"1", "2.0", "1.0", "01", "2"});
  EXPECT_EQ(blocks.block_of_row, (std::vector<std::int64_t>{0, 1, 0, 2, 1}));
  EXPECT_EQ(blocks.label_of_block, (std::vector<std::string>{"1", "2.0", "01"}));
  EXPECT_EQ(sample_id("0.0", "7.0"), sample_id("", "7"));
  EXPECT_THROW(check_sample_ids({sample_id("", "1"), sample_id("", "1.0")}, "t"),
               InputError);
}

TEST(LabelKey, ParentsOfAPedigreeAreFoundByIt) {
  const TemporaryFolder folder;
  // A column of numbers with gaps, as pandas writes it.
  const auto pedigree = read_pedigree(
      folder.write("p.ped", "id,father,mother\n1,,\n2,0.0,\n3,1.0,2.0\n"));
  EXPECT_EQ(pedigree.ids.size(), 3u);
  EXPECT_EQ(pedigree.father[2], 0);
  EXPECT_EQ(pedigree.mother[2], 1);
}

TEST(SharedRows, TheSameRowsInAnyOrderAreFound) {
  const auto same = find_shared_rows({1, 2, 3}, {3, 1, 2});
  EXPECT_TRUE(same.are_all_the_same);
  EXPECT_EQ(same.shared, 3);
  const auto part = find_shared_rows({1, 2, 7}, {1, 2, 3, 4});
  EXPECT_FALSE(part.are_all_the_same);
  EXPECT_EQ(part.shared, 2);
  EXPECT_TRUE(part.are_more_than_chance);
  EXPECT_FALSE(find_shared_rows({5}, {1, 2}).are_more_than_chance);
}

TEST(SharedRows, RowsThatRepeatAnywayAreNoSign) {
  std::vector<std::uint64_t> rows, others;
  for (std::uint64_t i = 0; i < 100; ++i) {
    rows.push_back(i % 7);
    others.push_back(i % 9);
  }
  EXPECT_FALSE(find_shared_rows(rows, others).are_more_than_chance);
}

}  // namespace
}  // namespace kinflow
