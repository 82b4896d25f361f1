// Tables with named columns, read from CSV, TSV and .npy files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kinflow/data/minus_nine.h"

namespace kinflow {

enum class TableFormat { csv, tsv, npy };

/// The format by the ending of the name: .csv, .tsv or .txt (tabs), these also with
/// .gz, and .npy. Throws InputError for any other.
TableFormat table_format(const std::string& path);

/// A table whose structure has been checked: a header with unique names and at least
/// one row, every row with as many cells as the header. Cells stay text until a column
/// is asked for, so a column of labels needs no declaration. It is all of a file, or a
/// piece of one (TableReader).
///
/// Missing cells are those of is_missing_cell(). Unquoted cells lose the blanks around
/// them. An .npy file is a table with the columns x1 .. xp.
class Table {
 public:
  /// The file, for messages.
  const std::string& source() const { return source_; }
  const std::vector<std::string>& names() const { return names_; }
  std::int64_t rows() const { return rows_; }
  /// Rows of the file that stand before a piece.
  std::int64_t first_row() const { return first_row_; }

  /// Position of a column; throws InputError that lists the columns there are.
  std::int64_t column_index(const std::string& name) const;
  /// Those of several columns; the InputError names all that are not there.
  std::vector<std::int64_t> column_indices(const std::vector<std::string>& names) const;
  /// Line of the file on which a row starts, from 1; in an .npy file the row from 1.
  std::int64_t line_of_row(std::int64_t row) const;

 private:
  friend class TableReader;
  friend class TextTableSource;
  friend class ArrayTableSource;
  friend class RowReader;

  std::string source_;
  std::vector<std::string> names_;
  std::int64_t rows_ = 0;
  std::int64_t first_row_ = 0;
  std::int64_t first_line_ = 1;          // text files: of bytes_
  std::string bytes_;                    // text files: the rows
  std::vector<std::size_t> row_starts_;  // text files: offset of each row in bytes_
  char delimiter_ = ',';
  std::vector<double> numbers_;  // .npy files: [rows x columns], row-major
};

/// All rows of a file.
Table read_table(const std::string& path);

/// The same for bytes in memory; `source` stands for the file in messages.
Table parse_table(std::string_view bytes, const std::string& source,
                  TableFormat format);

enum class MissingPolicy {
  refuse,  ///< a missing cell is an error that names line and column
  drop     ///< a row with a missing cell is left out and counted
};

struct NumericMatrixOptions {
  MissingPolicy missing = MissingPolicy::refuse;
  /// Columns that need not be numbers but must not be missing either, such as the
  /// group.
  std::vector<std::string> label_columns = {};
  /// The same of ids, in which -9 has no meaning of its own.
  std::vector<std::string> id_columns = {};
  /// Of columns of numbers and labels.
  MinusNineRule minus_nine = {.meaning = MinusNine::value};
  bool may_drop_all = false;  ///< in a piece of a table no row needs to be left
};

/// Columns of a table as finite numbers.
struct NumericMatrix {
  std::string source;
  std::vector<std::string> names;
  std::int64_t rows = 0;
  std::vector<double> values;           ///< [rows x names], row-major
  std::vector<std::int64_t> kept_rows;  ///< [rows], the row of the table each one was
  std::int64_t dropped_rows = 0;
};

/// Throws the InputError of a table in which every row has a missing value.
[[noreturn]] void fail_without_rows(const std::string& source);

/// The named columns as numbers. Throws InputError for an unknown column or one named
/// twice, a cell that is no number, an infinite one, a missing one under
/// MissingPolicy::refuse, a -9 that may be a number or not, and where no row is left
/// unless that is allowed. Messages name all columns that have such a cell.
NumericMatrix numeric_matrix(const Table& table,
                             const std::vector<std::string>& columns,
                             const NumericMatrixOptions& options = {});

/// A column as text, for the given rows of the table. Throws InputError for a missing
/// label and for one that is no printable UTF-8.
std::vector<std::string> labels(const Table& table, const std::string& column,
                                const std::vector<std::int64_t>& rows);
/// The same for all rows.
std::vector<std::string> labels(const Table& table, const std::string& column);

/// A column as the text of its cells, missing ones too. Throws InputError for a cell
/// that is no printable UTF-8.
std::vector<std::string> cell_texts(const Table& table, const std::string& column);

/// A column of points in time.
struct TimeColumn {
  std::vector<double> values;  ///< numbers as they are, dates in days since 1970
  bool are_dates = false;
};
/// The column for the given rows of the table: numbers, or dates as in read_date().
/// Throws InputError for anything else, for a column that mixes both, and for one of
/// dates without hyphens (20240331) alone, which are no numbers that count days.
TimeColumn times(const Table& table, const std::string& column,
                 const std::vector<std::int64_t>& rows);

/// Labels as numbers 0 .. in the order of their first appearance, with the text that
/// they have there. Labels with the same label_key() are one.
struct BlockNumbers {
  std::vector<std::int64_t> block_of_row;  ///< [rows]
  std::vector<std::string> label_of_block;
  std::vector<std::int64_t> size_of_block;  ///< rows of each block
};
BlockNumbers number_blocks(const std::vector<std::string>& label_of_row);

/// Throws InputError where all rows carry one label.
void check_several_blocks(const BlockNumbers& blocks, const std::string& source,
                          const std::string& column);

}  // namespace kinflow
