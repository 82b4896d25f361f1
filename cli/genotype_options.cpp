// --bfile and plink's filters.
#include "genotype_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "kinflow/report/text_table.h"
#include "options.h"

namespace kinflow::cli {
namespace {

constexpr int kMostAutosomes = 95;

void add_rows(TextTable& table, const char* what, const Chosen& chosen) {
  table.add_row(
      {fmt::format("{} in the files", what), "", std::to_string(chosen.in_file)});
  for (const FilterStep& step : chosen.steps) {
    table.add_row(
        {step.filter, std::to_string(step.removed), std::to_string(step.left)});
  }
}

}  // namespace

std::vector<std::string> GenotypeGiven::inputs() const {
  std::vector<std::string> files = {prefix + ".bed", prefix + ".bim", prefix + ".fam"};
  for (const auto& file :
       {people.keep, people.remove, variants.extract, variants.exclude}) {
    if (!file.empty()) files.push_back(file);
  }
  return files;
}

void add_genotype_options(CLI::App& verb, GenotypeGiven& given) {
  verb.add_option("--bfile", given.prefix, "Prefix of .bed, .bim and .fam files")
      ->required();
  verb.add_option(
      "--keep", given.people.keep,
      "File of people to take: family and individual, or individual, a line");
  verb.add_option("--remove", given.people.remove, "File of people to leave out");
  add_list(verb, "--chr", given.variants.chromosomes,
           "Chromosomes to take: names and ranges, as in 1-4,X");
  verb.add_option("--extract", given.variants.extract, "File of variants to take");
  verb.add_option("--exclude", given.variants.exclude, "File of variants to leave out");
  verb.add_option("--maf", given.variants.least_minor_frequency,
                  "Least frequency of the rarer allele")
      ->check(number_in(0, 0.5));
  verb.add_option("--mac", given.variants.least_minor_count,
                  "Least number of rarer alleles")
      ->check(number_in(0, 1e9));
  verb.add_option("--geno", given.variants.largest_missing_share,
                  "Largest share of missing genotypes of a variant")
      ->check(number_in(0, 1));
  verb.add_option("--hwe", given.variants.least_hardy_weinberg_p,
                  "Least p-value of the exact test of Hardy-Weinberg equilibrium")
      ->check(number_in(0, 1));
  verb.add_option("--chr-set", given.variants.autosomes,
                  "Number of autosomes; 19 for mice")
      ->check(integer_in(1, kMostAutosomes));
  verb.add_flag("--allow-extra-chr", given.variants.allow_extra_chr,
                "Chromosomes of other names than 1 to --chr-set, X, Y, XY and MT are "
                "autosomes; without it they have no part in a relationship");
  verb.add_flag("--nonfounders", given.variants.with_nonfounders,
                "Frequencies of everyone, not of people without parents in the .fam");
}

void add_locus_options(CLI::App& verb, ClumpOptions& options) {
  constexpr double kLeast = 1e-300, kLargestR2 = 0.999999, kLeastKb = 0.001;
  verb.add_option("--p1", options.p1, "Largest p-value of the index variant of a locus")
      ->check(number_in(kLeast, 1));
  verb.add_option("--p2", options.p2, "Members with smaller p-values are listed")
      ->check(number_in(kLeast, 1));
  verb.add_option("--r2", options.r2, "Members have a larger r2 with the index variant")
      ->check(number_in(0, kLargestR2));
  verb.add_option("--kb", options.kb, "Members are closer to the index variant")
      ->check(number_in(kLeastKb, 1e7));
}

std::string filter_table(const Chosen& people, const Chosen& variants,
                         const std::string& heading) {
  TextTable table({{heading, Align::kLeft}, {"removed"}, {"left"}});
  add_rows(table, "people", people);
  add_rows(table, "variants", variants);
  return table.plain();
}

}  // namespace kinflow::cli
