// Exponential decay in time: many rows, windows, stretches, equal times, refusals.
#include "kinflow/dependence/markov_time.h"

#include <cmath>

#include "kinflow/core/error.h"
#include "kinflow/dependence/relationship_matrices.h"
#include "problems.h"

namespace kinflow {
namespace {

using oracle::expect_near;

TEST(MarkovTime, EqualsTheDenseExponentialKernel) {
  Random random(91);
  // Half of the times are repeated, none are sorted.
  const Array some = oracle::uniform({30}, 0, 100, random);
  const Array times = nd::cat({some, some.flip(0)});
  const MarkovTime fast(times, {.decay_rate = 0.2});
  const Relationship dense(markov_time_relationship(times, 0.2));
  const Array parameters = oracle::uniform({3, 1}, 0.02, 0.98, random);
  const Array latents = oracle::normal({3, 60, 2}, random);
  const Array rows = oracle::whole_numbers({59, 4, 17, 0});
  const Array batch = latents.index_select(1, rows);
  expect_near(fast.log_density(parameters, latents),
              dense.log_density(parameters, latents), 1e-12, "log density");
  expect_near(fast.precision_times(parameters, latents),
              dense.precision_times(parameters, latents), 1e-11, "C^-1 U");
  expect_near(fast.parameter_gradient(parameters, latents),
              dense.parameter_gradient(parameters, latents), 1e-11, "gradient");
  expect_near(fast.pairs_rows(parameters, rows, batch),
              dense.pairs_rows(parameters, rows, batch), 1e-11, "pairs");
  expect_near(fast.pairs_parameter_gradient(parameters, rows, batch),
              dense.pairs_parameter_gradient(parameters, rows, batch), 1e-11,
              "gradient of pairs");
}

TEST(MarkovTime, AllTimesEqualIsOneBlock) {
  const MarkovTime moment(nd::full({5}, 2.5, nd::kDouble), {.decay_rate = 3.0});
  const Blocks block(nd::zeros({5}, nd::kLong));
  Random random(92);
  const Array latents = oracle::normal({1, 5, 2}, random);
  const Array own_share = nd::full({1, 1}, 0.3, nd::kDouble);
  expect_near(moment.log_density(own_share, latents),
              block.log_density(1 - own_share, latents), 1e-13, "log density");
  expect_near(moment.precision_times(own_share, latents),
              block.precision_times(1 - own_share, latents), 1e-13, "C^-1 U");
}

/// Rows with gaps from 0 to 2 in random order.
Array many_times(std::int64_t n, Random& random) {
  const Array times = oracle::uniform({n}, 0, 2, random).cumsum(0);
  return times.index_select(0, oracle::whole_numbers(random.permutation(n)));
}

TEST(MarkovTime, WindowsOfABatchLoseNothing) {
  Random random(93);
  const std::int64_t n = 4000;
  const MarkovTime law(many_times(n, random));
  const Array latents = oracle::normal({4, n, 2}, random);
  // Long and short memories, strong and weak noise.
  const Array parameters =
      nd::tensor({0.5, 0.001, 0.02, 0.3, 0.9, 0.01, 1e-6, 1e-4}, nd::kDouble)
          .view({4, 2});
  const auto memory = law.make_memory();
  memory->reset(latents);
  const Array rows = oracle::whole_numbers(random.permutation(n)).narrow(0, 0, 12);
  expect_near(memory->precision_rows(parameters, rows),
              law.precision_times(parameters, latents).index_select(1, rows), 1e-13,
              "rows of C^-1 U");
}

TEST(MarkovTime, PairsInWindowsEqualTheDenseOnes) {
  Random random(95);
  const Array times = many_times(500, random);
  const Relationship dense(markov_time_relationship(times, 0.6));
  const MarkovTime law(times, {.decay_rate = 0.6});
  const Array share = nd::tensor({0.4, 0.03}, nd::kDouble).view({2, 1});
  const Array rows = oracle::whole_numbers(random.permutation(500)).narrow(0, 0, 12);
  const Array batch = oracle::normal({2, 12, 2}, random);
  expect_near(law.pairs_rows(share, rows, batch), dense.pairs_rows(share, rows, batch),
              1e-11, "pairs");
  expect_near(law.pairs_parameter_gradient(share, rows, batch),
              dense.pairs_parameter_gradient(share, rows, batch), 1e-11, "gradient");
}

TEST(MarkovTime, GradientsOfAllStretchesHaveTheExactMean) {
  Random random(94);
  const std::int64_t n = 3000;
  const MarkovTime law(many_times(n, random), {.stretch_rows = 700});
  const Array latents = oracle::normal({2, n, 3}, random);
  const Array parameters = nd::tensor({0.5, 0.01, 0.2, 0.4}, nd::kDouble).view({2, 2});
  const auto memory = law.make_memory();
  memory->reset(latents);
  Array sum = nd::zeros({2, 2}, nd::kDouble);
  for (int stretch = 0; stretch < 5; ++stretch) {
    sum += memory->parameter_gradient(parameters);
    memory->update(oracle::whole_numbers({0}), latents.narrow(1, 0, 1));
  }
  expect_near(sum / 5, law.parameter_gradient(parameters, latents), 1e-12, "mean");
}

TEST(MarkovTime, RatesStayPositiveWithoutBounds) {
  const MarkovTime law(nd::arange(3, nd::kDouble));
  const Array parameters = nd::tensor({0.25, 17.0}, nd::kDouble).view({1, 2});
  const Array unconstrained = law.to_unconstrained(parameters);
  EXPECT_NEAR(unconstrained[0][1].item<double>(), std::log(17.0), 1e-15);
  expect_near(law.from_unconstrained(unconstrained), parameters, 1e-15, "back");
  const Array far = law.from_unconstrained(nd::full({1, 2}, -1e4, nd::kDouble));
  EXPECT_GT(far.min().item<double>(), 0);
}

TEST(MarkovTime, RefusesTimesAndRatesThatAreNotNumbers) {
  const Array times = nd::arange(3, nd::kDouble);
  EXPECT_THROW(MarkovTime(times / 0), InputError);
  EXPECT_THROW(MarkovTime(times.view({3, 1})), InputError);
  EXPECT_THROW(MarkovTime(times, {.decay_rate = 0.0}), InputError);
  EXPECT_THROW(MarkovTime(times, {.decay_rate = std::nan("")}), InputError);
}

}  // namespace
}  // namespace kinflow
