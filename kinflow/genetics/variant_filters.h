// Which people and which variants take part.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kinflow/genetics/chromosomes.h"
#include "kinflow/genetics/genotypes.h"

namespace kinflow {

/// What one filter did.
struct FilterStep {
  std::string filter;  ///< "--maf 0.05"
  std::int64_t removed = 0;
  std::int64_t left = 0;
};

/// People or variants that have passed filters, in the order of their file.
struct Chosen {
  std::vector<std::int64_t> rows;
  std::int64_t in_file = 0;
  std::vector<FilterStep> steps;  ///< of the filters that were asked for
};

/// Files with a person a line: family and individual, or the individual alone.
struct PeopleFilters {
  std::string keep = {};    ///< take these only
  std::string remove = {};  ///< take all but these
};

/// People of the files who are not in the .fam do not matter; an id without a family
/// (or with 0) stands for the one person with this individual id. InputError where it
/// stands for several, and where nobody is left.
Chosen choose_people(const Genotypes& genotypes, const PeopleFilters& filters);

/// plink's filters by its names. Numbers that are not given filter nothing.
struct VariantFilters {
  /// --chr: names and ranges of numbers such as 1-4; empty: all
  std::vector<std::string> chromosomes = {};
  /// Keep what relationships are made of: the autosomes and XY, as plink's matrices,
  /// and with allow_extra_chr chromosomes of other names.
  bool only_autosomes = false;
  bool allow_extra_chr = false;  ///< --allow-extra-chr
  std::string extract = {};      ///< file of variant ids, separated by blanks or lines
  std::string exclude = {};
  std::optional<double> largest_missing_share = {};   ///< --geno
  std::optional<double> least_hardy_weinberg_p = {};  ///< --hwe
  std::optional<double> least_minor_frequency = {};   ///< --maf
  std::optional<double> least_minor_count = {};       ///< --mac
  int autosomes = kHumanAutosomes;                    ///< --chr-set
  bool with_nonfounders = false;                      ///< --nonfounders
};

/// True for what relationships are made of, see VariantFilters::only_autosomes.
bool is_in_relationships(const std::string& chromosome_name,
                         const VariantFilters& filters);

/// The variants that pass, by plink's rules (see VariantCounter) and in plink's order
/// of filters: --chr, --extract, --exclude, --geno, --hwe, --maf, --mac. A step counts
/// what the steps before it have left. Uses shared_workers(). InputError for a
/// chromosome that does not exist, for a file that cannot be read, for --hwe, --maf or
/// --mac without founders, where no variant is left, and where all are of chromosomes
/// that have no part in a relationship.
Chosen choose_variants(const Genotypes& genotypes, std::span<const std::int64_t> people,
                       const VariantFilters& filters);

}  // namespace kinflow
