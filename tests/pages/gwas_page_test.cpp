// Pages of association studies: thinning keeps peaks, and broken files are told of.
#include "kinflow/pages/gwas_page.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "kinflow/core/random.h"
#include "kinflow/pages/gwas_scan.h"
#include "kinflow/pages/gwas_sections.h"
#include "kinflow/pages/page.h"
#include "tests/data/helpers.h"

namespace kinflow {
namespace {

constexpr const char* kHeader =
    "CHROM\tPOS\tID\tA1\tA2\tA1_FREQ\tN\tBETA_t1\tSE_t1\tBETA_t2\tSE_t2\tCHISQ\tP\t"
    "LOG10P\n";

std::string test_line(const std::string& chromosome, std::int64_t position,
                      const std::string& id, double log10_p) {
  return fmt::format("{}\t{}\t{}\tA\tG\t0.3\t100\t0.5\t0.1\t-0.2\t0.1\t1\t{}\t{}\n",
                     chromosome, position, id, std::pow(10, -log10_p), log10_p);
}

// Uniform p-values on several chromosomes, and one peak.
std::string simulated_tests(int variants, int peak) {
  Random random(5);
  std::string text = kHeader;
  for (int i = 0; i < variants; ++i) {
    const auto chromosome = std::to_string(1 + i * 22 / variants);
    text += test_line(chromosome, 1000 * (i + 1), fmt::format("v{}", i),
                      i == peak ? 25 : -std::log10(1 - random.uniform()));
  }
  return text;
}

TEST(GwasScan, IsTheSameOnAnyNumberOfThreads) {
  const TemporaryFolder folder;
  const auto path = folder.write("a.assoc.tsv", simulated_tests(60'000, 100));
  const auto one = scan_associations(path, 1), three = scan_associations(path, 3);
  ASSERT_EQ(one.variants.size(), 60'000U);
  ASSERT_EQ(three.variants.size(), one.variants.size());
  for (std::size_t i = 0; i < one.variants.size(); ++i) {
    ASSERT_EQ(one.variants[i].position, three.variants[i].position);
    ASSERT_EQ(one.variants[i].chromosome, three.variants[i].chromosome);
  }
  ASSERT_GE(one.kept.size(), kTopVariants);
  EXPECT_EQ(one.kept.front().line, three.kept.front().line);
  EXPECT_EQ(one.kept.front().log10_p, 25);
}

TEST(GwasScan, OrdersChromosomesAsTheGenome) {
  const TemporaryFolder folder;
  std::string text = kHeader;
  for (const auto* name : {"X", "10", "2", "MT", "contig"}) {
    text += test_line(name, 5, "v", 1);
  }
  const auto scan = scan_associations(folder.write("a.assoc.tsv", text), 2);
  EXPECT_EQ(scan.chromosomes,
            (std::vector<std::string>{"2", "10", "X", "MT", "contig"}));
}

TEST(GwasScan, RefusesWhatIsNoTable) {
  const TemporaryFolder folder;
  const auto error = [&](const std::string& text) {
    const auto path = folder.write("a.assoc.tsv", text);
    return input_error_of([&] { scan_associations(path, 2); });
  };
  EXPECT_NE(error("").find("expected the columns"), std::string::npos);
  EXPECT_NE(error("CHROM\tPOS\n1\t2\n").find("LOG10P or P"), std::string::npos);
  EXPECT_NE(error(kHeader).find("expected variants"), std::string::npos);
  EXPECT_NE(error(kHeader + std::string("1\t2\n")).find(":2:"), std::string::npos);
  EXPECT_NE(error(kHeader + test_line("1", -7, "v", 1)).find("a position"),
            std::string::npos);
}

TEST(GwasSections, KeepTheHighestPeakAndBinTheRest) {
  const TemporaryFolder folder;
  const auto path = folder.write("a.assoc.tsv", simulated_tests(200'000, 123'456));
  const auto scan = scan_associations(path, 2);
  const auto section = manhattan_section(scan, {}, 5e-8);
  EXPECT_EQ(section["top"].size(), kTopVariants);
  EXPECT_EQ(section["top"][0]["id"], "v123456");
  EXPECT_EQ(section["loci"][0]["id"], "v123456");
  EXPECT_EQ(section["loci"][0]["variants"][0]["effects"], (nlohmann::json{0.5, -0.2}));
  EXPECT_LT(section.dump().size(), 700'000U);
  // Every variant that is not drawn by itself falls on a cell that is filled.
  EXPECT_GT(section["cells"].get<std::string>().size(), 1000U);
}

TEST(GwasSections, QuantilesOfUniformNumbersLieInTheBand) {
  const TemporaryFolder folder;
  const auto path = folder.write("a.assoc.tsv", simulated_tests(50'000, -1));
  double inflation = 0;
  const auto panel = quantile_panel(scan_associations(path, 2), "title", 1, inflation);
  EXPECT_NEAR(inflation, 1, 0.05);
  std::size_t outside = 0;
  const auto count = panel["expected"].size();
  for (std::size_t i = 0; i < count; ++i) {
    outside += panel["observed"][i] < panel["low"][i] ||
               panel["observed"][i] > panel["high"][i];
  }
  EXPECT_LT(outside, count / 4);
}

TEST(GwasPage, ShowsWhatThereIsAndTellsWhatIsMissing) {
  const TemporaryFolder folder;
  const auto prefix = folder.path("<b>study");
  EXPECT_FALSE(is_gwas(prefix));
  folder.write("<b>study.loci.tsv", "LOCUS\n");
  EXPECT_TRUE(is_gwas(prefix));
  EXPECT_NE(gwas_page(prefix, 1)["watch"].dump().find("the tests are not known"),
            std::string::npos);
  folder.write("<b>study.assoc.tsv", simulated_tests(3000, 7));
  EXPECT_TRUE(is_gwas(prefix));
  const auto document = gwas_page(prefix, 2);
  EXPECT_EQ(document["title"], "<b>study");
  EXPECT_NE(document["watch"].dump().find("null.tsv is not there"), std::string::npos);
  EXPECT_LE(page_html(document).size(), kLargestPage);

  folder.write("<b>study.assoc.tsv", "no table");
  folder.write("<b>study.loci.tsv", "");
  folder.write("<b>study.null.tsv", "TRAITS\n1\n");
  folder.write("<b>study.log", "\xff\xfe");
  const auto broken = gwas_page(prefix, 2);
  EXPECT_NE(broken["watch"]
                .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)
                .find("cannot be read"),
            std::string::npos);
}

TEST(GwasPage, ShowsTheHeritabilityOfTheNullModel) {
  const TemporaryFolder folder;
  folder.write("s.assoc.tsv", simulated_tests(100, 7));
  folder.write(
      "s.null.tsv",
      "LEFT_OUT\tADDED\tSET\tTRAITS\tLOG_LIKELIHOOD\tVG\tVE\tH2\tITERATIONS\t"
      "CONVERGED\nnone\tnone\tflow\tt1;t2\t-1\t2;1;8\t1;0;4\t0.5;0.25\t5\tyes\n");
  const auto document = gwas_page(folder.path("s"), 1);
  for (const auto& section : document["sections"]) {
    if (section["type"] != "null_model") continue;
    EXPECT_EQ(section["shares"], (nlohmann::json{0.5, 0.25}));
    EXPECT_EQ(section["genetic"][1][0], 0.25);
    EXPECT_EQ(section["rest"][0][1], 0);
    return;
  }
  FAIL() << "no null model";
}

}  // namespace
}  // namespace kinflow
