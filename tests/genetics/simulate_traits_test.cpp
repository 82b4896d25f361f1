// Latents and biomarkers of simulated cohorts against what was asked for.
#include "kinflow/genetics/simulate_traits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/data/helpers.h"
#include "tests/genetics/simulated_cohorts.h"

namespace kinflow {
namespace {

TEST(SimulateTraits, LatentsHaveTheVariancesThatWereAsked) {
  const TemporaryFolder folder;
  auto options = one_population();
  options.people = 4000;
  options.snps = 4400;
  options.relatives = 0.3;
  options.loci = 12;
  options.heritability = 0.6;
  options.family_environment = 0.2;
  options.genetic_correlation = 0.5;
  options.environment_correlation = -0.1;
  const auto cohort = simulate_cohort(options, folder.path("c"));
  const auto& drawn = cohort.traits;
  const auto traits = options.traits;
  for (std::int64_t s = 0; s < traits; ++s) {
    double explained = 0;
    for (const auto& effect : cohort.effects) {
      if (effect.trait == s) explained += effect.share;
    }
    EXPECT_NEAR(covariance(drawn.latents, traits, s, s), 1, 0.1);
    EXPECT_NEAR(covariance(drawn.genetic, traits, s, s), 0.6, 0.06);
    for (std::int64_t t = 0; t < s; ++t) {
      // Loci have independent directions; six traits share some of them.
      EXPECT_NEAR(covariance(drawn.genetic, traits, s, t), 0.5 * (0.6 - explained),
                  0.06);
      std::vector<double> environment(drawn.latents);
      for (std::size_t i = 0; i < environment.size(); ++i) {
        environment[i] -= drawn.genetic[i];
      }
      EXPECT_NEAR(covariance(environment, traits, s, t), -0.1 * 0.4, 0.03);
    }
  }
  // Parents of a trio share the environment of the family and no ancestors.
  std::vector<double> products;
  for (const auto& family : cohort.families) {
    if (family.members.size() < 2 || family.members[0].row < 0) continue;
    for (std::int64_t t = 0; t < traits; ++t) {
      const auto latent = [&](std::size_t member) {
        return drawn
            .latents[static_cast<std::size_t>(family.members[member].row * traits + t)];
      };
      products.push_back(latent(0) * latent(1));
    }
  }
  ASSERT_GT(products.size(), 500u);
  EXPECT_NEAR(mean(products), 0.2, 0.1);
}

TEST(SimulateTraits, EffectsOfLociAreInTheLatents) {
  const TemporaryFolder folder;
  auto options = one_population();
  options.people = 3000;
  options.snps = 2200;
  options.relatives = 0;
  options.null_chromosomes = 12;
  options.heritability = 0.12;  // little but the loci
  const auto cohort = simulate_cohort(options, folder.path("c"));
  const Genotypes genotypes(folder.path("c"));
  const auto people = all_people(genotypes);
  std::vector<std::int8_t> counts(people.size());
  std::map<std::int64_t, std::int64_t> snp_of;
  double deviations = 0;
  for (const auto& effect : cohort.effects) {
    snp_of[effect.locus] = effect.snp;
    const auto& variant = genotypes.variants()[static_cast<std::size_t>(effect.snp)];
    EXPECT_EQ(variant.id, effect.variant.id);
    EXPECT_LE(std::stoi(variant.chromosome), 10);
    genotypes.read(effect.snp, people, counts.data());
    EXPECT_NEAR(frequency(counts), effect.frequency, 1e-12);
    double xy = 0, xx = 0;
    for (std::size_t i = 0; i < people.size(); ++i) {
      const double x = counts[i] - 2 * effect.frequency;
      xy += x * cohort.traits.latents[i * 6 + static_cast<std::size_t>(effect.trait)];
      xx += x * x;
    }
    EXPECT_NEAR(effect.effect * effect.effect * xx / 3000, effect.share, 1e-9);
    // The error of the slope has variance 1 / xx, and some from SNPs nearby.
    deviations += std::pow(xy / xx - effect.effect, 2) * xx;
  }
  EXPECT_EQ(snp_of.size(), 20u);
  const auto count = static_cast<double>(cohort.effects.size());
  EXPECT_NEAR(deviations / count, 1, 5 * std::sqrt(2 / count));
}

TEST(SimulateTraits, TheMapOfLatentsCanBeUndone) {
  Random random(9);
  const auto inverse = [](std::vector<double> x) {
    for (std::size_t t = 0; t < x.size(); ++t) {
      const double shape = std::sqrt(2);
      if (t % 4 == 0) x[t] = std::log(x[t]) / 0.6;
      if (t % 4 == 1) x[t] = (std::cbrt(x[t] / 2) - 1 + 1.0 / 18) * 3 * shape;
      if (t % 4 == 2) x[t] = -std::log(1 / x[t] - 1) / 2;
      if (t % 4 == 3) x[t] = std::asinh(x[t]);
    }
    const double a = std::sqrt(2 / M_PI);
    for (std::size_t t = 1; t < x.size(); t += 2) {
      const double v = x[t - 1];
      const double curves[] = {(v * v - 1) / std::sqrt(2),
                               (std::abs(v) - a) / std::sqrt(1 - a * a),
                               std::sqrt(2) * std::sin(3 * v)};
      x[t] = x[t] * std::sqrt(2) - curves[(t / 2) % 3];
    }
    return x;
  };
  for (int i = 0; i < 200; ++i) {
    std::vector<double> latents(7);
    for (double& value : latents) value = random.normal();
    auto bent = latents;
    bend_latents(1, bent);
    const auto back = inverse(bent);
    for (std::size_t t = 0; t < latents.size(); ++t) {
      EXPECT_NEAR(back[t], latents[t], 1e-8);
    }
  }
}

TEST(SimulateTraits, WithoutGeneticsLatentsAreEnvironment) {
  const TemporaryFolder folder;
  auto options = small_options();
  options.heritability = 0;
  options.loci = 0;
  const auto cohort = simulate_cohort(options, folder.path("c"));
  EXPECT_TRUE(cohort.effects.empty());
  for (const double value : cohort.traits.genetic) EXPECT_EQ(value, 0);
  EXPECT_NEAR(covariance(cohort.traits.latents, 6, 2, 2), 1, 0.3);
}

}  // namespace
}  // namespace kinflow
