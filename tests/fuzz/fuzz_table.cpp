// Fuzzes the readers of tables: any bytes give a table whose parts agree or an
// InputError of one line.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "kinflow/core/error.h"
#include "kinflow/data/in_quotes.h"
#include "kinflow/data/table.h"

namespace {

using namespace kinflow;

void require(bool claim) {
  if (!claim) std::abort();
}

void check_table(std::string bytes, TableFormat format) {
  const Table table = parse_table(std::move(bytes), "f", format);
  require(table.rows() > 0 && !table.names().empty());
  for (const std::string& name : table.names()) {
    try {
      require(table.column_index(name) >= 0);
      const NumericMatrix matrix =
          numeric_matrix(table, {name}, {.missing = MissingPolicy::drop});
      require(matrix.rows + matrix.dropped_rows == table.rows());
      for (const double value : matrix.values) require(std::isfinite(value));
      const BlockNumbers blocks = number_blocks(labels(table, name));
      require(static_cast<std::int64_t>(blocks.block_of_row.size()) == table.rows());
    } catch (const InputError& error) {
      require(is_printable_utf8(error.what()));
    }
  }
  numeric_matrix(table, table.names());
}

}  // namespace

/// The first byte chooses the reader; the rest is the file.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    switch (data[0] % 3) {
      case 0:
        check_table(bytes, kinflow::TableFormat::csv);
        break;
      case 1:
        check_table(bytes, kinflow::TableFormat::tsv);
        break;
      default:
        check_table(bytes, kinflow::TableFormat::npy);
    }
  } catch (const kinflow::InputError& error) {
    require(kinflow::is_printable_utf8(error.what()));
  }
  return 0;
}
