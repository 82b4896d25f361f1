// Fused CPU kernels against the tensor version, for every instruction set of the
// machine.
#include "kinflow/flow/fused_flow.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <tuple>

#include "kinflow/flow/density.h"
#include "tests/flow/architectures.h"

namespace kinflow {
namespace {

// Norm of the difference over the norm of what is expected.
double relative_error(const at::Tensor& found, const at::Tensor& expected) {
  const auto difference = found.to(at::kDouble) - expected.to(at::kDouble);
  return (difference.norm() / expected.to(at::kDouble).norm().clamp_min(1e-12))
      .item<double>();
}

template <typename Real>
RowSet<Real> rows_of(const at::Tensor& data, const at::Tensor& context) {
  return {.data = data.data_ptr<Real>(),
          .context = context.defined() ? context.data_ptr<Real>() : nullptr,
          .count = data.size(0)};
}

// Fused results of one replica for rows [n, p], in the type of the flow.
template <typename Real>
struct Fused {
  at::Tensor latents, log_abs_det, gradient, data;

  Fused(const Flow& flow, const at::Tensor& rows, const at::Tensor& context,
        const at::Tensor& slopes, double log_abs_det_slope, InstructionSet set,
        std::int64_t threads = 1) {
    const FusedFlow<Real> fused(make_plan(flow.options()), set);
    FusedBatch<Real> batch(fused);
    Workers workers(threads);
    latents = at::empty_like(rows);
    log_abs_det = at::empty({rows.size(0)}, rows.options());
    gradient = at::empty({flow.values().size(1)}, rows.options());
    data = at::empty_like(rows);
    const auto* values = flow.values().data_ptr<Real>();
    const auto set_of_rows = rows_of<Real>(rows, context);
    batch.to_latent(values, set_of_rows, latents.data_ptr<Real>(),
                    log_abs_det.data_ptr<Real>(), workers);
    batch.gradient(values, slopes.data_ptr<Real>(),
                   static_cast<Real>(log_abs_det_slope), gradient.data_ptr<Real>(),
                   workers);
    fused.from_latent(values, rows_of<Real>(latents, context), data.data_ptr<Real>(),
                      workers);
  }
};

std::vector<FlowOptions> fused_architectures() {
  auto all = architectures();
  all.push_back({.dimension = 2});
  all.push_back({.dimension = 7, .layers = 2, .hidden = {33, 50, 19}, .bins = 9});
  all.push_back({.dimension = 4, .layers = 2, .hidden = {20}, .bins = 2});
  all.push_back(
      {.kind = FlowKind::affine, .dimension = 30, .layers = 4, .hidden = {128, 128}});
  return all;
}

// Weights far from the identity; the further, the more rounding grows on its way.
Flow flow_with_weights(const FlowOptions& options, at::ScalarType type,
                       double disturbance) {
  double width = 1;
  for (const auto hidden : options.hidden) {
    width = std::max(width, static_cast<double>(hidden));
  }
  return random_flow(options, {3}, type, disturbance / std::sqrt(width));
}

const InstructionSet kSets[] = {InstructionSet::portable, InstructionSet::avx2,
                                InstructionSet::avx512};

// The largest relative errors of latents, log-determinants and the gradient of every
// weight against the tensor version in float64: of the fused version, and of the tensor
// version in the same precision as the fused.
struct Errors {
  double fused = 0, tensor = 0;
};

template <typename Real>
Errors largest_errors(const FlowOptions& options, std::int64_t rows, InstructionSet set,
                      double disturbance) {
  constexpr auto kType = std::is_same_v<Real, float> ? at::kFloat : at::kDouble;
  const auto flow = flow_with_weights(options, kType, disturbance);
  Flow exact(options, {3}, at::kDouble);
  {
    const c10::NoGradGuard no_grad;
    exact.values().copy_(flow.values());
  }
  // Some rows lie in the tails.
  const auto data = normal({rows, options.dimension}, 5, 2.5).to(kType);
  const auto context = options.context > 0
                           ? normal({rows, options.context}, 17).to(kType)
                           : at::Tensor();
  const auto slopes = normal({rows, options.dimension}, 7).to(kType);
  const auto by_tensors = [&](const Flow& by) {
    const auto ready = [&](const at::Tensor& t) {
      return t.defined() ? t.to(by.values().scalar_type()).unsqueeze(0) : t;
    };
    auto result = by.to_latent(ready(data), ready(context));
    const auto gradient = by.gradient_of((result.latents * slopes).sum() -
                                         0.7 * result.log_abs_det.sum());
    return std::tuple{result.latents[0].detach(), result.log_abs_det[0].detach(),
                      gradient[0]};
  };
  const auto expected = by_tensors(exact);
  const auto error_of = [&](const at::Tensor& latents, const at::Tensor& log_abs_det,
                            const at::Tensor& gradient) {
    double error = std::max(relative_error(latents, std::get<0>(expected)),
                            relative_error(log_abs_det, std::get<1>(expected)));
    for (const auto& slot : flow.slots()) {
      const auto part = [&](const at::Tensor& all) {
        return all.narrow(0, slot.offset, slot.count);
      };
      error =
          std::max(error, relative_error(part(gradient), part(std::get<2>(expected))));
    }
    return error;
  };
  const Fused<Real> fused(flow, data, context, slopes, -0.7, set);
  return {.fused = error_of(fused.latents, fused.log_abs_det, fused.gradient),
          .tensor = std::apply(error_of, by_tensors(flow))};
}

TEST(FusedFlow, SinglePrecisionAgreesWithTheTensorVersion) {
  for (const auto set : kSets) {
    for (const auto& options : fused_architectures()) {
      EXPECT_LT(largest_errors<float>(options, 256, set, 0.2).fused, 1e-5)
          << static_cast<int>(options.kind) << " p " << options.dimension;
      // Here single precision itself is not as good as that.
      const auto wild = largest_errors<float>(options, 256, set, 1);
      EXPECT_LT(wild.fused, 3 * wild.tensor + 1e-5)
          << static_cast<int>(options.kind) << " p " << options.dimension;
    }
  }
}

TEST(FusedFlow, DoublePrecisionAgreesWithTheTensorVersion) {
  for (const auto set : kSets) {
    for (const auto& options : fused_architectures()) {
      EXPECT_LT(largest_errors<double>(options, 256, set, 0.4).fused, 1e-12)
          << static_cast<int>(options.kind) << " p " << options.dimension;
    }
  }
}

TEST(FusedFlow, AnyNumberOfRowsWillDo) {
  for (const auto set : kSets) {
    for (const std::int64_t rows : {1, 2, 15, 16, 17, 63, 64, 65, 200, 1300}) {
      const FlowOptions options{.dimension = 3, .hidden = {9, 9}, .bins = 5};
      EXPECT_LT(largest_errors<double>(options, rows, set, 0.4).fused, 1e-12) << rows;
    }
  }
}

TEST(FusedFlow, TheWayBackAgreesWithTheTensorVersion) {
  for (const auto set : kSets) {
    for (const auto& options : fused_architectures()) {
      const auto flow = flow_with_weights(options, at::kDouble, 0.4);
      const auto rows = normal({100, options.dimension}, 5, 2.5);
      const auto context =
          options.context > 0 ? normal({100, options.context}, 17) : at::Tensor();
      const Fused<double> fused(flow, rows, context, rows, -1, set);
      EXPECT_LT(relative_error(fused.data, rows), 1e-9)
          << static_cast<int>(options.kind) << " p " << options.dimension << " bins "
          << options.bins;
    }
  }
}

TEST(FusedFlow, ResultsDoNotDependOnTheThreads) {
  const FlowOptions options{.dimension = 3, .hidden = {24, 24}, .bins = 8};
  const auto flow = random_flow(options, {3}, at::kFloat, 0.2);
  for (const std::int64_t rows : {100, 700, 3000}) {
    const auto data = normal({rows, 3}, 5).to(at::kFloat);
    const Fused<float> one(flow, data, {}, data, -1, InstructionSet::best, 1);
    const Fused<float> three(flow, data, {}, data, -1, InstructionSet::best, 3);
    EXPECT_TRUE(one.latents.equal(three.latents));
    EXPECT_TRUE(one.gradient.equal(three.gradient));
    EXPECT_TRUE(one.data.equal(three.data));
  }
}

TEST(FusedFlow, ExtremeWeightsAndInputsGiveFiniteSplines) {
  for (const auto set : kSets) {
    for (const double scale : {3.0, 30.0, 300.0}) {
      const FlowOptions options{.dimension = 2, .hidden = {8, 8}, .bins = 6};
      const auto flow = random_flow(options, {3}, at::kFloat, scale);
      auto data = normal({128, 2}, 5, 3).to(at::kFloat);
      data[0].fill_(1e30);
      data[1].fill_(-1e30);
      data[2].fill_(5);
      data[3].fill_(-5);
      const Fused<float> fused(flow, data, {}, data.clamp(-1, 1), -1, set);
      EXPECT_TRUE(at::isfinite(fused.latents).all().item<bool>()) << scale;
      EXPECT_TRUE(at::isfinite(fused.log_abs_det).all().item<bool>()) << scale;
      EXPECT_TRUE(at::isfinite(fused.data).all().item<bool>()) << scale;
    }
  }
}

TEST(FusedFlow, ARowThatIsNotANumberStaysSoAndLeavesOthersAlone) {
  for (const auto set : kSets) {
    for (const auto& options : fused_architectures()) {
      if (options.context > 0) continue;
      const auto flow = flow_with_weights(options, at::kDouble, 0.4);
      const auto rows = normal({20, options.dimension}, 5);
      auto with_nan = rows.clone();
      with_nan[3].fill_(std::numeric_limits<double>::quiet_NaN());
      const Fused<double> whole(flow, rows, {}, rows, -1, set);
      const Fused<double> fused(flow, with_nan, {}, rows, -1, set);
      // The kernels' logarithm of NaN is some number, so log_abs_det may be one; the
      // latents make the density NaN.
      EXPECT_TRUE(fused.latents[3].isnan().all().item<bool>());
      for (const std::int64_t row : {0, 2, 4, 19}) {
        EXPECT_TRUE(fused.latents[row].equal(whole.latents[row])) << row;
        EXPECT_TRUE(fused.log_abs_det[row].equal(whole.log_abs_det[row])) << row;
      }
    }
  }
}

}  // namespace
}  // namespace kinflow
