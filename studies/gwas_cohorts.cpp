// Simulated cohorts: which of the loci that are there every method finds.
#include "studies/gwas_cohorts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "kinflow/genetics/inflation.h"
#include "kinflow/genetics/simulate_cohort.h"
#include "kinflow/report/paired_test.h"
#include "kinflow/report/text_table.h"
#include "kinflow/statistics/p_value.h"
#include "studies/gwas_trial.h"
#include "studies/score_table.h"

namespace kinflow {
namespace {

using nlohmann::json;

constexpr double kTypeOne = 1e-3;
/// A locus is true where a causal variant is as near as this to its index variant.
constexpr std::int64_t kNearBases = 250'000;

/// Families with heritable biomarkers and loci of which about half can be found. The
/// last chromosomes have no effects; elsewhere many variants have small ones.
SimulateCohortOptions power_options(std::uint64_t seed, bool quick) {
  SimulateCohortOptions options;
  options.seed = seed;
  options.people = quick ? 1000 : 2000;
  options.snps = 8000;
  options.spacing = 30'000;
  options.loci = 36;
  options.null_chromosomes = 6;
  options.relatives = 1;
  options.heritability = 0.6;
  options.populations = 2;
  options.fst = 0.02;
  return options;
}

/// The last half of the chromosomes has no effects, and variants that are almost
/// independent of each other, so that their p-values say much; there are enough of them
/// for a relationship without much noise.
SimulateCohortOptions null_options(std::uint64_t seed, bool quick,
                                   double family_environment) {
  auto options = power_options(seed, quick);
  options.snps = quick ? 10'000 : 40'000;
  options.populations = 3;
  options.fst = 0.05;
  options.null_chromosomes = options.chromosomes / 2;
  options.ld_length = options.spacing / 2;
  options.family_environment = family_environment;
  return options;
}

/// True where two variants are as near as kNearBases to each other.
bool are_near(const Variant& left, const Variant& right) {
  return left.chromosome == right.chromosome &&
         std::abs(left.position - right.position) <= kNearBases;
}

/// What a method found in a cohort whose causal loci are known.
json outcome_of(const GwasTrialMethod& method, const GwasInputs& inputs,
                const SimulatedCohort& cohort) {
  const auto& variants = inputs.genotypes().variants();
  const auto first_null = cohort.options.chromosomes - cohort.options.null_chromosomes;
  std::set<std::int64_t> found;
  std::int64_t wrong = 0, elsewhere = 0;
  for (const auto& locus : loci_of(method, inputs)) {
    const auto& index = variants[static_cast<std::size_t>(locus.index)];
    bool is_known = false;
    for (const auto& effect : cohort.effects) {
      if (!are_near(index, effect.variant)) continue;
      is_known = true;
      found.insert(effect.locus);
    }
    const bool is_null = std::stoll(index.chromosome) > first_null;
    wrong += is_null;
    elsewhere += !is_known && !is_null;
  }
  return {{"name", method.name},
          {"true", found.size()},
          {"false", wrong},
          {"elsewhere", elsewhere}};
}

/// The p-values of a method where nothing acts.
json null_outcome_of(const GwasTrialMethod& method) {
  std::int64_t tests = 0, hits = 0;
  double inflation = 0;
  for (const auto& log10_p : method.uniform_log10_p) {
    for (const double value : log10_p) {
      tests += !std::isnan(value);
      hits += p_of_log10(value) < kTypeOne;
    }
    inflation += genomic_inflation(log10_p, method.degrees) /
                 static_cast<double>(method.uniform_log10_p.size());
  }
  return {{"name", method.name},
          {"inflation", inflation},
          {"tests", tests},
          {"hits", hits}};
}

GwasTrial trial_of(const ExperimentOptions& options, const std::string& folder,
                   std::uint64_t seed) {
  GwasTrial trial;
  trial.data.bfile = folder + "/cohort";
  trial.data.traits.path = folder + "/pheno.tsv";
  trial.data.covariates.path = folder + "/covar.tsv";
  trial.data.variants.least_minor_frequency = 0.05;
  trial.data.variants.with_nonfounders = true;
  trial.data.leave_chromosome_out = true;
  trial.seed = seed;
  trial.device = options.device;
  trial.directory = folder + "/flows";
  trial.stop = options.stop;
  return trial;
}

/// Values of one method over all cohorts.
std::vector<double> values(const std::vector<json>& cohorts, const std::string& method,
                           const char* key) {
  std::vector<double> found;
  for (const auto& cohort : cohorts) {
    for (const auto& one : cohort.at("methods")) {
      if (one.at("name") == method) found.push_back(one.at(key).get<double>());
    }
  }
  return found;
}

double sum(const std::vector<double>& numbers) {
  double total = 0;
  for (const double number : numbers) total += number;
  return total;
}

std::string power_table(const std::vector<json>& cohorts) {
  TextTable table({{"method", Align::kLeft},
                   {"true loci of a cohort"},
                   {"all true loci"},
                   {"beside single"},
                   {"false loci"},
                   {"loci elsewhere"}});
  const double single = sum(values(cohorts, gwas_method::kSingle, "true"));
  for (const auto& method : gwas_methods()) {
    const auto found = values(cohorts, method, "true");
    table.add_row({method, with_error(found, 2), fmt::format("{:.0f}", sum(found)),
                   fmt::format("{:+.1f}%", 100 * (sum(found) / single - 1)),
                   fmt::format("{:.0f}", sum(values(cohorts, method, "false"))),
                   fmt::format("{:.0f}", sum(values(cohorts, method, "elsewhere")))});
  }
  return table.markdown();
}

struct Comparison {
  const char* method;
  const char* against;
};

std::vector<Comparison> comparisons() {
  using namespace gwas_method;
  return {{kAdjusted, kSingle},
          {kAdjusted, kRankNormal},
          {kAdjusted, kBaseline},
          {kAdjustedOfScores, kSingle},
          {kAdjustedOfScores, kRankNormal},
          {kAdjustedOfScores, kBaselineOfScores},
          {kAdjustedOfScores, kAdjusted},
          {kOwnOfScores, kSharedOfScores}};
}

std::string difference_table(const std::vector<json>& cohorts) {
  TextTable table({{"method", Align::kLeft},
                   {"against", Align::kLeft},
                   {"more true loci of a cohort"},
                   {"in percent"},
                   {"p"},
                   {"more false loci"}});
  for (const auto& [method, against] : comparisons()) {
    const auto found = values(cohorts, method, "true");
    const auto other = values(cohorts, against, "true");
    const auto test = paired_test(other, found);
    const auto wrong = paired_test(values(cohorts, against, "false"),
                                   values(cohorts, method, "false"));
    table.add_row(
        {method, against,
         fmt::format("{:.2f} ± {:.2f}", test.mean_difference, test.standard_error),
         fmt::format("{:+.1f}%", 100 * (sum(found) / sum(other) - 1)),
         p_value_text(test.p_value),
         fmt::format("{:.2f} ± {:.2f}", wrong.mean_difference, wrong.standard_error)});
  }
  return table.markdown();
}

std::vector<double> type_one(const std::vector<json>& cohorts,
                             const std::string& method) {
  auto rates = values(cohorts, method, "hits");
  const auto tests = values(cohorts, method, "tests");
  for (std::size_t i = 0; i < rates.size(); ++i) rates[i] /= tests[i];
  return rates;
}

std::string null_table(const std::vector<json>& cohorts) {
  TextTable table({{"chromosomes without effects", Align::kLeft},
                   {"tests"},
                   {"inflation"},
                   {"share of p < 0.001"}});
  for (const auto& method : gwas_methods()) {
    table.add_row({method, fmt::format("{:.0f}", sum(values(cohorts, method, "tests"))),
                   with_error(values(cohorts, method, "inflation"), 4),
                   with_error(type_one(cohorts, method), 5)});
  }
  return table.markdown();
}

std::string power_claims(const std::vector<json>& cohorts) {
  using namespace gwas_method;
  ClaimTable claims;
  const auto total = [&](const char* method, const char* key) {
    return sum(values(cohorts, method, key));
  };
  const auto add_pair = [&](const char* adjusted, const char* baseline) {
    const double gain = total(adjusted, "true") / total(kSingle, "true") - 1;
    claims.add(fmt::format("{}: more true loci than single", adjusted), "8%",
               fmt::format("{:.1f}%", 100 * gain), gain >= 0.08);
    const auto test = paired_test(values(cohorts, baseline, "true"),
                                  values(cohorts, adjusted, "true"));
    claims.add(fmt::format("{}: more true loci than {}", adjusted, baseline), "> 0",
               fmt::format("{:.2f} of a cohort, p = {}", test.mean_difference,
                           p_value_text(test.p_value)),
               test.mean_difference > 0);
    for (const auto* other : {kSingle, baseline}) {
      const auto wrong = paired_test(values(cohorts, other, "false"),
                                     values(cohorts, adjusted, "false"));
      claims.add(fmt::format("{}: no more false loci than {}", adjusted, other),
                 fmt::format("{:.0f}, or by chance (p > 0.05)", total(other, "false")),
                 fmt::format("{:.0f}, p = {}", total(adjusted, "false"),
                             p_value_text(wrong.p_value)),
                 wrong.mean_difference <= 0 || wrong.p_value > 0.05);
    }
  };
  add_pair(kAdjusted, kBaseline);
  add_pair(kAdjustedOfScores, kBaselineOfScores);
  return claims.markdown();
}

std::string null_claims(const std::vector<json>& cohorts) {
  ClaimTable claims;
  for (const auto& method : gwas_methods()) {
    const auto inflation =
        mean_and_standard_error(values(cohorts, method, "inflation"));
    claims.add("inflation: " + method, "1 ± 0.02",
               fmt::format("{:.4f} ± {:.4f}", inflation.mean, inflation.standard_error),
               std::abs(inflation.mean - 1) <= 0.02);
    const auto rate = mean_and_standard_error(type_one(cohorts, method));
    claims.add("share of p < 0.001: " + method, "0.001 within 2 errors",
               fmt::format("{:.5f} ± {:.5f}", rate.mean, rate.standard_error),
               std::abs(rate.mean - kTypeOne) <= 2 * rate.standard_error);
  }
  return claims.markdown();
}

}  // namespace

json run_power_cohort(const ExperimentOptions& options, std::uint64_t seed,
                      Logger& logger) {
  const auto folder = fmt::format("{}/cohort-{}", options.directory, seed);
  const auto cohort = write_simulated_cohort(folder, power_options(seed, options.quick),
                                             {.stop = options.stop});
  const auto trial = trial_of(options, folder, seed);
  GwasInputs inputs(trial.data);
  json result = {{"people", inputs.count()},
                 {"variants", inputs.tested()},
                 {"loci", cohort.options.loci},
                 {"methods", json::array()}};
  for (const auto& method : run_gwas_trial(trial, inputs, logger)) {
    result["methods"].push_back(outcome_of(method, inputs, cohort));
  }
  std::filesystem::remove_all(folder);
  return result;
}

json run_null_cohort(const ExperimentOptions& options, std::uint64_t seed,
                     double family_environment, Logger& logger) {
  const auto folder =
      fmt::format("{}/null-{}-{}", options.directory, family_environment, seed);
  const auto wanted = null_options(seed, options.quick, family_environment);
  write_simulated_cohort(folder, wanted, {.stop = options.stop});
  auto trial = trial_of(options, folder, seed);
  trial.data.variants.chromosomes = {fmt::format(
      "{}-{}", wanted.chromosomes - wanted.null_chromosomes + 1, wanted.chromosomes)};
  GwasInputs inputs(trial.data);
  json result = {{"people", inputs.count()},
                 {"variants", inputs.tested()},
                 {"methods", json::array()}};
  for (const auto& method : run_gwas_trial(trial, inputs, logger)) {
    result["methods"].push_back(null_outcome_of(method));
  }
  std::filesystem::remove_all(folder);
  return result;
}

std::string power_report(const std::vector<json>& cohorts) {
  const auto text = power_table(cohorts);
  if (cohorts.size() < 2) return text;
  return fmt::format("{}\n{}\n{}", text, difference_table(cohorts),
                     power_claims(cohorts));
}

std::string null_report(const std::vector<json>& cohorts,
                        const std::vector<json>& with_environment) {
  const auto text = fmt::format(
      "{}\nThe same with a family environment of {:.0f}% of the variance, which is in "
      "no "
      "relationship matrix, so that relatives are more alike than any of the models "
      "knows:\n\n{}",
      null_table(cohorts), 100 * kFamilyEnvironment, null_table(with_environment));
  if (cohorts.size() < 2) return text;
  return fmt::format("{}\n{}", text, null_claims(cohorts));
}

}  // namespace kinflow
