// Single steps of a CUDA epoch against steps in float64 that start from the same state.
#include <gtest/gtest.h>

#ifdef KINFLOW_CUDA

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include "kinflow/train/adamax.h"
#include "kinflow/train/epoch_cuda.h"
#include "tests/flow/architectures.h"
#include "tests/flow/cuda_rounding.h"

namespace kinflow {
namespace {

constexpr std::int64_t kFlows = 2, kStepRows = 40, kSteps = 20;
constexpr double kStepRate = 0.01;

// Of a training without weight decay.
struct StepState {
  at::Tensor values, moment, norm;  // [R, P]
  std::int64_t steps = 0;

  StepState as(at::ScalarType type) const {
    return {values.to(type), moment.to(type), norm.to(type), steps};
  }
};

struct IndependentRows {
  at::Tensor data, context;  // [n, p], [n, c] or undefined; float64 of float32 numbers
};

// Rows of the step, for every flow.
at::Tensor rows_of_step(const at::Tensor& all, std::int64_t step, at::ScalarType type) {
  if (!all.defined()) return all;
  const auto rows = all.narrow(0, step * kStepRows, kStepRows).to(type);
  return rows.unsqueeze(0).expand({kFlows, kStepRows, rows.size(1)});
}

void step_by_tensors(Flow& flow, const IndependentRows& rows, at::ScalarType type,
                     StepState& state) {
  {
    const c10::NoGradGuard no_grad;
    flow.values().copy_(state.values);
  }
  const auto result = flow.to_latent(rows_of_step(rows.data, state.steps, type),
                                     rows_of_step(rows.context, state.steps, type));
  const auto gradient = flow.gradient_of(
      (0.5 * result.latents.square().sum(-1) - result.log_abs_det).mean(1).sum());
  const c10::NoGradGuard no_grad;
  Adamax adamax(state.values);
  adamax.first_moment = state.moment.clone();
  adamax.infinity_norm = state.norm.clone();
  adamax.steps.fill_(state.steps);
  auto next = state.values.clone();
  adamax.step(next, gradient, at::full({kFlows, 1}, kStepRate, next.options()), {},
              at::ones({kFlows, 1}, at::kBool));
  state = {next, adamax.first_moment, adamax.infinity_norm, state.steps + 1};
}

void step_on_gpu(const FlowOptions& options, const IndependentRows& rows,
                 StepState& state) {
  const c10::NoGradGuard no_grad;
  const auto on_gpu = [](const at::Tensor& tensor) {
    return tensor.to(at::kCUDA, at::kFloat).contiguous();
  };
  const auto values = on_gpu(state.values), moment = on_gpu(state.moment),
             norm = on_gpu(state.norm);
  const auto data = on_gpu(rows_of_step(rows.data, state.steps, at::kFloat)[0]);
  const auto context =
      rows.context.defined()
          ? on_gpu(rows_of_step(rows.context, state.steps, at::kFloat)[0])
          : data;
  const auto of_flows = [&](at::ScalarType type, double value) {
    return at::full({kFlows}, value, values.options().dtype(type));
  };
  const auto mask = at::zeros({values.size(1)}, values.options());
  const auto steps = of_flows(at::kLong, static_cast<double>(state.steps));
  const auto skipped = of_flows(at::kLong, 0);
  const auto rate = of_flows(at::kFloat, kStepRate), decay = of_flows(at::kFloat, 0);
  const auto nll = of_flows(at::kDouble, 0);
  const auto factor = at::ones({1}, values.options());
  const auto order = at::arange(kStepRows, values.options().dtype(at::kLong));
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
at::Tensor gradient_between(const StepState& before, const StepState& after) {
  return 10 * (after.moment.to(at::kDouble) - 0.9 * before.moment.to(at::kDouble));
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
  const auto move = kStepRate / correction * found.moment.to(at::kDouble) /
                    found.norm.to(at::kDouble);
  const auto off =
      (before.values.to(at::kDouble) - move - found.values.to(at::kDouble));
  EXPECT_LT((off.abs() / (before.values.to(at::kDouble).abs() + move.abs() + 1e-9))
                .max()
                .item<double>(),
            16 * kFloatRounding);
}

TEST(EpochCuda, EveryStepIsThatOfFloat64UpToRounding) {
  if (!at::hasCUDA()) GTEST_SKIP() << "there is no GPU";
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
          .to(at::kFloat)
          .to(at::kDouble);
    };
    const IndependentRows rows{
        .data = numbers(options.dimension, 3, 1.3),
        .context = options.context > 0 ? numbers(options.context, 4, 1) : at::Tensor()};
    Flow exact_flow(options, {1, 2}, at::kDouble),
        single_flow(options, {1, 2}, at::kFloat);
    const auto zeros = at::zeros_like(single_flow.values()).detach();
    StepState state{single_flow.values().detach().to(at::kDouble),
                    zeros.to(at::kDouble), zeros.to(at::kDouble)};
    for (std::int64_t step = 0; step < kSteps; ++step) {
      SCOPED_TRACE(testing::Message()
                   << options.dimension << " columns, step " << step);
      const auto before = state.as(at::kFloat).as(at::kDouble);
      auto exact = before, single = before.as(at::kFloat), found = single;
      step_by_tensors(exact_flow, rows, at::kDouble, exact);
      step_by_tensors(single_flow, rows, at::kFloat, single);
      step_on_gpu(options, rows, found);
      expect_rounding_alone(exact_flow, before, found, single, exact);
      state = exact;
    }
  }
}

}  // namespace
}  // namespace kinflow

#endif
