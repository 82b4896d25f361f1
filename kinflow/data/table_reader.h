// Reads a table piece by piece, so that memory does not grow with the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "kinflow/data/table.h"

namespace kinflow {

/// How a TableReader goes about a text file; the table that it gives is the same.
struct TableReadSizes {
  std::size_t bytes_at_once = 1 << 20;
  /// A longer row is an error: most likely a quote that is not closed, which would
  /// bring the rest of the file into memory.
  std::size_t longest_row_bytes = 1 << 30;
};

/// The only reader of tables: read_table() is its first piece, of all rows. Opening
/// reads and checks the header, and that there is a row. A mistake in a later piece
/// throws when that piece is asked for. Only an .npy array from a pipe is held whole,
/// because its length is part of what is checked. Text may be gzipped, under any name.
class TableReader {
 public:
  static constexpr std::int64_t kAllRows = std::numeric_limits<std::int64_t>::max();

  explicit TableReader(const std::string& path, const TableReadSizes& sizes = {});
  /// Bytes in memory, which must outlive the reader; `source` stands for the file.
  TableReader(std::string_view bytes, const std::string& source, TableFormat format,
              const TableReadSizes& sizes = {});
  ~TableReader();
  TableReader(const TableReader&) = delete;
  TableReader& operator=(const TableReader&) = delete;

  /// The table without rows: its names and source.
  const Table& header() const;
  /// The next rows, at most `most_rows` of them (at least 1); nothing at the end.
  std::optional<Table> next(std::int64_t most_rows);
  /// Bytes of the file that the rows given so far take up; where it is gzipped, that
  /// were read for them.
  std::uint64_t bytes_done() const;
  /// Bytes of the file; 0 where a pipe does not tell.
  std::uint64_t bytes_in_all() const;

  class Source;

 private:
  std::unique_ptr<Source> source_;
};

}  // namespace kinflow
