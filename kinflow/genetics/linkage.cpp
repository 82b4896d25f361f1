// Correlations by counting bits; plink's walk of a window along a chromosome.
#include "kinflow/genetics/linkage.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>

#include "kinflow/core/error.h"
#include "kinflow/core/workers.h"
#include "kinflow/genetics/genotype_counts.h"
#include "kinflow/genetics/relationship_from_snps.h"
#include "kinflow/genetics/sexed_genotypes.h"

namespace kinflow {
namespace {

constexpr std::size_t kPeoplePerMaskWord = 64;
// Frequencies and correlations that differ by rounding only are equal.
constexpr double kLinkageRounding = 1e-13;

/// Numbers of people by what is known of two variants: h one allele, t two, k known.
struct PairCounts {
  std::int64_t known = 0;
  std::int64_t h_known = 0, t_known = 0, known_h = 0, known_t = 0;
  std::int64_t h_h = 0, h_t = 0, t_h = 0, t_t = 0;
};

[[gnu::always_inline]] inline void count_both(const std::uint64_t* left,
                                              const std::uint64_t* right,
                                              std::size_t words, PairCounts& counts) {
  for (std::size_t i = 0; i < words; ++i) {
    const std::uint64_t lh = left[words + i], lt = left[2 * words + i];
    const std::uint64_t rh = right[words + i], rt = right[2 * words + i];
    counts.h_h += std::popcount(lh & rh);
    counts.h_t += std::popcount(lh & rt);
    counts.t_h += std::popcount(lt & rh);
    counts.t_t += std::popcount(lt & rt);
  }
}

[[gnu::always_inline]] inline void count_known(const std::uint64_t* left,
                                               const std::uint64_t* right,
                                               std::size_t words, PairCounts& counts) {
  for (std::size_t i = 0; i < words; ++i) {
    counts.known += std::popcount(left[i] & right[i]);
    counts.h_known += std::popcount(left[words + i] & right[i]);
    counts.t_known += std::popcount(left[2 * words + i] & right[i]);
    counts.known_h += std::popcount(left[i] & right[words + i]);
    counts.known_t += std::popcount(left[i] & right[2 * words + i]);
  }
}

[[gnu::always_inline]] inline PairCounts count_pair_inline(const std::uint64_t* left,
                                                           const std::uint64_t* right,
                                                           std::size_t words,
                                                           bool has_missing) {
  PairCounts counts;
  count_both(left, right, words, counts);
  if (has_missing) count_known(left, right, words, counts);
  return counts;
}

PairCounts count_pair_anywhere(const std::uint64_t* left, const std::uint64_t* right,
                               std::size_t words, bool has_missing) {
  return count_pair_inline(left, right, words, has_missing);
}

#ifdef __x86_64__
__attribute__((target("popcnt"))) PairCounts count_pair_by_instruction(
    const std::uint64_t* left, const std::uint64_t* right, std::size_t words,
    bool has_missing) {
  return count_pair_inline(left, right, words, has_missing);
}
const auto kCountPair =
    __builtin_cpu_supports("popcnt") ? count_pair_by_instruction : count_pair_anywhere;
#else
const auto kCountPair = count_pair_anywhere;
#endif

std::vector<std::int8_t> counts_of(const Genotypes& genotypes, std::int64_t variant,
                                   std::span<const std::int64_t> people) {
  std::vector<std::int8_t> counts(people.size());
  genotypes.read(variant, people, counts.data());
  return counts;
}

/// Males have one allele of X and Y: their counts become those of the rarer allele, 0
/// or 1, and missing where they are heterozygous. Others have no Y.
void count_alleles_of_males(std::span<std::int8_t> counts, ChromosomeKind kind,
                            bool a1_is_rarer, const Genotypes& genotypes,
                            std::span<const std::int64_t> people) {
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const auto& person = genotypes.people()[static_cast<std::size_t>(people[i])];
    counts[i] = possible_count(counts[i], kind, person.sex);
    if (counts[i] == kMissingGenotype) continue;
    const int rarer = a1_is_rarer ? counts[i] : 2 - counts[i];
    counts[i] = static_cast<std::int8_t>(person.sex == kMale ? rarer / 2 : rarer);
  }
}

/// One chromosome, over which a window moves by a variant at a time.
class PruningWalk {
 public:
  PruningWalk(const Genotypes& genotypes, std::span<const std::int64_t> people,
              const ChromosomeVariants& one, const VariantCounter& counter,
              const LinkagePruning& options)
      : genotypes_(genotypes),
        people_(people),
        variants_(one.variants),
        kind_(chromosome(one.name, options.autosomes).kind),
        limit_(options.largest_r_squared * (1 + kLinkageRounding)),
        window_(options.window_kb * 1000),
        bits_(variants_.size()),
        frequency_(variants_.size()),
        a1_is_rarer_(variants_.size()),
        is_pruned_(variants_.size()),
        next_(variants_.size()) {
    for (std::size_t i = 0; i < variants_.size(); ++i) {
      const double a1 = counter.a1_frequency(variants_[i]);
      a1_is_rarer_[i] = a1 <= 0.5;
      frequency_[i] = std::min(a1, 1 - a1);
    }
  }

  /// Which variants go.
  std::vector<char> run() && {
    for (std::size_t start = 0; start < variants_.size(); ++start) {
      if (extend(start)) {
        while (prune_once(start)) {
        }
      }
      bits_[start].reset();
    }
    return std::move(is_pruned_);
  }

 private:
  std::int64_t position(std::size_t i) const {
    return genotypes_.variants()[static_cast<std::size_t>(variants_[i])].position;
  }

  /// Takes what the window of a variant reaches; false where that is nothing new.
  bool extend(std::size_t start) {
    const std::size_t before = end_;
    const double last = static_cast<double>(position(start)) + window_;
    while (end_ < variants_.size() && static_cast<double>(position(end_)) <= last) {
      auto counts = counts_of(genotypes_, variants_[end_], people_);
      if (kind_ == ChromosomeKind::x || kind_ == ChromosomeKind::y) {
        count_alleles_of_males(counts, kind_, a1_is_rarer_[end_] != 0, genotypes_,
                               people_);
      }
      bits_[end_].emplace(counts);
      is_pruned_[end_] = !bits_[end_]->varies();
      next_[end_] = end_ + 1;
      ++end_;
    }
    return end_ > before;
  }

  /// Every variant goes on to its next partner that is too much like it; one of the two
  /// goes. False where nothing went.
  bool prune_once(std::size_t start) {
    bool has_pruned = false;
    for (std::size_t i = start; i < end_; ++i) {
      if (is_pruned_[i]) continue;
      for (std::size_t& j = next_[i]; j < end_;) {
        const std::size_t partner = j++;
        if (is_pruned_[partner] || r_squared(*bits_[i], *bits_[partner]) <= limit_) {
          continue;
        }
        has_pruned = true;
        const bool is_rarer =
            frequency_[i] < frequency_[partner] * (1 - kLinkageRounding);
        is_pruned_[is_rarer ? i : partner] = 1;
        break;
      }
    }
    return has_pruned;
  }

  const Genotypes& genotypes_;
  std::span<const std::int64_t> people_, variants_;
  ChromosomeKind kind_;
  double limit_, window_;
  std::vector<std::optional<VariantBits>> bits_;  // of the window
  std::vector<double> frequency_;
  std::vector<char> a1_is_rarer_;
  std::vector<char> is_pruned_;
  std::vector<std::size_t> next_;  // the first partner that has not been looked at
  std::size_t end_ = 0;
};

void check_order(const Genotypes& genotypes, const ChromosomeVariants& chromosome) {
  const auto variant = [&](std::size_t i) -> const Variant& {
    return genotypes.variants()[static_cast<std::size_t>(chromosome.variants[i])];
  };
  for (std::size_t i = 1; i < chromosome.variants.size(); ++i) {
    if (variant(i).position >= variant(i - 1).position) continue;
    throw InputError(
        fmt::format("{}.bim:{}: expected positions that do not decrease within "
                    "chromosome {}, found "
                    "{} after {}",
                    genotypes.prefix(), chromosome.variants[i] + 1, chromosome.name,
                    variant(i).position, variant(i - 1).position));
  }
}

}  // namespace

VariantBits::VariantBits(const Genotypes& genotypes, std::int64_t variant,
                         std::span<const std::int64_t> people)
    : VariantBits(counts_of(genotypes, variant, people)) {}

VariantBits::VariantBits(std::span<const std::int8_t> counts)
    : words_((counts.size() + kPeoplePerMaskWord - 1) / kPeoplePerMaskWord),
      planes_(3 * words_) {
  std::int64_t number_of[4] = {};
  for (std::size_t i = 0; i < counts.size(); ++i) {
    ++number_of[counts[i] + 1];
    if (counts[i] == kMissingGenotype) continue;
    const std::uint64_t bit = std::uint64_t{1} << (i % kPeoplePerMaskWord);
    const std::size_t word = i / kPeoplePerMaskWord;
    planes_[word] |= bit;
    if (counts[i] == 1) planes_[words_ + word] |= bit;
    if (counts[i] == 2) planes_[2 * words_ + word] |= bit;
  }
  has_missing_ = number_of[0] > 0;
  known_ = number_of[1] + number_of[2] + number_of[3];
  sum_ = number_of[2] + 2 * number_of[3];
  squares_ = number_of[2] + 4 * number_of[3];
  varies_ = std::max({number_of[1], number_of[2], number_of[3]}) < known_;
}

double r_squared(const VariantBits& left, const VariantBits& right) {
  const bool has_missing = left.has_missing_ || right.has_missing_;
  const PairCounts counts =
      kCountPair(left.planes_.data(), right.planes_.data(), left.words_, has_missing);
  const auto pick = [&](std::int64_t among_pairs, std::int64_t among_all) {
    return static_cast<double>(has_missing ? among_pairs : among_all);
  };
  const double n = pick(counts.known, left.known_);
  const double x = pick(counts.h_known + 2 * counts.t_known, left.sum_);
  const double y = pick(counts.known_h + 2 * counts.known_t, right.sum_);
  const double xx = pick(counts.h_known + 4 * counts.t_known, left.squares_);
  const double yy = pick(counts.known_h + 4 * counts.known_t, right.squares_);
  const auto xy =
      static_cast<double>(counts.h_h + 2 * (counts.h_t + counts.t_h) + 4 * counts.t_t);
  // All are integers, so that 0 is exact.
  const double variances = (n * xx - x * x) * (n * yy - y * y);
  const double covariance = n * xy - x * y;
  return variances == 0 ? 0 : covariance * covariance / variances;
}

std::vector<std::int64_t> prune_by_linkage(const Genotypes& genotypes,
                                           std::span<const std::int64_t> people,
                                           std::span<const std::int64_t> variants,
                                           const LinkagePruning& options) {
  std::vector<std::int64_t> compared;
  for (const auto person : people) {
    if (options.with_nonfounders ||
        genotypes.people()[static_cast<std::size_t>(person)].is_founder()) {
      compared.push_back(person);
    }
  }
  const VariantCounter counter(genotypes, people, options.autosomes,
                               options.with_nonfounders);
  const auto chromosomes = by_chromosome(genotypes, variants, options.autosomes);
  for (const auto& chromosome : chromosomes) check_order(genotypes, chromosome);
  std::vector<std::vector<char>> is_pruned(chromosomes.size());
  shared_workers().run(
      static_cast<std::int64_t>(chromosomes.size()),
      [&](std::int64_t turn, std::int64_t /*thread*/) {
        const auto at = static_cast<std::size_t>(turn);
        is_pruned[at] =
            PruningWalk(genotypes, compared, chromosomes[at], counter, options).run();
      });
  std::vector<std::int64_t> kept;
  for (std::size_t c = 0; c < chromosomes.size(); ++c) {
    for (std::size_t i = 0; i < chromosomes[c].variants.size(); ++i) {
      if (!is_pruned[c][i]) kept.push_back(chromosomes[c].variants[i]);
    }
  }
  std::sort(kept.begin(), kept.end());
  return kept;
}

}  // namespace kinflow
