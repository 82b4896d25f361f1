// Fuzzes the readers of relationship matrices, pedigrees and ids: any bytes give a
// matrix whose parts agree or an InputError of one line.
#include <cmath>
#include <cstdint>
#include <string>

#include "fuzzed.h"
#include "kinflow/data/check_relationship.h"
#include "kinflow/data/read_relationship.h"
#include "kinflow/data/text_lines.h"

namespace {

using namespace kinflow;
using fuzzed::require;

/// Names of files, one of each format and some zipped.
constexpr const char* kNames[] = {"f.grm.bin", "f.rel.bin", "f.king.bin", "f.grm.gz",
                                  "f.grm.sp",  "f.rel",     "f.king",     "f.kin0",
                                  "f.mtx",     "f.fam",     "f.txt",      "f.npy"};
constexpr std::size_t kNameCount = sizeof(kNames) / sizeof(kNames[0]);

void check_file(const RelationshipFile& file) {
  const auto n = static_cast<std::size_t>(file.rows);
  require(n > 0 && (file.ids.empty() || file.ids.size() == n));
  require(file.is_sparse() || file.dense.size() == n * n);
  for (std::int64_t i = 0; i < file.rows; ++i) {
    std::int64_t last = -1;
    bool has_diagonal = false;
    visit_row(file, i, [&](std::int64_t j, double value) {
      require(j > last && j < file.rows && std::isfinite(value));
      has_diagonal = has_diagonal || i == j;
      last = j;
    });
    require(has_diagonal);
  }
  const auto check = check_relationship(file);
  require(check.largest_component <= file.rows);
  for (const auto& message : check.errors) require(is_printable_utf8(message));
}

}  // namespace

/// The first byte chooses the format, the second the number of ids; the rest is the
/// file.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzzed::Input input(data, size);
  const auto format = input.choice() % (kNameCount + 1);
  const int id_count = input.choice() % 8;
  const auto bytes = input.rest();
  return fuzzed::answer_or_input_error([&] {
    if (format == kNameCount) {
      TextLines lines(bytes, "f.id");
      for (const SampleId& id : read_sample_ids(lines)) {
        require(!id.individual.empty() && is_printable_utf8(in_quotes(id)));
      }
      return;
    }
    std::vector<SampleId> ids;
    for (int i = 0; i < id_count; ++i) ids.push_back({"", std::to_string(i)});
    check_file(parse_relationship(bytes, kNames[format], ids));
  });
}
