// Training steps a second of sweeps on a GPU, by the number of replicas: spline flows
// of two columns on 10,000 rows in blocks, scored on 5,000 rows after every epoch.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "benchmarks/cuda_ceilings.h"
#include "benchmarks/measure.h"
#include "kinflow/array/array.h"
#include "kinflow/core/random.h"
#include "kinflow/dependence/blocks.h"
#include "kinflow/engine/cuda/epoch_cuda.h"
#include "kinflow/engine/cuda/row_order_cuda.h"
#include "kinflow/flow/cuda/fused_cuda.h"
#include "kinflow/flow/flow.h"

namespace kinflow {
namespace {

constexpr std::int64_t kRows = 10000, kValidRows = 5000, kBatch = 256, kEpochs = 5;

// Blocks whose sizes have a heavy tail, at most 1,000 rows each.
Array heavy_tailed_blocks(Random& random) {
  std::vector<std::int64_t> block;
  for (std::int64_t label = 0; std::ssize(block) < kRows; ++label) {
    const double size = std::round(std::pow(1 - random.uniform(), -2.0));
    const auto count = std::min(static_cast<std::int64_t>(std::min(size, 1000.0)),
                                kRows - std::ssize(block));
    block.insert(block.end(),
                 static_cast<std::size_t>(std::max<std::int64_t>(count, 1)), label);
  }
  return nd::tensor(block, nd::kLong);
}

// A crescent: the second column is a parabola of the first.
Array crescent(const Array& normal) {
  const auto first = normal.select(1, 0);
  return nd::stack({first, first.square() * 0.5 - 1 + normal.select(1, 1) * 0.37}, 1)
      .to(nd::kCUDA, nd::kFloat)
      .contiguous();
}

std::vector<std::int64_t> numbers(const Array& tensor) {
  const auto* data = tensor.data_ptr<std::int64_t>();
  return {data, data + tensor.numel()};
}

struct Problem {
  Blocks law;
  EpochSetup setup;
  Array train, valid, orders, rate_factor;

  explicit Problem(Random random) : law(heavy_tailed_blocks(random)) {
    const auto floats = nd::TensorOptions(nd::kFloat).device(nd::kCUDA);
    train = crescent(
        law.sample(nd::full({law.parameter_count()}, 0.6, nd::kDouble), 2, random));
    auto normal = nd::empty({kValidRows, 2}, nd::kDouble);
    std::generate_n(normal.data_ptr<double>(), normal.numel(),
                    [&] { return random.normal(); });
    valid = crescent(normal);
    orders = nd::empty({kEpochs, kRows}, floats.dtype(nd::kLong));
    row_orders(1, 0, kEpochs, kRows, orders.data_ptr<std::int64_t>(), nullptr);
    setup.plan = make_plan({.dimension = 2});
    setup.rows = kRows;
    setup.blocks = {numbers(law.block_of_row()), numbers(law.sizes()),
                    numbers(law.parameter_of_block()), law.parameter_count()};
    for (std::int64_t i = 0; i < kRows; i += kBatch) setup.batch_bounds.push_back(i);
    setup.batch_bounds.push_back(kRows);
    rate_factor = nd::ones({batches()}, floats);
  }
  std::int64_t batches() const {
    return static_cast<std::int64_t>(setup.batch_bounds.size()) - 1;
  }
};

struct Times {
  double train = 0, valid = 0;  // seconds of an epoch
};

Times measure(const Problem& problem, std::int64_t replicas) {
  const auto floats = nd::TensorOptions(nd::kFloat).device(nd::kCUDA);
  const std::int64_t k = problem.law.parameter_count();
  std::vector<std::uint64_t> seeds;
  for (std::int64_t i = 0; i < replicas; ++i) {
    seeds.push_back(static_cast<std::uint64_t>(i));
  }
  const Flow flow({.dimension = 2}, seeds);
  auto values = flow.values().to(nd::kCUDA);
  auto moment = nd::zeros_like(values), norm = nd::zeros_like(values);
  const auto mask = flow.decay_mask().to(nd::kCUDA);
  const auto each = [&](nd::ScalarType type, double value) {
    return nd::full({replicas}, value, floats.dtype(type));
  };
  auto steps = each(nd::kLong, 0), moves_steps = each(nd::kLong, 0);
  auto skipped = each(nd::kLong, 0), nll = each(nd::kDouble, 0);
  const auto rate = each(nd::kFloat, 0.01), decay = each(nd::kFloat, 0.001);
  const auto yes = each(nd::kBool, 1), one = each(nd::kDouble, 1);
  const auto ten = each(nd::kDouble, 10);
  auto unconstrained = nd::full({replicas, k}, -0.8, floats.dtype(nd::kDouble));
  auto k_moment = nd::zeros_like(unconstrained), k_norm = nd::zeros_like(unconstrained);
  auto memory = nd::empty({replicas, kRows, 2}, floats);
  auto density = nd::empty({replicas, kValidRows}, floats);
  FusedFlowCuda fused(problem.setup.plan);
  fused.to_latent({.count = kRows, .data = problem.train.data_ptr<float>()}, replicas,
                  values.data_ptr<float>(), memory.data_ptr<float>(), nullptr, nullptr);
  EpochCuda epochs(problem.setup);

  // Reading a number waits for the device.
  std::vector<double> train, valid;
  for (std::int64_t epoch = 0; epoch < kEpochs; ++epoch) {
    train.push_back(seconds_of([&] {
      epochs.run({.data = problem.train.data_ptr<float>(),
                  .order = problem.orders.data_ptr<std::int64_t>() + epoch * kRows,
                  .rate_factor = problem.rate_factor.data_ptr<float>()},
                 {.count = replicas,
                  .values = values.data_ptr<float>(),
                  .first_moment = moment.data_ptr<float>(),
                  .infinity_norm = norm.data_ptr<float>(),
                  .steps = steps.data_ptr<std::int64_t>(),
                  .decay_mask = mask.data_ptr<float>(),
                  .learning_rate = rate.data_ptr<float>(),
                  .weight_decay = decay.data_ptr<float>(),
                  .has_memory = yes.data_ptr<bool>(),
                  .memory_share = one.data_ptr<double>(),
                  .moves_dependence = yes.data_ptr<bool>(),
                  .dependence_rate = ten.data_ptr<double>(),
                  .prior = one.data_ptr<double>(),
                  .unconstrained = unconstrained.data_ptr<double>(),
                  .dependence_moment = k_moment.data_ptr<double>(),
                  .dependence_norm = k_norm.data_ptr<double>(),
                  .dependence_steps = moves_steps.data_ptr<std::int64_t>(),
                  .memory = memory.data_ptr<float>(),
                  .train_nll = nll.data_ptr<double>(),
                  .skipped = skipped.data_ptr<std::int64_t>()},
                 nullptr);
      nll[0].item<double>();
    }));
    valid.push_back(seconds_of([&] {
      fused.log_density({.count = kValidRows, .data = problem.valid.data_ptr<float>()},
                        replicas, values.data_ptr<float>(), density.data_ptr<float>(),
                        nullptr);
      mean_of_rows(density.data_ptr<float>(), replicas, kValidRows,
                   nll.data_ptr<double>(), nullptr);
      nll[0].item<double>();
    }));
  }
  return {median(train), median(valid)};
}

// Multiplications and additions of the conditioners in a training step, the way back
// included, and bytes of weights, moments and gradients that every step must move.
double flops_of_step(const FlowPlan& plan) {
  double weights = 0;
  for (const auto& coupling : plan.couplings) {
    for (const auto& linear : coupling.linears)
      weights += static_cast<double>(linear.inputs * linear.outputs);
  }
  return 6 * weights * kBatch;
}
double bytes_of_step(const FlowPlan& plan) {
  return 8.0 * sizeof(float) * static_cast<double>(plan.parameters);
}

int run() {
  const auto ceilings = measure_ceilings();
  fmt::print(
      "ceilings: {:.1f} TFLOP/s float32, {:.0f} TFLOP/s tensor cores (tf32), {:.2f} "
      "TB/s\n",
      ceilings.float32_flops / 1e12, ceilings.tensor_core_flops / 1e12,
      ceilings.copy_bytes / 1e12);
  const Problem problem(Random(5));
  const double flops = flops_of_step(problem.setup.plan);
  const double bytes = bytes_of_step(problem.setup.plan);
  fmt::print("{:>8} {:>12} {:>12} {:>16} {:>10} {:>10}\n", "replicas", "epoch, s",
             "scoring, s", "model-steps/s", "float32", "memory");
  for (const std::int64_t replicas : {1, 16, 132, 264, 1000, 2000, 4000}) {
    const auto times = measure(problem, replicas);
    const double rate =
        static_cast<double>(replicas * problem.batches()) / (times.train + times.valid);
    fmt::print("{:8} {:12.5f} {:12.5f} {:16.0f} {:9.1f}% {:9.1f}%\n", replicas,
               times.train, times.valid, rate,
               100 * rate * flops / ceilings.float32_flops,
               100 * rate * bytes / ceilings.copy_bytes);
  }
  return 0;
}

}  // namespace
}  // namespace kinflow

int main() { return kinflow::run(); }
