#include <kinflow/kinflow.h>

#include <cstdio>

namespace nd = kinflow::nd;

int main() {
  kinflow::FitRequest request;
  request.data.table = "measurements.csv";
  request.data.dependence.group = "person";
  kinflow::Logger silent;
  const auto result = kinflow::fit(request, {.directory = "run"}, silent);
  const auto row = nd::tensor({0.3, -0.7}, nd::kDouble).view({1, 2});
  std::printf("%.4f\n", result.model.row_log_density(row, {}).item<double>());
}
