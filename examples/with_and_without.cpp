// Simulates rows that depend on each other in blocks, fits them with and without the
// dependence, and scores both models on independent rows.
#include <kinflow/kinflow.h>

#include <cstdio>
#include <string>

namespace {

double test_nll(const std::string& group, const std::string& folder) {
  kinflow::FitRequest request;
  request.data.table = "simulated/train.csv";
  request.data.columns = {"x1", "x2"};
  request.data.dependence.group = group;
  request.train = kinflow::default_train_options(request.data.dependence);
  request.train.epochs = 30;
  request.replicas.count = 2;
  kinflow::Logger silent;
  const auto result = kinflow::fit(request, {.directory = folder}, silent);
  const auto test =
      kinflow::read_rows("simulated/test.csv", {.columns = result.model.columns});
  return kinflow::evaluate_likelihood(result.model, test).mean_nll_nats;
}

}  // namespace

int main() {
  const auto simulation = kinflow::simulate({.shape = kinflow::PlaneShape::crescent,
                                             .rows = 2000,
                                             .valid_rows = 1,
                                             .test_rows = 2000,
                                             .seed = 1});
  kinflow::write_simulation("simulated", simulation);
  std::printf("entropy              %.3f nats\n", simulation.entropy_nats);
  std::printf("rows as independent  %.3f nats\n", test_nll("", "ordinary"));
  std::printf("rows in blocks       %.3f nats\n", test_nll("group", "adjusted"));
}
