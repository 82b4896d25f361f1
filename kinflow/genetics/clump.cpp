// Greedy grouping of variants around index variants, and the tables around it.
#include "kinflow/genetics/clump.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "kinflow/core/atomic_file.h"
#include "kinflow/core/error.h"
#include "kinflow/core/in_quotes.h"
#include "kinflow/genetics/haplotype_r2.h"
#include "kinflow/genetics/sexed_genotypes.h"
#include "kinflow/statistics/p_value.h"

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
      sex_.push_back(genotypes.people()[static_cast<std::size_t>(row)].sex);
    }
  }

  std::vector<std::int8_t> read(std::int64_t variant, ChromosomeKind kind) const {
    std::vector<std::int8_t> counts(people_.size());
    genotypes_.read(variant, people_, counts.data());
    for (std::size_t i = 0; i < counts.size(); ++i) {
      counts[i] = possible_count(counts[i], kind, sex_[i]);
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
      if (sex_[i] == kMale) ++at(males, first[i], second[i]);
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
  std::vector<int> sex_;
};

/// A variant with a p-value, on its chromosome.
struct Place {
  std::int64_t variant;
  std::int64_t position;
  double log10_p;
  Chromosome chromosome;
  std::string_view unplaced_name;  // of a chromosome that has no number
  bool is_taken = false;

  bool is_with(const Place& other) const {
    return chromosome == other.chromosome && unplaced_name == other.unplaced_name;
  }
};

// In the order of chromosomes and positions.
std::vector<Place> places_of(const std::vector<Variant>& variants,
                             std::span<const double> log10_p, int autosomes) {
  std::vector<Place> places;
  for (std::size_t i = 0; i < variants.size(); ++i) {
    if (std::isnan(log10_p[i])) continue;
    const Chromosome placed = chromosome(variants[i].chromosome, autosomes);
    const bool is_placed = placed.kind != ChromosomeKind::unplaced;
    places.push_back(
        {.variant = static_cast<std::int64_t>(i),
         .position = variants[i].position,
         .log10_p = log10_p[i],
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
  const double least = log10_p_of(p1);
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (places[i].log10_p >= least) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return places[a].log10_p > places[b].log10_p;
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
              .log10_p = places[index].log10_p,
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
    if (!(place.log10_p > log10_p_of(options.p2))) continue;
    locus.members.push_back(place.variant);
    locus.start = std::min(locus.start, place.position);
    locus.end = std::max(locus.end, place.position);
  }
  places[index].is_taken = true;
  return locus;
}

// Both alleles of a row, or the one that it has, are those of the variant.
bool has_alleles(const Variant& variant, const Association& row) {
  const auto is_one = [&](const std::string& allele) {
    return allele == variant.a1 || allele == variant.a2;
  };
  if (row.a1.empty()) return true;
  if (row.a2.empty()) return is_one(row.a1);
  return is_one(row.a1) && is_one(row.a2) &&
         (row.a1 != row.a2 || variant.a1 == variant.a2);
}

/// Finds the variants of the rows of a table.
class VariantFinder {
 public:
  VariantFinder(const Genotypes& genotypes, const AssociationReader& reader,
                int autosomes)
      : genotypes_(genotypes), reader_(reader), autosomes_(autosomes) {
    const auto& variants = genotypes.variants();
    rows_.reserve(variants.size());
    for (std::size_t i = 0; i < variants.size(); ++i) {
      rows_[variants[i].id].push_back(static_cast<std::int64_t>(i));
    }
    line_of_.resize(variants.size());
  }

  /// The variant of the row that was read last; nothing where the .bim has none with
  /// its id.
  std::optional<std::int64_t> find(const Association& row) {
    const auto found = rows_.find(row.id);
    if (found == rows_.end()) return std::nullopt;
    std::vector<std::int64_t> alike;
    for (const auto variant : found->second) {
      if (found->second.size() == 1 || is_at_place(variant, row)) {
        alike.push_back(variant);
      }
    }
    if (alike.empty()) {
      reader_.fail(fmt::format(
          "expected one of the {} variants with the id {} in {}.bim, found another "
          "chromosome, position or alleles",
          found->second.size(), in_quotes(row.id), genotypes_.prefix()));
    }
    // The rows of variants that look the same stand in their order.
    for (const auto variant : alike) {
      if (line_of(variant) > 0) continue;
      line_of(variant) = reader_.line();
      if (alike.size() > 1) unfinished_[alike.front()] = alike;
      return variant;
    }
    const auto first = line_of(alike.front());
    if (alike.size() == 1) {
      reader_.fail(
          fmt::format("expected one row for each variant, found {} here and in line {}",
                      in_quotes(row.id), first));
    }
    reader_.fail(fmt::format(
        "expected as many rows for {} as the .bim has, the first in line {}, found one "
        "more",
        in_quotes(row.id), first));
  }

  /// Whether a variant has the chromosome and position of a row.
  bool is_there(std::int64_t number, const Association& row) const {
    const auto& variant = genotypes_.variants()[static_cast<std::size_t>(number)];
    const auto wanted = chromosome(row.chromosome, autosomes_);
    const bool is_same = wanted.number > 0
                             ? wanted == chromosome(variant.chromosome, autosomes_)
                             : row.chromosome == variant.chromosome;
    return is_same && row.position == variant.position;
  }

  /// InputError where only some of the variants that look the same had rows: nobody
  /// knows which.
  void check_all_found() const {
    for (const auto& [first, alike] : unfinished_) {
      if (line_of_[static_cast<std::size_t>(alike.back())] > 0) continue;
      const auto& variant = genotypes_.variants()[static_cast<std::size_t>(first)];
      throw InputError(fmt::format(
          "{}.bim: expected variants that differ in id, place or alleles, found {} "
          "like {} in line {} and not all of them in the table; plink2 "
          "--set-all-var-ids or --rm-dup makes them differ",
          genotypes_.prefix(), alike.size(), in_quotes(variant.id), first + 1));
    }
  }

 private:
  std::int64_t& line_of(std::int64_t variant) {
    return line_of_[static_cast<std::size_t>(variant)];
  }
  bool is_at_place(std::int64_t number, const Association& row) const {
    if (reader_.has_places() && !is_there(number, row)) return false;
    return has_alleles(genotypes_.variants()[static_cast<std::size_t>(number)], row);
  }

  const Genotypes& genotypes_;
  const AssociationReader& reader_;
  int autosomes_;
  std::unordered_map<std::string_view, std::vector<std::int64_t>> rows_;  // by id
  std::vector<std::int64_t> line_of_;  // of each variant in the table; 0: none yet
  std::map<std::int64_t, std::vector<std::int64_t>> unfinished_;
};

}  // namespace

std::vector<Locus> clump(const Genotypes& genotypes,
                         std::span<const std::int64_t> people,
                         std::span<const double> log10_p, const ClumpOptions& options) {
  check(options);
  const auto& variants = genotypes.variants();
  if (people.empty() || log10_p.size() != variants.size()) {
    throw InputError(fmt::format(
        "[clump] expected people and p-values of {} variants, received {} people and "
        "{} p-values",
        variants.size(), people.size(), log10_p.size()));
  }
  const Alleles alleles(genotypes, people);
  auto places = places_of(variants, log10_p, options.autosomes);
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
                         const Genotypes& genotypes, const ClumpOptions& options) {
  MatchedTests matched;
  matched.log10_p.assign(genotypes.variants().size(), Association::kUnknown);
  AssociationReader reader(path, fields);
  VariantFinder finder(genotypes, reader, options.autosomes);
  const double least_of_index = log10_p_of(options.p1);
  Association row;
  while (reader.next(row)) {
    ++matched.rows;
    if (std::isnan(row.log10_p)) ++matched.untested;
    if (std::isinf(row.log10_p)) ++matched.zeros;
    const auto variant = finder.find(row);
    if (variant) {
      matched.log10_p[static_cast<std::size_t>(*variant)] = row.log10_p;
      const bool has_place = reader.has_places() && row.position > 0;
      if (has_place && !finder.is_there(*variant, row) && matched.elsewhere++ == 0) {
        const auto& there = genotypes.variants()[static_cast<std::size_t>(*variant)];
        matched.first_elsewhere =
            fmt::format("{} ({}:{} here, {}:{} there)", in_quotes(row.id),
                        row.chromosome, row.position, there.chromosome, there.position);
      }
      continue;
    }
    ++matched.unknown;
    if (row.log10_p >= least_of_index && matched.unknown_index++ == 0) {
      matched.first_unknown_index = row.id;
    }
  }
  finder.check_all_found();
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
  std::string text =
      "LOCUS\tID\tCHROM\tPOS\tSTART\tEND\tP\tLOG10P\tN_SNPS\tTOTAL\tMEMBERS\n";
  for (std::size_t i = 0; i < loci.size(); ++i) {
    const Locus& locus = loci[i];
    const Variant& index = variants[static_cast<std::size_t>(locus.index)];
    std::string members;
    for (const auto member : locus.members) {
      members += members.empty() ? "" : ",";
      members += variants[static_cast<std::size_t>(member)].id;
    }
    text +=
        fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{:.8g}\t{:.8g}\t{}\t{}\t{}\n", i + 1,
                    index.id, index.chromosome, index.position, locus.start, locus.end,
                    p_of_log10(locus.log10_p), locus.log10_p, locus.members.size() + 1,
                    locus.total, members.empty() ? "NONE" : members);
  }
  write_file_atomically(path, text);
}

}  // namespace kinflow
