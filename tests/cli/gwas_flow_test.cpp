// Association studies of the latents of a flow, through the real binary.
#include "gwas_cohort.h"

namespace kinflow::cli {
namespace {

namespace fs = std::filesystem;

TEST_F(Gwas, TestsTheLatentsOfAFlow) {
  for (const std::string schedule : {"baseline", "joint", "alternating"}) {
    SCOPED_TRACE(schedule);
    run_well(cohort_.gwas(path("a"), "trait1,trait2",
                          cohort_.covariates() + small_flow() +
                              Arguments{"--schedule", schedule, "--overwrite"}));
    EXPECT_EQ(fs::exists(path("a.flow.grm.bin")), schedule != "baseline");
    EXPECT_TRUE(fs::exists(path("a.model/model.safetensors")));
    // The same latents, tested as they are.
    run_well(Arguments{"gwas", "--bfile", cohort_.bfile, "--pheno", path("a.pheno"),
                       "--keep", path("a.id"), "--out", path("b")} +
             cohort_.covariates() + kPlain + kOverwrite);
    expect_same_p(p("a"), p("b"), 1e-6);
  }
}

TEST_F(Gwas, ALatentHasItsOwnLambdaWhereThisIsLikelierOrAskedFor) {
  const auto log_of = [&](const std::string& name, const Arguments& more) {
    run_well(cohort_.gwas(path(name), "trait1,trait2", small_flow() + more));
    return content_of(path(name + ".log"));
  };
  const auto chosen = log_of("a", {});
  EXPECT_NE(chosen.find("chosen by the likelihood less the number of parameters"),
            chosen.npos)
      << chosen;
  const auto own = log_of("b", {"--share-per-latent"});
  EXPECT_NE(own.find("2 dependence parameters"), own.npos) << own;
  const auto shared = log_of("c", {"--no-share-per-latent"});
  EXPECT_NE(shared.find("1 dependence parameter"), shared.npos) << shared;
  EXPECT_NE(p("b"), p("c"));
  EXPECT_TRUE(p("a") == p("b") || p("a") == p("c"));
  // The latents are those of the null model, which has a heritability of each.
  EXPECT_NE(own.find("heritability, flow: u1 "), own.npos) << own;
  expect_refusal(folder_,
                 cohort_.gwas(path("d"), "trait1,trait2",
                              small_flow() + Arguments{"--schedule", "baseline",
                                                       "--share-per-latent"}),
                 {"--share-per-latent", "--schedule baseline"});
  expect_refusal(folder_,
                 cohort_.gwas(path("d"), "trait1,trait2",
                              kRanks + Arguments{"--share-per-latent"}),
                 {"--share-per-latent", "--transform"});
}

TEST_F(Gwas, AFlowMayHaveCovariatesAsContext) {
  run_well(cohort_.gwas(
      path("a"), "trait1,trait2",
      cohort_.covariates() + small_flow() + Arguments{"--covar-use", "context"}));
  EXPECT_EQ(rows_of(path("a.traits.tsv")).front(),
            (std::vector<std::string>{"trait1_score", "trait2_score", "age", "sex",
                                      "FID", "IID"}));
  run_well(
      cohort_.gwas(path("b"), "trait1,trait2", cohort_.covariates() + small_flow()));
  EXPECT_NE(p("a"), p("b"));
}

TEST_F(Gwas, AFlowTakesARelationshipWithNegativeEigenvalues) {
  // Means over the genotypes that two people both have are not always semidefinite.
  run_well({"grm", "--bfile", cohort_.bfile, "--chr", "1-2", "--kind", "standardized",
            "--out", path("k")});
  const auto outcome = run(cohort_.gwas(path("a"), "trait1,trait2",
                                        small_flow() + Arguments{"--grm", path("k")}));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("negative eigenvalues"), std::string::npos) << outcome.err;
  EXPECT_TRUE(fs::exists(path("a.flow.grm.bin")));
}

}  // namespace
}  // namespace kinflow::cli
