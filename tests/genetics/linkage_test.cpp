// Correlations of variants and pruning by them.
#include "kinflow/genetics/linkage.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <sstream>

#include "kinflow/core/workers.h"
#include "tests/genetics/bed_files.h"

namespace kinflow {
namespace {

double correlation_squared(const std::vector<std::int8_t>& x,
                           const std::vector<std::int8_t>& y) {
  double n = 0, sx = 0, sy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i] < 0 || y[i] < 0) continue;
    ++n;
    sx += x[i];
    sy += y[i];
  }
  double xx = 0, yy = 0, xy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i] < 0 || y[i] < 0) continue;
    xx += (x[i] - sx / n) * (x[i] - sx / n);
    yy += (y[i] - sy / n) * (y[i] - sy / n);
    xy += (x[i] - sx / n) * (y[i] - sy / n);
  }
  return xx < 1e-12 || yy < 1e-12 ? 0 : xy * xy / (xx * yy);
}

std::vector<std::int64_t> every_variant(const Genotypes& genotypes) {
  std::vector<std::int64_t> variants(genotypes.variants().size());
  std::iota(variants.begin(), variants.end(), 0);
  return variants;
}

TEST(RSquared, IsTheSquaredCorrelationOfWhatBothHave) {
  const TemporaryFolder folder;
  for (const int people : {3, 64, 65, 200}) {
    SCOPED_TRACE(people);
    const auto content = random_content(people, 30, 30);
    const Genotypes genotypes(write_bed(folder, "t", content));
    const auto everyone = all_people(genotypes);
    for (std::size_t v = 0; v < 30; ++v) {
      for (std::size_t w = 0; w < 30; ++w) {
        const VariantBits left(genotypes, static_cast<std::int64_t>(v), everyone);
        const VariantBits right(genotypes, static_cast<std::int64_t>(w), everyone);
        EXPECT_NEAR(r_squared(left, right),
                    correlation_squared(content.counts[v], content.counts[w]), 1e-12);
      }
    }
  }
}

class Pruning : public testing::Test {
 protected:
  /// Neighbours that are often much alike, at distances of 1 to 200 kb.
  void write(int people, int variants, std::uint64_t seed) {
    auto content = random_content(people, variants, seed, {"1", "2", "X"});
    Random random(seed);
    std::int64_t position = 0;
    for (std::size_t v = 0; v < content.variants.size(); ++v) {
      if (v > 0 &&
          content.variants[v].chromosome != content.variants[v - 1].chromosome) {
        position = 0;
      }
      position += 1000 * (1 + random.below(v % 10 == 0 ? 200 : 20));
      content.variants[v].position = position;
      if (v < 3 || random.below(3) == 0) continue;
      const auto& source =
          content.counts[v - 1 - static_cast<std::size_t>(random.below(3))];
      for (std::size_t i = 0; i < source.size(); ++i) {
        if (random.below(12) > 0) content.counts[v][i] = source[i];
      }
    }
    genotypes_ = std::make_unique<Genotypes>(write_bed(folder_, "t", content));
  }
  std::vector<std::string> kept(const LinkagePruning& options) const {
    std::vector<std::string> ids;
    for (const auto row : prune_by_linkage(*genotypes_, all_people(*genotypes_),
                                           every_variant(*genotypes_), options)) {
      ids.push_back(genotypes_->variants()[static_cast<std::size_t>(row)].id);
    }
    return ids;
  }

  TemporaryFolder folder_;
  std::unique_ptr<Genotypes> genotypes_;
};

TEST_F(Pruning, KeepsWhatPlinkKeeps) {
  if (!has_tool("plink1.9")) GTEST_SKIP() << "plink1.9 is not installed";
  for (const std::uint64_t seed : {31, 32, 33}) {
    write(150, 600, seed);
    for (const auto& [kb, r2] :
         {std::pair{500, 0.8}, {500, 0.2}, {50, 0.5}, {7, 0.3}}) {
      SCOPED_TRACE(fmt::format("seed {}, {} kb, r2 {}", seed, kb, r2));
      ASSERT_TRUE(
          run_in(folder_, fmt::format("plink1.9 --bfile t --indep-pairwise {} kb 1 "
                                      "{} --out p",
                                      kb, r2)));
      std::istringstream text(content_of(folder_.path("p.prune.in")));
      std::vector<std::string> expected;
      for (std::string id; text >> id;) expected.push_back(id);
      EXPECT_EQ(kept({.largest_r_squared = r2, .window_kb = double(kb)}), expected);
    }
  }
}

TEST_F(Pruning, LeavesNoPairInAWindowThatIsTooMuchAlike) {
  write(80, 300, 34);
  const LinkagePruning options{.largest_r_squared = 0.5, .window_kb = 100};
  const auto everyone = all_people(*genotypes_);
  std::vector<std::int64_t> founders;
  for (const auto i : everyone) {
    if (genotypes_->people()[static_cast<std::size_t>(i)].is_founder())
      founders.push_back(i);
  }
  const auto left =
      prune_by_linkage(*genotypes_, everyone, every_variant(*genotypes_), options);
  EXPECT_GT(left.size(), 50U);
  EXPECT_LT(left.size(), 250U);
  for (const auto v : left) {
    for (const auto w : left) {
      const auto& first = genotypes_->variants()[static_cast<std::size_t>(v)];
      const auto& second = genotypes_->variants()[static_cast<std::size_t>(w)];
      // On X the alleles of males count, which these counts are not.
      if (v >= w || first.chromosome != second.chromosome || first.chromosome == "X" ||
          second.position - first.position > 100'000) {
        continue;
      }
      EXPECT_LE(r_squared({*genotypes_, v, founders}, {*genotypes_, w, founders}), 0.5);
    }
  }
  set_worker_threads(3);
  EXPECT_EQ(
      prune_by_linkage(*genotypes_, everyone, every_variant(*genotypes_), options),
      left);
  set_worker_threads(1);
}

TEST_F(Pruning, KeepsTheCommonerOfTwins) {
  auto content = random_content(20, 3, 35, {"1"});
  for (auto& person : content.people) person.father = person.mother = "";
  content.counts[0] = {1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  content.counts[1] = {2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  content.counts[2].assign(20, 2);
  genotypes_ = std::make_unique<Genotypes>(write_bed(folder_, "t", content));
  EXPECT_EQ(kept({}), (std::vector<std::string>{"rs1"}));
}

TEST_F(Pruning, RefusesPositionsThatDecrease) {
  auto content = random_content(20, 3, 36, {"4"});
  content.variants[2].position = 5;
  genotypes_ = std::make_unique<Genotypes>(write_bed(folder_, "t", content));
  EXPECT_EQ(
      input_error_of([&] { kept({}); }),
      folder_.path("t.bim") +
          ":3: expected positions that do not decrease within chromosome 4, found "
          "5 after 21000");
}

}  // namespace
}  // namespace kinflow
