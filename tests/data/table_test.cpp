// Reading tables: what is accepted, and the message for everything that is not.
#include "kinflow/data/table.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <cstring>
#include <thread>

#include "kinflow/core/in_quotes.h"
#include "kinflow/core/random.h"
#include "kinflow/data/npy.h"
#include "kinflow/data/write_table.h"
#include "tests/data/helpers.h"

namespace kinflow {
namespace {

Table csv(const std::string& bytes) {
  return parse_table(bytes, "t.csv", TableFormat::csv);
}

std::string csv_error(const std::string& bytes) {
  return input_error_of([&] { csv(bytes); });
}

/// The error of reading all columns as numbers.
std::string number_error(const std::string& bytes) {
  return input_error_of([&] {
    const Table table = csv(bytes);
    numeric_matrix(table, table.names());
  });
}

std::vector<double> numbers(const std::string& bytes) {
  const Table table = csv(bytes);
  return numeric_matrix(table, table.names()).values;
}

using Numbers = std::vector<double>;
using Labels = std::vector<std::string>;

TEST(Table, ColumnsAreReadByNameInAnyOrder) {
  const Table table = csv("x1,x2,group\n1,2.5,a\n-3e2,+4,b\n");
  EXPECT_EQ(table.names(), (Labels{"x1", "x2", "group"}));
  EXPECT_EQ(table.rows(), 2);
  const NumericMatrix matrix = numeric_matrix(table, {"x2", "x1"});
  EXPECT_EQ(matrix.values, (Numbers{2.5, 1, 4, -300}));
  EXPECT_EQ(matrix.rows, 2);
  EXPECT_EQ(matrix.kept_rows, (std::vector<std::int64_t>{0, 1}));
  EXPECT_EQ(labels(table, "group"), (Labels{"a", "b"}));
}

TEST(Table, LabelsKeepTheirTextAlsoWhereTheyLookLikeNumbers) {
  EXPECT_EQ(labels(csv("id\n01\n1\n1.0\n"), "id"), (Labels{"01", "1", "1.0"}));
}

TEST(Table, LineEndsByteOrderMarkAndBlankLinesAtTheEndDoNotMatter) {
  const Numbers expected = {1, 2, 3, 4};
  EXPECT_EQ(numbers("a,b\n1,2\n3,4"), expected);
  EXPECT_EQ(numbers("a,b\r\n1,2\r\n3,4\r\n"), expected);
  EXPECT_EQ(numbers("\xef\xbb\xbf"
                    "a,b\n1,2\n3,4\n"),
            expected);
  EXPECT_EQ(numbers("a,b\n1,2\n3,4\n\n\r\n  \n"), expected);
  EXPECT_EQ(csv("\xef\xbb\xbf"
                "a,b\n1,2\n")
                .names(),
            (Labels{"a", "b"}));
}

TEST(Table, QuotedCellsMayHoldDelimitersQuotesAndLineEnds) {
  const Table table =
      csv("\"na,me\",g\n\"1\",\"say \"\"hi\"\", x\"\n 2 , \"b\" \n\"3\",c\n");
  EXPECT_EQ(table.names(), (Labels{"na,me", "g"}));
  EXPECT_EQ(numeric_matrix(table, {"na,me"}).values, (Numbers{1, 2, 3}));
  EXPECT_EQ(labels(table, "g"), (Labels{"say \"hi\", x", "b", "c"}));
  EXPECT_EQ(number_error("a,b\n1,\"two\nlines\"\n"),
            "t.csv:2: column 'b': expected a number, found 'two\\x0alines'");
  EXPECT_EQ(number_error("a,b\n1,\"2\n\"\nx,4\n"),
            "t.csv:2: column 'b': expected a number, found '2\\x0a'; also 'a' ('x' in "
            "line 4)");
}

TEST(Table, LineNumbersCountLineEndsInsideQuotes) {
  const Table table = csv("a,b\n1,\"two\nlines\"\nx,y\n");
  EXPECT_EQ(table.line_of_row(1), 4);
  EXPECT_EQ(input_error_of([&] { numeric_matrix(table, {"a"}); }),
            "t.csv:4: column 'a': expected a number, found 'x'");
}

TEST(Table, TabsSeparateTheCellsOfTsvAndTxt) {
  EXPECT_EQ(table_format("a/b.TSV"), TableFormat::tsv);
  EXPECT_EQ(table_format("b.txt"), TableFormat::tsv);
  const Table table = parse_table("a\tb c\n1\t\n2\t3\n", "t.tsv", TableFormat::tsv);
  EXPECT_EQ(table.names(), (Labels{"a", "b c"}));
  EXPECT_EQ(input_error_of([&] { numeric_matrix(table, {"b c"}); }),
            "t.tsv:2: column 'b c': expected a number, found a missing value "
            "(--drop-missing leaves such rows out)");
}

TEST(Table, ArraysAreTablesWithNumberedColumns) {
  const TemporaryFolder folder;
  write_npy(folder.path("t.npy"), {2, 3}, Numbers{1, 2, 3, 4, NAN, 6});
  const Table table = read_table(folder.path("t.npy"));
  EXPECT_EQ(table.names(), (Labels{"x1", "x2", "x3"}));
  EXPECT_EQ(numeric_matrix(table, {"x3", "x1"}).values, (Numbers{3, 1, 6, 4}));
  EXPECT_EQ(labels(table, "x1"), (Labels{"1", "4"}));
  EXPECT_EQ(input_error_of([&] { numeric_matrix(table, {"x2"}); }),
            folder.path("t.npy") +
                ":2: column 'x2': expected a number, found a missing value "
                "(--drop-missing leaves such rows out)");
  write_npy(folder.path("v.npy"), {2}, Numbers{1, 2});
  EXPECT_EQ(read_table(folder.path("v.npy")).names(), (Labels{"x1"}));
}

TEST(Table, ArraysOfOtherShapesAreRefused) {
  const TemporaryFolder folder;
  write_npy(folder.path("t.npy"), {1, 1, 2}, Numbers{1, 2});
  EXPECT_EQ(input_error_of([&] { read_table(folder.path("t.npy")); }),
            folder.path("t.npy") +
                ": expected an array of rows and columns, found one of 3 dimensions");
  write_npy(folder.path("t.npy"), {0, 2}, Numbers{});
  EXPECT_EQ(input_error_of([&] { read_table(folder.path("t.npy")); }),
            folder.path("t.npy") + ": the array is empty");
}

TEST(Table, FilesThatCannotBeReadAreRefused) {
  const TemporaryFolder folder;
  EXPECT_EQ(input_error_of([&] { read_table(folder.path("none.csv")); }),
            folder.path("none.csv") + ": cannot read (No such file or directory)");
  std::filesystem::create_directory(folder.path("folder.csv"));
  EXPECT_EQ(input_error_of([&] { read_table(folder.path("folder.csv")); }),
            folder.path("folder.csv") + ": cannot read (Is a directory)");
  EXPECT_EQ(input_error_of([&] { read_table(folder.path("t.xlsx")); }),
            folder.path("t.xlsx") +
                ": expected a name that ends in .csv, .tsv, .txt (tabs), one of these "
                "and .gz, or .npy");
}

TEST(Table, APipeCanBeRead) {
  const TemporaryFolder folder;
  const std::string path = folder.path("pipe.csv");
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(path) << "a\n1\n2\n"; });
  const Table table = read_table(path);
  writer.join();
  EXPECT_EQ(numeric_matrix(table, {"a"}).values, (Numbers{1, 2}));
}

TEST(Table, FilesWithoutRowsAreRefused) {
  EXPECT_EQ(csv_error(""), "t.csv: the file is empty");
  EXPECT_EQ(csv_error("\n \r\n"), "t.csv: the file is empty");
  EXPECT_EQ(csv_error("\xef\xbb\xbf\n"), "t.csv: the file is empty");
  EXPECT_EQ(csv_error("a,b\n"), "t.csv:1: expected rows after the header, found none");
  EXPECT_EQ(csv_error(std::string(1 << 20, 'x')),
            "t.csv:1: expected rows after the header, found none");
}

TEST(Table, FilesThatAreNoTableAreRefused) {
  const std::string png("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16);
  EXPECT_EQ(csv_error(png), "t.csv:3: not a table of text: found a NUL byte");
  EXPECT_EQ(csv_error("\x89PNG\r\n\x1a\nx\n"),
            "t.csv:1: not a table of UTF-8 text: found '\\x89PNG' in the header");
  EXPECT_EQ(csv_error("1.5,2\n3,4\n"),
            "t.csv:1: expected the names of the columns, found numbers; names may be "
            "numbers that count up, such as 0,1,2");
  EXPECT_EQ(csv_error("a,b\n1,\"2\n3,4\n"),
            "t.csv:2: expected a table, found a quote that is not closed");
  EXPECT_EQ(csv_error("a,b\n1,2\n\"1\"x,2\n"),
            "t.csv:3: expected a table, found text after a closing quote");
}

TEST(Table, RaggedRowIsRefusedWithItsLineNumber) {
  EXPECT_EQ(csv_error("a,b,c\n1,2,3\n1,2\n"),
            "t.csv:3: expected 3 cells as in the header, found 2");
  EXPECT_EQ(csv_error("a,b\n1,2\n1,2,3\n"),
            "t.csv:3: expected 2 cells as in the header, found 3");
  EXPECT_EQ(csv_error("a,b\n1,2\n\n1,2\n"),
            "t.csv:3: expected 2 cells as in the header, found 1");
  EXPECT_EQ(csv_error("a,b\n\"x\ny\",2\n\"1\",2,3\n"),
            "t.csv:4: expected 2 cells as in the header, found 3");
}

TEST(Table, HeaderNamesMustBeThereAndDiffer) {
  EXPECT_EQ(csv_error("a,,c\n1,2,3\n"), "t.csv:1: column 2 has no name");
  EXPECT_EQ(csv_error("a,b, a\n1,2,3\n"), "t.csv:1: two columns have the name 'a'");
}

TEST(Table, TextInANumberColumnIsRefusedWithItsPlace) {
  EXPECT_EQ(number_error("x1,x2\n1,2\n3,abc\n"),
            "t.csv:3: column 'x2': expected a number, found 'abc'");
  EXPECT_EQ(number_error("x1\n1.5.2\n"),
            "t.csv:2: column 'x1': expected a number, found '1.5.2'");
  EXPECT_EQ(number_error("x1\n0x10\n"),
            "t.csv:2: column 'x1': expected a number, found '0x10'");
  EXPECT_EQ(number_error("x1\n+-1\n"),
            "t.csv:2: column 'x1': expected a number, found '+-1'");
  EXPECT_EQ(number_error("x1\n\x01\xff" + std::string(100, 'z') + "\n"),
            "t.csv:2: column 'x1': expected a number, found '\\x01\\xff" +
                std::string(38, 'z') + "...'");
}

TEST(Table, InfiniteNumbersAreAlwaysRefused) {
  for (const std::string cell : {"inf", "-Inf", "infinity", "1e999", "-1e5000"}) {
    EXPECT_EQ(number_error("x1\n" + cell + "\n"),
              "t.csv:2: column 'x1': expected a finite number, found '" + cell + "'");
  }
  const Table table = csv("x1\ninf\n2\n");
  input_error_of(
      [&] { numeric_matrix(table, {"x1"}, {.missing = MissingPolicy::drop}); });
}

TEST(Table, NumbersTooSmallForFloat64AreZero) {
  EXPECT_EQ(numbers("a\n1e-400\n4.9e-324\n"), (Numbers{0, 4.9e-324}));
}

TEST(Table, MissingValuesAreRefusedWithTheirPlace) {
  for (const std::string cell : {"", "NA", "nan", "NaN", "NAN", "-nan", "\"\"", " ",
                                 ".", "N/A", "n/a", "#N/A", "null", "NULL", "None"}) {
    EXPECT_EQ(number_error("x1,x2\n1,2\n" + cell + ",2\n"),
              "t.csv:3: column 'x1': expected a number, found a missing value "
              "(--drop-missing leaves such rows out)")
        << cell;
  }
}

TEST(Table, WordsThatMayBeAnswersAreNotMissing) {
  for (const std::string cell : {"none", "NONE", "..", "-", "nul", "NAs"}) {
    EXPECT_EQ(number_error("x1\n" + cell + "\n"),
              "t.csv:2: column 'x1': expected a number, found '" + cell + "'");
    EXPECT_EQ(labels(csv("g\n" + cell + "\n"), "g"), (Labels{cell}));
  }
}

TEST(Table, RowsWithMissingValuesAreDroppedAndCounted) {
  const Table table = csv("x1,x2,g\n1,NA,a\n3,4,b\n5,6,NA\n,8,c\n9,10,d\n");
  const NumericMatrix matrix = numeric_matrix(
      table, {"x1", "x2"}, {.missing = MissingPolicy::drop, .label_columns = {"g"}});
  EXPECT_EQ(matrix.values, (Numbers{3, 4, 9, 10}));
  EXPECT_EQ(matrix.kept_rows, (std::vector<std::int64_t>{1, 4}));
  EXPECT_EQ(matrix.dropped_rows, 3);
  EXPECT_EQ(labels(table, "g", matrix.kept_rows), (Labels{"b", "d"}));
  EXPECT_EQ(input_error_of([&] { labels(table, "g"); }),
            "t.csv:4: column 'g': expected a label, found a missing value");
  EXPECT_EQ(
      input_error_of([&] { numeric_matrix(table, {"x2"}, {.label_columns = {"g"}}); }),
      "t.csv:2: column 'x2': expected a number, found a missing value "
      "(--drop-missing leaves such rows out); also 'g' (a missing value in line 4)");
}

TEST(Table, NoRowLeftIsRefused) {
  const Table table = csv("x1,x2\n1,\n,2\n");
  EXPECT_EQ(input_error_of([&] {
              numeric_matrix(table, table.names(), {.missing = MissingPolicy::drop});
            }),
            "t.csv: every row has a missing value");
}

TEST(Table, UnknownColumnIsRefusedWithTheColumnsThereAre) {
  const Table table = csv("x1,x2\n1,2\n");
  EXPECT_EQ(input_error_of([&] { numeric_matrix(table, {"y"}); }),
            "t.csv: no column 'y'; there are x1, x2");
  EXPECT_EQ(input_error_of([&] { labels(table, "y"); }),
            "t.csv: no column 'y'; there are x1, x2");
  EXPECT_EQ(input_error_of([&] {
              numeric_matrix(table, {"x1", "x1"});
            }),
            "t.csv: expected different columns, found 'x1' twice");
}

TEST(Table, LabelsMustBeText) {
  const Table table = csv("g\nM\xfcller\n");
  EXPECT_EQ(input_error_of([&] { labels(table, "g"); }),
            "t.csv:2: column 'g': expected a label of UTF-8 text, found 'M\\xfcller'");
}

TEST(Table, CellsAreTextAlsoWhereTheyAreMissing) {
  EXPECT_EQ(cell_texts(csv("a,b\n1,x\n2,\n3, NA \n"), "b"), (Labels{"x", "", "NA"}));
}

TEST(Table, TimesAreNumbersOrDates) {
  const std::vector<std::int64_t> rows = {0, 1};
  EXPECT_EQ(times(csv("t\n1.5\n-2\n"), "t", rows).values, (Numbers{1.5, -2}));
  EXPECT_EQ(times(csv("t\n1970-01-02\n2024-03-01\n"), "t", rows).values,
            (Numbers{1, 19783}));
  EXPECT_EQ(times(csv("t\n1969-12-31T18:00\n2000-02-29 12:00:00Z\n"), "t", rows).values,
            (Numbers{-0.25, 11016.5}));
  EXPECT_EQ(
      input_error_of([&] { times(csv("t\n2023-02-29\n1\n"), "t", rows); }),
      "t.csv:2: column 't': expected a number or a date such as 2024-03-31, found "
      "'2023-02-29'");
  EXPECT_EQ(input_error_of([&] { times(csv("t\n2023-02-28\n1\n"), "t", rows); }),
            "t.csv:3: column 't': expected a date such as 2024-03-31, as in the rows "
            "before, found '1'");
}

TEST(Table, BlocksAreNumberedInOrderOfAppearance) {
  const BlockNumbers blocks = number_blocks({"z", "a", "z", "b", "a"});
  EXPECT_EQ(blocks.block_of_row, (std::vector<std::int64_t>{0, 1, 0, 2, 1}));
  EXPECT_EQ(blocks.label_of_block, (Labels{"z", "a", "b"}));
  EXPECT_EQ(blocks.size_of_block, (std::vector<std::int64_t>{2, 2, 1}));
  EXPECT_NO_THROW(check_several_blocks(blocks, "t.csv", "g"));
  EXPECT_EQ(input_error_of([&] {
              check_several_blocks(number_blocks({"a", "a"}), "t.csv", "g");
            }),
            "t.csv: column 'g': expected at least 2 groups, found 'a' in every row");
}

TEST(WriteTable, NumbersAndTextReadBackUnchanged) {
  const TemporaryFolder folder;
  Random random(1);
  Numbers values;
  while (values.size() < 1998) {
    const std::uint64_t bits = random.next();
    double value;
    std::memcpy(&value, &bits, sizeof(value));
    if (std::isfinite(value)) values.push_back(value);
  }
  values.push_back(-0.0);
  values.push_back(0.1);
  const std::string hostile[] = {"plain", "a,b", "a;b", "say \"x\"", " blank ", "é"};
  Labels cells;
  for (std::size_t i = 0; i < 1000; ++i) cells.push_back(hostile[i % 6]);
  for (const std::string name : {"t.csv", "t.tsv"}) {
    const std::string path = folder.path(name);
    write_table(path, {"x,1", "x2"}, values, {{.name = "g", .cells = cells}});
    const Table table = read_table(path);
    EXPECT_EQ(table.names(), (Labels{"x,1", "x2", "g"}));
    EXPECT_EQ(numeric_matrix(table, {"x,1", "x2"}).values, values);
    EXPECT_EQ(labels(table, "g"), cells);
  }
  write_table(folder.path("t.npy"), {"x1", "x2"}, values);
  EXPECT_EQ(read_npy(folder.path("t.npy")).values, values);
  EXPECT_EQ(folder.files().size(), 3u);
}

TEST(WriteTable, RowsThatComeInPartsMakeTheSameFile) {
  const TemporaryFolder folder;
  Numbers values;
  for (int i = 0; i < 40'000; ++i) values.push_back(std::sin(i));
  const std::span<const double> all(values);
  for (const std::string name : {"t.csv", "t.tsv", "t.npy"}) {
    write_table(folder.path(name), {"a", "b"}, values);
    const std::string parts = folder.path("parts_" + name);
    TableWriter writer(parts, {"a", "b"});
    for (std::size_t first = 0; first < values.size(); first += 5000) {
      writer.append(writer.format(all.subspan(first, 5000)));
    }
    EXPECT_FALSE(std::filesystem::exists(parts));
    writer.finish();
    EXPECT_TRUE(content_of(parts) == content_of(folder.path(name))) << name;
    EXPECT_EQ(numeric_matrix(read_table(parts), read_table(parts).names()).values,
              values);
  }
}

TEST(WriteTable, AnUnfinishedTableLeavesNothing) {
  const TemporaryFolder folder;
  folder.write("old.csv", "old");
  for (const std::string name : {"old.csv", "new.npy"}) {
    TableWriter writer(folder.path(name), {"a"});
    writer.append(writer.format(Numbers(500'000, 0.125)));
  }
  EXPECT_EQ(folder.files(), (Labels{"old.csv"}));
  EXPECT_EQ(content_of(folder.path("old.csv")), "old");
}

TEST(WriteTable, AnArrayCanGoIntoAPipe) {
  const TemporaryFolder folder;
  const std::string pipe = folder.path("pipe.npy");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::string bytes;
  std::thread reader([&] { bytes = content_of(pipe); });
  write_table(pipe, {"a", "b"}, Numbers{1, 2, 3, 4});
  reader.join();
  EXPECT_EQ(parse_npy(bytes, "pipe").shape, (std::vector<std::int64_t>{2, 2}));
  EXPECT_EQ(parse_npy(bytes, "pipe").values, (Numbers{1, 2, 3, 4}));
}

TEST(WriteTable, TextColumnsAndUnknownEndingsAreRefused) {
  const TemporaryFolder folder;
  const TextColumn group{.name = "g", .cells = {"a"}};
  EXPECT_EQ(
      input_error_of(
          [&] { write_table(folder.path("t.npy"), {"x"}, Numbers{1}, {group}); }),
      folder.path("t.npy") +
          ": an .npy file cannot hold the text column 'g'; expected .csv or .tsv");
  input_error_of([&] { write_table(folder.path("t.doc"), {"x"}, Numbers{1}); });
  EXPECT_TRUE(folder.files().empty());
}

TEST(InQuotes, KeepsWholeCharactersAndEscapesTheRest) {
  EXPECT_EQ(in_quotes("abc"), "'abc'");
  EXPECT_EQ(in_quotes("a\nb\x7f\xc3"), "'a\\x0ab\\x7f\\xc3'");
  EXPECT_EQ(in_quotes("éé", 3), "'é...'");
  EXPECT_EQ(in_quotes("\xed\xa0\x80 \xf4\x90\x80\x80"),
            "'\\xed\\xa0\\x80 \\xf4\\x90\\x80\\x80'");
  EXPECT_TRUE(is_printable_utf8("naïve 日本 😀"));
  EXPECT_FALSE(is_printable_utf8("\xc0\x80"));
  EXPECT_FALSE(is_printable_utf8("a\tb"));
}

}  // namespace
}  // namespace kinflow
