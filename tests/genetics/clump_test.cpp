// Loci: those of plink 1.9, the edges of what belongs to one, and refused input.
#include "kinflow/genetics/clump.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "kinflow/genetics/haplotype_r2.h"
#include "kinflow/statistics/p_value.h"
#include "tests/core/not_finite.h"
#include "tests/genetics/bed_files.h"

namespace kinflow {
namespace {

/// Variants of one chromosome at given positions, all with the same genotypes.
BedContent copies(const std::vector<std::int64_t>& positions) {
  BedContent content = random_content(50, 1, 3, {"1"});
  const auto counts = content.counts.front();
  content.variants.clear();
  content.counts.clear();
  for (std::size_t i = 0; i < positions.size(); ++i) {
    content.variants.push_back({.chromosome = "1",
                                .id = fmt::format("rs{}", i),
                                .centimorgans = 0,
                                .position = positions[i],
                                .a1 = "A",
                                .a2 = "G"});
    content.counts.push_back(counts);
  }
  return content;
}

std::vector<Locus> loci_of(const BedContent& content, const std::vector<double>& p,
                           const ClumpOptions& options = {}) {
  const TemporaryFolder folder;
  std::vector<double> log10_p;
  for (const double value : p) log10_p.push_back(log10_p_of(value));
  const Genotypes genotypes(write_bed(folder, "t", content));
  return clump(genotypes, founders(genotypes), log10_p, options);
}

using Rows = std::vector<std::int64_t>;

TEST(HaplotypeR2, OfKnownHaplotypesIsThatOfATable) {
  // D = 0.4 - 0.5 * 0.6, r2 = D^2 / (0.5 * 0.5 * 0.6 * 0.4).
  const auto r2 = haplotype_r2({.a1_a1 = 40, .a1_a2 = 10, .a2_a1 = 20, .a2_a2 = 30});
  ASSERT_TRUE(r2);
  EXPECT_NEAR(*r2, 0.01 / 0.06, 1e-14);
}

TEST(HaplotypeR2, OpenPhasesGoTheLikelierWay) {
  // With a1 a1 and a2 a2 alone, double heterozygotes are taken for the same two.
  EXPECT_NEAR(*haplotype_r2({.a1_a1 = 10, .a2_a2 = 10, .double_heterozygotes = 15}), 1,
              1e-14);
  EXPECT_NEAR(*haplotype_r2({.a1_a2 = 10, .a2_a1 = 10, .double_heterozygotes = 15}), 1,
              1e-14);
  // From plink 1.9 --r2 dprime, on genotypes with these counts.
  EXPECT_NEAR(*haplotype_r2({.a1_a1 = 30,
                             .a1_a2 = 12,
                             .a2_a1 = 8,
                             .a2_a2 = 20,
                             .double_heterozygotes = 25}),
              0.390291, 1e-6);
}

TEST(HaplotypeR2, IsTheLargestLikelihoodOnAGrid) {
  Random random(8);
  for (int round = 0; round < 200; ++round) {
    const HaplotypeCounts counts{
        .a1_a1 = static_cast<double>(random.below(30) * random.below(2)),
        .a1_a2 = static_cast<double>(random.below(30) * random.below(2)),
        .a2_a1 = static_cast<double>(random.below(30) * random.below(2)),
        .a2_a2 = static_cast<double>(random.below(30)),
        .double_heterozygotes = static_cast<double>(1 + random.below(30))};
    const double h = counts.double_heterozygotes;
    const double total =
        counts.a1_a1 + counts.a1_a2 + counts.a2_a1 + counts.a2_a2 + 2 * h;
    const double first = (counts.a1_a1 + counts.a1_a2 + h) / total;
    const double second = (counts.a1_a1 + counts.a2_a1 + h) / total;
    const auto term = [](double n, double f) { return n > 0 ? n * std::log(f) : 0; };
    const auto likelihood = [&](double f11) {
      const double f12 = first - f11, f21 = second - f11,
                   f22 = 1 - first - second + f11;
      return term(counts.a1_a1, f11) + term(counts.a1_a2, f12) +
             term(counts.a2_a1, f21) + term(counts.a2_a2, f22) +
             term(h, f11 * f22 + f12 * f21);
    };
    constexpr int kSteps = 20'000;
    double best = 0, highest = -HUGE_VAL;
    for (int i = 0; i <= kSteps; ++i) {
      const double f11 = (counts.a1_a1 + h * i / kSteps) / total;
      const double value = likelihood(f11);
      if (!(value > highest + 1e-9)) continue;
      highest = value;
      best = f11;
    }
    const double d = best - first * second;
    const double r2 = d * d / (first * (1 - first) * second * (1 - second));
    EXPECT_NEAR(haplotype_r2(counts).value_or(-1), r2, 2e-3) << round;
  }
}

TEST(HaplotypeR2, NeedsTwoAllelesOfBothVariants) {
  EXPECT_FALSE(haplotype_r2({}));
  EXPECT_FALSE(haplotype_r2({.a1_a1 = 10, .a1_a2 = 10}));
  EXPECT_FALSE(haplotype_r2({.a1_a1 = 10, .a2_a1 = 10}));
  EXPECT_EQ(*haplotype_r2({.a1_a1 = 5, .a1_a2 = 5, .a2_a1 = 5, .a2_a2 = 5}), 0);
}

TEST(Clump, MembersAreCloserThanTheDistance) {
  const auto content = copies({749'999, 750'000, 750'001, 1'000'000, 1'000'000,
                               1'249'999, 1'250'000, 1'250'001});
  const auto loci = loci_of(content, {1e-3, 1e-3, 1e-3, 1e-9, 1e-3, 1e-3, 1e-3, 1e-3});
  ASSERT_EQ(loci.size(), 1u);
  EXPECT_EQ(loci[0].index, 3);
  EXPECT_EQ(loci[0].members, (Rows{2, 4, 5}));
  EXPECT_EQ(loci[0].start, 750'001);
  EXPECT_EQ(loci[0].end, 1'249'999);
  EXPECT_EQ(loci_of(content, {1e-3, 1e-3, 1e-3, 1e-9, 1e-3, 1e-3, 1e-3, 1e-3},
                    {.kb = 250.001})[0]
                .members,
            (Rows{1, 2, 4, 5, 6}));
}

TEST(Clump, ThresholdsOfPValues) {
  const auto content = copies({1000, 2000, 3000, 4000, 5000});
  const auto loci = loci_of(content, {0.01, 0.0099, 1e-4, 0.5, kNan},
                            {.p1 = 1e-4, .p2 = 0.01, .r2 = 0.5});
  ASSERT_EQ(loci.size(), 1u);  // p1 itself is small enough
  EXPECT_EQ(loci[0].index, 2);
  EXPECT_EQ(loci[0].total, 3);          // all with p-values
  EXPECT_EQ(loci[0].members, Rows{1});  // p2 itself is not small enough
  EXPECT_EQ(loci[0].start, 2000);
  EXPECT_EQ(loci[0].end, 3000);
  EXPECT_TRUE(loci_of(content, {0.1, 0.1, 0.1, 0.1, kNan}).empty());
}

TEST(Clump, PValuesBelowTheSmallestNumberHaveAnOrder) {
  const TemporaryFolder folder;
  const Genotypes genotypes(write_bed(folder, "t", copies({1000, 2000, 3000})));
  const auto loci =
      clump(genotypes, founders(genotypes), std::vector<double>{400, 900, 500});
  ASSERT_EQ(loci.size(), 1u);
  EXPECT_EQ(loci[0].index, 1);
  EXPECT_EQ(loci[0].log10_p, 900);
}

TEST(Clump, EqualPValuesGoByPosition) {
  auto content = copies({3000, 1000, 2000});
  content.variants[0].chromosome = "2";
  const auto loci = loci_of(content, {1e-9, 1e-9, 1e-9});
  ASSERT_EQ(loci.size(), 2u);
  EXPECT_EQ(loci[0].index, 1);
  EXPECT_EQ(loci[0].members, Rows{2});
  EXPECT_EQ(loci[1].index, 0);
  EXPECT_TRUE(loci[1].members.empty());
}

TEST(Clump, RefusesWhatIsOutOfRange) {
  const TemporaryFolder folder;
  const Genotypes genotypes(write_bed(folder, "t", copies({1000, 2000})));
  const auto people = founders(genotypes);
  const std::vector<double> p{9, 9};
  const auto message = [&](const ClumpOptions& options) {
    return input_error_of([&] { clump(genotypes, people, p, options); });
  };
  EXPECT_EQ(message({.p1 = 0}), "[clump] expected p1 above 0 to 1, received 0");
  EXPECT_EQ(message({.p2 = 1.5}), "[clump] expected p2 above 0 to 1, received 1.5");
  EXPECT_EQ(message({.r2 = 1}), "[clump] expected r2 from 0 to below 1, received 1");
  EXPECT_EQ(message({.kb = -1}),
            "[clump] expected kb above 0 to 10000000, received -1");
  EXPECT_THROW(clump(genotypes, people, std::vector<double>{9}), InputError);
  EXPECT_THROW(clump(genotypes, {}, p), InputError);
}

class MatchTests : public testing::Test {
 protected:
  MatchTests() {
    auto content = copies({1000, 2000, 3000, 4000});
    content.variants[3].id = "rs2";
    write_bed(folder_, "t", content);
  }

  MatchedTests match(const std::string& table) const {
    return match_tests(folder_.write("a.tsv", table), {}, Genotypes(folder_.path("t")),
                       {.p1 = 1e-5});
  }
  std::string error_of(const std::string& table) const {
    return input_error_of([&] { match(table); });
  }

  TemporaryFolder folder_;
};

TEST_F(MatchTests, RowsAreFoundByIdAndCounted) {
  const auto matched =
      match("ID P\nrs1 0.25\nother 1e-6\nanother 1e-6\nthird 0.1\nrs0 NA\n");
  EXPECT_EQ(matched.rows, 5);
  EXPECT_EQ(matched.untested, 1);
  EXPECT_EQ(matched.unknown, 3);
  EXPECT_EQ(matched.unknown_index, 2);
  EXPECT_EQ(matched.first_unknown_index, "other");
  ASSERT_EQ(matched.log10_p.size(), 4u);
  EXPECT_TRUE(std::isnan(matched.log10_p[0]));
  EXPECT_EQ(matched.log10_p[1], log10_p_of(0.25));
  EXPECT_TRUE(std::isnan(matched.log10_p[2]));
}

TEST_F(MatchTests, RepeatedIdsAreToldApartByPlaceAndAlleles) {
  const auto by_place = match("ID CHR POS P\nrs2 chr1 4000 0.5\nrs2 1 3000 0.1\n");
  EXPECT_EQ(by_place.log10_p[2], log10_p_of(0.1));
  EXPECT_EQ(by_place.log10_p[3], log10_p_of(0.5));
  const auto one = match("ID CHR POS A1 A2 P\nrs2 1 4000 G A 0.5\n");
  EXPECT_TRUE(std::isnan(one.log10_p[2]));
  EXPECT_EQ(one.log10_p[3], log10_p_of(0.5));
  const auto in_order = match("ID P\nrs2 0.5\nrs1 0.3\nrs2 0.1\n");
  EXPECT_EQ(in_order.log10_p[2], log10_p_of(0.5));
  EXPECT_EQ(in_order.log10_p[3], log10_p_of(0.1));
  auto content = copies({1000, 1000, 1000});
  for (auto& variant : content.variants) variant.id = ".";
  content.variants[1].a1 = "C";
  content.variants[2].a1 = "T";
  write_bed(folder_, "t", content);
  const auto by_alleles = match(
      "ID CHR POS A1 A2 P\n. 1 1000 C G 0.1\n. 1 1000 G T 0.2\n. 1 1000 A G 0.3\n");
  EXPECT_EQ(by_alleles.log10_p[0], log10_p_of(0.3));
  EXPECT_EQ(by_alleles.log10_p[1], log10_p_of(0.1));
  EXPECT_EQ(by_alleles.log10_p[2], log10_p_of(0.2));
}

TEST_F(MatchTests, AmbiguousRowsAreRefused) {
  const std::string path = folder_.path("a.tsv");
  EXPECT_EQ(error_of("ID P\nrs1 0.5\nrs0 0.1\nrs1 0.2\n"),
            path +
                ":4: expected one row for each variant, found 'rs1' here and in "
                "line 2");
  EXPECT_EQ(error_of("ID P\nrs2 0.5\n"),
            folder_.path("t") +
                ".bim: expected variants that differ in id, place or alleles, found 2 "
                "like 'rs2' in line 3 and not all of them in the table; plink2 "
                "--set-all-var-ids or --rm-dup makes them differ");
  EXPECT_EQ(error_of("ID P\nrs2 0.5\nrs2 0.1\nrs2 0.1\n"),
            path +
                ":4: expected as many rows for 'rs2' as the .bim has, the first in "
                "line 2, found one more");
  EXPECT_EQ(error_of("ID CHR POS P\nrs2 1 3500 0.5\n"),
            path + ":2: expected one of the 2 variants with the id 'rs2' in " +
                folder_.path("t") +
                ".bim, found another chromosome, position or alleles");
  EXPECT_EQ(error_of("ID P\n"),
            path + ": expected a row for each variant, found a header alone");
  EXPECT_EQ(error_of("ID P\nx 0.5\ny 0.5\n"),
            path + ": expected variants of " + folder_.path("t") +
                ".bim, found others only, such as 'y'");
}

TEST(WriteLoci, HasALineForEachLocus) {
  const TemporaryFolder folder;
  const auto content = copies({1000, 2000, 3000});
  write_loci(folder.path("t.loci.tsv"),
             {{.index = 1,
               .log10_p = log10_p_of(1.5e-300),
               .start = 1000,
               .end = 3000,
               .total = 7,
               .members = {0, 2}},
              {.index = 0,
               .log10_p = log10_p_of(0.25),
               .start = 1000,
               .end = 1000,
               .total = 0,
               .members = {}}},
             content.variants);
  EXPECT_EQ(content_of(folder.path("t.loci.tsv")),
            "LOCUS\tID\tCHROM\tPOS\tSTART\tEND\tP\tLOG10P\tN_SNPS\tTOTAL\tMEMBERS\n"
            "1\trs1\t1\t2000\t1000\t3000\t1.5e-300\t299.82391\t3\t7\trs0,rs2\n"
            "2\trs0\t1\t1000\t1000\t1000\t0.25\t0.60205999\t1\t0\tNONE\n");
}

/// Loci as lines "ID TOTAL MEMBERS", to compare with plink's.
std::string shown(const std::vector<Locus>& loci,
                  const std::vector<Variant>& variants) {
  std::string text;
  for (const auto& locus : loci) {
    std::vector<std::string> members;
    for (const auto i : locus.members) {
      members.push_back(variants[static_cast<std::size_t>(i)].id);
    }
    text += fmt::format(
        "{} {} {}\n", variants[static_cast<std::size_t>(locus.index)].id, locus.total,
        members.empty() ? "NONE" : fmt::to_string(fmt::join(members, ",")));
  }
  return text;
}

/// The same of a .clumped file.
std::string plinks_loci(const std::string& path) {
  std::istringstream lines(content_of(path));
  std::string text, line;
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    std::istringstream cells(line);
    std::string chromosome, file, id, position, p, total, skipped, members;
    if (!(cells >> chromosome >> file >> id >> position >> p >> total)) continue;
    for (int i = 0; i < 5; ++i) cells >> skipped;
    cells >> members;
    for (std::size_t at; (at = members.find("(1)")) != members.npos;)
      members.erase(at, 3);
    text += id + " " + total + " " + members + "\n";
  }
  return text;
}

/// P-values of which many are small.
std::vector<double> random_p_values(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<double> p;
  for (std::size_t i = 0; i < count; ++i) {
    const double value = std::pow(random.uniform(), 1 + 9 * random.uniform());
    p.push_back(std::stod(fmt::format("{:.3g}", value)));
  }
  p[count / 2] = p[count / 2 + 1];
  return p;
}

TEST(Clump, GivesLociThatPlinkGave) {
  const TemporaryFolder folder;
  const auto content = random_content(120, 300, 21, {"1", "X"});
  const Genotypes genotypes(write_bed(folder, "t", content));
  const auto loci = loci_of(content, random_p_values(300, 21),
                            {.p1 = 1e-5, .p2 = 0.01, .r2 = 0.2, .kb = 100});
  EXPECT_EQ(shown(loci, genotypes.variants()),
            "rs68 1 NONE\n"
            "rs266 3 rs268\n"
            "rs234 0 NONE\n"
            "rs8 3 rs6\n"
            "rs94 0 NONE\n"
            "rs230 0 NONE\n"
            "rs20 0 NONE\n"
            "rs236 0 NONE\n"
            "rs22 1 rs23\n"
            "rs147 1 NONE\n"
            "rs227 2 NONE\n"
            "rs210 0 NONE\n"
            "rs207 2 rs208,rs209\n"
            "rs112 1 rs113\n"
            "rs88 2 NONE\n"
            "rs36 1 NONE\n"
            "rs201 2 rs202,rs203\n"
            "rs82 2 rs80,rs81\n"
            "rs160 0 NONE\n"
            "rs83 0 NONE\n"
            "rs285 0 NONE\n"
            "rs17 3 rs15\n"
            "rs199 1 NONE\n"
            "rs158 0 NONE\n"
            "rs1 1 rs0\n"
            "rs288 2 rs289\n"
            "rs84 0 NONE\n"
            "rs237 1 rs238\n"
            "rs168 0 NONE\n"
            "rs49 2 rs47\n"
            "rs42 2 rs43\n"
            "rs92 0 NONE\n"
            "rs64 0 NONE\n"
            "rs29 0 NONE\n"
            "rs134 0 NONE\n"
            "rs38 2 rs37,rs39\n"
            "rs217 1 NONE\n"
            "rs175 0 NONE\n");
}

TEST(ClumpAgainstPlink, LociAreTheSame) {
  if (!has_tool("plink1.9")) GTEST_SKIP() << "plink1.9 is not installed";
  const std::vector<ClumpOptions> all_options = {
      {},
      {.p1 = 1e-4, .p2 = 0.01, .r2 = 0.5, .kb = 250},
      {.p1 = 1, .p2 = 1, .r2 = 0.02, .kb = 60},
      {.p1 = 1e-4, .p2 = 1e-4, .r2 = 0, .kb = 2000},
      {.p1 = 0.2, .p2 = 0.3, .r2 = 0.8, .kb = 40.001}};
  int loci_seen = 0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const TemporaryFolder folder;
    auto content = random_content(120, 500, seed, {"1", "2", "X", "Y", "XY", "MT"});
    for (std::size_t i = 0; i < content.people.size(); i += 11)
      content.people[i].sex = 0;
    const Genotypes genotypes(write_bed(folder, "t", content));
    const auto p = random_p_values(content.variants.size(), seed);
    std::string table = "SNP P\n";
    for (std::size_t i = 0; i < p.size(); ++i) {
      table += fmt::format("{} {}\n", content.variants[i].id,
                           i % 17 == 0 ? "NA" : fmt::format("{:.8g}", p[i]));
    }
    folder.write("t.assoc", table);
    for (const auto& o : all_options) {
      SCOPED_TRACE(fmt::format("seed {}, p1 {}", seed, o.p1));
      ASSERT_TRUE(
          run_in(folder, fmt::format("plink1.9 --bfile t --clump t.assoc "
                                     "--clump-p1 {} --clump-p2 {} --clump-r2 {} "
                                     "--clump-kb {} --allow-no-sex --out t",
                                     o.p1, o.p2, o.r2, o.kb)));
      const auto matched = match_tests(folder.path("t.assoc"), {}, genotypes, o);
      const auto loci = clump(genotypes, founders(genotypes), matched.log10_p, o);
      EXPECT_EQ(shown(loci, genotypes.variants()),
                plinks_loci(folder.path("t.clumped")));
      loci_seen += static_cast<int>(loci.size());
    }
  }
  EXPECT_GT(loci_seen, 500);
}

}  // namespace
}  // namespace kinflow
