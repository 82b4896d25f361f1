// Whole trainings on a GPU: recorded steps against steps one by one, and both against
// the CPU.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "kinflow/core/device_stream.h"
#include "small_trainings.h"

#define SKIP_WITHOUT_GPU() \
  if (!at::hasCUDA()) GTEST_SKIP() << "there is no GPU"

namespace kinflow {
namespace {

constexpr std::int64_t kRows = 300;

std::shared_ptr<const Dependence> law_on(at::Device device, Structure structure) {
  if (structure == Structure::relationship) {
    return std::make_shared<Relationship>(dense_relationship(kRows).to(device));
  }
  return std::make_shared<Independent>(kRows);
}

// Replicas with a memory and without, of which the last has a rate that diverges.
std::vector<TrainOptions> some_options(Schedule schedule) {
  TrainOptions first{.schedule = schedule, .estimator = Estimator::hybrid};
  first.epochs = 6;
  first.batch_size = 64;
  first.seed = 3;
  auto pairs = first, wild = first;
  pairs.estimator = Estimator::pairs;
  wild.learning_rate = 30;
  return {first, pairs, wild};
}

NamedTensors trained_on(at::Device device, Structure structure, Schedule schedule) {
  const auto law = law_on(device, structure);
  const auto options = some_options(schedule);
  const auto replicas = static_cast<std::int64_t>(options.size());
  Flow flow({.dimension = 2, .layers = 2, .hidden = {16}, .bins = 5}, {1, 2, 3},
            at::kFloat, device);
  const auto ready = [&](const at::Tensor& rows) {
    return rows.to(device, at::kFloat);
  };
  Trainer trainer(
      flow, *law,
      {.train = ready(bent_rows(kRows, 5)), .valid = ready(bent_rows(100, 7))}, options,
      at::full({replicas, law->parameter_count()}, 0.4, at::kDouble).to(device));
  while (!trainer.finished()) trainer.run_epoch();
  return trainer.state();
}

void expect_same(const NamedTensors& found, const NamedTensors& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (const auto& [name, tensor] : expected) {
    EXPECT_TRUE(is_same(found.at(name), tensor)) << name;
  }
}

TEST(TrainerCuda, RecordedStepsAreTheSteps) {
  SKIP_WITHOUT_GPU();
  for (const auto schedule : {Schedule::joint, Schedule::alternating, Schedule::grid}) {
    SCOPED_TRACE(static_cast<int>(schedule));
    // The common stream takes no recordings.
    const auto one_by_one = trained_on(at::kCUDA, Structure::relationship, schedule);
    EXPECT_GT(one_by_one.at("restarts")[2].item<std::int64_t>(), 0);
    EXPECT_GT(one_by_one.at("flow.steps")[0].item<std::int64_t>(), 0);
    const DeviceStream stream(at::Device(at::kCUDA, 0));
    expect_same(trained_on(at::kCUDA, Structure::relationship, schedule), one_by_one);
  }
}

// The first epochs, before rounding has grown.
TEST(TrainerCuda, TrainsAsTheCpuDoes) {
  SKIP_WITHOUT_GPU();
  for (const auto structure : {Structure::relationship, Structure::independent}) {
    const auto schedule =
        structure == Structure::independent ? Schedule::baseline : Schedule::joint;
    SCOPED_TRACE(name_of(structure));
    const DeviceStream stream(at::Device(at::kCUDA, 0));
    const auto found = trained_on(at::kCUDA, structure, schedule).at("history");
    const auto expected = trained_on(at::kCPU, structure, schedule).at("history");
    // Replicas 0 and 1 after no epoch, one and two.
    for (const std::int64_t record : {0, 1, 3, 4, 6, 7}) {
      EXPECT_LT(difference_of(found[record], expected[record]), 2e-3) << record;
    }
  }
}

}  // namespace
}  // namespace kinflow
