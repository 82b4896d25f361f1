// Single steps of a CUDA epoch against steps in float64 that start from the same state.
#include <gtest/gtest.h>

#ifdef KINFLOW_CUDA

#include <cmath>
#include <vector>

#include "kinflow/array/array.h"
#include "kinflow/engine/adamax.h"
#include "kinflow/engine/cuda/epoch_cuda.h"
#include "tests/flow/architectures.h"
#include "tests/flow/cuda_rounding.h"
#include "tests/flow/plain_flow.h"

namespace kinflow {
namespace {

constexpr std::int64_t kFlows = 2, kStepRows = 40, kSteps = 20;
constexpr double kStepRate = 0.01;

// Of a training without weight decay.
struct StepState {
  Array values, moment, norm;  // [R, P]
  std::int64_t steps = 0;

  StepState as(nd::ScalarType type) const {
    return {values.to(type), moment.to(type), norm.to(type), steps};
  }
};

struct IndependentRows {
  Array data, context;  // [n, p], [n, c] or undefined; float64 of float32 numbers
};

// Rows of the step, for every flow.
Array rows_of_step(const Array& all, std::int64_t step, nd::ScalarType type) {
  if (!all.defined()) return all;
  const auto rows = all.narrow(0, step * kStepRows, kStepRows).to(type);
  return rows.unsqueeze(0).expand({kFlows, kStepRows, rows.size(1)});
}

void step_by_plain_flow(Flow& flow, const IndependentRows& rows, nd::ScalarType type,
                        StepState& state) {
  flow.values().copy_(state.values);
  const auto data = rows_of_step(rows.data, state.steps, type),
             context = rows_of_step(rows.context, state.steps, type);
  constexpr double kShare = 1.0 / kStepRows;
  const auto gradient = test::plain_gradient(
      flow, data, context, flow.to_latent(data, context).latents * kShare, -kShare);
  Adamax adamax(state.values);
  adamax.first_moment = state.moment.clone();
  adamax.infinity_norm = state.norm.clone();
  adamax.steps.fill_(state.steps);
  auto next = state.values.clone();
  adamax.step(next, gradient, nd::full({kFlows, 1}, kStepRate, next.options()), {},
              nd::ones({kFlows, 1}, nd::kBool));
  state = {next, adamax.first_moment, adamax.infinity_norm, state.steps + 1};
}

void step_on_gpu(const FlowOptions& options, const IndependentRows& rows,
                 StepState& state) {
  const auto on_gpu = [](const Array& tensor) {
    return tensor.to(nd::kCUDA, nd::kFloat).contiguous();
  };
  const auto values = on_gpu(state.values), moment = on_gpu(state.moment),
             norm = on_gpu(state.norm);
  const auto data = on_gpu(rows_of_step(rows.data, state.steps, nd::kFloat)[0]);
  const auto context =
      rows.context.defined()
          ? on_gpu(rows_of_step(rows.context, state.steps, nd::kFloat)[0])
          : data;
  const auto of_flows = [&](nd::ScalarType type, double value) {
    return nd::full({kFlows}, value, values.options().dtype(type));
  };
  const auto mask = nd::zeros({values.size(1)}, values.options());
  const auto steps = of_flows(nd::kLong, static_cast<double>(state.steps));
  const auto skipped = of_flows(nd::kLong, 0);
  const auto rate = of_flows(nd::kFloat, kStepRate), decay = of_flows(nd::kFloat, 0);
  const auto nll = of_flows(nd::kDouble, 0);
  const auto factor = nd::ones({1}, values.options());
  const auto order = nd::arange(kStepRows, values.options().dtype(nd::kLong));
  EpochCuda epoch(
      {.plan = make_plan(options), .rows = kStepRows, .batch_bounds = {0, kStepRows}});
  epoch.run({.data = data.data_ptr<float>(),
             .context = rows.context.defined() ? context.data_ptr<float>() : nullptr,
             .order = order.data_ptr<std::int64_t>(),
             .rate_factor = factor.data_ptr<float>()},
            {.count = kFlows,
             .values = values.data_ptr<float>(),
             .first_moment = moment.data_ptr<float>(),
             .infinity_norm = norm.data_ptr<float>(),
             .steps = steps.data_ptr<std::int64_t>(),
             .decay_mask = mask.data_ptr<float>(),
             .learning_rate = rate.data_ptr<float>(),
             .weight_decay = decay.data_ptr<float>(),
             .train_nll = nll.data_ptr<double>(),
             .skipped = skipped.data_ptr<std::int64_t>()},
            nullptr);
  EXPECT_EQ(skipped.sum().item<std::int64_t>(), 0);
  state = {values.cpu(), moment.cpu(), norm.cpu(), state.steps + 1};
}

// The gradient of the step between two states, which the moment has a tenth of.
Array gradient_between(const StepState& before, const StepState& after) {
  return 10 * (after.moment.to(nd::kDouble) - 0.9 * before.moment.to(nd::kDouble));
}

void expect_rounding_alone(const Flow& flow, const StepState& before,
                           const StepState& found, const StepState& single,
                           const StepState& exact) {
  double terms = kStepRows;
  for (const auto width : flow.options().hidden) {
    terms = std::max(terms, static_cast<double>(width));
  }
  for (const auto& slot : flow.slots()) {
    SCOPED_TRACE(slot.name);
    const auto part = [&](const StepState& after) {
      return gradient_between(before, after).narrow(1, slot.offset, slot.count);
    };
    // A gradient is ten times what a moment of float32 numbers can hold of it.
    const double held =
        10 * kFloatRounding *
        before.moment.narrow(1, slot.offset, slot.count).norm().item<double>();
    const double size = part(exact).norm().item<double>();
    const auto error = [&](const StepState& after) {
      return (part(after) - part(exact)).norm().item<double>();
    };
    if (size == 0) {
      EXPECT_EQ(error(found), 0);
      continue;
    }
    EXPECT_LT(error(found),
              size * largest_cuda_error(terms, error(single) / size) + held);
  }
  // The step follows from the moment and the norm that the kernel itself has.
  const double correction = 1 - std::pow(0.9, static_cast<double>(found.steps));
  const auto move = kStepRate / correction * found.moment.to(nd::kDouble) /
                    found.norm.to(nd::kDouble);
  const auto off =
      (before.values.to(nd::kDouble) - move - found.values.to(nd::kDouble));
  EXPECT_LT((off.abs() / (before.values.to(nd::kDouble).abs() + move.abs() + 1e-9))
                .max()
                .item<double>(),
            16 * kFloatRounding);
}

TEST(EpochCuda, EveryStepIsThatOfFloat64UpToRounding) {
  if (!nd::hasCUDA()) GTEST_SKIP() << "there is no GPU";
  // At this rate the loss of some rises to 20 nats, and rounding with it.
  for (const auto& options : std::vector<FlowOptions>{
           {.dimension = 1, .layers = 2, .hidden = {8}, .bins = 5},
           {.dimension = 2, .context = 2, .layers = 2, .hidden = {8, 8}, .bins = 5},
           {.dimension = 2},
           {.dimension = 3, .layers = 2},
           {.dimension = 2, .layers = 2, .hidden = {100}},
           {.kind = FlowKind::affine, .dimension = 3, .layers = 3, .hidden = {16}}}) {
    const auto numbers = [](std::int64_t columns, std::uint64_t seed, double scale) {
      return normal({kSteps * kStepRows, columns}, seed, scale)
          .to(nd::kFloat)
          .to(nd::kDouble);
    };
    const IndependentRows rows{
        .data = numbers(options.dimension, 3, 1.3),
        .context = options.context > 0 ? numbers(options.context, 4, 1) : Array()};
    Flow exact_flow(options, {1, 2}, nd::kDouble),
        single_flow(options, {1, 2}, nd::kFloat);
    const auto zeros = nd::zeros_like(single_flow.values());
    StepState state{single_flow.values().to(nd::kDouble), zeros.to(nd::kDouble),
                    zeros.to(nd::kDouble)};
    for (std::int64_t step = 0; step < kSteps; ++step) {
      SCOPED_TRACE(testing::Message()
                   << options.dimension << " columns, step " << step);
      const auto before = state.as(nd::kFloat).as(nd::kDouble);
      auto exact = before, single = before.as(nd::kFloat), found = single;
      step_by_plain_flow(exact_flow, rows, nd::kDouble, exact);
      step_by_plain_flow(single_flow, rows, nd::kFloat, single);
      step_on_gpu(options, rows, found);
      expect_rounding_alone(exact_flow, before, found, single, exact);
      state = exact;
    }
  }
}

}  // namespace
}  // namespace kinflow

#endif
