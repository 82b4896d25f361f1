// Population counts of packed genotypes.
#include "kinflow/genetics/genotype_counts.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace kinflow {
namespace {

constexpr std::size_t kPeoplePerWord = 32;
constexpr std::size_t kBytesPerWord = 8;
// Likelihoods that differ by rounding only are equal.
constexpr double kTie = 1 + 1e-8;
constexpr double kNegligible = 1e-18;
constexpr double kHuge = 1e300;

/// Sums over the words of a row of what its bits say: a lower bit alone is a missing
/// genotype, an upper one alone a heterozygote, both together two alleles a2.
struct BitSums {
  std::int64_t lower = 0, upper = 0, both = 0;

  [[gnu::always_inline]] void add(std::uint64_t word, std::uint64_t mask) {
    const std::uint64_t low = word & mask, high = (word >> 1) & mask;
    lower += std::popcount(low);
    upper += std::popcount(high);
    both += std::popcount(low & high);
  }
};

[[gnu::always_inline]] inline BitSums sum_words(const std::uint8_t* row,
                                                const std::uint64_t* masks,
                                                std::size_t bytes) {
  BitSums sums;
  const std::size_t whole = bytes / kBytesPerWord;
  for (std::size_t i = 0; i < whole; ++i) {
    std::uint64_t word;
    std::memcpy(&word, row + i * kBytesPerWord, kBytesPerWord);
    sums.add(word, masks[i]);
  }
  if (const std::size_t rest = bytes % kBytesPerWord; rest > 0) {
    std::uint64_t word = 0;
    std::memcpy(&word, row + whole * kBytesPerWord, rest);
    sums.add(word, masks[whole]);
  }
  return sums;
}

BitSums sum_words_anywhere(const std::uint8_t* row, const std::uint64_t* masks,
                           std::size_t bytes) {
  return sum_words(row, masks, bytes);
}

#ifdef __x86_64__
__attribute__((target("popcnt"))) BitSums sum_words_by_instruction(
    const std::uint8_t* row, const std::uint64_t* masks, std::size_t bytes) {
  return sum_words(row, masks, bytes);
}
const auto kSumWords =
    __builtin_cpu_supports("popcnt") ? sum_words_by_instruction : sum_words_anywhere;
#else
const auto kSumWords = sum_words_anywhere;
#endif

/// The likelihoods of other numbers of heterozygotes, relative to the one observed, in
/// two sums: of those that are at most as likely, and of those that are more likely.
struct RelativeLikelihoods {
  double at_most = 1, more = 0;

  void add(double likelihood) { (likelihood <= kTie ? at_most : more) += likelihood; }
};

/// Adds the likelihoods of fewer heterozygotes (step -2) or of more (step 2).
void walk(const GenotypeCounts& counts, int step, RelativeLikelihoods& sums) {
  auto heterozygous = static_cast<double>(counts.heterozygous);
  auto rare = static_cast<double>(std::min(counts.homozygous_a1, counts.homozygous_a2));
  auto common =
      static_cast<double>(std::max(counts.homozygous_a1, counts.homozygous_a2));
  double likelihood = 1;
  for (;;) {
    const double before = likelihood;
    likelihood *=
        step > 0 ? 4 * rare * common / ((heterozygous + 2) * (heterozygous + 1))
                 : heterozygous * (heterozygous - 1) / (4 * (rare + 1) * (common + 1));
    if (likelihood <= 0) return;
    sums.add(likelihood);
    const bool falls = likelihood < before;
    if (sums.more > kHuge || (falls && likelihood < kNegligible * sums.at_most)) return;
    heterozygous += step;
    rare -= step / 2;
    common -= step / 2;
  }
}

template <typename Choose>
std::vector<std::int64_t> those(std::span<const std::int64_t> people,
                                const Choose& is_chosen) {
  std::vector<std::int64_t> chosen;
  std::copy_if(people.begin(), people.end(), std::back_inserter(chosen), is_chosen);
  return chosen;
}

bool is_male(const Genotypes& genotypes, std::int64_t person) {
  return genotypes.people()[static_cast<std::size_t>(person)].sex == kMale;
}

bool is_founder(const Genotypes& genotypes, std::int64_t person) {
  return genotypes.people()[static_cast<std::size_t>(person)].is_founder();
}

}  // namespace

double GenotypeCounts::a1_frequency() const {
  if (known() == 0) return std::numeric_limits<double>::quiet_NaN();
  return static_cast<double>(2 * homozygous_a1 + heterozygous) /
         static_cast<double>(2 * known());
}

PeopleMask::PeopleMask(std::span<const std::int64_t> people, std::size_t people_in_file)
    : words_((people_in_file + kPeoplePerWord - 1) / kPeoplePerWord),
      people_(static_cast<std::int64_t>(people.size())) {
  for (const std::int64_t person : people) {
    const auto place = static_cast<std::size_t>(person);
    words_[place / kPeoplePerWord] |= std::uint64_t{1}
                                      << (2 * (place % kPeoplePerWord));
  }
}

GenotypeCounts PeopleMask::count(std::span<const std::uint8_t> row) const {
  const BitSums sums = kSumWords(row.data(), words_.data(), row.size());
  return {.homozygous_a1 = people_ - sums.lower - sums.upper + sums.both,
          .heterozygous = sums.upper - sums.both,
          .homozygous_a2 = sums.both,
          .missing = sums.lower - sums.both};
}

double hardy_weinberg_p(const GenotypeCounts& counts) {
  RelativeLikelihoods sums;
  walk(counts, -2, sums);
  walk(counts, 2, sums);
  return sums.more > kHuge ? 0 : sums.at_most / (sums.at_most + sums.more);
}

VariantCounter::VariantCounter(const Genotypes& genotypes,
                               std::span<const std::int64_t> people, int autosomes,
                               bool with_nonfounders)
    : genotypes_(genotypes),
      autosomes_(autosomes),
      everyone_(people, genotypes.people().size()),
      males_(those(people, [&](auto i) { return is_male(genotypes, i); }),
             genotypes.people().size()),
      founders_(
          those(people,
                [&](auto i) { return with_nonfounders || is_founder(genotypes, i); }),
          genotypes.people().size()),
      founder_males_(those(people,
                           [&](auto i) {
                             return is_male(genotypes, i) &&
                                    (with_nonfounders || is_founder(genotypes, i));
                           }),
                     genotypes.people().size()),
      founder_others_(those(people,
                            [&](auto i) {
                              return !is_male(genotypes, i) &&
                                     (with_nonfounders || is_founder(genotypes, i));
                            }),
                      genotypes.people().size()) {}

ChromosomeKind VariantCounter::kind_of(std::int64_t variant) const {
  const auto& name =
      genotypes_.variants()[static_cast<std::size_t>(variant)].chromosome;
  return chromosome(name, autosomes_).kind;
}

double VariantCounter::missing_share(std::int64_t variant) const {
  const auto& people = kind_of(variant) == ChromosomeKind::y ? males_ : everyone_;
  if (people.people() == 0) return 0;
  return static_cast<double>(people.count(genotypes_.packed(variant)).missing) /
         static_cast<double>(people.people());
}

VariantCounter::Alleles VariantCounter::alleles(std::int64_t variant) const {
  const auto row = genotypes_.packed(variant);
  const ChromosomeKind kind = kind_of(variant);
  if (kind != ChromosomeKind::x && kind != ChromosomeKind::y) {
    const GenotypeCounts counts = founders_.count(row);
    return {2 * counts.homozygous_a1 + counts.heterozygous, 2 * counts.known()};
  }
  const GenotypeCounts males = founder_males_.count(row);
  const GenotypeCounts others =
      kind == ChromosomeKind::x ? founder_others_.count(row) : GenotypeCounts{};
  return {2 * others.homozygous_a1 + others.heterozygous + males.homozygous_a1,
          2 * others.known() + males.homozygous_a1 + males.homozygous_a2};
}

double VariantCounter::a1_frequency(std::int64_t variant) const {
  const auto [a1, known] = alleles(variant);
  if (known == 0) return std::numeric_limits<double>::quiet_NaN();
  return static_cast<double>(a1) / static_cast<double>(known);
}

double VariantCounter::minor_count(std::int64_t variant) const {
  const auto [a1, known] = alleles(variant);
  return static_cast<double>(std::min(a1, known - a1));
}

double VariantCounter::minor_frequency(std::int64_t variant) const {
  const double frequency = a1_frequency(variant);
  return std::isnan(frequency) ? 0 : std::min(frequency, 1 - frequency);
}

double VariantCounter::hardy_weinberg_p(std::int64_t variant) const {
  const ChromosomeKind kind = kind_of(variant);
  if (kind == ChromosomeKind::y || kind == ChromosomeKind::mitochondrial) return 1;
  const auto& people = kind == ChromosomeKind::x ? founder_others_ : founders_;
  return kinflow::hardy_weinberg_p(people.count(genotypes_.packed(variant)));
}

}  // namespace kinflow
