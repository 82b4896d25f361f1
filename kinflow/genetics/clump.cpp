// Greedy grouping of variants around index variants, and the tables around it.
#include "kinflow/genetics/clump.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "kinflow/core/atomic_file.h"
#include "kinflow/core/error.h"
#include "kinflow/data/in_quotes.h"
#include "kinflow/genetics/haplotype_r2.h"

namespace kinflow {
namespace {

void check_range(const char* name, double value, double low, bool low_is_in,
                 double high, bool high_is_in) {
  const bool above = low_is_in ? value >= low : value > low;
  const bool below = high_is_in ? value <= high : value < high;
  if (above && below) return;
  throw InputError(fmt::format("[clump] expected {} {} {} {} {}, received {}", name,
                               low_is_in ? "from" : "above", low,
                               high_is_in ? "to" : "to below", high, value));
}

void check(const ClumpOptions& options) {
  check_range("p1", options.p1, 0, false, 1, true);
  check_range("p2", options.p2, 0, false, 1, true);
  check_range("r2", options.r2, 0, true, 1, false);
  check_range("kb", options.kb, 0, false, 1e7, true);
}

/// Genotypes of some people, with the chromosomes that they have one of or none.
class Alleles {
 public:
  Alleles(const Genotypes& genotypes, std::span<const std::int64_t> people)
      : genotypes_(genotypes), people_(people) {
    for (const auto row : people) {
      is_male_.push_back(genotypes.people()[static_cast<std::size_t>(row)].sex ==
                         kMale);
    }
  }

  std::vector<std::int8_t> read(std::int64_t variant, ChromosomeKind kind) const {
    std::vector<std::int8_t> counts(people_.size());
    genotypes_.read(variant, people_, counts.data());
    if (kind != ChromosomeKind::x && kind != ChromosomeKind::y) return counts;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const bool is_impossible =
          is_male_[i] ? counts[i] == 1 : kind == ChromosomeKind::y;
      if (is_impossible) counts[i] = kMissingGenotype;
    }
    return counts;
  }

  HaplotypeCounts haplotypes(const std::vector<std::int8_t>& first,
                             const std::vector<std::int8_t>& second,
                             ChromosomeKind kind) const {
    Table people{};
    for (std::size_t i = 0; i < first.size(); ++i) ++at(people, first[i], second[i]);
    HaplotypeCounts counts{
        .a1_a1 = 2 * at(people, 2, 2) + at(people, 2, 1) + at(people, 1, 2),
        .a1_a2 = 2 * at(people, 2, 0) + at(people, 2, 1) + at(people, 1, 0),
        .a2_a1 = 2 * at(people, 0, 2) + at(people, 0, 1) + at(people, 1, 2),
        .a2_a2 = 2 * at(people, 0, 0) + at(people, 0, 1) + at(people, 1, 0),
        .double_heterozygotes = at(people, 1, 1)};
    if (kind != ChromosomeKind::x) return counts;
    Table males{};
    for (std::size_t i = 0; i < first.size(); ++i) {
      if (is_male_[i]) ++at(males, first[i], second[i]);
    }
    counts.a1_a1 -= at(males, 2, 2);
    counts.a1_a2 -= at(males, 2, 0);
    counts.a2_a1 -= at(males, 0, 2);
    counts.a2_a2 -= at(males, 0, 0);
    return counts;
  }

 private:
  using Table = std::array<double, 16>;  // people with two genotypes, or missing ones

  static double& at(Table& table, std::int8_t first, std::int8_t second) {
    return table[static_cast<std::size_t>(4 * (first + 1) + second + 1)];
  }

  const Genotypes& genotypes_;
  std::span<const std::int64_t> people_;
  std::vector<bool> is_male_;
};

/// A variant with a p-value, on its chromosome.
struct Place {
  std::int64_t variant;
  std::int64_t position;
  double p;
  Chromosome chromosome;
  std::string_view unplaced_name;  // of a chromosome that has no number
  bool is_taken = false;

  bool is_with(const Place& other) const {
    return chromosome == other.chromosome && unplaced_name == other.unplaced_name;
  }
};

// In the order of chromosomes and positions.
std::vector<Place> places_of(const std::vector<Variant>& variants,
                             std::span<const double> p, int autosomes) {
  std::vector<Place> places;
  for (std::size_t i = 0; i < variants.size(); ++i) {
    if (std::isnan(p[i])) continue;
    const Chromosome placed = chromosome(variants[i].chromosome, autosomes);
    const bool is_placed = placed.kind != ChromosomeKind::unplaced;
    places.push_back(
        {.variant = static_cast<std::int64_t>(i),
         .position = variants[i].position,
         .p = p[i],
         .chromosome = placed,
         .unplaced_name = is_placed ? std::string_view{} : variants[i].chromosome});
  }
  const auto key = [](const Place& place) {
    return std::tuple(place.chromosome.number, place.unplaced_name, place.position);
  };
  std::stable_sort(places.begin(), places.end(),
                   [&](const Place& a, const Place& b) { return key(a) < key(b); });
  return places;
}

// Places of possible index variants, the smallest p-value first.
std::vector<std::size_t> candidates(const std::vector<Place>& places, double p1) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (places[i].p <= p1) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return places[a].p < places[b].p;
  });
  return order;
}

// First and last place within the radius around one.
std::pair<std::size_t, std::size_t> window(const std::vector<Place>& places,
                                           std::size_t middle, std::int64_t radius) {
  const auto is_near = [&](std::size_t i) {
    return places[i].is_with(places[middle]) &&
           std::abs(places[i].position - places[middle].position) <= radius;
  };
  std::size_t first = middle, last = middle;
  while (first > 0 && is_near(first - 1)) --first;
  while (last + 1 < places.size() && is_near(last + 1)) ++last;
  return {first, last};
}

// The locus of an index variant, which takes its variants from the others.
Locus make_locus(std::vector<Place>& places, std::size_t index, const Alleles& alleles,
                 const ClumpOptions& options) {
  // Closer than so many kb, in whole base pairs, against the rounding of decimals.
  const auto radius = static_cast<std::int64_t>(options.kb * 1000 * (1 + 1e-12)) - 1;
  const auto [first, last] = window(places, index, radius);
  const auto kind = places[index].chromosome.kind;
  const auto index_counts = alleles.read(places[index].variant, kind);
  Locus locus{.index = places[index].variant,
              .p = places[index].p,
              .start = places[index].position,
              .end = places[index].position,
              .total = 0,
              .members = {}};
  for (std::size_t i = first; i <= last; ++i) {
    Place& place = places[i];
    if (i == index || place.is_taken) continue;
    const auto counts = alleles.read(place.variant, kind);
    const auto r2 = haplotype_r2(alleles.haplotypes(index_counts, counts, kind));
    if (!r2 || !(*r2 > options.r2)) continue;
    place.is_taken = true;
    ++locus.total;
    if (!(place.p < options.p2)) continue;
    locus.members.push_back(place.variant);
    locus.start = std::min(locus.start, place.position);
    locus.end = std::max(locus.end, place.position);
  }
  places[index].is_taken = true;
  return locus;
}

constexpr std::int64_t kAmbiguous = -1;

// Rows of the .bim by id; kAmbiguous for an id of several.
std::unordered_map<std::string_view, std::int64_t> rows_by_id(
    const std::vector<Variant>& variants) {
  std::unordered_map<std::string_view, std::int64_t> rows;
  rows.reserve(variants.size());
  for (std::size_t i = 0; i < variants.size(); ++i) {
    const auto [found, is_new] =
        rows.emplace(variants[i].id, static_cast<std::int64_t>(i));
    if (!is_new) found->second = kAmbiguous;
  }
  return rows;
}

}  // namespace

std::vector<Locus> clump(const Genotypes& genotypes,
                         std::span<const std::int64_t> people,
                         std::span<const double> p, const ClumpOptions& options) {
  check(options);
  const auto& variants = genotypes.variants();
  if (people.empty() || p.size() != variants.size()) {
    throw InputError(fmt::format(
        "[clump] expected people and p-values of {} variants, received {} people and "
        "{} p-values",
        variants.size(), people.size(), p.size()));
  }
  const Alleles alleles(genotypes, people);
  auto places = places_of(variants, p, options.autosomes);
  std::vector<Locus> loci;
  for (const auto index : candidates(places, options.p1)) {
    if (places[index].is_taken) continue;
    loci.push_back(make_locus(places, index, alleles, options));
  }
  return loci;
}

std::vector<std::int64_t> founders(const Genotypes& genotypes) {
  std::vector<std::int64_t> rows;
  for (std::size_t i = 0; i < genotypes.people().size(); ++i) {
    if (genotypes.people()[i].is_founder()) {
      rows.push_back(static_cast<std::int64_t>(i));
    }
  }
  return rows;
}

MatchedTests match_tests(const std::string& path, const AssociationFields& fields,
                         const Genotypes& genotypes, double p1) {
  const auto& variants = genotypes.variants();
  const auto rows = rows_by_id(variants);
  MatchedTests matched;
  matched.p.assign(variants.size(), Association::kUnknown);
  std::vector<std::int64_t> line_of(variants.size(), 0);
  AssociationReader reader(path, fields);
  Association row;
  while (reader.next(row)) {
    ++matched.rows;
    const auto found = rows.find(row.id);
    if (std::isnan(row.p)) ++matched.untested;
    if (found == rows.end()) {
      ++matched.unknown;
      if (row.p <= p1 && matched.unknown_index++ == 0) {
        matched.first_unknown_index = row.id;
      }
      continue;
    }
    if (found->second == kAmbiguous) {
      reader.fail(fmt::format("expected an id that stands once in {}.bim, found {}",
                              genotypes.prefix(), in_quotes(row.id)));
    }
    const auto variant = static_cast<std::size_t>(found->second);
    if (line_of[variant] > 0) {
      reader.fail(
          fmt::format("expected one row for each variant, found {} here and in "
                      "line {}",
                      in_quotes(row.id), line_of[variant]));
    }
    line_of[variant] = reader.line();
    matched.p[variant] = row.p;
  }
  if (matched.rows == matched.unknown) {
    throw InputError(
        matched.rows == 0
            ? path + ": expected a row for each variant, found a header alone"
            : fmt::format("{}: expected variants of {}.bim, found others only, such as "
                          "{}",
                          path, genotypes.prefix(), in_quotes(row.id)));
  }
  return matched;
}

void write_loci(const std::string& path, const std::vector<Locus>& loci,
                const std::vector<Variant>& variants) {
  std::string text = "LOCUS\tID\tCHROM\tPOS\tSTART\tEND\tP\tN_SNPS\tTOTAL\tMEMBERS\n";
  for (std::size_t i = 0; i < loci.size(); ++i) {
    const Locus& locus = loci[i];
    const Variant& index = variants[static_cast<std::size_t>(locus.index)];
    std::string members;
    for (const auto member : locus.members) {
      members += members.empty() ? "" : ",";
      members += variants[static_cast<std::size_t>(member)].id;
    }
    text += fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{:.8g}\t{}\t{}\t{}\n", i + 1, index.id,
                        index.chromosome, index.position, locus.start, locus.end,
                        locus.p, locus.members.size() + 1, locus.total,
                        members.empty() ? "NONE" : members);
  }
  write_file_atomically(path, text);
}

}  // namespace kinflow
