// Counts of values, and of alleles at the rarest variant.
#include "kinflow/gwas/tied_traits.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>

#include "kinflow/core/error.h"
#include "kinflow/core/in_quotes.h"
#include "kinflow/core/size.h"
#include "kinflow/genetics/sexed_genotypes.h"

namespace kinflow {
namespace {

// A trait with less skewness is as good as symmetric, also in a small sample.
constexpr double kSkewed = 1;

/// The values of a trait by how many people have them.
struct ValueCounts {
  std::size_t different = 0;
  double commonest = 0;
  std::int64_t others = 0;  ///< people who have not the commonest value
};

ValueCounts count_values(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  ValueCounts counts;
  std::size_t most = 0;
  for (std::size_t i = 0, end = 0; i < sorted.size(); i = end) {
    while (end < sorted.size() && sorted[end] == sorted[i]) ++end;
    ++counts.different;
    if (end - i <= most) continue;
    most = end - i;
    counts.commonest = sorted[i];
  }
  counts.others = static_cast<std::int64_t>(sorted.size() - most);
  return counts;
}

std::span<const double> trait_values(const GwasInputs& inputs, std::size_t trait) {
  const auto n = to_size(inputs.count());
  return std::span(inputs.people().traits.values).subspan(trait * n, n);
}

/// The tested variant that varies with the fewest minor alleles.
struct RarestVariant {
  std::string id;
  double minor_alleles = 0;
};

RarestVariant rarest_variant(const GwasInputs& inputs) {
  const SexedGenotypes genotypes(inputs.genotypes(), inputs.people().people,
                                 inputs.data().variants.autosomes);
  RarestVariant rarest;
  for (const auto variant : inputs.variants().rows) {
    const auto counts = genotypes.count(variant);
    const auto a1 = 2 * counts.homozygous_a1 + counts.heterozygous;
    const auto minor = static_cast<double>(std::min(a1, 2 * counts.known() - a1));
    if (minor == 0 || (!rarest.id.empty() && minor >= rarest.minor_alleles)) continue;
    rarest = {inputs.genotypes().variants()[to_size(variant)].id, minor};
  }
  return rarest;
}

/// What a user can do for `others` people to have enough minor alleles.
std::string remedy(std::int64_t others) {
  const double frequency = kLeastExpectedAlleles /
                           (2 * static_cast<double>(std::max<std::int64_t>(others, 1)));
  const std::string leave_out = "leave the trait out with --pheno-name";
  if (frequency > 0.5) return "no variant is common enough: " + leave_out;
  return fmt::format("--maf {:.3g} tests variants that are common enough, or {}",
                     std::ceil(frequency * 1000) / 1000, leave_out);
}

bool is_rare(const ValueCounts& counts, std::int64_t people) {
  return static_cast<double>(counts.others) < kRareShare * static_cast<double>(people);
}

[[noreturn]] void refuse_for_flow(const ValueCounts& counts, const std::string& name,
                                  const GwasInputs& inputs) {
  throw InputError(fmt::format(
      "{}: expected a continuous trait for a flow, found {} with {}; --transform none "
      "tests it as it is, --pheno-name leaves it out",
      inputs.data().traits.path, in_quotes(name),
      counts.different == 2
          ? "two values"
          : fmt::format("the value {:g} in all but {} of {} people", counts.commonest,
                        counts.others, inputs.count())));
}

double skewness(std::span<const double> values) {
  const auto n = static_cast<double>(values.size());
  double mean = 0, second = 0, third = 0;
  for (const double value : values) mean += value / n;
  for (const double value : values) {
    const double d = value - mean;
    second += d * d / n;
    third += d * d * d / n;
  }
  return third / std::pow(second, 1.5);
}

}  // namespace

void check_tied_traits(const GwasInputs& inputs, TraitTransform transform) {
  const auto& names = inputs.people().traits.names;
  const auto people = inputs.count();
  RarestVariant rarest;
  for (std::size_t t = 0; t < names.size(); ++t) {
    const auto counts = count_values(trait_values(inputs, t));
    if (is_rare(counts, people)) {
      if (rarest.id.empty()) rarest = rarest_variant(inputs);
      const double expected = rarest.minor_alleles *
                              static_cast<double>(counts.others) /
                              static_cast<double>(people);
      if (!rarest.id.empty() && expected < kLeastExpectedAlleles) {
        throw InputError(fmt::format(
            "{}: expected people with other values of {} than {:g} to have {:g} minor "
            "alleles or more by chance at every tested variant, since p-values are too "
            "small below that, found {:.2g} at {} ({} of {} people, {:g} minor "
            "alleles); "
            "{}",
            inputs.data().traits.path, in_quotes(names[t]), counts.commonest,
            kLeastExpectedAlleles, expected, in_quotes(rarest.id), counts.others,
            people, rarest.minor_alleles, remedy(counts.others)));
      }
    }
    if (transform == TraitTransform::flow &&
        (counts.different == 2 || is_rare(counts, people))) {
      refuse_for_flow(counts, names[t], inputs);
    }
  }
}

void warn_of_shapes(const GwasInputs& inputs, TraitTransform transform,
                    Logger& logger) {
  const auto& names = inputs.people().traits.names;
  const auto people = static_cast<double>(inputs.count());
  RarestVariant rarest;
  for (std::size_t t = 0; t < names.size(); ++t) {
    const auto values = trait_values(inputs, t);
    const auto counts = count_values(values);
    if (transform == TraitTransform::rank_normal && counts.different == 2 &&
        !inputs.people().covariates.names.empty()) {
      logger.warning(fmt::format(
          "{} has two values, and normal scores order its ties by the covariates; "
          "--transform none tests it as it is",
          in_quotes(names[t])));
    }
    if (transform != TraitTransform::none || is_rare(counts, inputs.count())) continue;
    const double skew = skewness(values);
    if (std::abs(skew) < kSkewed) continue;
    if (rarest.id.empty()) rarest = rarest_variant(inputs);
    // The sum over people of trait times genotype is as skewed as that of a rare binary
    // trait with this number of expected alleles.
    const double minor_share = rarest.minor_alleles / (2 * people);
    const double skew_of_variant =
        (1 - 2 * minor_share) / std::sqrt(2 * minor_share * (1 - minor_share));
    const double expected = people / (skew * skew * skew_of_variant * skew_of_variant);
    if (rarest.id.empty() || expected >= kLeastExpectedAlleles) continue;
    logger.warning(fmt::format(
        "{} is skewed ({:.2g}): at the rarest variants, such as {} with {:g} minor "
        "alleles, p-values are too small, as those of a rare disease; --transform "
        "rank-normal mends it, and a larger --maf or --mac",
        in_quotes(names[t]), skew, in_quotes(rarest.id), rarest.minor_alleles));
  }
}

}  // namespace kinflow
