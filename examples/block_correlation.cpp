// Draws rows that are correlated in groups, finds their correlation again, and predicts
// the last row of each group from the others.
#include <kinflow/kinflow.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace nd = kinflow::nd;

int main() {
  constexpr int kGroups = 500, kRows = 4;
  std::vector<std::int64_t> group, observed;
  for (int row = 0; row < kGroups * kRows; ++row) {
    group.push_back(row / kRows);
    if (row % kRows != kRows - 1) observed.push_back(row);
  }
  const kinflow::Blocks blocks(nd::tensor(group, nd::kLong),
                               {.correlation = kinflow::BlockCorrelation::shared});
  const auto truth = nd::full({1}, 0.6, nd::kDouble);
  kinflow::Random random(1);
  const auto latents = blocks.sample(truth, /*columns=*/1, random);

  const auto start = nd::full({1, 1}, 0.3, nd::kDouble);
  const auto found = blocks.most_likely(latents.unsqueeze(0), start, /*prior=*/0);
  const double rho = found.item<double>();
  std::printf("drawn with a correlation of 0.6, most likely %.3f\n", rho);

  const auto rows = nd::tensor(observed, nd::kLong);
  const auto last =
      blocks.condition_rows(found[0], rows, latents.index_select(0, rows));
  std::printf("the last row given the others has a standard deviation of %.3f\n",
              std::sqrt(last.variance[0].item<double>()));
  return std::abs(rho - 0.6) < 0.1 ? 0 : 1;
}
