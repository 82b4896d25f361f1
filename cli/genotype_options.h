// The options of verbs that read genotypes, by plink's names.
#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "kinflow/genetics/clump.h"
#include "kinflow/genetics/genotypes.h"
#include "kinflow/genetics/variant_filters.h"

namespace kinflow::cli {

/// Of the matrices that grm and gwas make.
inline constexpr const char* kDefaultRelationshipKind = "centered";

/// --bfile and the filters of people and variants.
struct GenotypeGiven {
  std::string prefix;
  PeopleFilters people;
  VariantFilters variants;

  /// The files that are read, for check_not_an_input().
  std::vector<std::string> inputs() const;
};
void add_genotype_options(CLI::App& verb, GenotypeGiven& given);

/// --p1, --p2, --r2 and --kb.
void add_locus_options(CLI::App& verb, ClumpOptions& options);

/// A table of what every filter removed and left, for the terminal.
std::string filter_table(const Chosen& people, const Chosen& variants,
                         const std::string& heading = "filter");

}  // namespace kinflow::cli
