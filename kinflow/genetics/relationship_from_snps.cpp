// Blocks of variants, as float32, times themselves, tile by tile into float64.
#include "kinflow/genetics/relationship_from_snps.h"

#include <cblas.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "kinflow/core/blas_threads.h"
#include "kinflow/core/error.h"
#include "kinflow/core/in_quotes.h"
#include "kinflow/core/memory.h"
#include "kinflow/core/size.h"
#include "kinflow/core/workers.h"

namespace kinflow {
namespace {

constexpr std::size_t kTile = 512;
constexpr std::size_t kFinishTile = 64;
constexpr std::size_t kBlockNumbers = std::size_t{1} << 24;
constexpr std::size_t kMostVariants = 1024;
constexpr std::size_t kFewestVariants = 64;

/// A variant's place and scale: (x - mean) * factor; a factor of 0 leaves it out.
struct Scaling {
  double mean = 0;
  double factor = 0;
};

Scaling by_frequency(double p) {
  if (!(p > 0 && p < 1)) return {};
  return {.mean = 2 * p, .factor = 1 / std::sqrt(2 * p * (1 - p))};
}

Scaling by_mean(const GenotypeCounts& counts, bool to_unit_variance) {
  const double p = counts.a1_frequency();
  const double mean = 2 * p;
  const auto known = static_cast<double>(counts.known());
  const double squares =
      static_cast<double>(4 * counts.homozygous_a1 + counts.heterozygous) -
      known * mean * mean;
  // A variant of heterozygotes only does not vary either.
  const bool varies = std::max({counts.homozygous_a1, counts.heterozygous,
                                counts.homozygous_a2}) < counts.known();
  if (!varies) return {};
  const double variance = squares / static_cast<double>(counts.people());
  return {.mean = mean, .factor = to_unit_variance ? 1 / std::sqrt(variance) : 1};
}

/// Calls visit(first_row, first_column) for the tiles of the lower triangle, in
/// parallel.
template <typename Visit>
void visit_lower_tiles(std::size_t n, std::size_t tile, const Visit& visit) {
  std::vector<std::pair<std::size_t, std::size_t>> tiles;
  for (std::size_t i = 0; i < n; i += tile) {
    for (std::size_t j = 0; j <= i; j += tile) tiles.emplace_back(i, j);
  }
  shared_workers().run(static_cast<std::int64_t>(tiles.size()),
                       [&](std::int64_t turn, std::int64_t /*thread*/) {
                         const auto [i, j] = tiles[to_size(turn)];
                         visit(i, j);
                       });
}

}  // namespace

/// Some variants of all people.
struct RelationshipSums::Block {
  std::vector<float> values;  ///< [variants x n], 0 where missing
  std::size_t variants = 0;
  std::vector<char> varies;  ///< [variants]
  /// [variants] places of the people who miss it, increasing; empty where nobody counts
  std::vector<std::vector<std::size_t>> missing;
};

RelationshipSums::RelationshipSums(const Genotypes& genotypes,
                                   std::vector<std::int64_t> people,
                                   const SnpRelationshipOptions& options)
    : genotypes_(genotypes),
      people_(std::move(people)),
      options_(options),
      counter_(genotypes, people_, options.autosomes, options.with_nonfounders),
      everyone_(people_, genotypes.people().size()),
      missing_(people_.size()) {
  require_dense_memory(static_cast<std::int64_t>(people_.size()),
                       genotypes.prefix() + ".fam");
  if (options.kind == SnpRelationshipKind::standardized && counter_.founders() == 0) {
    throw InputError(genotypes.prefix() +
                     ".fam: expected founders, whose frequencies a standardized matrix "
                     "needs, found none; --nonfounders counts everyone");
  }
  sums_.resize(people_.size() * people_.size());
}

void RelationshipSums::add_signed(std::span<const std::int64_t> variants, int sign) {
  const std::size_t n = people_.size();
  const std::size_t at_once =
      std::clamp(kBlockNumbers / n, kFewestVariants, kMostVariants);
  const BlasInCallingThread blas;
  Block block;
  block.values.resize(std::min(at_once, variants.size()) * n);
  for (std::size_t first = 0; first < variants.size(); first += at_once) {
    fill(block, variants.subspan(first, std::min(at_once, variants.size() - first)));
    visit_lower_tiles(n, kTile, [&](std::size_t i, std::size_t j) {
      add_tile(block, i, j, sign);
      count_missing_pairs(block, i, j, sign);
    });
    variants_ += sign * std::count(block.varies.begin(), block.varies.end(), 1);
    for (const auto& missing : block.missing) {
      for (const std::size_t person : missing) missing_[person] += sign;
    }
  }
}

void RelationshipSums::fill(Block& block,
                            std::span<const std::int64_t> variants) const {
  block.variants = variants.size();
  block.varies.assign(variants.size(), 0);
  block.missing.assign(variants.size(), {});
  shared_workers().run(static_cast<std::int64_t>(variants.size()),
                       [&](std::int64_t turn, std::int64_t /*thread*/) {
                         fill_row(block, to_size(turn), variants[to_size(turn)]);
                       });
}

void RelationshipSums::fill_row(Block& block, std::size_t row,
                                std::int64_t variant) const {
  const std::size_t n = people_.size();
  const GenotypeCounts counts = everyone_.count(genotypes_.packed(variant));
  const bool is_standardized = options_.kind == SnpRelationshipKind::standardized;
  const Scaling scaling =
      is_standardized
          ? by_frequency(counter_.a1_frequency(variant))
          : by_mean(counts, options_.kind == SnpRelationshipKind::unit_variance);
  block.varies[row] = scaling.factor > 0;
  float* values = block.values.data() + row * n;
  if (scaling.factor == 0) {
    std::fill_n(values, n, 0.0F);
    return;
  }
  std::vector<std::int8_t> genotype(n);
  genotypes_.read(variant, people_, genotype.data());
  float value_of[4] = {};  // of -1, 0, 1 and 2
  for (int x = 0; x <= 2; ++x) {
    value_of[x + 1] = static_cast<float>((x - scaling.mean) * scaling.factor);
  }
  for (std::size_t i = 0; i < n; ++i) values[i] = value_of[genotype[i] + 1];
  if (!is_standardized || counts.missing == 0) return;
  for (std::size_t i = 0; i < n; ++i) {
    if (genotype[i] == kMissingGenotype) block.missing[row].push_back(i);
  }
}

void RelationshipSums::add_tile(const Block& block, std::size_t first_row,
                                std::size_t first_column, int sign) {
  const std::size_t n = people_.size();
  const std::size_t rows = std::min(kTile, n - first_row);
  const std::size_t columns = std::min(kTile, n - first_column);
  const float* left = block.values.data() + first_row;
  const float* right = block.values.data() + first_column;
  std::vector<float> tile(rows * columns);
  const auto stride = static_cast<blasint>(n);
  const auto height = static_cast<blasint>(rows), width = static_cast<blasint>(columns);
  const auto depth = static_cast<blasint>(block.variants);
  const bool is_diagonal = first_row == first_column;
  if (is_diagonal) {
    cblas_ssyrk(CblasRowMajor, CblasLower, CblasTrans, height, depth, 1, left, stride,
                0, tile.data(), width);
  } else {
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, height, width, depth, 1, left,
                stride, right, stride, 0, tile.data(), width);
  }
  for (std::size_t i = 0; i < rows; ++i) {
    double* sums = sums_.data() + (first_row + i) * n + first_column;
    const float* products = tile.data() + i * columns;
    const std::size_t end = is_diagonal ? i + 1 : columns;
    for (std::size_t j = 0; j < end; ++j) sums[j] += sign * double{products[j]};
  }
}

void RelationshipSums::count_missing_pairs(const Block& block, std::size_t first_row,
                                           std::size_t first_column, int sign) {
  const std::size_t n = people_.size();
  for (const auto& missing : block.missing) {
    const auto from = [&](std::size_t place) {
      return std::lower_bound(missing.begin(), missing.end(), place);
    };
    const auto last_row = from(first_row + kTile),
               last_column = from(first_column + kTile);
    for (auto row = from(first_row); row != last_row; ++row) {
      for (auto column = from(first_column); column != last_column && *column < *row;
           ++column) {
        sums_[*column * n + *row] += sign;
      }
    }
  }
}

double RelationshipSums::pairs_missing(std::size_t row, std::size_t column) const {
  if (row == column) return static_cast<double>(missing_[row]);
  return static_cast<double>(missing_[row] + missing_[column]) -
         sums_[column * people_.size() + row];
}

RelationshipFile RelationshipSums::finish() && {
  const std::size_t n = people_.size();
  if (variants_ == 0) {
    throw InputError(genotypes_.prefix() +
                     ".bed: expected variants that vary among the people, found none");
  }
  const bool has_missing = std::any_of(missing_.begin(), missing_.end(),
                                       [](auto count) { return count > 0; });
  RelationshipFile file{.source = genotypes_.prefix() + ".bed",
                        .ids = {},
                        .rows = static_cast<std::int64_t>(n),
                        .dense = {},
                        .sparse = {},
                        .variants = static_cast<double>(variants_)};
  for (const auto person : people_) {
    file.ids.push_back(genotypes_.people()[to_size(person)].id);
  }
  if (has_missing) file.pair_variants.resize(n * (n + 1) / 2);
  const auto place = [](std::size_t i, std::size_t j) { return i * (i + 1) / 2 + j; };
  visit_lower_tiles(
      n, kFinishTile, [&](std::size_t first_row, std::size_t first_column) {
        for (std::size_t i = first_row; i < std::min(n, first_row + kFinishTile); ++i) {
          for (std::size_t j = first_column;
               j < std::min(i + 1, first_column + kFinishTile); ++j) {
            auto count = static_cast<double>(variants_);
            if (has_missing) {
              count -= pairs_missing(i, j);
              file.pair_variants[place(i, j)] = static_cast<float>(count);
              if (count == 0) {
                throw InputError(fmt::format(
                    "{}: expected variants that both {} and {} have, found none",
                    file.source, in_quotes(file.ids[i]), in_quotes(file.ids[j])));
              }
            }
            const double value = sums_[i * n + j] / count;
            sums_[i * n + j] = value;
            sums_[j * n + i] = value;
          }
        }
      });
  file.dense = std::move(sums_);
  if (has_missing) {
    double total = 0;
    for (const float count : file.pair_variants) total += double{count};
    file.variants = total / static_cast<double>(file.pair_variants.size());
  }
  return file;
}

RelationshipFile snp_relationship(const Genotypes& genotypes,
                                  std::span<const std::int64_t> people,
                                  std::span<const std::int64_t> variants,
                                  const SnpRelationshipOptions& options) {
  RelationshipSums sums(genotypes, {people.begin(), people.end()}, options);
  sums.add(variants);
  return std::move(sums).finish();
}

std::vector<ChromosomeVariants> by_chromosome(const Genotypes& genotypes,
                                              std::span<const std::int64_t> variants,
                                              int autosomes) {
  std::vector<ChromosomeVariants> groups;
  std::map<std::string, std::size_t, std::less<>> place;
  for (const auto variant : variants) {
    const std::string& name = genotypes.variants()[to_size(variant)].chromosome;
    auto known = place.find(name);
    if (known == place.end()) {
      const int number = chromosome(name, autosomes).number;
      // Blanks cannot be part of a name in the .bim.
      const std::string key = number > 0 ? fmt::format(" {}", number) : name;
      const auto [group, is_new] = place.emplace(key, groups.size());
      if (is_new) groups.push_back({.name = name, .variants = {}});
      known = place.emplace(name, group->second).first;
    }
    groups[known->second].variants.push_back(variant);
  }
  return groups;
}

void check_left_out(const Genotypes& genotypes, std::size_t chromosomes,
                    const std::string& name) {
  constexpr std::size_t kMostLeftOut = 95;
  if (chromosomes <= kMostLeftOut) return;
  throw InputError(fmt::format(
      "{}.bim: expected at most {} chromosomes to leave out with --loco, found {}, "
      "such "
      "as {}; without --allow-extra-chr names that are no chromosomes have no part in "
      "the relationship and none of them is left out",
      genotypes.prefix(), kMostLeftOut, chromosomes, in_quotes(name)));
}

void visit_leaving_chromosomes_out(
    const Genotypes& genotypes, std::span<const std::int64_t> people,
    std::span<const std::int64_t> variants, const SnpRelationshipOptions& options,
    const std::function<void(const ChromosomeVariants&, RelationshipFile)>& visit) {
  const auto chromosomes = by_chromosome(genotypes, variants, options.autosomes);
  if (chromosomes.size() < 2) {
    throw InputError(fmt::format(
        "{}.bim: expected variants of several chromosomes, to leave out one at a time, "
        "found those of {} only",
        genotypes.prefix(), chromosomes.empty() ? "none" : chromosomes[0].name));
  }
  check_left_out(genotypes, chromosomes.size(), chromosomes.back().name);
  RelationshipSums all(genotypes, {people.begin(), people.end()}, options);
  all.add(variants);
  for (const auto& one : chromosomes) {
    RelationshipSums others = all;
    others.subtract(one.variants);
    visit(one, std::move(others).finish());
  }
}

}  // namespace kinflow
