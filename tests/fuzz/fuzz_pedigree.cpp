// Fuzzes the reader of pedigrees: any bytes give people whose parents are other people
// of the pedigree, and a relationship matrix, or an InputError of one line.
#include <cstdint>
#include <set>
#include <string>

#include "fuzzed.h"
#include "kinflow/data/pedigree.h"
#include "kinflow/data/text_lines.h"

namespace {

using namespace kinflow;
using fuzzed::require;

void check_people(const Pedigree& pedigree) {
  const auto people = std::ssize(pedigree.ids);
  require(pedigree.listed > 0 && pedigree.listed <= people);
  require(std::ssize(pedigree.father) == people);
  require(std::ssize(pedigree.mother) == people);
  std::set<std::pair<std::string, std::string>> ids;
  for (std::int64_t i = 0; i < people; ++i) {
    const auto& id = pedigree.ids[static_cast<std::size_t>(i)];
    require(!id.individual.empty());
    require(ids.emplace(id.family, id.individual).second);
    for (const auto* parents : {&pedigree.father, &pedigree.mother}) {
      const auto parent = (*parents)[static_cast<std::size_t>(i)];
      require(parent >= -1 && parent < people && parent != i);
      require(i < pedigree.listed || parent == -1);
    }
  }
}

void check(const std::string& bytes, bool drop_unlisted_parents) {
  TextLines lines(bytes, "f");
  const auto pedigree = read_pedigree(lines);
  check_people(pedigree);
  const auto file = pedigree_relationship(pedigree, drop_unlisted_parents);
  require(file.rows ==
          (drop_unlisted_parents ? pedigree.listed : std::ssize(pedigree.ids)));
  for (std::int64_t i = 0; i < file.rows; ++i) {
    visit_row(file, i, [&](std::int64_t j, double value) {
      require(value > 0 && value <= 2);
      require(i != j || value >= 1);
    });
  }
}

}  // namespace

/// The first byte chooses the people of the matrix; the rest is the file.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzzed::Input input(data, size);
  const bool drop = input.choice() & 1;
  return fuzzed::answer_or_input_error([&] { check(input.rest(), drop); });
}
