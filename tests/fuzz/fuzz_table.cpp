// Fuzzes the readers of tables: any bytes give a table whose parts agree or an
// InputError of one line.
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "fuzzed.h"
#include "kinflow/data/table.h"
#include "kinflow/data/table_reader.h"

namespace {

using namespace kinflow;
using fuzzed::require;

/// The cells of a column that can be read as labels.
std::vector<std::string> labels_or_nothing(const Table& table,
                                           const std::string& name) {
  try {
    return labels(table, name);
  } catch (const InputError&) {
    return {};
  }
}

/// Pieces of two rows, read five bytes at a time, are the rows of the whole table.
void check_pieces(const Table& table, const std::string& bytes, TableFormat format) {
  TableReader reader(bytes, "f", format, {.bytes_at_once = 5});
  require(reader.header().names() == table.names());
  const std::string& name = table.names().back();
  const auto whole = labels_or_nothing(table, name);
  std::int64_t rows = 0;
  while (const auto piece = reader.next(2)) {
    require(piece->first_row() == rows);
    const auto part = labels_or_nothing(*piece, name);
    for (std::int64_t i = 0; i < piece->rows(); ++i, ++rows) {
      require(rows < table.rows());
      require(piece->line_of_row(i) == table.line_of_row(rows));
      if (whole.empty()) continue;
      require(part.at(static_cast<std::size_t>(i)) ==
              whole[static_cast<std::size_t>(rows)]);
    }
  }
  require(rows == table.rows());
}

void check_table(const std::string& bytes, TableFormat format) {
  const Table table = parse_table(bytes, "f", format);
  check_pieces(table, bytes, format);
  require(table.rows() > 0 && !table.names().empty());
  for (const std::string& name : table.names()) {
    fuzzed::answer_or_input_error([&] {
      require(table.column_index(name) >= 0);
      const NumericMatrix matrix =
          numeric_matrix(table, {name}, {.missing = MissingPolicy::drop});
      require(matrix.rows + matrix.dropped_rows == table.rows());
      for (const double value : matrix.values) require(std::isfinite(value));
      const BlockNumbers blocks = number_blocks(labels(table, name));
      require(static_cast<std::int64_t>(blocks.block_of_row.size()) == table.rows());
    });
  }
  numeric_matrix(table, table.names());
}

}  // namespace

/// The first byte chooses the reader; the rest is the file.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr TableFormat kFormats[] = {TableFormat::csv, TableFormat::tsv,
                                      TableFormat::npy};
  fuzzed::Input input(data, size);
  const auto format = kFormats[input.choice() % 3];
  return fuzzed::answer_or_input_error([&] { check_table(input.rest(), format); });
}
