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
  NullModel other{.set = "single", .traits = {"hdl"}, .fit = {}};
  other.fit.variances.genetic = {0.125};
  other.fit.variances.residual = {1};
  EXPECT_EQ(
      null_model_header(),
      "LEFT_OUT\tADDED\tSET\tTRAITS\tLOG_LIKELIHOOD\tVG\tVE\tITERATIONS\tCONVERGED\n");
  EXPECT_EQ(null_model_rows({"7", true}, {model}),
            "7\tsex\tflow\tu1;u2\t-812.25\t1;0.5;2\t3;-0.25;4\t7\tyes\n");
  EXPECT_EQ(null_model_rows({}, {other}),
            "none\tnone\tsingle\thdl\t0\t0.125\t1\t0\tno\n");
}

}  // namespace
}  // namespace kinflow
