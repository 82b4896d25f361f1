// Simulated cohorts: which of the loci that are there every method finds.
#include "kinflow/reproduce/gwas_cohorts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "kinflow/genetics/inflation.h"
#include "kinflow/genetics/simulate_cohort.h"
#include "kinflow/report/paired_test.h"
#include "kinflow/report/text_table.h"
#include "kinflow/reproduce/gwas_trial.h"
#include "kinflow/reproduce/score_table.h"

namespace kinflow {
namespace {

using nlohmann::json;

constexpr double kTypeOne = 1e-3;
/// A locus is true where a causal variant is as near as this to its index variant.
constexpr std::int64_t kNearBases = 500'000;

SimulateCohortOptions cohort_options(std::uint64_t seed, bool quick) {
  SimulateCohortOptions options;
  options.seed = seed;
  options.null_chromosomes = 6;
  if (quick) options.people = 800;
  return options;
}

/// Variants of a study, by number, that are as near as kNearBases to each other.
bool are_near(const Variant& left, const Variant& right) {
  return left.chromosome == right.chromosome &&
         std::abs(left.position - right.position) <= kNearBases;
}

/// What a method found in a cohort whose causal loci are known.
json outcome_of(const GwasTrialMethod& method, const GwasInputs& inputs,
                const SimulatedCohort& cohort) {
  const auto& variants = inputs.genotypes().variants();
  std::set<std::int64_t> found;
  std::int64_t wrong = 0;
  for (const auto& locus : loci_of(method, inputs)) {
    bool is_true = false;
    for (const auto& effect : cohort.effects) {
      if (!are_near(variants[static_cast<std::size_t>(locus.index)], effect.variant)) {
        continue;
      }
      is_true = true;
      found.insert(effect.locus);
    }
    wrong += !is_true;
  }
  // Chromosomes without effects, where every p-value is one of chance.
  const auto first_null = cohort.options.chromosomes - cohort.options.null_chromosomes;
  const auto is_null = [&](std::size_t variant) {
    return std::stoll(variants[variant].chromosome) > first_null;
  };
  std::int64_t tests = 0, hits = 0;
  double inflation = 0;
  for (const auto& p : method.uniform_p) {
    std::vector<double> null_p;
    for (std::size_t v = 0; v < p.size(); ++v) {
      if (!std::isnan(p[v]) && is_null(v)) null_p.push_back(p[v]);
    }
    tests += static_cast<std::int64_t>(null_p.size());
    hits += std::count_if(null_p.begin(), null_p.end(),
                          [](double value) { return value < kTypeOne; });
    inflation += genomic_inflation(null_p, method.degrees) /
                 static_cast<double>(method.uniform_p.size());
  }
  return {{"name", method.name},    {"true", found.size()}, {"false", wrong},
          {"inflation", inflation}, {"null_tests", tests},  {"null_hits", hits}};
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

std::string with_error(const std::vector<double>& numbers, int digits) {
  if (numbers.size() < 2) return fmt::format("{:.{}f}", numbers.front(), digits);
  const auto mean = mean_and_standard_error(numbers);
  return fmt::format("{:.{}f} ± {:.{}f}", mean.mean, digits, mean.standard_error,
                     digits);
}

std::string power_table(const std::vector<json>& cohorts) {
  TextTable table({{"method", Align::kLeft},
                   {"true loci of a cohort"},
                   {"all true loci"},
                   {"beside single"},
                   {"false loci"}});
  const double single = sum(values(cohorts, gwas_method::kSingle, "true"));
  for (const auto& method : gwas_methods()) {
    const auto found = values(cohorts, method, "true");
    table.add_row({method, with_error(found, 2), fmt::format("{:.0f}", sum(found)),
                   fmt::format("{:+.1f}%", 100 * (sum(found) / single - 1)),
                   fmt::format("{:.0f}", sum(values(cohorts, method, "false")))});
  }
  return table.markdown();
}

std::string difference_table(const std::vector<json>& cohorts) {
  TextTable table({{"adjusted flow against", Align::kLeft},
                   {"more true loci"},
                   {"p"},
                   {"more false loci"}});
  const auto adjusted = values(cohorts, gwas_method::kAdjusted, "true");
  const auto wrong = values(cohorts, gwas_method::kAdjusted, "false");
  for (const auto& method : gwas_methods()) {
    if (method == gwas_method::kAdjusted) continue;
    const auto test = paired_test(values(cohorts, method, "true"), adjusted);
    const auto more_wrong = paired_test(values(cohorts, method, "false"), wrong);
    table.add_row(
        {method,
         fmt::format("{:.2f} ± {:.2f}", test.mean_difference, test.standard_error),
         p_value_text(test.p_value),
         fmt::format("{:.2f} ± {:.2f}", more_wrong.mean_difference,
                     more_wrong.standard_error)});
  }
  return table.markdown();
}

std::vector<double> type_one(const std::vector<json>& cohorts,
                             const std::string& method) {
  auto rates = values(cohorts, method, "null_hits");
  const auto tests = values(cohorts, method, "null_tests");
  for (std::size_t i = 0; i < rates.size(); ++i) rates[i] /= tests[i];
  return rates;
}

std::string null_table(const std::vector<json>& cohorts) {
  TextTable table({{"chromosomes without effects", Align::kLeft},
                   {"tests"},
                   {"inflation"},
                   {"share of p < 0.001"}});
  for (const auto& method : gwas_methods()) {
    table.add_row({method,
                   fmt::format("{:.0f}", sum(values(cohorts, method, "null_tests"))),
                   with_error(values(cohorts, method, "inflation"), 4),
                   with_error(type_one(cohorts, method), 5)});
  }
  return table.markdown();
}

std::string claim_table(const std::vector<json>& cohorts) {
  TextTable table(
      {{"claim", Align::kLeft}, {"bar"}, {"measured"}, {"reached", Align::kLeft}});
  const auto add = [&](const std::string& claim, const std::string& bar,
                       const std::string& measured, bool is_reached) {
    table.add_row({claim, bar, measured, is_reached ? "yes" : "no"});
  };
  const auto total = [&](const char* method, const char* key) {
    return sum(values(cohorts, method, key));
  };
  const double gain =
      total(gwas_method::kAdjusted, "true") / total(gwas_method::kSingle, "true") - 1;
  add("adjusted flow: more true loci than single", "8%",
      fmt::format("{:.1f}%", 100 * gain), gain >= 0.08);
  const auto beside = paired_test(values(cohorts, gwas_method::kBaseline, "true"),
                                  values(cohorts, gwas_method::kAdjusted, "true"));
  add("adjusted flow: more true loci than the baseline flow", "> 0",
      fmt::format("{:.2f} a cohort, p = {}", beside.mean_difference,
                  p_value_text(beside.p_value)),
      beside.mean_difference > 0);
  for (const auto* other : {gwas_method::kSingle, gwas_method::kBaseline}) {
    add(fmt::format("adjusted flow: false loci, {} has {:.0f}", other,
                    total(other, "false")),
        fmt::format("<= {:.0f}", total(other, "false")),
        fmt::format("{:.0f}", total(gwas_method::kAdjusted, "false")),
        total(gwas_method::kAdjusted, "false") <= total(other, "false"));
  }
  for (const auto& method : gwas_methods()) {
    const auto inflation =
        mean_and_standard_error(values(cohorts, method, "inflation"));
    add("inflation under the null: " + method, "1 ± 0.02",
        fmt::format("{:.4f}", inflation.mean), std::abs(inflation.mean - 1) <= 0.02);
    const auto rate = mean_and_standard_error(type_one(cohorts, method));
    add("share of p < 0.001 under the null: " + method, "0.001 within 2 errors",
        fmt::format("{:.5f} ± {:.5f}", rate.mean, rate.standard_error),
        std::abs(rate.mean - kTypeOne) <= 2 * rate.standard_error);
  }
  return table.markdown();
}

}  // namespace

json run_gwas_cohort(const ExperimentOptions& options, std::uint64_t seed,
                     Logger& logger) {
  const auto folder = options.directory + "/cohort";
  const auto cohort =
      write_simulated_cohort(folder, cohort_options(seed, options.quick),
                             {.threads = options.threads, .stop = options.stop});
  GwasTrial trial;
  trial.data.bfile = folder + "/cohort";
  trial.data.traits.path = folder + "/pheno.tsv";
  trial.data.covariates.path = folder + "/covar.tsv";
  trial.data.variants.least_minor_frequency = 0.05;
  trial.data.variants.with_nonfounders = true;
  trial.data.leave_chromosome_out = true;
  trial.flow = gwas_flow(options, seed);
  trial.directory = folder + "/flows";
  trial.threads = options.threads;
  trial.stop = options.stop;
  GwasInputs inputs(trial.data, logger);
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

std::string gwas_cohort_report(const std::vector<json>& cohorts) {
  std::string text = power_table(cohorts);
  if (cohorts.size() < 2) return text;
  return fmt::format("{}\n{}\n{}\n{}", text, difference_table(cohorts),
                     null_table(cohorts), claim_table(cohorts));
}

}  // namespace kinflow
