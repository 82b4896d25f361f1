// Calls and counts by chromosome and sex.
#include "kinflow/genetics/sexed_genotypes.h"

#include <algorithm>
#include <iterator>
#include <limits>

namespace kinflow {
namespace {

std::vector<std::int64_t> people_of_sex(const Genotypes& genotypes,
                                        std::span<const std::int64_t> people, int sex) {
  std::vector<std::int64_t> chosen;
  std::copy_if(people.begin(), people.end(), std::back_inserter(chosen), [&](auto i) {
    return genotypes.people()[static_cast<std::size_t>(i)].sex == sex;
  });
  return chosen;
}

}  // namespace

SexedGenotypes::SexedGenotypes(const Genotypes& genotypes,
                               std::span<const std::int64_t> people, int autosomes)
    : genotypes_(genotypes),
      people_(people),
      autosomes_(autosomes),
      everyone_(people, genotypes.people().size()),
      males_(people_of_sex(genotypes, people, kMale), genotypes.people().size()),
      females_(people_of_sex(genotypes, people, kFemale), genotypes.people().size()) {}

ChromosomeKind SexedGenotypes::kind_of(std::int64_t variant) const {
  const auto& name =
      genotypes_.variants()[static_cast<std::size_t>(variant)].chromosome;
  return chromosome(name, autosomes_).kind;
}

void SexedGenotypes::read(std::int64_t variant, std::int8_t* counts) const {
  genotypes_.read(variant, people_, counts);
  const auto kind = kind_of(variant);
  if (kind != ChromosomeKind::x && kind != ChromosomeKind::y) return;
  for (std::size_t i = 0; i < people_.size(); ++i) {
    const int sex = genotypes_.people()[static_cast<std::size_t>(people_[i])].sex;
    counts[i] =
        sex == kUnknownSex ? kMissingGenotype : possible_count(counts[i], kind, sex);
  }
}

GenotypeCounts SexedGenotypes::males_as_haploid(std::int64_t variant) const {
  GenotypeCounts counts = males_.count(genotypes_.packed(variant));
  counts.missing += counts.heterozygous;
  counts.heterozygous = 0;
  return counts;
}

GenotypeCounts SexedGenotypes::count(std::int64_t variant) const {
  const auto kind = kind_of(variant);
  if (kind != ChromosomeKind::x && kind != ChromosomeKind::y) {
    return everyone_.count(genotypes_.packed(variant));
  }
  GenotypeCounts counts = males_as_haploid(variant);
  if (kind == ChromosomeKind::x) {
    const auto females = females_.count(genotypes_.packed(variant));
    counts.homozygous_a1 += females.homozygous_a1;
    counts.heterozygous += females.heterozygous;
    counts.homozygous_a2 += females.homozygous_a2;
  }
  counts.missing = everyone_.people() - counts.known();
  return counts;
}

double SexedGenotypes::a1_frequency(std::int64_t variant) const {
  const auto kind = kind_of(variant);
  if (kind != ChromosomeKind::x) return count(variant).a1_frequency();
  const auto males = males_as_haploid(variant);
  const auto females = females_.count(genotypes_.packed(variant));
  const auto alleles = males.known() + 2 * females.known();
  if (alleles == 0) return std::numeric_limits<double>::quiet_NaN();
  return static_cast<double>(males.homozygous_a1 + 2 * females.homozygous_a1 +
                             females.heterozygous) /
         static_cast<double>(alleles);
}

HaploidCalls count_haploid_calls(const Genotypes& genotypes,
                                 std::span<const std::int64_t> people,
                                 std::span<const std::int64_t> variants,
                                 int autosomes) {
  const std::size_t in_file = genotypes.people().size();
  const PeopleMask everyone(people, in_file),
      males(people_of_sex(genotypes, people, kMale), in_file);
  HaploidCalls calls;
  for (const auto variant : variants) {
    const auto& name =
        genotypes.variants()[static_cast<std::size_t>(variant)].chromosome;
    const auto row = genotypes.packed(variant);
    switch (chromosome(name, autosomes).kind) {
      case ChromosomeKind::x:
        ++calls.x_variants;
        calls.x_heterozygous += males.count(row).heterozygous;
        break;
      case ChromosomeKind::y:
        ++calls.y_variants;
        calls.y_heterozygous += males.count(row).heterozygous;
        calls.y_of_others += everyone.count(row).known() - males.count(row).known();
        break;
      case ChromosomeKind::mitochondrial:
        ++calls.mt_variants;
        calls.mt_mixed += everyone.count(row).heterozygous;
        break;
      default:
        break;
    }
  }
  if (calls.x_variants + calls.y_variants > 0) {
    calls.unknown_sex =
        static_cast<std::int64_t>(people_of_sex(genotypes, people, kUnknownSex).size());
  }
  return calls;
}

}  // namespace kinflow
