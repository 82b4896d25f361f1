// Speed of the parts of a training step and of whole epochs, with Google Benchmark.
//
//     benchmark_engine [--benchmark_filter=REGEX]
//
// One thread.
#include <benchmark/benchmark.h>

#include <vector>

#include "kinflow/array/array.h"
#include "kinflow/array/device.h"
#include "kinflow/dependence/blocks.h"
#include "kinflow/engine/adamax.h"
#include "kinflow/flow/density.h"
#include "kinflow/flow/rational_quadratic_spline.h"
#include "speed_problems.h"

namespace kinflow {
namespace {

void spline_forward_of_batch(benchmark::State& state) {
  const FlowOptions options = small_spline_flow();
  const std::int64_t count = spline_parameter_count(options.bins),
                     rows = state.range(0);
  Random random(5);
  const Array inputs = standard_normal_rows(rows, 1, nd::kFloat, random);
  const Array parameters =
      standard_normal_rows(rows, count, nd::kFloat, random).unsqueeze(1);
  for (auto _ : state) {
    benchmark::DoNotOptimize(spline_forward(inputs, parameters, options.bound));
  }
  state.SetItemsProcessed(state.iterations() * rows);
}
BENCHMARK(spline_forward_of_batch)->Arg(kBatchRows)->Arg(8 * kBatchRows);

/// The flow after an epoch of training: its splines are no straight lines.
void to_latent(benchmark::State& state, const FlowOptions& options) {
  EndlessTraining training(options, RowsAre::independent);
  training.run_epoch();
  const Array batch = training.rows().narrow(0, 0, kBatchRows).unsqueeze(0);
  for (auto _ : state) benchmark::DoNotOptimize(training.flow().to_latent(batch));
  state.SetItemsProcessed(state.iterations() * kBatchRows);
}
BENCHMARK_CAPTURE(to_latent, spline, small_spline_flow());
BENCHMARK_CAPTURE(to_latent, affine, deep_affine_flow());

void row_log_density_of_epoch(benchmark::State& state, const FlowOptions& options) {
  EndlessTraining training(options, RowsAre::independent);
  training.run_epoch();
  for (auto _ : state) {
    benchmark::DoNotOptimize(row_log_density(training.flow(), training.rows(), {}));
  }
  state.SetItemsProcessed(state.iterations() * kEpochRows);
}
BENCHMARK_CAPTURE(row_log_density_of_epoch, spline, small_spline_flow())
    ->Unit(benchmark::kMillisecond);

/// Items are batches.
void epoch(benchmark::State& state, const FlowOptions& options, RowsAre rows_are) {
  EndlessTraining training(options, rows_are);
  for (auto _ : state) training.run_epoch();
  state.SetItemsProcessed(state.iterations() * kEpochBatches);
}
BENCHMARK_CAPTURE(epoch, spline, small_spline_flow(), RowsAre::independent)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(epoch, spline_in_blocks, small_spline_flow(), RowsAre::in_blocks)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(epoch, affine, deep_affine_flow(), RowsAre::independent)
    ->Unit(benchmark::kMillisecond);

void adamax_step(benchmark::State& state, const FlowOptions& options) {
  Flow flow(options, {0});
  Adamax optimizer(flow.values());
  Random random(6);
  const Array gradient =
      standard_normal_rows(1, flow.values().size(1), nd::kFloat, random);
  const Array rate = nd::full({1, 1}, 1e-6, nd::kFloat);
  const Array active = nd::ones({1, 1}, nd::kBool);
  for (auto _ : state) {
    optimizer.step(flow.values(), gradient, rate, flow.decay_mask(), active);
  }
  state.SetItemsProcessed(state.iterations() * flow.values().numel());
}
BENCHMARK_CAPTURE(adamax_step, spline, small_spline_flow());
BENCHMARK_CAPTURE(adamax_step, affine, deep_affine_flow());

/// The dependence's part of a joint step.
void blocks_memory_step(benchmark::State& state) {
  const Blocks law(plane_training_rows().blocks);
  Random random(7);
  const auto memory = law.make_memory();
  memory->reset(standard_normal_rows(kEpochRows, 2, nd::kFloat, random).unsqueeze(0));
  const Array rows =
      nd::tensor(random.permutation(kEpochRows)).narrow(0, 0, kBatchRows);
  const Array latents =
      standard_normal_rows(kBatchRows, 2, nd::kFloat, random).unsqueeze(0);
  const Array parameters = nd::full({1, law.parameter_count()}, 0.3, nd::kDouble);
  for (auto _ : state) {
    memory->update(rows, latents);
    benchmark::DoNotOptimize(memory->precision_rows(parameters, rows));
    benchmark::DoNotOptimize(memory->parameter_gradient(parameters));
  }
}
BENCHMARK(blocks_memory_step);

}  // namespace
}  // namespace kinflow

int main(int count, char** arguments) {
  kinflow::set_threads(1);
  benchmark::Initialize(&count, arguments);
  if (benchmark::ReportUnrecognizedArguments(count, arguments)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
