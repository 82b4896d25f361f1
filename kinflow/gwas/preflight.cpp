// Counts, correlations and estimates.
#include "kinflow/gwas/preflight.h"

#include <cblas.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <span>

#include "kinflow/core/blas_threads.h"
#include "kinflow/core/clock.h"
#include "kinflow/core/counted.h"
#include "kinflow/core/in_quotes.h"
#include "kinflow/core/memory.h"
#include "kinflow/data/check_relationship.h"
#include "kinflow/genetics/association_scan.h"
#include "kinflow/genetics/trait_values.h"
#include "kinflow/gwas/tied_traits.h"
#include "kinflow/gwas/trait_sets.h"

namespace kinflow {
namespace {

/// Products and sums a second of this machine's matrix products, in one thread.
template <typename Number, typename Product>
double product_rate(const Product& product) {
  constexpr int kOrder = 512;
  const std::vector<Number> left(kOrder * kOrder, 1), right(kOrder * kOrder, 1);
  std::vector<Number> result(kOrder * kOrder);
  // The best of several: the first one prepares, and another process may disturb one.
  constexpr int kProducts = 5;
  double seconds = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kProducts; ++i) {
    const auto start = Clock::now();
    product(kOrder, left.data(), right.data(), result.data());
    seconds = std::min(seconds, seconds_since(start));
  }
  return 2.0 * kOrder * kOrder * kOrder / std::max(seconds, 1e-6);
}

double float_rate() {
  return product_rate<float>([](int n, const float* a, const float* b, float* c) {
    cblas_sgemm(CblasColMajor, CblasTrans, CblasNoTrans, n, n, n, 1, a, n, b, n, 0, c,
                n);
  });
}

double double_rate() {
  return product_rate<double>([](int n, const double* a, const double* b, double* c) {
    cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, n, n, n, 1, a, n, b, n, 0, c,
                n);
  });
}

void warn_of_traits(const GwasInputs& inputs, const TraitCorrelations& together,
                    Logger& logger) {
  constexpr double kIllConditioned = 1e4;
  const auto traits = static_cast<std::int64_t>(inputs.people().traits.names.size());
  if (together.condition > kIllConditioned) {
    logger.warning(fmt::format(
        "the traits are close to a linear combination of each other (condition "
        "{:.3g}); the test that they share will be unstable",
        together.condition));
  }
  const auto columns = traits_as_read(inputs);
  const auto ids = inputs.ids();
  for (const auto& far : far_values(columns)) {
    const auto& id = ids[static_cast<std::size_t>(far.row)];
    logger.warning(
        describe(far, columns, fmt::format("{}: {}", columns.source, in_quotes(id))));
  }
  if (const auto advised = 100 * traits * traits;
      traits > 1 && inputs.count() < advised) {
    logger.warning(fmt::format(
        "{} people for {} traits: a joint model of so many traits is better served by "
        "{} people or more",
        inputs.count(), traits, advised));
  }
}

void warn_of_covariates(const GwasInputs& inputs, TestKind test, Logger& logger) {
  const auto& covariates = inputs.people().covariates;
  const auto people = static_cast<std::size_t>(inputs.count());
  const auto ids = inputs.ids();
  for (std::size_t i = 0; i < covariates.names.size(); ++i) {
    const auto values = std::span(covariates.values).subspan(i * people, people);
    const ColumnsView column{.source = inputs.data().covariates.path,
                             .names = {covariates.names[i]},
                             .rows = inputs.count(),
                             .values = values.data(),
                             .row_stride = 1,
                             .column_stride = 1};
    for (const auto& far : far_values(column)) {
      const auto& id = ids[static_cast<std::size_t>(far.row)];
      logger.warning(
          describe(far, column, fmt::format("{}: {}", column.source, in_quotes(id))));
    }
  }
  // Variances at their maximum of the likelihood do not count the columns that were
  // estimated, so that statistics are larger by this factor.
  constexpr double kMuchInflation = 1.05;
  const auto left =
      static_cast<double>(people) - static_cast<double>(covariates.names.size() + 1);
  const double inflation = static_cast<double>(people) / std::max(left, 1.0);
  if (test != TestKind::score || inflation < kMuchInflation) return;
  logger.warning(fmt::format(
      "{} for {} people: statistics of the score test come out {:.2f} times too large "
      "under the null, and p-values too small; fewer columns, or --test wald, which "
      "estimates variances by REML and so allows for them",
      counted(covariates.names.size(), "covariate column"), people, inflation));
}

/// Warns of calls of X, Y and MT that are not used as they are.
void warn_of_haploid_calls(const GwasInputs& inputs, Logger& logger) {
  const auto& calls = inputs.haploid_calls();
  const auto warn_of = [&](std::int64_t count, const std::string& what) {
    if (count > 0) logger.warning(fmt::format("{} {}", count, what));
  };
  warn_of(calls.x_heterozygous,
          fmt::format("heterozygous calls of males in {} variants of X are taken as "
                      "missing, and males count 0 or 2 there; variants of the "
                      "pseudoautosomal regions should be named XY (plink2 --split-par)",
                      calls.x_variants));
  for (const auto& group : inputs.groups()) {
    for (const auto& part : group.parts) {
      if (!part.adds_sex) continue;
      logger.info(fmt::format(
          "{} variants of X are tested with the sex of {}.fam as one more covariate",
          part.variants.size(), inputs.data().bfile));
    }
  }
  warn_of(calls.unknown_sex,
          fmt::format("of {} people have no sex in {}.fam and are left out at the {} "
                      "variants of X and Y",
                      inputs.count(), inputs.data().bfile,
                      calls.x_variants + calls.y_variants));
  warn_of(calls.y_heterozygous,
          "heterozygous calls of males in Y are taken as missing");
  warn_of(calls.y_of_others,
          "calls of people who are not male in Y are taken as missing");
  warn_of(
      calls.mt_mixed,
      "mixed calls in MT count as half; plink1.9 --set-mixed-mt-missing drops them");
}

/// Memory that the process has taken so far: itself, its libraries and the tables.
double bytes_held() {
  std::ifstream file("/proc/self/status");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  return value_of_line(text, "VmRSS").value_or(0);
}

}  // namespace

GwasNeeds estimate_needs(const GwasRequest& request, const GwasInputs& inputs) {
  const BlasInCallingThread one_thread;
  // In units of n^3 products and sums: a symmetric eigenvalue problem with vectors.
  constexpr double kDecomposition = 8;
  // Of n^2 for a variant: its rotation, which tables make cheaper than a product.
  constexpr double kRotation = 0.9;
  // Seconds of a Wald test for each person and pair of traits, beside products of 5e10
  // a second.
  constexpr double kWald = 1.1e-8 * 5e10;
  // Columns of covariates from which on they decide its time.
  constexpr double kManyCovariates = 9;
  constexpr double kBytesOfGenotype = 11;  // of a block, with all that is made of it
  constexpr double kBytesOfVariant = 150;  // its names and p-values
  const auto n = static_cast<double>(inputs.count());
  const auto tested = static_cast<double>(inputs.tested());
  const auto traits = static_cast<double>(inputs.people().traits.names.size());
  const auto threads = static_cast<double>(request.threads);
  const auto groups = static_cast<double>(inputs.groups().size());
  const double single = float_rate(), full = double_rate();
  GwasNeeds needs;
  double matrices = 3.5;
  // Eigenvectors that a second part of a group needs.
  const bool has_parts =
      std::any_of(inputs.groups().begin(), inputs.groups().end(),
                  [](const VariantGroup& group) { return group.parts.size() > 1; });
  if (has_parts) matrices += 1;
  if (inputs.relationship_is_computed() && request.data.leave_chromosome_out) {
    matrices += 2;
  }
  needs.bytes = 8 * n * n * matrices + kScanBlock * threads * n * kBytesOfGenotype +
                static_cast<double>(inputs.variants().in_file) * kBytesOfVariant;
  needs.seconds = groups * kDecomposition * n * n * n / full +
                  kRotation * n * n * tested / single / threads;
  if (inputs.relationship_is_computed()) {
    const auto variants = static_cast<double>(inputs.relationship_variants().size());
    needs.seconds += n * n * variants / single / threads;
  }
  if (request.test == TestKind::wald) {
    const auto columns = static_cast<double>(inputs.people().covariates.names.size());
    needs.seconds += kWald * n * traits * traits * tested / full / threads *
                     (1 + std::pow(columns / kManyCovariates, 2.5));
  }
  return needs;
}

void report_before(const GwasRequest& request, const GwasInputs& inputs,
                   const PreflightTables& tables, Logger& logger) {
  const auto needs = estimate_needs(request, inputs);
  require_memory(
      needs.bytes, request.data.bfile + ":",
      fmt::format("the relationship of {} people and its eigenvectors", inputs.count()),
      "fewer people (--keep, --remove) need less");
  const auto& people = inputs.people();
  const auto together = trait_correlations(
      people.traits, with_intercept(people.covariates, inputs.count()), inputs.count());
  for (const auto& note : inputs.notes()) logger.info(note);
  if (tables) {
    for (const auto& table : tables(inputs, together)) logger.info(table);
  }
  logger.info(fmt::format(
      "{} people, {} (condition of their correlations {:.3g}), {}, {} to test",
      inputs.count(), counted(people.traits.names.size(), "trait"), together.condition,
      counted(people.covariates.names.size(), "covariate column"),
      counted(inputs.tested(), "variant")));
  if (inputs.relationship_is_computed()) {
    const auto& filters = inputs.data().variants;
    const auto& others = inputs.not_in_relationship();
    logger.info(fmt::format(
        "relationship: {} of the autosomes{}; {} of {} have no part in it",
        counted(inputs.relationship_variants().size(), "variant"),
        filters.allow_extra_chr ? " and of other names"
                                : fmt::format(" (1 to {}) and XY", filters.autosomes),
        others.removed, others.filter));
  }
  warn_of_traits(inputs, together, logger);
  warn_of_covariates(inputs, request.test, logger);
  warn_of_shapes(inputs, request.transform, logger);
  warn_of_haploid_calls(inputs, logger);
  logger.info(fmt::format(
      "needs about {} of memory and {}{}", format_bytes(bytes_held() + needs.bytes),
      format_rough_duration(needs.seconds),
      request.transform == TraitTransform::flow ? ", the training of the flow aside"
                                                : ""));
}

void report_relationship(const RelationshipFile& relationship, Logger& logger) {
  constexpr std::size_t kShown = 3;
  const auto check = check_relationship(relationship, {.factored_rows = 0});
  logger.info(fmt::format("{}: {} people, mean diagonal {:.4f} ({:.4f} to {:.4f})",
                          relationship.source, check.rows, check.mean_diagonal,
                          check.smallest_diagonal, check.largest_diagonal));
  if (check.twin_count == 0) return;
  std::string pairs;
  for (std::size_t i = 0; i < std::min(kShown, check.twins.size()); ++i) {
    const auto& twins = check.twins[i];
    const auto name = [&](std::int64_t row) {
      return in_quotes(relationship.ids[static_cast<std::size_t>(row)]);
    };
    pairs += fmt::format("{}{} and {}", i == 0 ? "" : ", ", name(twins.row),
                         name(twins.column));
  }
  logger.warning(fmt::format("{} of people as related as duplicates or twins: {}{}",
                             counted(check.twin_count, "pair"), pairs,
                             check.twins.size() > kShown ? ", ..." : ""));
}

}  // namespace kinflow
