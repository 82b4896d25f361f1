// Fuzzes the rows that an interrupted association study left: any bytes give the same
// number of tests for every set of traits.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "fuzzed.h"
#include "kinflow/gwas/partial_results.h"

namespace {

using namespace kinflow;
using fuzzed::require;

void check(const std::string& directory, const nlohmann::json& description,
           std::int64_t kept) {
  PartialResults results(directory, description, 2);
  for (const std::size_t set : {0, 1}) {
    require(std::ssize(results.log10_p(set)) == results.done());
  }
  results.keep_first(std::min(kept, results.done()));
  for (const std::size_t set : {0, 1}) {
    std::int64_t rows = 0;
    results.visit_rows(set, [&](std::string_view text) {
      rows += std::count(text.begin(), text.end(), '\n');
    });
    require(rows == results.done() && std::ssize(results.log10_p(set)) == rows);
  }
}

}  // namespace

/// The first byte says how many tests are kept; then come the rows of both sets.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzzed::Folder folder;
  static const nlohmann::json description = {{"study", 1}};
  fuzzed::Input input(data, size);
  const std::int64_t kept = input.choice();
  std::filesystem::create_directories(folder.path("partial"));
  folder.write("partial/request.json", description.dump());
  folder.write("partial/rows1.tsv", input.file());
  folder.write("partial/rows2.tsv", input.file());
  return fuzzed::answer_or_input_error(
      [&] { check(folder.path("partial"), description, kept); });
}
