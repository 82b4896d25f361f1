// Genotypes as places in tables of sums, and what centring and missing ones change.
#include "kinflow/genetics/genotype_rotation.h"

#include <algorithm>
#include <array>

namespace kinflow {

extern const GenotypeSums genotype_sums_portable;
#ifdef KINFLOW_X86_KERNELS
extern const GenotypeSums genotype_sums_avx2, genotype_sums_avx512;
#endif

namespace {

const GenotypeSums* kernels_of(InstructionSet set) {
#ifdef KINFLOW_X86_KERNELS
  set = available(set);
  if (set == InstructionSet::avx512) return &genotype_sums_avx512;
  if (set == InstructionSet::avx2) return &genotype_sums_avx2;
#endif
  return &genotype_sums_portable;
}

/// Up to kPeopleOfPass genotypes, 0, 1 or 2, as rows of tables.
using PassGenotypes = std::array<std::int8_t, kPeopleOfPass>;

void write_offsets(const PassGenotypes& genotypes, std::uint16_t* offsets) {
  for (std::int64_t t = 0; t < kTablesOfPass; ++t) {
    const std::int8_t* of_table = &genotypes[static_cast<std::size_t>(t * 4)];
    static_assert(kPeopleOfTable == 4);
    const auto row = of_table[0] + 3 * of_table[1] + 9 * of_table[2] + 27 * of_table[3];
    offsets[t] = static_cast<std::uint16_t>(kPanel * (kRowsOfTable * t + row));
  }
}

bool varies(const GenotypeCounts& counts) {
  const auto known = counts.known();
  return counts.homozygous_a1 < known && counts.heterozygous < known &&
         counts.homozygous_a2 < known;
}

}  // namespace

GenotypeRotation::GenotypeRotation(const std::vector<double>& vectors,
                                   std::int64_t people, InstructionSet set)
    : people_(people),
      passes_((people + kPeopleOfPass - 1) / kPeopleOfPass),
      totals_(static_cast<std::size_t>(people)),
      kernels_(kernels_of(set)) {
  const auto panels = (people + kPanel - 1) / kPanel;
  panels_.resize(static_cast<std::size_t>(panels * passes_ * kPeopleOfPass * kPanel));
  for (std::int64_t j = 0; j < people; ++j) {
    float* column = &panels_[static_cast<std::size_t>(
        j / kPanel * passes_ * kPeopleOfPass * kPanel + j % kPanel)];
    double total = 0;
    for (std::int64_t i = 0; i < people; ++i) {
      const auto value =
          static_cast<float>(vectors[static_cast<std::size_t>(j * people + i)]);
      column[i * kPanel] = value;
      total += value;
    }
    totals_[static_cast<std::size_t>(j)] = total;
  }
}

void GenotypeRotation::encode_variant(std::span<const std::int8_t> genotypes,
                                      bool is_flipped, std::int64_t variant,
                                      std::int64_t variants, Scratch& scratch) const {
  for (std::int64_t pass = 0; pass < passes_; ++pass) {
    const auto from = genotypes.subspan(static_cast<std::size_t>(pass * kPeopleOfPass));
    const auto count = std::min<std::size_t>(from.size(), kPeopleOfPass);
    PassGenotypes codes = {};
    std::int8_t least = 0;
    for (std::size_t i = 0; i < count; ++i) {
      codes[i] = static_cast<std::int8_t>(is_flipped ? 2 - from[i] : from[i]);
      least = std::min(least, from[i]);
    }
    static_assert(kMissingGenotype < 0);
    if (least == kMissingGenotype) {
      for (std::size_t i = 0; i < count; ++i) {
        if (from[i] != kMissingGenotype) continue;
        codes[i] = 0;
        scratch.missing.push_back(
            {variant, pass * kPeopleOfPass + static_cast<std::int64_t>(i),
             static_cast<float>(scratch.means[static_cast<std::size_t>(variant)])});
      }
    }
    write_offsets(codes, &scratch.offsets[static_cast<std::size_t>(
                             (pass * variants + variant) * kTablesOfPass)]);
  }
}

void GenotypeRotation::encode(const GenotypeBlock& block, Scratch& scratch) const {
  const auto variants = block.variants();
  const auto n = static_cast<std::size_t>(people_);
  scratch.offsets.resize(static_cast<std::size_t>(passes_ * variants * kTablesOfPass));
  scratch.missing.clear();
  scratch.means.resize(block.counts.size());
  scratch.signs.resize(block.counts.size());
  for (std::size_t v = 0; v < block.counts.size(); ++v) {
    const auto& counts = block.counts[v];
    // The rarer allele is counted, so that rare variants are sums of few numbers.
    const bool is_flipped = counts.homozygous_a1 > counts.homozygous_a2;
    const double mean = 2 * counts.a1_frequency();
    scratch.means[v] = is_flipped ? 2 - mean : mean;
    scratch.signs[v] = !varies(counts) ? 0 : is_flipped ? -1 : 1;
    encode_variant(std::span(block.genotypes).subspan(v * n, n), is_flipped,
                   static_cast<std::int64_t>(v), variants, scratch);
  }
}

void GenotypeRotation::rotate(const GenotypeBlock& block, Scratch& scratch,
                              double* rotated) const {
  encode(block, scratch);
  const auto variants = block.variants();
  scratch.sums.resize(static_cast<std::size_t>(variants * kPanel));
  for (std::int64_t first = 0; first < people_; first += kPanel) {
    const float* vectors = panel(first / kPanel);
    float* sums = scratch.sums.data();
    kernels_->sum(vectors, passes_, scratch.offsets.data(), variants, sums);
    for (const auto& missing : scratch.missing) {
      for (std::int64_t j = 0; j < kPanel; ++j) {
        sums[missing.variant * kPanel + j] +=
            missing.mean * vectors[missing.person * kPanel + j];
      }
    }
    const double* totals = &totals_[static_cast<std::size_t>(first)];
    const auto columns = std::min(kPanel, people_ - first);
    for (std::int64_t v = 0; v < variants; ++v) {
      const double sign = scratch.signs[static_cast<std::size_t>(v)];
      const double mean = scratch.means[static_cast<std::size_t>(v)];
      double* to = rotated + v * people_ + first;
      for (std::int64_t j = 0; j < columns; ++j) {
        to[j] = sign == 0 ? 0 : sign * (sums[v * kPanel + j] - mean * totals[j]);
      }
    }
  }
}

}  // namespace kinflow
