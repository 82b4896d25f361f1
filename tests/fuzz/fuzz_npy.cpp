// Fuzzes the reader of .npy arrays: any bytes give as many numbers as the shape says,
// the same whole and in parts, or an InputError of one line.
#include <cstdint>
#include <string>
#include <vector>

#include "fuzzed.h"
#include "kinflow/data/npy.h"

namespace {

using namespace kinflow;
using fuzzed::require;

/// Missing numbers are equal too.
bool same(double a, double b) { return a == b || (a != a && b != b); }

void check(const std::string& bytes, std::int64_t rows_at_once) {
  const auto whole = parse_npy(bytes, "f");
  std::size_t count = 1;
  for (const auto extent : whole.shape) count *= static_cast<std::size_t>(extent);
  require(whole.values.size() == count);
  const NpyReader reader(bytes, "f");
  require(reader.layout().shape == whole.shape);
  // An array without numbers may have any number of rows.
  if (count == 0) return;
  std::size_t seen = 0;
  for (std::int64_t first = 0; first < reader.rows(); first += rows_at_once) {
    const auto rows = std::min(rows_at_once, reader.rows() - first);
    for (const double value : reader.read(first, rows)) {
      require(same(value, whole.values.at(seen++)));
    }
  }
  require(seen == count);
}

}  // namespace

/// The first byte says how many rows a part has; the rest is the file.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzzed::Input input(data, size);
  const std::int64_t rows_at_once = 1 + input.choice() % 5;
  return fuzzed::answer_or_input_error([&] { check(input.rest(), rows_at_once); });
}
