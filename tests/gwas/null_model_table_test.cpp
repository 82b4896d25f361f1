// Rows of null models.
#include "kinflow/gwas/null_model_table.h"

#include <gtest/gtest.h>

namespace kinflow {
namespace {

TEST(NullModelTable, HasLowerTrianglesRowByRow) {
  NullModel model{.set = "flow", .traits = {"u1", "u2"}, .fit = {}};
  model.fit.variances.genetic = {1, 0.5, 0.5, 2};
  model.fit.variances.residual = {3, -0.25, -0.25, 4};
  model.fit.log_likelihood = -812.25;
  model.fit.iterations = 7;
  model.fit.has_converged = true;
  model.heritability = {0.25, 0.5};
  NullModel other{.set = "single", .traits = {"hdl"}, .fit = {}};
  other.fit.variances.genetic = {0.125};
  other.fit.variances.residual = {1};
  other.heritability = {0.125};
  EXPECT_EQ(null_model_header(),
            "LEFT_OUT\tADDED\tSET\tTRAITS\tLOG_"
            "LIKELIHOOD\tVG\tVE\tH2\tITERATIONS\tCONVERGED\n");
  EXPECT_EQ(null_model_rows({"7", true}, {model}),
            "7\tsex\tflow\tu1;u2\t-812.25\t1;0.5;2\t3;-0.25;4\t0.25;0.5\t7\tyes\n");
  EXPECT_EQ(null_model_rows({}, {other}),
            "none\tnone\tsingle\thdl\t0\t0.125\t1\t0.125\t0\tno\n");
}

TEST(NullModelTable, HeritabilityIsTheMeanOverTheModelsOfASet) {
  const auto model = [](const std::string& set, std::vector<std::string> traits,
                        std::vector<double> heritability) {
    NullModel made{.set = set, .traits = std::move(traits), .fit = {}};
    const auto entries = made.traits.size() * made.traits.size();
    made.fit.variances.genetic.resize(entries);
    made.fit.variances.residual.resize(entries);
    made.heritability = std::move(heritability);
    return made;
  };
  const auto rows = null_model_rows({"1"}, {model("flow", {"u1", "u2"}, {0.25, 0.5}),
                                            model("single", {"u1"}, {0.9}),
                                            model("single", {"x"}, {0.1})}) +
                    null_model_rows({"2"}, {model("flow", {"u1", "u2"}, {0.75, 0.5})});
  const auto flow = mean_heritability(rows, "flow");
  ASSERT_EQ(flow.size(), 2U);
  EXPECT_EQ(flow[0].trait, "u1");
  EXPECT_DOUBLE_EQ(flow[0].heritability, 0.5);
  EXPECT_DOUBLE_EQ(flow[1].heritability, 0.5);
  const auto single = mean_heritability(rows, "single");
  ASSERT_EQ(single.size(), 2U);
  EXPECT_EQ(single[1].trait, "x");
  EXPECT_DOUBLE_EQ(single[1].heritability, 0.1);
  EXPECT_TRUE(mean_heritability(rows, "traits").empty());
}

}  // namespace
}  // namespace kinflow
