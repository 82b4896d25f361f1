// Biomarkers of a simulated cohort: what is read, how it is split, and the study.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <set>
#include <sstream>

#include "kinflow/genetics/simulate_cohort.h"
#include "studies/biomarker_sets.h"
#include "studies/experiments.h"
#include "tests/data/helpers.h"

namespace kinflow {
namespace {

// A cohort whose pheno.tsv has the covariates too, a place as text, and a person
// without age.
class Biomarkers : public testing::Test {
 protected:
  Biomarkers() {
    SimulateCohortOptions options;
    options.people = 90;
    options.snps = 300;
    options.chromosomes = 3;
    options.traits = 3;
    options.loci = 2;
    options.relatives = 0.8;
    options.seed = 3;
    write_simulated_cohort(source.folder, options);
    join_tables();
    source.traits = {"trait1", "trait2", "trait3"};
    source.covariates = {"age", "sex", "place"};
    source.autosomes = 3;
  }

  void join_tables() const {
    std::ifstream traits(source.folder + "/pheno.tsv"),
        covariates(source.folder + "/covar.tsv");
    std::string joined, trait_line, covariate_line;
    for (int line = 0; std::getline(traits, trait_line); ++line) {
      std::getline(covariates, covariate_line);
      std::istringstream cells(covariate_line);
      std::string family, individual, age, sex;
      cells >> family >> individual >> age >> sex;
      const std::string place = line == 0 ? "place" : line % 3 == 0 ? "north" : "south";
      if (line == 1) age = "NA";
      joined += fmt::format("{}\t{}\t{}\t{}\n", trait_line, age, sex, place);
    }
    traits.close();
    folder.write("c/pheno.tsv", joined);
  }

  TemporaryFolder folder;
  BiomarkerSource source{.folder = folder.path("c")};
};

TEST_F(Biomarkers, AreReadForTheSameRowsFromAllFiles) {
  const auto data = read_biomarkers(source);
  const auto rows = static_cast<std::size_t>(data.rows);
  EXPECT_EQ(data.individuals_in_table, 90);
  EXPECT_LT(data.rows, 90);
  EXPECT_GT(data.rows, 70);
  EXPECT_EQ(data.values.size(), rows * 3);
  // Intercept, age, whether it is missing, sex, place.
  EXPECT_EQ(data.design_columns, 5);
  EXPECT_EQ(data.design.size(), rows * 5);
  EXPECT_EQ(data.snps.rows, data.rows);
  EXPECT_NEAR(mean_diagonal(data.snps), 1, 1e-12);
  EXPECT_EQ(data.pedigree.rows, data.rows);
  EXPECT_EQ(data.components.size(), rows * kGeneticComponents);
  EXPECT_GT(data.families, 10);
  EXPECT_LT(data.families, data.rows);
}

TEST_F(Biomarkers, RelativesByPedigreeAreRelativesBySnps) {
  const auto data = read_biomarkers(source);
  double related = 0, pairs = 0;
  for (std::int64_t i = 0; i < data.rows; ++i) {
    for (std::int64_t j = 0; j < i; ++j) {
      if (value_at(data.pedigree, i, j) != 0.5) continue;
      related += value_at(data.snps, i, j);
      pairs += 1;
    }
  }
  ASSERT_GT(pairs, 5);
  EXPECT_GT(related / pairs, 0.3);
}

TEST_F(Biomarkers, SplitsHoldWholeFamiliesOut) {
  const auto data = read_biomarkers(source);
  const auto parts = split_families(data, 4000);
  const auto families = [&](const std::vector<std::int64_t>& rows) {
    std::set<std::int64_t> all;
    for (const auto row : rows) {
      all.insert(data.family_of_row[static_cast<std::size_t>(row)]);
    }
    return all.size();
  };
  EXPECT_EQ(static_cast<std::int64_t>(families(parts.train) + families(parts.valid) +
                                      families(parts.test)),
            data.families);
  EXPECT_NEAR(static_cast<double>(parts.test.size()),
              0.15 * static_cast<double>(data.rows), 4);
}

TEST_F(Biomarkers, SetsAreFreedOfCovariatesAndScaledByTheTrainingRows) {
  const auto data = std::make_shared<const BiomarkerData>(read_biomarkers(source));
  Logger silent;
  MethodSettings settings;
  settings.quick = true;
  const auto set = plan_biomarker_sets(data, settings, {4000}, silent)[0].make();
  const auto ready = set.rows_for(set.methods.front());
  const auto& train = ready.rows.train.data;
  EXPECT_LT(train.mean(0).abs().max().item<double>(), 1e-10);
  EXPECT_LT((train.square().mean(0) - 1).abs().max().item<double>(), 1e-10);
  EXPECT_EQ(train.size(0) + ready.rows.valid.data.size(0) + set.test.data.size(0),
            data->rows);
  for (const auto& method : set.methods) {
    const auto rows = set.rows_for(method);
    const auto& request = method.runs.front();
    if (method.one_table) {
      EXPECT_FALSE(rows.rows.has_valid_table) << method.name;
      EXPECT_EQ(rows.rows.relations.relationships.empty(),
                kind_of(request.data.dependence) == DependenceKind::independent)
          << method.name;
      continue;
    }
    const bool is_adjusted = request.train.schedule != Schedule::baseline;
    EXPECT_EQ(rows.dependence.law->parameter_count(), is_adjusted ? 1 : 0)
        << method.name;
  }
}

TEST_F(Biomarkers, StudyReportsEverySourceAndGoesOnFromItsFolder) {
  ExperimentOptions options;
  options.directory = folder.path("study");
  options.seeds = 2;
  options.quick = true;
  Logger silent;
  const auto report = reproduce_biomarkers(options, source, silent);
  for (const auto* text :
       {"## Biomarkers", "Left out by --quick", "3 traits", "| with all traits",
        "ours: SNPs: grid (pairs)", "ours: components: alternating (pairs)",
        "ours: pedigree: joint (pairs)", "kinflow: pedigree: default",
        "SNPs: grid (pairs) below baseline", "kinflow: unadjusted: default",
        "no validation table: pedigree, lambda of each latent",
        "| pedigree, lambda of each latent: one table, cross-fitted | pedigree, shared "
        "lambda: one table, cross-fitted |"}) {
    EXPECT_NE(report.markdown.find(text), std::string::npos) << text;
  }
  EXPECT_NE(content_of(options.directory + "/biomarkers.md").find(report.markdown),
            std::string::npos);
  const auto scores = content_of(options.directory + "/scores.csv");
  EXPECT_NE(scores.find("biomarkers-4001,\"SNPs: grid (pairs)\",12,"),
            std::string::npos)
      << scores;
  reproduce_biomarkers(options, source, silent);
  EXPECT_EQ(content_of(options.directory + "/scores.csv"), scores);
  source.covariates = {"age"};
  EXPECT_NE(input_error_of([&] {
              reproduce_biomarkers(options, source, silent);
            }).find("covariates"),
            std::string::npos);
}

TEST_F(Biomarkers, RefusesFoldersThatMissSomething) {
  const auto error = [&] { return input_error_of([&] { read_biomarkers(source); }); };
  source.traits = {"trait1", "height"};
  EXPECT_NE(error().find("height"), std::string::npos);
  source.traits = {"trait1", "trait2"};
  folder.write("c/other.bed", "");
  EXPECT_NE(error().find("expected one .bed file, found several"), std::string::npos);
  source.folder = folder.path("nowhere");
  EXPECT_NE(error().find("cannot read the folder"), std::string::npos);
  source.folder = folder.path();
  EXPECT_NE(error().find("expected one .bed file, found none"), std::string::npos);
}

}  // namespace
}  // namespace kinflow
