// Balding-Nichols frequencies, ancestral haplotypes, mosaics, gametes and their
// transposition into rows of a .bed file.
#include "kinflow/genetics/simulate_haplotypes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "kinflow/genetics/write_genotypes.h"

namespace kinflow {
namespace {

constexpr std::int64_t kWordBits = 64;

double exponential(double mean, Random& random) {
  return -mean * std::log(1 - random.uniform());
}

/// Gamma with this shape and scale 1, by Marsaglia and Tsang's rejection.
double gamma_draw(double shape, Random& random) {
  if (shape < 1) {
    const double boost = std::pow(1 - random.uniform(), 1 / shape);
    return gamma_draw(shape + 1, random) * boost;
  }
  const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = random.normal(), root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root;
    if (std::log(1 - random.uniform()) < x * x / 2 + d - d * v + d * std::log(v)) {
      return d * v;
    }
  }
}

/// The frequency of a population that drifted by `fst` from an ancestral one.
double drifted_frequency(double ancestral, double fst, Random& random) {
  if (fst == 0) return ancestral;
  const double a = gamma_draw(ancestral * (1 - fst) / fst, random);
  const double b = gamma_draw((1 - ancestral) * (1 - fst) / fst, random);
  return a + b > 0 ? a / (a + b) : ancestral;
}

ChromosomeSites draw_sites(const SimulateCohortOptions& options,
                           std::int64_t chromosome) {
  static constexpr const char* kAlleles[] = {"A", "C", "G", "T"};
  Random random = cohort_random(options.seed, CohortPart::sites, chromosome);
  const auto first = first_snp(options, chromosome);
  const auto count = first_snp(options, chromosome + 1) - first;
  ChromosomeSites sites;
  double position = 0;
  for (std::int64_t j = 0; j < count; ++j) {
    position += 1 + exponential(options.spacing - 1, random);
    const auto one = random.below(4);
    const auto other = (one + 1 + random.below(3)) % 4;
    sites.variants.push_back({.chromosome = std::to_string(chromosome + 1),
                              .id = fmt::format("snp{}", first + j + 1),
                              .centimorgans = 0,
                              .position = static_cast<std::int64_t>(position),
                              .a1 = kAlleles[one],
                              .a2 = kAlleles[other]});
    sites.frequency.push_back(
        random.uniform(options.lowest_frequency, 1 - options.lowest_frequency));
    sites.is_flipped.push_back(random.below(2) == 1);
  }
  const auto& start = sites.variants.front();
  const auto bases =
      static_cast<double>(sites.variants.back().position - start.position);
  for (auto& variant : sites.variants) {
    const double along =
        bases > 0 ? static_cast<double>(variant.position - start.position) / bases : 0;
    sites.morgans.push_back(kChromosomeMorgans * along);
    variant.centimorgans = std::round(1e6 * 100 * sites.morgans.back()) / 1e6;
  }
  return sites;
}

/// A whole number next to `expected` whose mean it is.
std::int64_t randomly_rounded(double expected, Random& random) {
  const double below = std::floor(expected);
  return static_cast<std::int64_t>(below) + (random.uniform() < expected - below);
}

/// Ancestral haplotypes of a population.
BitRows draw_ancestors(const SimulateCohortOptions& options,
                       const ChromosomeSites& sites, std::int64_t chromosome,
                       std::int64_t population) {
  Random random = cohort_random(options.seed, CohortPart::ancestral_haplotypes,
                                chromosome, population);
  const auto count = static_cast<std::size_t>(options.ancestral_haplotypes);
  BitRows ancestors(options.ancestral_haplotypes, std::ssize(sites.variants));
  std::vector<double> level(count), sorted(count);
  for (double& value : level) value = random.normal();
  for (std::size_t j = 0; j < sites.variants.size(); ++j) {
    if (j > 0) {
      const auto distance = static_cast<double>(sites.variants[j].position -
                                                sites.variants[j - 1].position);
      const double keep = std::exp(-distance / options.ld_length);
      const double renew = std::sqrt(1 - keep * keep);
      for (double& value : level) value = keep * value + renew * random.normal();
    }
    const double frequency = drifted_frequency(sites.frequency[j], options.fst, random);
    auto carriers = randomly_rounded(frequency * static_cast<double>(count), random);
    // The least, or with a flip the greatest, are carriers: all but the least others.
    if (sites.is_flipped[j]) carriers = std::ssize(level) - carriers;
    double limit = -std::numeric_limits<double>::infinity();
    if (carriers > 0) {
      sorted = level;
      std::nth_element(sorted.begin(), sorted.begin() + (carriers - 1), sorted.end());
      limit = sorted[static_cast<std::size_t>(carriers - 1)];
    }
    for (std::size_t h = 0; h < count; ++h) {
      const bool has_a1 = (level[h] <= limit) != sites.is_flipped[j];
      ancestors.row(static_cast<std::int64_t>(h))[j / kWordBits] |=
          static_cast<std::uint64_t>(has_a1) << (j % kWordBits);
    }
  }
  return ancestors;
}

/// Copies the bits first .. last - 1 of a row to the same places of another.
void copy_bits(std::uint64_t* to, const std::uint64_t* from, std::size_t first,
               std::size_t last) {
  if (first >= last) return;
  const std::size_t first_word = first / kWordBits, last_word = (last - 1) / kWordBits;
  for (std::size_t word = first_word; word <= last_word; ++word) {
    std::uint64_t mask = ~std::uint64_t{0};
    if (word == first_word) mask &= mask << (first % kWordBits);
    if (word == last_word) mask &= ~std::uint64_t{0} >> (63 - (last - 1) % kWordBits);
    to[word] = (to[word] & ~mask) | (from[word] & mask);
  }
}

/// Draws haplotypes of the members of families.
class HaplotypeMaker {
 public:
  HaplotypeMaker(const SimulateCohortOptions& options, const ChromosomeSites& sites,
                 std::int64_t chromosome, Workers& workers)
      : sites_(sites),
        ancestors_per_population_(options.ancestral_haplotypes),
        ancestors_(static_cast<std::size_t>(options.populations)) {
    workers.run(options.populations, [&](std::int64_t population, std::int64_t) {
      ancestors_[static_cast<std::size_t>(population)] =
          draw_ancestors(options, sites, chromosome, population);
    });
    for (const auto& variant : sites.variants)
      positions_.push_back(static_cast<double>(variant.position));
    const double bases = positions_.back() - positions_.front();
    ancestry_bases_ =
        std::max(1.0, bases / (kChromosomeMorgans * kAdmixtureGenerations));
  }

  void founder(const std::vector<double>& ancestry, std::uint64_t* bits,
               Random& random) const {
    double piece_end = 0, population_end = 0;
    std::size_t population = 0, from = 0;
    double place = positions_.front();
    const std::uint64_t* piece = nullptr;
    while (from < positions_.size()) {
      if (place >= population_end) {
        population = pick(ancestry, random);
        population_end = place + exponential(ancestry_bases_, random);
        piece_end = place;
      }
      if (place >= piece_end) {
        piece = ancestors_[population].row(random.below(ancestors_per_population_));
        piece_end = place + exponential(kMosaicBases, random);
      }
      place = std::min(piece_end, population_end);
      const auto to = index_from(positions_, place);
      copy_bits(bits, piece, from, to);
      from = to;
    }
  }

  void child(const std::uint64_t* parent, std::size_t words, std::uint64_t* bits,
             Random& random) const {
    std::size_t strand = static_cast<std::size_t>(random.below(2)), from = 0;
    double place = 0;
    while (from < positions_.size()) {
      place += exponential(1, random);
      const auto to = index_from(sites_.morgans, place);
      copy_bits(bits, parent + strand * words, from, to);
      from = to;
      strand = 1 - strand;
    }
  }

 private:
  static std::size_t index_from(const std::vector<double>& places, double place) {
    return static_cast<std::size_t>(
        std::lower_bound(places.begin(), places.end(), place) - places.begin());
  }

  static std::size_t pick(const std::vector<double>& shares, Random& random) {
    double left = random.uniform();
    std::size_t last = 0;
    for (std::size_t k = 0; k < shares.size(); ++k) {
      if (shares[k] == 0) continue;
      last = k;
      if (left < shares[k]) break;
      left -= shares[k];
    }
    return last;
  }

  const ChromosomeSites& sites_;
  std::int64_t ancestors_per_population_;
  std::vector<BitRows> ancestors_;
  std::vector<double> positions_;
  double ancestry_bases_ = 1;
};

/// Haplotypes of all members of a family; those in the cohort go to its rows.
void draw_family(const HaplotypeMaker& maker, const SimulatedFamily& family,
                 Random random, BitRows& cohort) {
  const auto bits = static_cast<std::int64_t>(cohort.words()) * kWordBits;
  BitRows own(2 * std::ssize(family.members), bits);
  for (std::int64_t i = 0; i < std::ssize(family.members); ++i) {
    const auto& member = family.members[static_cast<std::size_t>(i)];
    if (member.father < 0) {
      maker.founder(family.ancestry, own.row(2 * i), random);
      maker.founder(family.ancestry, own.row(2 * i + 1), random);
    } else {
      maker.child(own.row(2 * member.father), own.words(), own.row(2 * i), random);
      maker.child(own.row(2 * member.mother), own.words(), own.row(2 * i + 1), random);
    }
    if (member.row >= 0) {
      std::copy_n(own.row(2 * i), 2 * own.words(), cohort.row(2 * member.row));
    }
  }
}

/// Transposes a square of bits: bit j of word i goes to bit i of word j.
void transpose(std::array<std::uint64_t, 64>& words) {
  std::uint64_t mask = 0x00000000ffffffffULL;
  for (std::size_t width = 32; width != 0; width >>= 1, mask ^= mask << width) {
    for (std::size_t i = 0; i < 64; i = (i + width + 1) & ~width) {
      const std::uint64_t swapped = ((words[i] >> width) ^ words[i + width]) & mask;
      words[i] ^= swapped << width;
      words[i + width] ^= swapped;
    }
  }
}

/// Codes of a .bed file for 32 people whose two alleles are neighbouring bits.
std::uint64_t bed_codes(std::uint64_t alleles) {
  constexpr std::uint64_t kLow = 0x5555555555555555ULL;
  const std::uint64_t one = alleles & kLow, other = (alleles >> 1) & kLow;
  return (~(one | other) & kLow) | ((~(one & other) & kLow) << 1);
}

/// Makes calls missing, code 1, at a rate.
void lose_calls(char* row, std::int64_t people, double rate, Random random) {
  if (rate <= 0) return;
  const double log_kept = std::log1p(-rate);
  double place = -1;
  while (true) {
    place += 1 + std::floor(std::log(1 - random.uniform()) / log_kept);
    if (!(place < static_cast<double>(people))) return;
    const auto person = static_cast<std::int64_t>(place);
    const int shift = 2 * static_cast<int>(person % 4);
    char& byte = row[person / 4];
    byte = static_cast<char>((byte & ~(3 << shift)) | (1 << shift));
  }
}

}  // namespace

std::int64_t first_snp(const SimulateCohortOptions& options, std::int64_t chromosome) {
  return options.snps * chromosome / options.chromosomes;
}

SimulatedChromosome simulate_chromosome(const SimulateCohortOptions& options,
                                        const std::vector<SimulatedFamily>& families,
                                        std::int64_t chromosome, Workers& workers) {
  SimulatedChromosome made;
  made.number = chromosome;
  made.sites = draw_sites(options, chromosome);
  made.haplotypes = BitRows(2 * options.people, made.snps());
  const HaplotypeMaker maker(options, made.sites, chromosome, workers);
  workers.run(std::ssize(families), [&](std::int64_t family, std::int64_t) {
    draw_family(maker, families[static_cast<std::size_t>(family)],
                cohort_random(options.seed, CohortPart::haplotypes, chromosome, family),
                made.haplotypes);
  });
  return made;
}

void allele_counts(const SimulatedChromosome& chromosome, std::int64_t snp,
                   std::span<std::int8_t> counts) {
  const auto word = static_cast<std::size_t>(snp / kWordBits);
  const auto bit = static_cast<int>(snp % kWordBits);
  const std::size_t words = chromosome.haplotypes.words();
  const std::uint64_t* person = chromosome.haplotypes.row(0) + word;
  for (auto& count : counts) {
    count = static_cast<std::int8_t>(((person[0] >> bit) & 1) +
                                     ((person[words] >> bit) & 1));
    person += 2 * words;
  }
}

std::string packed_rows(const SimulateCohortOptions& options,
                        const SimulatedChromosome& chromosome, std::int64_t block) {
  const auto people = options.people;
  const auto row_bytes = static_cast<std::size_t>(bed_row_bytes(people));
  const auto first = block * kWordBits;
  const auto snps =
      static_cast<std::size_t>(std::min(kWordBits, chromosome.snps() - first));
  std::string rows(snps * row_bytes, '\0');
  std::array<std::uint64_t, 64> words;
  for (std::int64_t person = 0; person < people; person += 32) {
    const auto count =
        static_cast<std::size_t>(std::min<std::int64_t>(32, people - person));
    words.fill(0);
    for (std::size_t h = 0; h < 2 * count; ++h) {
      words[h] = chromosome.haplotypes.row(
          2 * person + static_cast<std::int64_t>(h))[static_cast<std::size_t>(block)];
    }
    transpose(words);
    const std::uint64_t used =
        count == 32 ? ~std::uint64_t{0} : (std::uint64_t{1} << (2 * count)) - 1;
    for (std::size_t j = 0; j < snps; ++j) {
      const std::uint64_t codes = bed_codes(words[j]) & used;
      for (std::size_t byte = 0; byte < (count + 3) / 4; ++byte) {
        rows[j * row_bytes + static_cast<std::size_t>(person / 4) + byte] =
            static_cast<char>((codes >> (8 * byte)) & 0xff);
      }
    }
  }
  for (std::size_t j = 0; j < snps; ++j) {
    lose_calls(rows.data() + j * row_bytes, people, options.missing_calls,
               cohort_random(options.seed, CohortPart::missing_calls, chromosome.number,
                             first + static_cast<std::int64_t>(j)));
  }
  return rows;
}

}  // namespace kinflow
