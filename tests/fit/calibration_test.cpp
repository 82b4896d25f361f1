// Models whose latents independent validation rows have placed.
#include <gtest/gtest.h>

#include <cmath>

#include "kinflow/array/array.h"
#include "kinflow/core/random.h"
#include "kinflow/fit/fit.h"
#include "kinflow/flow/density.h"
#include "tests/data/helpers.h"

namespace kinflow {
namespace {

constexpr int kBlockRows = 60;
constexpr int kBlocks = 10;

// x1 is standard normal in the population, x2 bends with it.
std::string row_of(double a, Random& random) {
  return std::to_string(a) + "," + std::to_string(0.5 * a * a + 0.5 * random.normal());
}

/// Training rows of a few large blocks whose mean is far from that of the population,
/// and independent rows for validation and test.
class CalibratedFit : public testing::Test {
 protected:
  CalibratedFit() {
    Random random(3);
    std::string text = "x1,x2,group\n";
    for (int block = 0; block < kBlocks; ++block) {
      const double shared = 0.9 + 0.5 * random.normal();
      for (int i = 0; i < kBlockRows; ++i) {
        text += row_of(shared + 0.5 * random.normal(), random) + ",g" +
                std::to_string(block) + "\n";
      }
    }
    folder_.write("train.csv", text);
    for (const std::string name : {"valid.csv", "test.csv"}) {
      text = "x1,x2\n";
      for (int i = 0; i < 400; ++i) text += row_of(random.normal(), random) + "\n";
      folder_.write(name, text);
    }
  }

  FitRequest request_for(bool calibrates) {
    FitRequest request;
    request.data.table = folder_.path("train.csv");
    request.data.valid_table = folder_.path("valid.csv");
    request.data.dependence.group = "group";
    request.flow.hidden = {16};
    request.flow.bins = 8;
    request.train.epochs = 30;
    request.train.batch_size = 64;
    request.float64 = true;
    request.calibrate = calibrates;
    request.replicas.count = 1;
    return request;
  }

  Model fitted(const FitRequest& request) {
    const auto name = "run" + std::to_string(runs_++);
    return fit(request, {.directory = folder_.path(name)}, silent_).model;
  }

  Array rows(const std::string& name) {
    return read_rows(folder_.path(name), {.columns = {"x1", "x2"}}).data;
  }

  double nll(const Model& model, const std::string& name) {
    return -model.row_log_density(rows(name), {}).mean().item<double>();
  }

  const TemporaryFolder folder_;
  Logger silent_;

 private:
  int runs_ = 0;
};

TEST_F(CalibratedFit, ScoresIndependentRowsBetterWhereTrainingRowsMissTheMean) {
  const auto with = fitted(request_for(true)), without = fitted(request_for(false));
  ASSERT_TRUE(with.calibration);
  EXPECT_FALSE(without.calibration);
  EXPECT_LT(nll(with, "test.csv"), nll(without, "test.csv") - 0.1);
}

// Blocks of m rows with a correlation of rho are worth m / (1 + (m - 1) rho) rows.
TEST_F(CalibratedFit, HoldsThePooledMomentsOfTheFlowsOwnLatents) {
  auto request = request_for(true);
  request.train.schedule = Schedule::grid;
  request.train.grid = {0.8};
  const double information = kBlocks * kBlockRows / (1 + (kBlockRows - 1) * 0.8);
  auto model = fitted(request);
  const auto placed = model.to_latent(rows("valid.csv"), {}).latents;
  const auto used = *model.calibration;
  model.calibration.reset();
  const auto own = model.to_latent(rows("valid.csv"), {}).latents;
  const auto expected =
      calibrate(own.unsqueeze(0), nd::tensor({information}, nd::kDouble));
  EXPECT_TRUE(nd::allclose(used.mean, expected.mean, 0, 1e-10));
  EXPECT_TRUE(nd::allclose(used.deviation, expected.deviation, 1e-10));
  // By the formula: what is left of the rows' own mean, in units of the deviation.
  const double share = information / (400 + information);
  EXPECT_TRUE(
      nd::allclose(placed.mean(0), own.mean(0) * share / used.deviation[0], 0, 1e-10));
  EXPECT_GT(used.mean.abs().max().item<double>(), 0.1);
}

TEST_F(CalibratedFit, RowsAsIndependentAreWorthTheirNumber) {
  auto request = request_for(true);
  request.train.schedule = Schedule::baseline;
  auto model = fitted(request);
  const auto used = *model.calibration;
  model.calibration.reset();
  const auto expected =
      calibrate(model.to_latent(rows("valid.csv"), {}).latents.unsqueeze(0),
                nd::tensor({1.0 * kBlocks * kBlockRows}, nd::kDouble));
  EXPECT_TRUE(nd::allclose(used.mean, expected.mean, 0, 1e-10));
  EXPECT_TRUE(nd::allclose(used.deviation, expected.deviation, 1e-10));
}

TEST_F(CalibratedFit, IsADensityAndMapsThereAndBack) {
  const auto model = fitted(request_for(true));
  // Places that lie ever further apart hold the tails of few rows too.
  const std::int64_t side = 900;
  const double end = std::asinh(40), cell = 2 * end / static_cast<double>(side);
  const auto steps = nd::arange(side, nd::kDouble).add(0.5).mul(cell).sub(end);
  const auto axis = 3 * steps.sinh(), width = 3 * cell * steps.cosh();
  const auto points = nd::stack({axis.repeat({side}), axis.repeat_interleave(side)}, 1);
  const auto area = width.repeat({side}) * width.repeat_interleave(side);
  EXPECT_NEAR((model.row_log_density(points, {}).exp() * area).sum().item<double>(), 1,
              2e-3);
  const auto data = rows("test.csv");
  const auto there = model.to_latent(data, {});
  EXPECT_LT((model.from_latent(there.latents, {}) - data).abs().max().item<double>(),
            1e-9);
  EXPECT_TRUE(
      nd::allclose(standard_normal_log_density(there.latents) + there.log_abs_det,
                   model.row_log_density(data, {}), 0, 1e-10));
}

TEST_F(CalibratedFit, RecordsTheValidationNllOfTheModel) {
  for (const std::int64_t members : {1, 3}) {
    auto request = request_for(true);
    request.train.epochs = 5;
    request.replicas.count = 4;
    request.ensemble = members;
    const auto model = fitted(request);
    EXPECT_EQ(model.calibration->mean.size(0), members);
    EXPECT_NEAR(nll(model, "valid.csv"), model.record["valid_nll_nats"].get<double>(),
                1e-10);
    for (std::int64_t member = 0; member < members; ++member) {
      EXPECT_NEAR(
          nll(model.member(member), "valid.csv"),
          model.record["members"][static_cast<std::size_t>(member)]["valid_nll_nats"]
              .get<double>(),
          1e-10);
    }
  }
}

TEST_F(CalibratedFit, DrawsHaveTheMomentsOfThePopulation) {
  const auto model = fitted(request_for(true));
  Random random(8);
  auto latents = nd::empty({4000, 2}, nd::kDouble);
  for (std::int64_t i = 0; i < latents.numel(); ++i) {
    latents.data_ptr<double>()[i] = random.normal();
  }
  const auto drawn = model.from_latent(latents, {});
  EXPECT_NEAR(drawn.select(1, 0).mean().item<double>(), 0, 0.25);
  EXPECT_GT(rows("train.csv").select(1, 0).mean().item<double>(), 0.6);
}

TEST_F(CalibratedFit, HeldOutRowsOfTheTrainingTableCalibrateNothing) {
  auto request = request_for(true);
  request.data.valid_table.clear();
  request.data.folds = 1;
  request.train.epochs = 2;
  EXPECT_FALSE(fitted(request).calibration);
  request.train.schedule = Schedule::baseline;
  EXPECT_FALSE(fitted(request).calibration);
}

TEST_F(CalibratedFit, FewRowsSpreadTheDensityOverWhereThePopulationMayLie) {
  auto request = request_for(true);
  request.data.valid_table.clear();
  request.data.dependence.correlation = BlockCorrelation::per_block;
  request.train.epochs = 2;
  const auto model = fitted(request);
  const auto worth = model.record["cross_validation"]["worth_of_rows"].get<double>();
  ASSERT_LT(worth, 50);
  ASSERT_TRUE(model.calibration);
  // The members share the location and the scale, which two epochs leave near those of
  // the standardised rows.
  const auto& [mean, deviation] = *model.calibration;
  EXPECT_TRUE(nd::equal(mean, mean[0].expand_as(mean)));
  EXPECT_TRUE(nd::equal(deviation, deviation[0].expand_as(deviation)));
  EXPECT_LT(mean.abs().max().item<double>(), 0.5);
  const auto scale = deviation / std::sqrt(1 + 1 / worth);
  EXPECT_GT(scale.min().item<double>(), 0.7);
  EXPECT_LT(scale.max().item<double>(), 1.4);
}

TEST_F(CalibratedFit, WithoutStandardisationTheFlowSeesTheDataAsTheyAre) {
  auto request = request_for(true);
  request.standardize = false;
  const auto model = fitted(request);
  EXPECT_TRUE(
      nd::equal(model.parts[0].standardization.mean, nd::zeros({2}, nd::kDouble)));
  EXPECT_TRUE(
      nd::equal(model.parts[0].standardization.deviation, nd::ones({2}, nd::kDouble)));
  EXPECT_NEAR(nll(model, "valid.csv"), model.record["valid_nll_nats"].get<double>(),
              1e-10);
}

}  // namespace
}  // namespace kinflow
