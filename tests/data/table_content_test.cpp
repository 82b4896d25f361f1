// What -9 means, lists of names, and tables that are gzipped.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kinflow/data/column_names.h"
#include "kinflow/data/minus_nine.h"
#include "kinflow/data/table.h"
#include "kinflow/data/write_table.h"
#include "kinflow/data/zipped_file.h"
#include "tests/data/helpers.h"

namespace kinflow {
namespace {

using Numbers = std::vector<double>;
using Labels = std::vector<std::string>;

Table content(const std::string& bytes) {
  return parse_table(bytes, "t.csv", TableFormat::csv);
}

/// The rows that are kept, where -9 has a meaning.
std::vector<std::int64_t> kept(const std::string& bytes, const MinusNineRule& rule) {
  const Table table = content(bytes);
  return numeric_matrix(table, table.names(),
                        {.missing = MissingPolicy::drop, .minus_nine = rule})
      .kept_rows;
}

TEST(Table, MinusNineIsWhatTheRuleSays) {
  const std::string bytes = "a,b\n-9,1\n2,-9.0\n3,4\n";
  const std::vector<std::int64_t> all = {0, 1, 2};
  EXPECT_EQ(kept(bytes, {.meaning = MinusNine::value}), all);
  EXPECT_EQ(kept(bytes, {.meaning = MinusNine::missing}),
            (std::vector<std::int64_t>{2}));
  EXPECT_EQ(kept(bytes, {.value_columns = {"b", "a"}}), all);
  EXPECT_EQ(
      input_error_of([&] { kept(bytes, {}); }),
      "t.csv:2: column 'a': expected to know whether -9 is a missing value or a "
      "number; --minus-nine missing or --minus-nine value decides; also 'b' (line 3)");
  EXPECT_EQ(input_error_of([&] { kept(bytes, {.value_columns = {"a"}}); }),
            "t.csv:3: column 'b': expected to know whether -9 is a missing value or a "
            "number; --minus-nine missing or --minus-nine value decides");
  // A row that is left out anyway.
  EXPECT_EQ(kept("a,b\n-9,NA\n2,1\n", {}), (std::vector<std::int64_t>{1}));
  const std::string below = "a\n-9\n-10\n-12\n-40\n3\n";
  EXPECT_EQ(kept(below, {}).size(), 5u);
  input_error_of([&] { kept(below, {.content_decides = false}); });
}

TEST(MinusNine, IsPlainlyAValueWhereTheColumnGoesOnAroundIt) {
  const auto plain = [](const Numbers& column) {
    return minus_nine_is_plainly_a_value(column);
  };
  EXPECT_FALSE(plain({-9, 160, 171.5, 182}));
  EXPECT_FALSE(plain({-9, -0.5, 1.2, 3.1}));
  EXPECT_FALSE(plain({-9, -8, -7, 1, 2, 3}));        // codes of a questionnaire
  EXPECT_FALSE(plain({-9, -99, -98, 1, 2, 3}));      // the same
  EXPECT_TRUE(plain({-9, -99.5, -98, -20, 1, 2}));   // wide
  EXPECT_TRUE(plain({-9, -8.7, -1, 4}));             // fractions near it
  EXPECT_TRUE(plain({-8.7, -1, 4}));                 // it would be
  EXPECT_FALSE(plain({-9, -9, -8.7, -12, -13, 4}));  // it stands out
  EXPECT_TRUE(plain({-9, -9, -8.5, -8.5, -12, 4}));
  EXPECT_FALSE(plain({-9, -9, -8.5, -12, -13, 0, 0, 0}));  // beside many zeros
  EXPECT_TRUE(plain({-9, NAN, NAN, -8.5}));
  EXPECT_FALSE(plain({}));
}

TEST(ColumnNames, ListsHaveQuotesAsInCsv) {
  EXPECT_EQ(split_names("a, b,,c,", "--x"), (Labels{"a", "b", "c"}));
  EXPECT_EQ(split_names("\"a,b\",\"say \"\"c\"\"\"", "--x"),
            (Labels{"a,b", "say \"c\""}));
  EXPECT_EQ(input_error_of([] { split_names("a,\"b", "--x"); }),
            "--x: expected names in whole quotes or without, found a quote that is not "
            "closed in 'a,\"b'");
  const Labels hostile = {"a", "b,c", "say \"x\"", " d", "1"};
  EXPECT_EQ(split_names(join_names(hostile), "--x"), hostile);
}

TEST(ColumnNames, NamesWithCommasArePutTogetherWhereThePartsAreNone) {
  const auto joined = [](const Labels& parts, const Labels& names) {
    return with_commas_inside(parts, [&](const std::string& name) {
      return std::find(names.begin(), names.end(), name) != names.end();
    });
  };
  EXPECT_EQ(joined({"x", "y"}, {"x,y"}), (Labels{"x,y"}));
  EXPECT_EQ(joined({"a", "x", "y", "z"}, {"a", "x, y,z"}), (Labels{"a", "x, y,z"}));
  EXPECT_EQ(joined({"x", "y"}, {"x", "y", "x,y"}), (Labels{"x", "y"}));
  EXPECT_EQ(joined({"q", "y"}, {"x", "y"}), (Labels{"q", "y"}));
}

TEST(Table, GzippedBytesAreReadWhateverTheirName) {
  const TemporaryFolder folder;
  const std::string name = folder.path("t.csv.gz");
  ZippedFile file(name);
  file.write("a,b\n1,2\n");
  file.write("3,4\n");
  file.commit();
  const std::string bytes = content_of(name);
  EXPECT_EQ(bytes.substr(0, 2), "\x1f\x8b");
  EXPECT_EQ(numeric_matrix(read_table(name), {"b"}).values, (Numbers{2, 4}));
  // Two members are one text.
  EXPECT_EQ(content(bytes + bytes).rows(), 5);
  EXPECT_EQ(input_error_of([&] { content(bytes.substr(0, bytes.size() - 1)); }),
            "t.csv: the gzip data end before they are complete");
  EXPECT_EQ(input_error_of([] { content("\x28\xb5\x2f\xfd"); }),
            "t.csv: expected text, plain or gzipped, found zstd data; unpack them with "
            "zstd -d");
}

TEST(WriteTable, ANumberThatIsMissingIsAnEmptyCell) {
  const TemporaryFolder folder;
  const std::string one = folder.path("one.csv"), two = folder.path("two.csv.gz");
  write_table(one, {"a"}, Numbers{1, NAN, 3, NAN});
  EXPECT_EQ(content_of(one), "a\n1\n\"\"\n3\n\"\"\n");
  EXPECT_EQ(cell_texts(read_table(one), "a"), (Labels{"1", "", "3", ""}));
  write_table(two, {"a", "b"}, Numbers{1, NAN, NAN, NAN, 2, 3});
  EXPECT_EQ(content_of(two).substr(0, 2), "\x1f\x8b");
  EXPECT_EQ(cell_texts(read_table(two), "b"), (Labels{"", "", "3"}));
}

}  // namespace
}  // namespace kinflow
