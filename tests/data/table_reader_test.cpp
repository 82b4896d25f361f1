// Tables in pieces: the same rows and the same messages as of the whole table, wherever
// the pieces and the reads end.
#include "kinflow/data/table_reader.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <thread>

#include "kinflow/data/npy.h"
#include "tests/data/helpers.h"

namespace kinflow {
namespace {

using Numbers = std::vector<double>;

/// Every row with its line and its cells, or what is wrong with them.
std::string shown(const Table& table, std::int64_t rows_before = 0) {
  std::string text;
  for (std::int64_t row = 0; row < table.rows(); ++row) {
    text += std::to_string(rows_before + row) + "@" +
            std::to_string(table.line_of_row(row));
    for (const std::string& name : table.names()) {
      text += "|";
      try {
        text += labels(table, name, {row})[0];
      } catch (const InputError& error) {
        text += error.what();
      }
    }
    text += "\n";
  }
  return text;
}

std::string names_of(const Table& table) {
  std::string text;
  for (const std::string& name : table.names()) text += name + "|";
  return text + "\n";
}

/// Names and rows, or the message of the mistake.
std::string shown_whole(const std::string& bytes, TableFormat format) {
  try {
    const Table table = parse_table(bytes, "t", format);
    return names_of(table) + shown(table);
  } catch (const InputError& error) {
    return error.what();
  }
}

std::string shown_in_pieces(const std::string& bytes, TableFormat format,
                            std::int64_t rows, std::size_t bytes_at_once) {
  try {
    TableReader reader(bytes, "t", format, {.bytes_at_once = bytes_at_once});
    std::string text = names_of(reader.header());
    std::int64_t before = 0;
    while (const auto piece = reader.next(rows)) {
      EXPECT_GT(piece->rows(), 0);
      EXPECT_LE(piece->rows(), rows);
      EXPECT_EQ(piece->first_row(), before);
      text += shown(*piece, before);
      before += piece->rows();
      EXPECT_LE(reader.bytes_done(), bytes.size());
    }
    EXPECT_EQ(reader.bytes_done(), bytes.size());
    EXPECT_FALSE(reader.next(rows).has_value());
    return text;
  } catch (const InputError& error) {
    return error.what();
  }
}

void expect_same_in_pieces(const std::string& bytes,
                           TableFormat format = TableFormat::csv) {
  const std::string whole = shown_whole(bytes, format);
  for (std::size_t at_once = 1; at_once <= bytes.size() + 2; ++at_once) {
    for (const std::int64_t rows :
         {std::int64_t{1}, std::int64_t{2}, std::int64_t{3}, TableReader::kAllRows}) {
      ASSERT_EQ(shown_in_pieces(bytes, format, rows, at_once), whole)
          << bytes << "\nbytes at once " << at_once << ", rows " << rows;
    }
  }
}

TEST(TableReader, EveryCutGivesTheSameTable) {
  for (const std::string table :
       {"a,b\n1,2\n3,4\n5,6\n7,8\n", "a,b\n1,2\n3,4", "a,b\r\n1,2\r\n3,4\r\n", "a\n1\n",
        "a\n1",
        "\xef\xbb\xbf"
        "a,b\n1,2\n",
        "a,b\n1,\"two\nlines\"\n3,\"a\r\n\"\"b\"\"\n,\"\n\"\"\"\",x\n5,6\n",
        "\"a,\"\"x\",b\n1,2\n\"3\" , \"4\" \n", "a,b\n1,\"2\"",
        "a,b\n 1 ,x\"y\n2,\"\"\n", "a,b\n1,2\n3,4\n\n\r\n  \n",
        "a\n1\n\n2\n \n\n3\n\n \n", "a,b\n,\n1,NA\n"}) {
    ASSERT_NE(shown_whole(table, TableFormat::csv).find("|\n0@"), std::string::npos)
        << table;
    expect_same_in_pieces(table);
  }
  expect_same_in_pieces("a\tb c\n1\t\n2\t\"3\n4\"\n\t\n", TableFormat::tsv);
}

TEST(TableReader, EveryCutGivesTheSameMistake) {
  for (const std::string table :
       {"", "\n \r\n", "\xef\xbb\xbf\n", "a,b\n", "a,b\n \r\n", "a,b\n1,2\n3\n4,5\n",
        "a,b\n1,2\n\n3,4\n", "a,b\n\"x\ny\",2\n\"1\",2,3\n", "a,b\n1,\"2\n3,4\n",
        "a,b\n1,2\n\"1\"x,2\n", "a,b\n1,2\n\"1\" x,2\n", "a,,c\n1,2,3\n",
        "a,b,a\n1,2,3\n", "1.5,2\n3,4\n", "a;b\n1;2\n", "\"a,b\n1,2\n",
        "\"a\nx\",b\n1,2\n"}) {
    ASSERT_EQ(shown_whole(table, TableFormat::csv).find('|'), std::string::npos)
        << table;
    expect_same_in_pieces(table);
  }
  const std::string nul("a,b\n1,2\n3,\0\n", 12);
  EXPECT_EQ(shown_whole(nul, TableFormat::csv),
            "t:3: not a table of text: found a NUL byte");
  expect_same_in_pieces(nul);
}

TEST(TableReader, AMistakeInALaterPieceNamesItsLine) {
  std::string bytes = "a,b\n";
  for (int i = 0; i < 100; ++i) bytes += "1,\"2\n3\"\n";
  bytes += "1,x,y\n";
  TableReader reader(bytes, "t.csv", TableFormat::csv, {.bytes_at_once = 50});
  EXPECT_EQ(reader.next(50)->line_of_row(49), 100);
  const auto second = reader.next(50);
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(second->line_of_row(49), 200);
  EXPECT_EQ(input_error_of([&] { numeric_matrix(*second, {"b"}); }),
            "t.csv:102: column 'b': expected a number, found '2\\x0a3'");
  EXPECT_EQ(input_error_of([&] { reader.next(50); }),
            "t.csv:202: expected 2 cells as in the header, found 3");
}

TEST(TableReader, ARowWithoutEndIsRefusedBeforeTheFileIsInMemory) {
  std::string bytes = "a,b\n1,2\n3,\"4\n";
  for (int i = 0; i < 1000; ++i) bytes += "5,6\n";
  TableReader reader(bytes, "t.csv", TableFormat::csv,
                     {.bytes_at_once = 64, .longest_row_bytes = 500});
  EXPECT_EQ(reader.next(1)->rows(), 1);
  EXPECT_EQ(input_error_of([&] { reader.next(1); }),
            "t.csv:3: expected a row of at most 500 bytes, found a longer one: is a "
            "quote not closed?");
}

TEST(TableReader, FilesAndPipesAreReadInPieces) {
  const TemporaryFolder folder;
  std::string bytes = "a,b\n";
  for (int i = 0; i < 5000; ++i) bytes += std::to_string(i) + ",0.5\n";
  const auto sum_of = [&](const std::string& path) {
    TableReader reader(path, {.bytes_at_once = 1000});
    double sum = 0;
    std::int64_t pieces = 0;
    for (; const auto piece = reader.next(999); ++pieces) {
      for (const double value : numeric_matrix(*piece, {"a"}).values) sum += value;
    }
    EXPECT_EQ(pieces, 6);
    EXPECT_EQ(reader.bytes_done(), bytes.size());
    return sum;
  };
  EXPECT_EQ(sum_of(folder.write("t.csv", bytes)), 5000.0 * 4999 / 2);
  const std::string pipe = folder.path("pipe.csv");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(pipe) << bytes; });
  EXPECT_EQ(sum_of(pipe), 5000.0 * 4999 / 2);
  writer.join();
}

TEST(TableReader, ArraysInEitherOrderAreReadInPieces) {
  Numbers values(7 * 3);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = 0.5 * static_cast<double>(i);
  const TemporaryFolder folder;
  write_npy(folder.path("t.npy"), {7, 3}, values);
  std::string by_columns = npy_preamble({7, 3});
  const std::size_t order = by_columns.find("False");
  by_columns.replace(order, 5, "True ");
  for (std::size_t column = 0; column < 3; ++column) {
    for (std::size_t row = 0; row < 7; ++row) {
      by_columns.append(reinterpret_cast<const char*>(&values[row * 3 + column]), 8);
    }
  }
  for (const std::string& path :
       {folder.path("t.npy"), folder.write("f.npy", by_columns)}) {
    TableReader reader(path);
    Numbers all;
    std::int64_t rows = 0;
    while (const auto piece = reader.next(2)) {
      EXPECT_EQ(piece->line_of_row(0), rows + 1);
      rows += piece->rows();
      const auto part = numeric_matrix(*piece, {"x1", "x2", "x3"}).values;
      all.insert(all.end(), part.begin(), part.end());
    }
    EXPECT_EQ(all, values) << path;
    EXPECT_EQ(reader.bytes_done(), std::filesystem::file_size(path));
    EXPECT_EQ(reader.bytes_in_all(), std::filesystem::file_size(path));
  }
}

TEST(TableReader, APieceMayLoseAllItsRowsWhereThatIsAllowed) {
  TableReader reader("a\nNA\nNA\n1\n", "t.csv", TableFormat::csv);
  const auto piece = reader.next(2);
  ASSERT_TRUE(piece.has_value());
  const auto matrix = numeric_matrix(
      *piece, {"a"}, {.missing = MissingPolicy::drop, .may_drop_all = true});
  EXPECT_EQ(matrix.rows, 0);
  EXPECT_EQ(matrix.dropped_rows, 2);
}

}  // namespace
}  // namespace kinflow
