// Fuzzes the readers of genotypes and of lists of people and variants: any bytes give
// counts from 0 to 2 or missing, or an InputError of one line.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "fuzzed.h"
#include "kinflow/genetics/genotypes.h"
#include "kinflow/genetics/variant_filters.h"

namespace {

using namespace kinflow;
using fuzzed::require;

void check_counts(const Genotypes& genotypes) {
  const auto people = genotypes.people().size();
  auto backwards = all_people(genotypes);
  std::reverse(backwards.begin(), backwards.end());
  std::vector<std::int8_t> counts(people), reversed(people);
  for (std::int64_t i = 0; i < std::ssize(genotypes.variants()); ++i) {
    genotypes.read_all(i, counts.data());
    genotypes.read(i, backwards, reversed.data());
    require(std::equal(counts.begin(), counts.end(), reversed.rbegin()));
    for (const auto count : counts) require(count >= kMissingGenotype && count <= 2);
  }
}

void check_chosen(const Chosen& chosen, std::size_t in_file) {
  require(!chosen.rows.empty() && chosen.in_file == static_cast<std::int64_t>(in_file));
  require(std::is_sorted(chosen.rows.begin(), chosen.rows.end()));
  require(chosen.rows.front() >= 0 && chosen.rows.back() < chosen.in_file);
}

/// A .bed of the size that the other two files want.
std::string fitted_bed(std::string bytes, const std::string& prefix) {
  const auto people = read_people(prefix + ".fam").size();
  const auto variants = read_variants(prefix + ".bim").size();
  bytes.resize(variants * ((people + 3) / 4), '\x6b');
  return "\x6c\x1b\x01" + bytes;
}

void check(const fuzzed::Folder& folder, fuzzed::Input input) {
  const auto choice = input.choice();
  const auto prefix = folder.path("f");
  folder.write("f.fam", input.file());
  folder.write("f.bim", input.file());
  folder.write("people", input.file());
  folder.write("variants", input.file());
  const auto bed = input.rest();
  folder.write("f.bed", choice & 1 ? fitted_bed(bed, prefix) : bed);
  const Genotypes genotypes(prefix);
  check_counts(genotypes);
  PeopleFilters people;
  (choice & 2 ? people.keep : people.remove) = folder.path("people");
  const auto chosen = choose_people(genotypes, people);
  check_chosen(chosen, genotypes.people().size());
  VariantFilters variants;
  (choice & 4 ? variants.extract : variants.exclude) = folder.path("variants");
  variants.only_autosomes = choice & 8;
  if (choice & 16) variants.chromosomes = {"1-3", "X"};
  if (choice & 32) variants.least_hardy_weinberg_p = 0.01;
  if (choice & 64) variants.least_minor_frequency = 0.1;
  variants.with_nonfounders = choice & 128;
  check_chosen(choose_variants(genotypes, chosen.rows, variants),
               genotypes.variants().size());
}

}  // namespace

/// The first byte chooses filters and whether the .bed is brought to its size; then
/// come the .fam, the .bim, lists of people and of variants, and the .bed.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzzed::Folder folder;
  return fuzzed::answer_or_input_error(
      [&] { check(folder, fuzzed::Input(data, size)); });
}
