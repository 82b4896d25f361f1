// Fuzzes the readers of principal components: any bytes give rows of numbers with ids
// or an InputError of one line.
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "fuzzed.h"
#include "kinflow/data/principal_components.h"

namespace {

using namespace kinflow;
using fuzzed::require;

void check(const std::string& path, const std::vector<std::string>& id_columns) {
  const auto read = read_principal_components(path, id_columns);
  require(read.rows > 0 && read.columns >= 2);
  require(std::ssize(read.values) == read.rows * read.columns);
  require(read.ids.empty() || std::ssize(read.ids) == read.rows);
  for (const double value : read.values) require(std::isfinite(value));
  for (const auto& id : read.ids) require(is_printable_utf8(in_quotes(id)));
}

}  // namespace

/// The first byte chooses the format and the columns of ids; the rest is the file.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzzed::Folder folder;
  constexpr const char* kNames[] = {"f.eigenvec", "f.csv", "f.tsv", "f.npy"};
  fuzzed::Input input(data, size);
  const auto choice = input.choice();
  const auto path = folder.write(kNames[choice % 4], input.rest());
  const auto id_columns =
      choice & 4 ? std::vector<std::string>{"a"} : std::vector<std::string>{};
  return fuzzed::answer_or_input_error([&] { check(path, id_columns); });
}
