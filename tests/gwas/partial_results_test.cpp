// Results of tests on the disk: what a run that was killed leaves to the next one.
#include "kinflow/gwas/partial_results.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/data/helpers.h"

namespace kinflow {
namespace {

const nlohmann::json kRequest = {{"traits", {"a", "b"}}, {"seed", 3}};

ScannedBlock block(const std::vector<std::string>& lines) {
  return {.variants = {}, .log10_p = {}, .lines = lines};
}

std::string rows_of(const PartialResults& results, std::size_t set) {
  std::string rows;
  results.visit_rows(set, [&](std::string_view piece) { rows += piece; });
  return rows;
}

class Partial : public testing::Test {
 protected:
  std::string directory() const { return folder_.path("p.partial"); }
  std::string file(int set) const {
    return directory() + "/rows" + std::to_string(set) + ".tsv";
  }
  /// Two sets with three rows each, and a text.
  void fill() const {
    PartialResults results(directory(), kRequest, 2);
    results.append(block({"rs1\t0.5\nrs2\tNA\n", "rs1\t0.25\nrs2\t1e-300\n"}));
    results.append(block({"rs3\t0.125\n", "rs3\t1\n"}));
    results.keep("1", "null model");
  }
  TemporaryFolder folder_;
};

TEST_F(Partial, GoesOnWithWhatIsThere) {
  fill();
  PartialResults results(directory(), kRequest, 2);
  EXPECT_EQ(results.done(), 3);
  EXPECT_EQ(results.log10_p(0)[0], 0.5);
  EXPECT_TRUE(std::isnan(results.log10_p(0)[1]));
  EXPECT_EQ(results.log10_p(1), (std::vector<double>{0.25, 1e-300, 1}));
  EXPECT_EQ(results.kept("1"), "null model");
  EXPECT_EQ(results.kept("2"), "");
  results.append(block({"rs4\t0.5\n", "rs4\t0.5\n"}));
  EXPECT_EQ(rows_of(results, 0), "rs1\t0.5\nrs2\tNA\nrs3\t0.125\nrs4\t0.5\n");
}

TEST_F(Partial, CutsRowsThatAreNotWhole) {
  fill();
  std::ofstream(file(1), std::ios::app) << "rs4\t0.0";
  PartialResults results(directory(), kRequest, 2);
  EXPECT_EQ(results.done(), 3);
  EXPECT_EQ(rows_of(results, 0), "rs1\t0.5\nrs2\tNA\nrs3\t0.125\n");
}

TEST_F(Partial, CutsSetsToTheShortest) {
  fill();
  std::ofstream(file(1), std::ios::app) << "rs4\t0.5\nrs5\t0.5\n";
  {
    PartialResults results(directory(), kRequest, 2);
    EXPECT_EQ(results.done(), 3);
    EXPECT_EQ(results.log10_p(0).size(), results.log10_p(1).size());
    EXPECT_EQ(rows_of(results, 0).find("rs4"), std::string::npos);
  }
  std::filesystem::remove(file(2));
  EXPECT_EQ(PartialResults(directory(), kRequest, 2).done(), 0);
}

TEST_F(Partial, KeepsTheFirstRows) {
  fill();
  PartialResults results(directory(), kRequest, 2);
  results.keep_first(1);
  EXPECT_EQ(results.done(), 1);
  results.append(block({"rs9\t0.75\n", "rs9\t0.5\n"}));
  EXPECT_EQ(rows_of(results, 0), "rs1\t0.5\nrs9\t0.75\n");
  EXPECT_EQ(results.log10_p(1), (std::vector<double>{0.25, 0.5}));
}

TEST_F(Partial, AnotherRequestBeginsAnew) {
  fill();
  auto other = kRequest;
  other["seed"] = 4;
  EXPECT_EQ(PartialResults(directory(), other, 2).done(), 0);
  EXPECT_EQ(PartialResults(directory(), kRequest, 2).done(), 0);
}

TEST_F(Partial, BelongsToOneRunAndGoesAway) {
  PartialResults results(directory(), kRequest, 1);
  const auto message =
      input_error_of([&] { PartialResults(directory(), kRequest, 1); });
  EXPECT_NE(message.find(directory()), message.npos) << message;
  results.remove();
  EXPECT_FALSE(std::filesystem::exists(directory()));
}

TEST_F(Partial, SaysWhereItCannotBe) {
  folder_.write("file", "");
  const auto message =
      input_error_of([&] { PartialResults(folder_.path("file/p"), kRequest, 1); });
  EXPECT_NE(message.find("file/p"), message.npos) << message;
}

}  // namespace
}  // namespace kinflow
