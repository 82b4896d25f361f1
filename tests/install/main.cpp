// Uses the installed library: log-determinant of two blocks, and a flow's round trip.
#include <cmath>
#include <cstdio>

#include "kinflow/array/array.h"
#include "kinflow/dependence/blocks.h"
#include "kinflow/flow/flow.h"

namespace nd = kinflow::nd;

int main() {
  const kinflow::Blocks blocks(nd::tensor({1, 1, 2}, nd::kLong));
  const auto log_det =
      blocks.log_det(nd::full({1, 1}, 0.5, nd::kDouble)).item<double>();
  const kinflow::Flow flow({.dimension = 2}, {1});
  const auto rows = nd::ones({1, 3, 2});
  const auto back = flow.from_latent(flow.to_latent(rows).latents);
  const bool right = std::abs(log_det - std::log(0.75)) < 1e-12 &&
                     (back - rows).abs().max().item<double>() < 1e-5;
  std::printf("%s\n", right ? "installed kinflow works" : "installed kinflow is wrong");
  return right ? 0 : 1;
}
