// Effects of SNPs, environment, and the map of latents to biomarkers.
#include "kinflow/genetics/simulate_traits.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "kinflow/core/error.h"

namespace kinflow {
namespace {

/// Loci have at least this frequency of both alleles where their surroundings do.
constexpr double kCommonFrequency = 0.1;
constexpr std::int64_t kMostTraitsOfLocus = 3;

using Matrix = std::vector<double>;  // square, row-major

/// Lower triangular factor of a symmetric matrix, which must be positive definite.
Matrix cholesky(Matrix matrix, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      const double entry = matrix[i * size + j];
      double sum = entry;
      for (std::size_t k = 0; k < j; ++k) {
        sum -= matrix[i * size + k] * matrix[j * size + k];
      }
      if (i == j && !(sum > 1e-10 * entry)) {
        throw NumericalError("[simulate] polygenic parts of traits are collinear");
      }
      matrix[i * size + j] = i == j ? std::sqrt(sum) : sum / matrix[j * size + j];
    }
    std::fill(&matrix[i * size + i] + 1, &matrix[i * size] + size, 0.0);
  }
  return matrix;
}

/// All pairs have the same correlation.
Matrix equal_correlations(std::size_t size, double correlation) {
  Matrix matrix(size * size, correlation);
  for (std::size_t i = 0; i < size; ++i) matrix[i * size + i] = 1;
  return matrix;
}

/// Covariance of the columns, about their means, which are taken away.
Matrix centred_covariance(std::vector<double>& values, std::size_t columns) {
  const std::size_t rows = values.size() / columns;
  const auto count = static_cast<double>(rows);
  std::vector<double> means(columns, 0.0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    means[i % columns] += values[i] / count;
  }
  Matrix covariance(columns * columns, 0.0);
  for (std::size_t i = 0; i < rows; ++i) {
    double* row = &values[i * columns];
    for (std::size_t s = 0; s < columns; ++s) row[s] -= means[s];
    for (std::size_t s = 0; s < columns; ++s) {
      for (std::size_t t = 0; t < columns; ++t) {
        covariance[s * columns + t] += row[s] * row[t] / count;
      }
    }
  }
  return covariance;
}

/// x := L x.
void times_lower(const Matrix& lower, double* x, std::size_t size) {
  for (std::size_t i = size; i-- > 0;) {
    double sum = 0;
    for (std::size_t j = 0; j <= i; ++j) sum += lower[i * size + j] * x[j];
    x[i] = sum;
  }
}

/// x := L^-1 x.
void solve_lower(const Matrix& lower, double* x, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = 0; j < i; ++j) x[i] -= lower[i * size + j] * x[j];
    x[i] /= lower[i * size + i];
  }
}

/// Mean of counts, and their variance.
std::pair<double, double> moments(const std::vector<std::int8_t>& counts) {
  std::int64_t sum = 0, squares = 0;
  for (const std::int64_t count : counts) {
    sum += count;
    squares += count * count;
  }
  const auto people = static_cast<double>(counts.size());
  const double mean = static_cast<double>(sum) / people;
  return {mean, static_cast<double>(squares) / people - mean * mean};
}

double frequency_of_rarer(double mean_count) {
  return std::min(mean_count, 2 - mean_count) / 2;
}

/// Which traits every locus acts on, how strongly and in which direction; `effect` is
/// the direction alone.
std::vector<CausalEffect> plan_loci(const SimulateCohortOptions& options) {
  Random random = cohort_random(options.seed, CohortPart::loci);
  std::vector<CausalEffect> planned;
  for (std::int64_t locus = 0; locus < options.loci; ++locus) {
    const auto order = random.permutation(options.traits);
    const auto count = 1 + random.below(std::min(kMostTraitsOfLocus, options.traits));
    for (std::int64_t i = 0; i < count; ++i) {
      planned.push_back({.locus = locus,
                         .snp = 0,
                         .variant = {},
                         .frequency = 0,
                         .trait = order[static_cast<std::size_t>(i)],
                         .effect = random.below(2) == 0 ? -1.0 : 1.0,
                         .share = options.locus_share * random.uniform(0.5, 1.5)});
    }
  }
  return planned;
}

std::vector<double> explained_by(const std::vector<CausalEffect>& effects,
                                 std::int64_t traits) {
  std::vector<double> explained(static_cast<std::size_t>(traits), 0.0);
  for (const auto& effect : effects) {
    explained[static_cast<std::size_t>(effect.trait)] += effect.share;
  }
  return explained;
}

/// Standardised curves: parabola, absolute value, sine.
double curve(std::size_t kind, double v) {
  constexpr double kMeanAbsolute = 0.79788456080286535588;  // sqrt(2 / pi)
  if (kind == 0) return (v * v - 1) / std::numbers::sqrt2;
  if (kind == 1) {
    return (std::abs(v) - kMeanAbsolute) / std::sqrt(1 - kMeanAbsolute * kMeanAbsolute);
  }
  return std::numbers::sqrt2 * std::sin(3 * v);
}

double marginal(std::size_t kind, double x) {
  constexpr double kShape = 2;
  switch (kind) {
    case 0:
      return std::exp(0.6 * x);
    case 1: {
      const double root = 1 - 1 / (9 * kShape) + x / (3 * std::sqrt(kShape));
      return kShape * root * root * root;
    }
    case 2:
      return 1 / (1 + std::exp(-2 * x));
    default:
      return std::sinh(x);
  }
}

struct MeanAndDeviation {
  double mean = 0, deviation = 0;
};

template <typename ValueOf>
MeanAndDeviation mean_and_deviation(std::int64_t count, const ValueOf& value_of) {
  double sum = 0, squares = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += value_of(i);
  const double mean = sum / static_cast<double>(count);
  for (std::int64_t i = 0; i < count; ++i) {
    squares += (value_of(i) - mean) * (value_of(i) - mean);
  }
  return {mean, std::sqrt(squares / static_cast<double>(count))};
}

/// Adds the environment to genetic values.
std::vector<double> draw_latents(const SimulateCohortOptions& options,
                                 const std::vector<SimulatedFamily>& families,
                                 std::vector<double> latents) {
  Random random = cohort_random(options.seed, CohortPart::environment);
  const auto traits = static_cast<std::size_t>(options.traits);
  const Matrix lower =
      cholesky(equal_correlations(traits, options.environment_correlation), traits);
  std::vector<double> draw(traits);
  const auto add_draw = [&](double variance, std::int64_t row) {
    for (std::size_t t = 0; t < traits; ++t) {
      latents[static_cast<std::size_t>(row) * traits + t] +=
          std::sqrt(variance) * draw[t];
    }
  };
  const auto draw_anew = [&] {
    for (double& value : draw) value = random.normal();
    times_lower(lower, draw.data(), traits);
  };
  const double noise =
      std::max(0.0, 1 - options.heritability - options.family_environment);
  for (const auto& family : families) {
    draw_anew();
    for (const auto& member : family.members) {
      if (member.row >= 0) add_draw(options.family_environment, member.row);
    }
    for (const auto& member : family.members) {
      if (member.row < 0) continue;
      draw_anew();
      add_draw(noise, member.row);
    }
  }
  return latents;
}

/// Adds effects of age and sex to biomarkers and tells them.
CovariateEffects add_covariates(const SimulateCohortOptions& options,
                                const std::vector<SimulatedFamily>& families,
                                std::vector<double>& biomarkers) {
  std::vector<double> age(static_cast<std::size_t>(options.people));
  std::vector<double> is_woman(age.size());
  for (const auto& family : families) {
    for (const auto& member : family.members) {
      if (member.row < 0) continue;
      age[static_cast<std::size_t>(member.row)] = member.age;
      is_woman[static_cast<std::size_t>(member.row)] = member.person.sex == 2 ? 1 : 0;
    }
  }
  const auto of_age = mean_and_deviation(
      options.people, [&](std::int64_t i) { return age[static_cast<std::size_t>(i)]; });
  Random random = cohort_random(options.seed, CohortPart::covariates);
  const auto traits = static_cast<std::size_t>(options.traits);
  CovariateEffects effects;
  for (std::size_t t = 0; t < traits; ++t) {
    const auto of_trait = mean_and_deviation(options.people, [&](std::int64_t i) {
      return biomarkers[static_cast<std::size_t>(i) * traits + t];
    });
    const double size = options.covariate_effect * of_trait.deviation;
    effects.age.push_back(size * random.normal() / of_age.deviation);
    effects.sex.push_back(size * random.normal());
    for (std::size_t i = 0; i < age.size(); ++i) {
      biomarkers[i * traits + t] +=
          effects.age[t] * (age[i] - of_age.mean) + effects.sex[t] * is_woman[i];
    }
  }
  return effects;
}

void lose_values(const SimulateCohortOptions& options, std::vector<double>& values) {
  Random random = cohort_random(options.seed, CohortPart::missing_values);
  for (double& value : values) {
    if (random.uniform() < options.missing_values) {
      value = std::numeric_limits<double>::quiet_NaN();
    }
  }
}

}  // namespace

GeneticValues::GeneticValues(const SimulateCohortOptions& options)
    : options_(options),
      polygenic_snps_(
          std::min(options.polygenic_snps,
                   first_snp(options, options.chromosomes - options.null_chromosomes))),
      planned_(plan_loci(options)),
      explained_(explained_by(planned_, options.traits)),
      loci_(static_cast<std::size_t>(options.people * options.traits), 0.0),
      polygenic_(loci_.size(), 0.0),
      counts_(static_cast<std::size_t>(options.people)) {
  const double most = *std::max_element(explained_.begin(), explained_.end());
  if (most > options.heritability) {
    throw InputError(fmt::format(
        "[simulate] expected a heritability of at least {:.3f}, which the {} loci "
        "explain, received {}",
        most, options.loci, options.heritability));
  }
}

void GeneticValues::add_effects(std::vector<double>& values,
                                const std::vector<double>& effects, double mean) const {
  const std::size_t traits = effects.size();
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    const double count = counts_[i] - mean;
    for (std::size_t t = 0; t < traits; ++t) {
      values[i * traits + t] += count * effects[t];
    }
  }
}

void GeneticValues::add_locus(const SimulatedChromosome& chromosome, std::int64_t locus,
                              std::int64_t first, std::int64_t last, Random& random) {
  // The first common SNP from a random one on, else the most common.
  const auto start = random.below(last - first);
  std::int64_t snp = -1;
  double best = -1;
  for (std::int64_t step = 0; step < last - first && best < kCommonFrequency; ++step) {
    const auto candidate = first + (start + step) % (last - first);
    allele_counts(chromosome, candidate, counts_);
    const double rarer = frequency_of_rarer(moments(counts_).first);
    if (rarer > best) {
      best = rarer;
      snp = candidate;
    }
  }
  allele_counts(chromosome, snp, counts_);
  const auto [mean, variance] = moments(counts_);
  if (variance <= 0) return;
  std::vector<double> sizes(static_cast<std::size_t>(options_.traits), 0.0);
  for (auto effect : planned_) {
    if (effect.locus != locus) continue;
    effect.snp = first_snp(options_, chromosome.number) + snp;
    effect.variant = chromosome.sites.variants[static_cast<std::size_t>(snp)];
    effect.frequency = mean / 2;
    effect.effect *= std::sqrt(effect.share / variance);
    sizes[static_cast<std::size_t>(effect.trait)] = effect.effect;
    effects_.push_back(effect);
  }
  add_effects(loci_, sizes, mean);
}

void GeneticValues::add_small_effect(const SimulatedChromosome& chromosome,
                                     std::int64_t snp, Random& random) {
  allele_counts(chromosome, snp, counts_);
  const auto [mean, variance] = moments(counts_);
  std::vector<double> sizes;
  for (std::int64_t t = 0; t < options_.traits; ++t) {
    sizes.push_back(random.normal() / std::sqrt(std::max(variance, 1e-12)));
  }
  if (variance > 0) add_effects(polygenic_, sizes, mean);
}

void GeneticValues::add(const SimulatedChromosome& chromosome) {
  const auto active = options_.chromosomes - options_.null_chromosomes;
  const auto number = chromosome.number, snps = chromosome.snps();
  if (number >= active) return;
  Random random = cohort_random(options_.seed, CohortPart::effects, number);
  const auto first_locus = options_.loci * number / active;
  const auto loci = options_.loci * (number + 1) / active - first_locus;
  for (std::int64_t i = 0; i < loci; ++i) {
    add_locus(chromosome, first_locus + i, snps * i / loci, snps * (i + 1) / loci,
              random);
  }
  if (options_.heritability <= 0) return;
  const auto small = std::min(snps, polygenic_snps_ * (number + 1) / active -
                                        polygenic_snps_ * number / active);
  for (std::int64_t i = 0; i < small; ++i) {
    const auto first = snps * i / small, last = snps * (i + 1) / small;
    add_small_effect(chromosome, first + random.below(last - first), random);
  }
}

std::vector<double> GeneticValues::finish() {
  const auto traits = static_cast<std::size_t>(options_.traits);
  if (options_.heritability <= 0) return loci_;
  const Matrix have = cholesky(centred_covariance(polygenic_, traits), traits);
  Matrix want =
      cholesky(equal_correlations(traits, options_.genetic_correlation), traits);
  for (std::size_t s = 0; s < traits; ++s) {
    const double deviation =
        std::sqrt(std::max(0.0, options_.heritability - explained_[s]));
    for (std::size_t t = 0; t < traits; ++t) want[s * traits + t] *= deviation;
  }
  for (std::size_t i = 0; i < polygenic_.size(); i += traits) {
    solve_lower(have, &polygenic_[i], traits);
    times_lower(want, &polygenic_[i], traits);
    for (std::size_t t = 0; t < traits; ++t) polygenic_[i + t] += loci_[i + t];
  }
  return polygenic_;
}

void bend_latents(double curvature, std::span<double> latents) {
  for (std::size_t t = 1; t < latents.size(); t += 2) {
    latents[t] = (latents[t] + curvature * curve((t / 2) % 3, latents[t - 1])) /
                 std::sqrt(1 + curvature * curvature);
  }
  for (std::size_t t = 0; t < latents.size(); ++t) {
    latents[t] = marginal(t % 4, latents[t]);
  }
}

SimulatedTraits simulate_traits(const SimulateCohortOptions& options,
                                const std::vector<SimulatedFamily>& families,
                                std::vector<double> genetic) {
  SimulatedTraits made;
  made.latents = draw_latents(options, families, genetic);
  made.genetic = std::move(genetic);
  made.biomarkers = made.latents;
  const auto traits = static_cast<std::size_t>(options.traits);
  for (std::size_t i = 0; i < made.biomarkers.size(); i += traits) {
    bend_latents(options.curvature, std::span(made.biomarkers).subspan(i, traits));
  }
  made.covariates = add_covariates(options, families, made.biomarkers);
  lose_values(options, made.biomarkers);
  return made;
}

}  // namespace kinflow
