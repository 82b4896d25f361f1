// Fuzzes the readers of association results: any bytes give rows that are written the
// same again once they are read back, and tests that can be clumped, or an InputError
// of one line.
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "fuzzed.h"
#include "kinflow/genetics/association_file.h"
#include "kinflow/genetics/clump.h"

namespace {

using namespace kinflow;
using fuzzed::require;

std::vector<Association> rows_of(AssociationReader& reader) {
  std::vector<Association> rows;
  for (Association row; reader.next(row);) {
    require(std::isnan(row.p) || (row.p >= 0 && row.p <= 1));
    require(std::isnan(row.p) == std::isnan(row.log10_p) && !(row.log10_p < 0));
    require(row.people >= 0 && row.position >= 0);
    require(row.effects.size() == reader.traits().size());
    require(row.standard_errors.size() == reader.traits().size());
    rows.push_back(row);
  }
  return rows;
}

/// Six people and the variants rs1, ..., rs4.
const Genotypes& some_genotypes(const fuzzed::Folder& folder) {
  std::string fam, bim;
  for (int i = 0; i < 6; ++i) fam += "0 i" + std::to_string(i) + " 0 0 1 -9\n";
  for (int i = 1; i < 5; ++i) {
    bim += "1 rs" + std::to_string(i) + " 0 " + std::to_string(100 * i) + " A C\n";
  }
  folder.write("g.fam", fam);
  folder.write("g.bim", bim);
  folder.write("g.bed", "\x6c\x1b\x01\x2e\x0b\x3a\x0e\xe3\x08\xf8\x0f");
  static const Genotypes genotypes(folder.path("g"));
  return genotypes;
}

void check_clumps(const std::string& path, const AssociationFields& fields,
                  const Genotypes& genotypes) {
  const ClumpOptions options{.p1 = 0.5, .p2 = 0.9, .r2 = 0.2};
  const auto tests = match_tests(path, fields, genotypes, options);
  require(tests.log10_p.size() == genotypes.variants().size());
  const auto people = founders(genotypes);
  std::size_t placed = 0;
  for (const auto& locus : clump(genotypes, people, tests.log10_p, options)) {
    require(locus.start <= locus.end && locus.log10_p >= std::log10(2.0));
    placed += 1 + locus.members.size();
  }
  require(placed <= genotypes.variants().size());
}

void check(const fuzzed::Folder& folder, const Genotypes& genotypes,
           const AssociationFields& fields, const std::string& bytes) {
  const auto path = folder.write("f.tsv", bytes);
  AssociationReader reader(path, fields);
  const auto rows = rows_of(reader);
  const auto copy = folder.path("copy.tsv");
  const auto written = format_associations(rows, reader.traits().size());
  AssociationWriter writer(copy, reader.traits());
  writer.append(written);
  writer.finish();
  check_clumps(path, fields, genotypes);
  AssociationReader again(copy);
  const auto copied = rows_of(again);
  require(format_associations(copied, reader.traits().size()) == written);
}

}  // namespace

/// The first byte chooses names of columns; the rest is the file.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzzed::Folder folder;
  static const Genotypes& genotypes = some_genotypes(folder);
  fuzzed::Input input(data, size);
  const auto choice = input.choice();
  AssociationFields fields;
  if (choice & 1) fields.id = "name";
  if (choice & 2) fields.p = "p_of_test";
  return fuzzed::answer_or_input_error(
      [&] { check(folder, genotypes, fields, input.rest()); });
}
