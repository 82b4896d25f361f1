// Training of image flows on a GPU: recorded steps, exact resumption, and the CPU's
// numbers.
#include <gtest/gtest.h>

#include <tuple>

#include "kinflow/array/array.h"
#include "kinflow/array/device.h"
#include "kinflow/engine/images/image_trainer.h"
#include "kinflow/flow/cuda/cuda_backend.h"
#include "tests/random_arrays.h"

namespace kinflow {
namespace {

GlowOptions small_flow() {
  return {.channels = 3,
          .height = 8,
          .width = 8,
          .steps = 2,
          .dense_channels = 16,
          .dense_layers = 2,
          .dense_growth = 16};
}

class ImageTrainerCuda
    : public testing::TestWithParam<std::tuple<Estimator, BlockCorrelation>> {
 protected:
  void SetUp() override {
    if (!nd::hasCUDA() || !free_device_memory()) GTEST_SKIP() << "no GPU";
    device_ = find_device("cuda");
    seed_numbers(1);
    rows_.pixels = (100 + 56 * uniform_array({160, 3, 8, 8})).floor().to(nd::kByte);
    rows_.person = nd::arange(160) % 30;
    options_ = {.estimator = std::get<0>(GetParam()),
                .correlation = std::get<1>(GetParam()),
                .epochs = 6,
                .batch_size = 16,
                .seed = 2};
  }

  nd::Device device_ = nd::kCPU;
  ImageRows rows_;
  ImageTrainOptions options_;
};

TEST_P(ImageTrainerCuda, HasTheNumbersOfTheCpu) {
  ImageTrainer cpu(rows_, small_flow(), options_, nd::kCPU);
  ImageTrainer gpu(rows_, small_flow(), options_, device_);
  EXPECT_NEAR(cpu.run(20).train_nll_nats, gpu.run(20).train_nll_nats, 0.05);
  EXPECT_LT((cpu.correlations() - gpu.correlations()).abs().max().item<double>(), 1e-3);
  EXPECT_TRUE(nd::allclose(cpu.latent_correlations(), gpu.latent_correlations(),
                           /*rtol=*/0, /*atol=*/1e-3));
}

TEST_P(ImageTrainerCuda, GoesOnExactlyFromItsState) {
  for (const auto precision : {ImagePrecision::float32, ImagePrecision::mixed}) {
    options_.precision = precision;
    ImageTrainer whole(rows_, small_flow(), options_, device_);
    whole.run(7);
    whole.run(1'000'000);
    ImageTrainer first(rows_, small_flow(), options_, device_);
    first.run(3 * first.steps_per_epoch());
    ImageTrainer second(rows_, small_flow(), options_, device_);
    second.restore(first.state(), "checkpoint");
    second.run(1'000'000);
    EXPECT_TRUE(nd::equal(second.flow().values(), whole.flow().values()));
    EXPECT_TRUE(nd::equal(second.correlations(), whole.correlations()));
    EXPECT_TRUE(nd::equal(second.latent_correlations(), whole.latent_correlations()));
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, ImageTrainerCuda,
    testing::Combine(testing::Values(Estimator::memory, Estimator::pairs),
                     testing::Values(BlockCorrelation::shared,
                                     BlockCorrelation::per_block,
                                     BlockCorrelation::per_latent)));

}  // namespace
}  // namespace kinflow
