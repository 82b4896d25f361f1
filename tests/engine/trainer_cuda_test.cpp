// Whole trainings on a GPU: recorded steps against steps one by one, and both against
// the CPU.
#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include "kinflow/array/array.h"
#include "kinflow/array/device_stream.h"
#include "kinflow/core/error.h"
#include "kinflow/engine/repeated_work.h"
#include "small_trainings.h"

#define SKIP_WITHOUT_GPU() \
  if (!nd::hasCUDA()) GTEST_SKIP() << "there is no GPU"

namespace kinflow {
namespace {

constexpr std::int64_t kRows = 300;

std::shared_ptr<const Dependence> law_on(nd::Device device, Structure structure) {
  if (structure == Structure::relationship) {
    return std::make_shared<Relationship>(dense_relationship(kRows).to(device));
  }
  return std::make_shared<Independent>(kRows);
}

// Replicas with a memory and without, of which the last has a rate that diverges.
std::vector<TrainOptions> some_options(Schedule schedule) {
  TrainOptions first{{.schedule = schedule, .estimator = Estimator::hybrid}, {}};
  first.epochs = 6;
  first.batch_size = 64;
  first.seed = 3;
  auto pairs = first, wild = first;
  pairs.estimator = Estimator::pairs;
  wild.learning_rate = 30;
  return {first, pairs, wild};
}

NamedTensors trained_on(nd::Device device, Structure structure, Schedule schedule) {
  const auto law = law_on(device, structure);
  const auto options = some_options(schedule);
  const auto replicas = static_cast<std::int64_t>(options.size());
  Flow flow({.dimension = 2, .layers = 2, .hidden = {16}, .bins = 5}, {1, 2, 3},
            nd::kFloat, device);
  const auto ready = [&](const Array& rows) { return rows.to(device, nd::kFloat); };
  Trainer trainer(
      flow, *law,
      {.train = ready(bent_rows(kRows, 5)), .valid = ready(bent_rows(100, 7))}, options,
      nd::full({replicas, law->parameter_count()}, 0.4, nd::kDouble).to(device));
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
    const auto one_by_one = trained_on(nd::kCUDA, Structure::relationship, schedule);
    EXPECT_GT(one_by_one.at("restarts")[2].item<std::int64_t>(), 0);
    EXPECT_GT(one_by_one.at("flow.steps")[0].item<std::int64_t>(), 0);
    const DeviceStream stream(nd::Device(nd::kCUDA, 0));
    expect_same(trained_on(nd::kCUDA, Structure::relationship, schedule), one_by_one);
  }
}

TEST(TrainerCuda, WorkIsRecordedInItsSecondRun) {
  SKIP_WITHOUT_GPU();
  const nd::Device device(nd::kCUDA, 0);
  const auto calls_of_five_runs = [&] {
    auto sum = nd::zeros({3}, nd::TensorOptions(nd::kDouble).device(device));
    int calls = 0;
    const auto work = make_repeated_work([&] {
      ++calls;
      sum += nd::ones_like(sum);
    });
    for (int i = 0; i < 5; ++i) work->run();
    EXPECT_EQ(sum.sum().item<double>(), 15);
    return calls;
  };
  EXPECT_EQ(calls_of_five_runs(), 5);
  const DeviceStream stream(device);
  EXPECT_EQ(calls_of_five_runs(), 2);
}

TEST(TrainerCuda, WorkThatThrowsLeavesTheStreamAsItWas) {
  SKIP_WITHOUT_GPU();
  const nd::Device device(nd::kCUDA, 0);
  const DeviceStream stream(device);
  int calls = 0;
  const auto work = make_repeated_work([&] {
    if (++calls == 2) throw NumericalError("no");
  });
  work->run();
  EXPECT_THROW(work->run(), NumericalError);
  EXPECT_EQ(nd::ones({2}, nd::TensorOptions(device)).sum().item<float>(), 2);
}

TEST(TrainerCuda, ThreadsRecordAtTheSameTime) {
  SKIP_WITHOUT_GPU();
  const auto alone =
      trained_on(nd::kCUDA, Structure::relationship, Schedule::alternating);
  constexpr int kThreads = 6;
  std::vector<NamedTensors> found(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&found, i] {
      const DeviceStream stream(nd::Device(nd::kCUDA, 0));
      // Trainings that end while others record wait for the device.
      for (int repeat = 0; repeat < 4; ++repeat) {
        found[static_cast<std::size_t>(i)] =
            trained_on(nd::kCUDA, Structure::relationship, Schedule::alternating);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& state : found) expect_same(state, alone);
}

// The first epochs, before rounding has grown.
TEST(TrainerCuda, TrainsAsTheCpuDoes) {
  SKIP_WITHOUT_GPU();
  for (const auto structure : {Structure::relationship, Structure::independent}) {
    const auto schedule =
        structure == Structure::independent ? Schedule::baseline : Schedule::joint;
    SCOPED_TRACE(name_of(structure));
    const DeviceStream stream(nd::Device(nd::kCUDA, 0));
    const auto found = trained_on(nd::kCUDA, structure, schedule).at("history");
    const auto expected = trained_on(nd::kCPU, structure, schedule).at("history");
    // Replicas 0 and 1 after no epoch, one and two.
    for (const std::int64_t record : {0, 1, 3, 4, 6, 7}) {
      EXPECT_LT(difference_of(found[record], expected[record]), 2e-3) << record;
    }
  }
}

}  // namespace
}  // namespace kinflow
