// The experiment of association studies: its methods on a small cohort, and its report.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kinflow/genetics/simulate_cohort.h"
#include "report_rows.h"
#include "studies/gwas_cohorts.h"
#include "studies/gwas_groups.h"
#include "studies/gwas_trial.h"
#include "tests/data/helpers.h"

namespace kinflow {
namespace {

using nlohmann::json;

TEST(GwasTrial, TestsAllMethodsOnTheSameVariants) {
  const TemporaryFolder folder;
  SimulateCohortOptions options;
  options.people = 150;
  options.snps = 200;
  options.chromosomes = 3;
  options.loci = 2;
  options.traits = 2;
  options.polygenic_snps = 50;
  write_simulated_cohort(folder.path("c"), options);
  GwasTrial trial;
  trial.data.bfile = folder.path("c/cohort");
  trial.data.traits.path = folder.path("c/pheno.tsv");
  trial.data.covariates.path = folder.path("c/covar.tsv");
  trial.data.variants.least_minor_frequency = 0.05;
  trial.data.variants.with_nonfounders = true;
  trial.data.leave_chromosome_out = true;
  trial.directory = folder.path("flows");
  Logger silent;
  GwasInputs inputs(trial.data);
  const auto methods = run_gwas_trial(trial, inputs, silent);

  std::vector<std::string> names;
  for (const auto& method : methods) {
    names.push_back(method.name);
    ASSERT_EQ(method.log10_p.size(), inputs.genotypes().variants().size());
    const auto tested = std::count_if(method.log10_p.begin(), method.log10_p.end(),
                                      [](double p) { return !std::isnan(p); });
    EXPECT_EQ(tested, inputs.tested()) << method.name;
  }
  EXPECT_EQ(names, gwas_methods());
  const auto& single = methods.front();
  ASSERT_EQ(single.uniform_log10_p.size(), 2U);
  for (const auto variant : inputs.variants().rows) {
    const auto at = static_cast<std::size_t>(variant);
    const double largest =
        std::max(single.uniform_log10_p[0][at], single.uniform_log10_p[1][at]);
    EXPECT_DOUBLE_EQ(single.log10_p[at], std::max(0.0, largest - std::log10(2)));
  }
  // A flow that knows the relationship is another one than a flow that does not.
  const auto first = static_cast<std::size_t>(inputs.variants().rows.front());
  EXPECT_NE(methods[2].log10_p[first], methods[3].log10_p[first]);
  EXPECT_NE(methods[3].log10_p[first], methods[5].log10_p[first]);
  // The default is one of the two ways to adjust it, and they differ.
  const auto p_of = [&](std::size_t method) { return methods[method].log10_p[first]; };
  EXPECT_NE(p_of(6), p_of(7));
  EXPECT_TRUE(p_of(5) == p_of(6) || p_of(5) == p_of(7));
}

/// A cohort in which methods found these numbers of loci.
json cohort(const std::vector<int>& found, const std::vector<int>& wrong) {
  json methods = json::array();
  const auto names = gwas_methods();
  for (std::size_t m = 0; m < names.size(); ++m) {
    methods.push_back({{"name", names[m]},
                       {"true", found[m]},
                       {"false", wrong[m]},
                       {"elsewhere", 1}});
  }
  return {{"methods", methods}};
}

TEST(GwasReport, SaysWhichClaimsHold) {
  const std::vector<json> good = {
      cohort({10, 12, 11, 13, 15, 16, 15, 16}, {0, 0, 1, 0, 0, 0, 0, 0}),
      cohort({10, 12, 12, 13, 15, 16, 14, 16}, {1, 0, 0, 0, 0, 0, 0, 0})};
  const auto report = power_report(good);
  const auto more = row_of(report, "adjusted flow: more true loci than single");
  EXPECT_NE(more.find("30.0% | yes"), more.npos) << report;
  const auto baseline =
      row_of(report, "adjusted flow: more true loci than baseline flow");
  EXPECT_NE(baseline.find("1.50 of a cohort"), baseline.npos) << report;
  EXPECT_NE(baseline.find("| yes |"), baseline.npos) << report;
  const auto own =
      row_of(report,
             "adjusted flow of rank-normal, lambda of each latent | adjusted "
             "flow of rank-normal, shared lambda");
  EXPECT_NE(own.find("| 1.50 ± 0.50 |"), own.npos) << report;

  const std::vector<json> bad = {
      cohort({10, 12, 14, 10, 15, 14, 15, 14}, {0, 0, 0, 3, 0, 0, 0, 0}),
      cohort({10, 12, 14, 11, 15, 14, 15, 14}, {0, 0, 0, 3, 0, 0, 0, 0})};
  const auto refuted = power_report(bad);
  for (const auto* claim : {"adjusted flow: more true loci than single",
                            "adjusted flow: more true loci than baseline flow",
                            "adjusted flow: no more false loci than single",
                            "adjusted flow: no more false loci than baseline flow"}) {
    const auto row = row_of(refuted, claim);
    EXPECT_NE(row.find("| no |"), row.npos) << claim << "\n" << refuted;
  }
}

TEST(GwasReport, ComparesInflationAndTypeOneErrorsWithTheirBars) {
  const auto with = [](double inflation, int hits) {
    json methods = json::array();
    for (const auto& name : gwas_methods()) {
      methods.push_back(
          {{"name", name}, {"inflation", inflation}, {"tests", 10000}, {"hits", hits}});
    }
    return json{{"methods", methods}};
  };
  const std::vector<json> uniform = {with(1.01, 8), with(0.99, 12)};
  const std::vector<json> inflated = {with(1.05, 50), with(1.05, 52)};
  const auto good = null_report(uniform, inflated);
  EXPECT_NE(row_of(good, "inflation: single").find("| yes |"), std::string::npos);
  EXPECT_NE(row_of(good, "share of p < 0.001: single").find("| yes |"),
            std::string::npos);
  const auto bad = null_report(inflated, uniform);
  EXPECT_NE(row_of(bad, "inflation: single").find("| no |"), std::string::npos);
  EXPECT_NE(row_of(bad, "share of p < 0.001: single").find("| no |"),
            std::string::npos);
}

TEST(GwasReport, AveragesGroupsOverTrainings) {
  const std::vector<TraitGroup> groups = {{"liver", {"a", "b"}}, {"bone", {"c"}}};
  const auto study = [](const char* group, int loci) {
    json methods;
    for (const auto& name : gwas_methods()) methods[name] = loci;
    return json{
        {"group", group}, {"people", 100}, {"variants", 5}, {"methods", methods}};
  };
  const auto report = gwas_group_report(groups, {study("liver", 2), study("liver", 3),
                                                 study("bone", 1), study("bone", 1)});
  EXPECT_NE(row_of(report, "liver").find("| 2.5 | 2.5 |"), std::string::npos) << report;
  EXPECT_NE(row_of(report, "all").find("| 3.5 | 3.5 |"), std::string::npos) << report;
}

}  // namespace
}  // namespace kinflow
