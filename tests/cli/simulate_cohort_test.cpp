// kinflow simulate --cohort: its files, and options that do not belong together.
#include "run_binary.h"

namespace kinflow::cli {
namespace {

const Arguments kSmallCohort = {"simulate", "--cohort", "--people", "60",     "--snps",
                                "200",      "--loci",   "3",        "--seed", "2"};

TEST(SimulateCohort, WritesAFolderThatOtherVerbsRead) {
  const TemporaryFolder folder;
  const auto out = folder.path("c");
  const auto report =
      run_well(kSmallCohort + Arguments{"--out", out, "--threads", "2"});
  EXPECT_EQ(report.rfind("60 people: ", 0), 0u) << report;
  EXPECT_EQ(report, content_of(out + "/report.txt"));
  EXPECT_EQ(content_below(out).size(), 9u);
  EXPECT_EQ(content_of(out + "/covar.tsv").rfind("FID\tIID\tage\tsex\nF1\tP", 0), 0u);
  EXPECT_EQ(content_of(out + "/cohort.bed").size(), 3u + 200u * 15u);
  run_well({"relationship", "check", out + "/pedigree.tsv"});
  run_well(Arguments{"fit", out + "/latents.tsv", "--columns", "u1,u2",
                     "--relationship", out + "/pedigree.tsv", "--id", "FID,IID",
                     "--out", folder.path("run")} +
           small_fit());
}

TEST(SimulateCohort, RefusesWhatDoesNotBelongTogether) {
  const TemporaryFolder folder;
  const Arguments out = {"--out", folder.path("c")};
  expect_refusal(folder, kSmallCohort + Arguments{"--rows", "50"} + out,
                 {"--rows: expected no --cohort"});
  expect_refusal(folder, Arguments{"simulate", "--families", "trio,cousins"} + out,
                 {"--families: expected --cohort beside it", "found none"});
  expect_refusal(folder, Arguments{"simulate", "--threads", "2"} + out,
                 {"--threads: expected --cohort beside it", "found none"});
  expect_refusal(folder, kSmallCohort + Arguments{"--families", "clan"} + out,
                 {"--families", "clan"});
  expect_refusal(folder, kSmallCohort + Arguments{"--heritability", "1.5"} + out,
                 {"--heritability", "'1.5'"});
  expect_refusal(folder, kSmallCohort + Arguments{"--heritability", "0"} + out,
                 {"which the 3 loci explain, received 0"});
  expect_refusal(folder,
                 kSmallCohort + Arguments{"--null-chromosomes", "21"} +
                     Arguments{"--chromosomes", "2"} + out,
                 {"0 to 1 chromosomes without effects"});
}

}  // namespace
}  // namespace kinflow::cli
