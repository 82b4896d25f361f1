// Names of families and ranges of options.
#include "kinflow/genetics/simulate_cohort_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "kinflow/core/error.h"

namespace kinflow {
namespace {

constexpr std::string_view kShapeNames[] = {"trio", "sibship", "three-generations",
                                            "cousins"};
/// plink takes no positions beyond.
constexpr double kLongestChromosome = 2e9;

void check(bool valid, const std::string& expected) {
  if (!valid) throw InputError("[simulate] expected " + expected);
}

void check_count(const char* what, std::int64_t found, std::int64_t low,
                 std::int64_t high) {
  check(found >= low && found <= high,
        fmt::format("{} to {} {}, received {}", low, high, what, found));
}

void check_number(const char* what, double found, double low, double high) {
  check(found >= low && found <= high,
        fmt::format("{} from {} to {}, received {}", what, low, high, found));
}

void check_correlation(const char* what, double found, std::int64_t traits) {
  const double lowest = traits > 1 ? -1 / static_cast<double>(traits - 1) : -1;
  check(found > lowest && found < 1,
        fmt::format("{} of {} traits between {:.4g} and 1, received {}", what, traits,
                    lowest, found));
}

void check_effects(const SimulateCohortOptions& options) {
  const auto active = options.chromosomes - options.null_chromosomes;
  const auto snps_of_one = options.snps / options.chromosomes;
  check((options.loci + active - 1) / active <= snps_of_one,
        fmt::format("at most {} loci on {} chromosomes of {} SNPs, received {}",
                    active * snps_of_one, active, snps_of_one, options.loci));
  if (options.heritability <= 0) return;
  const auto possible = active * snps_of_one;
  const auto small = std::min(options.polygenic_snps, possible);
  check(small >= options.traits,
        fmt::format("at least as many polygenic SNPs as traits ({}), received {}",
                    options.traits, small));
}

}  // namespace

std::string family_shape_name(FamilyShape shape) {
  return std::string(kShapeNames[static_cast<std::size_t>(shape)]);
}

FamilyShape family_shape(const std::string& name) {
  const auto found = std::find(std::begin(kShapeNames), std::end(kShapeNames), name);
  check(found != std::end(kShapeNames),
        fmt::format("a family out of {}, received '{}'",
                    fmt::join(std::begin(kShapeNames), std::end(kShapeNames), ", "),
                    name));
  return static_cast<FamilyShape>(found - std::begin(kShapeNames));
}

std::vector<FamilyShape> all_family_shapes() {
  return {FamilyShape::trio, FamilyShape::sibship, FamilyShape::three_generations,
          FamilyShape::cousins};
}

void check_cohort_options(const SimulateCohortOptions& options) {
  check_count("people", options.people, 10, 10'000'000);
  check_count("chromosomes", options.chromosomes, 1, 22);
  check_count("SNPs", options.snps, options.chromosomes, 100'000'000);
  check_count("chromosomes without effects", options.null_chromosomes, 0,
              options.chromosomes - 1);
  check_number("a share of relatives", options.relatives, 0, 1);
  check(options.relatives == 0 || !options.families.empty(),
        "at least 1 shape of families, received none");
  check_count("populations", options.populations, 1, 100);
  check_number("an F_ST", options.fst, 0, 0.9);
  check_number("a share of admixed families", options.admixed, 0, 1);
  check_number("a lowest frequency", options.lowest_frequency, 0, 0.5);
  check_number("a spacing in bases", options.spacing, 2, 1e9);
  const double length = static_cast<double>(options.snps) * options.spacing /
                        static_cast<double>(options.chromosomes);
  check(length <= kLongestChromosome,
        fmt::format("chromosomes of at most {:.0f} bases, received {:.0f}",
                    kLongestChromosome, length));
  check_number("a length of linkage disequilibrium in bases", options.ld_length, 1,
               1e9);
  check_count("ancestral haplotypes", options.ancestral_haplotypes, 2, 1'000'000);
  check_number("a share of missing calls", options.missing_calls, 0, 0.9);
  check_count("traits", options.traits, 1,
              std::min<std::int64_t>(100, options.people / 2));
  check_count("loci", options.loci, 0, options.snps);
  check_count("polygenic SNPs", options.polygenic_snps, 0, 100'000'000);
  check_number("a heritability", options.heritability, 0, 1);
  check_number("a share of a locus", options.locus_share, 0, 1);
  check_correlation("a genetic correlation", options.genetic_correlation,
                    options.traits);
  check_correlation("an environment correlation", options.environment_correlation,
                    options.traits);
  check_number("a share of family environment", options.family_environment, 0, 1);
  check(options.heritability + options.family_environment <= 1,
        fmt::format("heritability and family environment of at most 1 together, "
                    "received {} and {}",
                    options.heritability, options.family_environment));
  check_number("a curvature", options.curvature, 0, 10);
  check_number("an effect of covariates", options.covariate_effect, 0, 100);
  check_number("a share of missing values", options.missing_values, 0, 0.9);
  check_effects(options);
}

}  // namespace kinflow
