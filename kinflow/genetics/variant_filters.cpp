// Filters that mark rows, one after the other.
#include "kinflow/genetics/variant_filters.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include "kinflow/core/error.h"
#include "kinflow/core/workers.h"
#include "kinflow/data/in_quotes.h"
#include "kinflow/data/text_lines.h"
#include "kinflow/genetics/genotype_counts.h"

namespace kinflow {
namespace {

// Shares that equal a limit but for rounding pass it.
constexpr double kRounding = 1e-13;
constexpr std::int64_t kVariantsPerTurn = 256;

using Keeps = std::function<bool(std::int64_t)>;

Chosen everything(std::size_t count) {
  Chosen chosen{.rows = std::vector<std::int64_t>(count),
                .in_file = static_cast<std::int64_t>(count),
                .steps = {}};
  std::iota(chosen.rows.begin(), chosen.rows.end(), 0);
  return chosen;
}

/// Keeps the rows for which keeps(row), which threads may call at the same time.
void apply(Chosen& chosen, const std::string& filter, const Keeps& keeps) {
  const auto count = static_cast<std::int64_t>(chosen.rows.size());
  std::vector<char> is_kept(chosen.rows.size());
  const std::int64_t turns = (count + kVariantsPerTurn - 1) / kVariantsPerTurn;
  shared_workers().run(turns, [&](std::int64_t turn, std::int64_t /*thread*/) {
    const std::int64_t end = std::min(count, (turn + 1) * kVariantsPerTurn);
    for (std::int64_t i = turn * kVariantsPerTurn; i < end; ++i) {
      const auto at = static_cast<std::size_t>(i);
      is_kept[at] = keeps(chosen.rows[at]);
    }
  });
  std::size_t left = 0;
  for (std::size_t i = 0; i < is_kept.size(); ++i) {
    if (is_kept[i]) chosen.rows[left++] = chosen.rows[i];
  }
  chosen.rows.resize(left);
  chosen.steps.push_back({.filter = filter,
                          .removed = count - static_cast<std::int64_t>(left),
                          .left = static_cast<std::int64_t>(left)});
}

[[noreturn]] void fail_without_rows(const std::string& file, const char* what,
                                    const Chosen& chosen) {
  std::string steps;
  for (const FilterStep& step : chosen.steps) {
    steps += fmt::format("{}{} removed {}", steps.empty() ? "" : ", ", step.filter,
                         step.removed);
  }
  throw InputError(
      fmt::format("{}: expected {} that pass the filters, found none of {} ({})", file,
                  what, chosen.in_file, steps));
}

/// People by their ids.
class PeopleIndex {
 public:
  explicit PeopleIndex(const Genotypes& genotypes) : genotypes_(genotypes) {
    const auto& people = genotypes.people();
    for (std::size_t i = 0; i < people.size(); ++i) {
      by_id_.emplace(people[i].id, i);
      by_individual_.emplace(people[i].id.individual, i);
    }
  }

  /// Marks the people of a file.
  std::vector<char> marks(const std::string& path) const {
    std::vector<char> is_in_file(genotypes_.people().size());
    for (const SampleId& id : read_sample_ids(path)) {
      if (const auto found = by_id_.find(id); found != by_id_.end()) {
        is_in_file[found->second] = 1;
      } else if (id.family.empty()) {
        mark_individual(id.individual, path, is_in_file);
      }
    }
    return is_in_file;
  }

 private:
  void mark_individual(const std::string& individual, const std::string& path,
                       std::vector<char>& marks) const {
    const auto [begin, end] = by_individual_.equal_range(individual);
    const auto count = std::distance(begin, end);
    if (count > 1) {
      throw InputError(
          fmt::format("{}: expected a family id with {}, which {} people of {}.fam "
                      "have, found none",
                      path, in_quotes(individual), count, genotypes_.prefix()));
    }
    if (count == 1) marks[begin->second] = 1;
  }

  const Genotypes& genotypes_;
  std::unordered_map<SampleId, std::size_t> by_id_;
  std::unordered_multimap<std::string, std::size_t> by_individual_;
};

std::unordered_set<std::string> read_names(const std::string& path) {
  constexpr std::string_view kBlanks = " \t";
  std::unordered_set<std::string> names;
  TextLines lines(path);
  while (lines.next_filled()) {
    std::string_view rest = lines.line();
    while (true) {
      rest.remove_prefix(std::min(rest.find_first_not_of(kBlanks), rest.size()));
      if (rest.empty()) break;
      const auto name = rest.substr(0, rest.find_first_of(kBlanks));
      names.emplace(name);
      rest.remove_prefix(name.size());
    }
  }
  return names;
}

/// The chromosomes that --chr asks for.
class ChromosomeSet {
 public:
  ChromosomeSet(const Genotypes& genotypes, const VariantFilters& filters)
      : autosomes_(filters.autosomes) {
    std::unordered_set<std::string> in_file;
    for (const Variant& variant : genotypes.variants())
      in_file.insert(variant.chromosome);
    for (const std::string& text : filters.chromosomes) add(text, in_file);
  }

  bool has(const std::string& name) const {
    return names_.contains(name) ||
           numbers_.contains(chromosome(name, autosomes_).number);
  }

 private:
  void add(const std::string& text, const std::unordered_set<std::string>& in_file) {
    if (const int number = chromosome(text, autosomes_).number; number > 0) {
      numbers_.insert(number);
    } else if (in_file.contains(text)) {
      names_.insert(text);
    } else if (!add_range(text)) {
      throw InputError(fmt::format(
          "--chr: expected chromosomes from 1 to {}, X, Y, XY, MT, ranges such as 1-4 "
          "or names of the .bim, found {}",
          autosomes_, in_quotes(text)));
    }
  }

  bool add_range(const std::string& text) {
    const std::size_t dash = text.find('-');
    if (dash == std::string::npos) return false;
    const int first = chromosome(text.substr(0, dash), autosomes_).number;
    const int last = chromosome(text.substr(dash + 1), autosomes_).number;
    if (first == 0 || last < first) return false;
    for (int number = first; number <= last; ++number) numbers_.insert(number);
    return true;
  }

  int autosomes_;
  std::unordered_set<int> numbers_;
  std::unordered_set<std::string> names_;
};

bool is_haploid(ChromosomeKind kind) {
  return kind == ChromosomeKind::x || kind == ChromosomeKind::y ||
         kind == ChromosomeKind::mitochondrial;
}

void apply_names(Chosen& chosen, const Genotypes& genotypes,
                 const VariantFilters& filters) {
  const auto& variants = genotypes.variants();
  const auto variant = [&](std::int64_t row) -> const Variant& {
    return variants[static_cast<std::size_t>(row)];
  };
  if (!filters.chromosomes.empty()) {
    const ChromosomeSet chromosomes(genotypes, filters);
    apply(chosen, fmt::format("--chr {}", fmt::join(filters.chromosomes, ",")),
          [&](auto row) { return chromosomes.has(variant(row).chromosome); });
  }
  if (filters.without_haploid) {
    apply(chosen, "X, Y and MT", [&](auto row) {
      return !is_haploid(chromosome(variant(row).chromosome, filters.autosomes).kind);
    });
  }
  if (!filters.extract.empty()) {
    const auto names = read_names(filters.extract);
    apply(chosen, "--extract",
          [&](auto row) { return names.contains(variant(row).id); });
  }
  if (!filters.exclude.empty()) {
    const auto names = read_names(filters.exclude);
    apply(chosen, "--exclude",
          [&](auto row) { return !names.contains(variant(row).id); });
  }
}

void apply_counts(Chosen& chosen, const VariantCounter& counter,
                  const VariantFilters& filters) {
  if (const auto limit = filters.largest_missing_share) {
    apply(chosen, fmt::format("--geno {}", *limit), [&](auto row) {
      return counter.missing_share(row) <= *limit * (1 + kRounding);
    });
  }
  if (const auto limit = filters.least_hardy_weinberg_p) {
    apply(chosen, fmt::format("--hwe {}", *limit), [&](auto row) {
      return counter.hardy_weinberg_p(row) >= *limit * (1 - kRounding);
    });
  }
  if (const auto limit = filters.least_minor_frequency) {
    apply(chosen, fmt::format("--maf {}", *limit), [&](auto row) {
      return counter.minor_frequency(row) >= *limit * (1 - kRounding);
    });
  }
}

}  // namespace

Chosen choose_people(const Genotypes& genotypes, const PeopleFilters& filters) {
  Chosen chosen = everything(genotypes.people().size());
  if (filters.keep.empty() && filters.remove.empty()) return chosen;
  const PeopleIndex index(genotypes);
  if (!filters.keep.empty()) {
    const auto marks = index.marks(filters.keep);
    apply(chosen, "--keep",
          [&](auto row) { return marks[static_cast<std::size_t>(row)] != 0; });
  }
  if (!filters.remove.empty()) {
    const auto marks = index.marks(filters.remove);
    apply(chosen, "--remove",
          [&](auto row) { return marks[static_cast<std::size_t>(row)] == 0; });
  }
  if (chosen.rows.empty()) {
    fail_without_rows(genotypes.prefix() + ".fam", "people", chosen);
  }
  return chosen;
}

Chosen choose_variants(const Genotypes& genotypes, std::span<const std::int64_t> people,
                       const VariantFilters& filters) {
  Chosen chosen = everything(genotypes.variants().size());
  apply_names(chosen, genotypes, filters);
  const VariantCounter counter(genotypes, people, filters.autosomes,
                               filters.with_nonfounders);
  if (counter.founders() == 0 &&
      (filters.least_hardy_weinberg_p || filters.least_minor_frequency)) {
    throw InputError(
        genotypes.prefix() +
        ".fam: expected founders, whose alleles --hwe and --maf count, found none; "
        "--nonfounders counts everyone");
  }
  apply_counts(chosen, counter, filters);
  if (chosen.rows.empty()) {
    fail_without_rows(genotypes.prefix() + ".bim", "variants", chosen);
  }
  return chosen;
}

}  // namespace kinflow
