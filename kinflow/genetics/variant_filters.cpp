// Filters that mark rows, one after the other.
#include "kinflow/genetics/variant_filters.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <numeric>
#include <unordered_set>

#include "kinflow/core/error.h"
#include "kinflow/core/in_quotes.h"
#include "kinflow/core/workers.h"
#include "kinflow/data/sample_index.h"
#include "kinflow/data/text_lines.h"
#include "kinflow/genetics/genotype_counts.h"

namespace kinflow {
namespace {

// Shares that equal a limit but for rounding pass it.
constexpr double kFilterRounding = 1e-13;
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

/// Marks the people of a file.
std::vector<char> marks_of(const std::string& path, const Genotypes& genotypes,
                           const SampleIndex& index) {
  std::vector<char> is_in_file(genotypes.people().size());
  const SampleIndex::Fail fail = [&](const std::string& what) {
    throw InputError(path + ": " + what);
  };
  for (const SampleId& id : read_sample_ids(path)) {
    if (const auto row = index.find(id, fail)) {
      is_in_file[static_cast<std::size_t>(*row)] = 1;
    }
  }
  return is_in_file;
}

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

/// InputError where variants are of names that may be autosomes, and of nothing else.
void check_autosomes(const Chosen& before, const Chosen& after,
                     const Genotypes& genotypes, const VariantFilters& filters) {
  if (!after.rows.empty()) return;
  const auto name_of = [&](std::int64_t row) {
    return genotypes.variants()[static_cast<std::size_t>(row)].chromosome;
  };
  const auto unplaced =
      std::find_if(before.rows.begin(), before.rows.end(), [&](std::int64_t row) {
        return chromosome(name_of(row), filters.autosomes).kind ==
               ChromosomeKind::unplaced;
      });
  if (unplaced == before.rows.end()) return;
  throw InputError(fmt::format(
      "{}.bim: expected variants of autosomes (1 to {}) for a relationship, found "
      "chromosomes such as {}; --chr-set gives the number of autosomes, and with "
      "--allow-extra-chr other names are autosomes",
      genotypes.prefix(), filters.autosomes, in_quotes(name_of(*unplaced))));
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
  if (filters.only_autosomes) {
    const Chosen before = chosen;
    apply(chosen, filters.allow_extra_chr ? "X, Y and MT" : "X, Y, MT and other names",
          [&](auto row) {
            return is_in_relationships(variant(row).chromosome, filters);
          });
    check_autosomes(before, chosen, genotypes, filters);
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
      return counter.missing_share(row) <= *limit * (1 + kFilterRounding);
    });
  }
  if (const auto limit = filters.least_hardy_weinberg_p) {
    apply(chosen, fmt::format("--hwe {}", *limit), [&](auto row) {
      return counter.hardy_weinberg_p(row) >= *limit * (1 - kFilterRounding);
    });
  }
  if (const auto limit = filters.least_minor_frequency) {
    apply(chosen, fmt::format("--maf {}", *limit), [&](auto row) {
      return counter.minor_frequency(row) >= *limit * (1 - kFilterRounding);
    });
  }
  if (const auto limit = filters.least_minor_count) {
    apply(chosen, fmt::format("--mac {}", *limit),
          [&](auto row) { return counter.minor_count(row) >= *limit; });
  }
}

}  // namespace

bool is_in_relationships(const std::string& name, const VariantFilters& filters) {
  switch (chromosome(name, filters.autosomes).kind) {
    case ChromosomeKind::autosome:
    case ChromosomeKind::pseudoautosomal:
      return true;
    case ChromosomeKind::unplaced:
      return filters.allow_extra_chr;
    default:
      return false;
  }
}

Chosen choose_people(const Genotypes& genotypes, const PeopleFilters& filters) {
  Chosen chosen = everything(genotypes.people().size());
  if (filters.keep.empty() && filters.remove.empty()) return chosen;
  const SampleIndex index(ids_of(genotypes.people()), genotypes.prefix() + ".fam");
  if (!filters.keep.empty()) {
    const auto marks = marks_of(filters.keep, genotypes, index);
    apply(chosen, "--keep",
          [&](auto row) { return marks[static_cast<std::size_t>(row)] != 0; });
  }
  if (!filters.remove.empty()) {
    const auto marks = marks_of(filters.remove, genotypes, index);
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
      (filters.least_hardy_weinberg_p || filters.least_minor_frequency ||
       filters.least_minor_count)) {
    throw InputError(genotypes.prefix() +
                     ".fam: expected founders, whose alleles --hwe, --maf and --mac "
                     "count, found none; "
                     "--nonfounders counts everyone");
  }
  apply_counts(chosen, counter, filters);
  if (chosen.rows.empty()) {
    fail_without_rows(genotypes.prefix() + ".bim", "variants", chosen);
  }
  return chosen;
}

}  // namespace kinflow
