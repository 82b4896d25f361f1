// Fused CUDA kernels against the plain version in float64.
#include <gtest/gtest.h>

#ifdef KINFLOW_CUDA

#include <algorithm>
#include <cmath>

#include "kinflow/array/array.h"
#include "kinflow/flow/cuda/fused_cuda.h"
#include "kinflow/flow/density.h"
#include "tests/flow/architectures.h"
#include "tests/flow/cuda_rounding.h"
#include "tests/flow/plain_flow.h"

#define SKIP_WITHOUT_GPU() \
  if (!nd::hasCUDA()) GTEST_SKIP() << "there is no GPU"

namespace kinflow {
namespace {

constexpr std::int64_t kReplicas = 3;

std::vector<FlowOptions> cuda_architectures() {
  auto all = architectures();
  all.push_back({.dimension = 2});
  all.push_back({.dimension = 2, .context = 3});
  all.push_back({.dimension = 6, .layers = 2});
  all.push_back({.dimension = 7, .layers = 2, .hidden = {33, 50, 19}, .bins = 9});
  all.push_back({.dimension = 4, .layers = 2, .hidden = {20}, .bins = 2});
  all.push_back({.dimension = 3, .layers = 2, .hidden = {100, 70}, .bins = 40});
  all.push_back(
      {.kind = FlowKind::affine, .dimension = 30, .layers = 4, .hidden = {128, 128}});
  return all;
}

double relative_error(const Array& found, const Array& expected) {
  const auto difference = found.to(nd::kCPU, nd::kDouble) - expected.to(nd::kDouble);
  return (difference.norm() / expected.to(nd::kDouble).norm().clamp_min(1e-12))
      .item<double>();
}

Array to_gpu(const Array& tensor) {
  return tensor.defined() ? tensor.to(nd::kCUDA, nd::kFloat).contiguous() : tensor;
}

const float* pointer(const Array& tensor) {
  return tensor.defined() ? tensor.data_ptr<float>() : nullptr;
}

// One flow in float64 and float32 by layers, and its numbers on the device. Weights
// are far from the identity; the further, the more rounding grows on its way.
struct Subject {
  FlowOptions options;
  Flow exact, single;
  Array values;   // on the device
  Array data;     // [n, p] float64, of float32 numbers; some in the tails
  Array context;  // [n, c] or undefined
  Array gpu_data, gpu_context;
  FusedFlowCuda fused;

  static double disturbance(const FlowOptions& options) {
    double width = 1;
    for (const auto hidden : options.hidden) {
      width = std::max(width, static_cast<double>(hidden));
    }
    return 0.6 / std::sqrt(width);
  }
  explicit Subject(const FlowOptions& from, std::int64_t rows = 300)
      : options(from),
        exact(from, {1, 2, 3}, nd::kDouble),
        single(random_flow(from, {1, 2, 3}, nd::kFloat, disturbance(from))),
        data(normal({rows, from.dimension}, 5, 2).to(nd::kFloat).to(nd::kDouble)),
        fused(make_plan(from)) {
    exact.values().copy_(single.values());
    values = to_gpu(single.values());
    if (from.context > 0) {
      context = normal({rows, from.context}, 17).to(nd::kFloat).to(nd::kDouble);
    }
    gpu_data = to_gpu(data);
    gpu_context = to_gpu(context);
  }

  FusedFlowCuda::Rows rows() const {
    return {.count = data.size(0),
            .data = pointer(gpu_data),
            .context = pointer(gpu_context)};
  }
  // Rows of all replicas, as layers take them.
  Array for_all(const Array& some) const {
    return some.defined()
               ? some.unsqueeze(0).expand({kReplicas, some.size(0), some.size(1)})
               : some;
  }
};

// @param rows  that a gradient is summed over; 1 where nothing is
void expect_exact(const FlowOptions& options, double rows, double fused,
                  double single) {
  double terms = rows;
  for (const auto width : options.hidden) {
    terms = std::max(terms, static_cast<double>(width));
  }
  // The second was measured to hold; the first says why no less can be asked for.
  EXPECT_LT(fused,
            std::min(largest_cuda_error(terms, single), std::max(1e-5, 16 * single)));
}

TEST(FusedFlowCuda, LatentsAndLogDeterminantsMatchThePlainVersion) {
  SKIP_WITHOUT_GPU();
  for (const auto& options : cuda_architectures()) {
    ASSERT_TRUE(FusedFlowCuda::fits(make_plan(options)));
    const Subject s(options);
    const std::int64_t n = s.data.size(0), p = options.dimension;
    const auto latents = nd::full({kReplicas, n, p}, NAN, s.values.options());
    const auto log_abs_det = nd::full({kReplicas, n}, NAN, s.values.options());
    const auto density = nd::full({kReplicas, n}, NAN, s.values.options());
    s.fused.to_latent(s.rows(), kReplicas, pointer(s.values), latents.data_ptr<float>(),
                      log_abs_det.data_ptr<float>(), nullptr);
    s.fused.log_density(s.rows(), kReplicas, pointer(s.values),
                        density.data_ptr<float>(), nullptr);
    const auto exact = s.exact.to_latent(s.for_all(s.data), s.for_all(s.context));
    const auto single = s.single.to_latent(
        s.for_all(s.data.to(nd::kFloat)),
        s.for_all(s.context.defined() ? s.context.to(nd::kFloat) : s.context));
    expect_exact(options, 1, relative_error(latents, exact.latents),
                 relative_error(single.latents, exact.latents));
    expect_exact(options, 1, relative_error(log_abs_det, exact.log_abs_det),
                 relative_error(single.log_abs_det, exact.log_abs_det));
    EXPECT_LT(relative_error(density, standard_normal_log_density(exact.latents) +
                                          exact.log_abs_det),
              1e-5);
    const auto means = nd::empty({kReplicas}, s.values.options().dtype(nd::kDouble));
    mean_of_rows(density.data_ptr<float>(), kReplicas, n, means.data_ptr<double>(),
                 nullptr);
    EXPECT_LT(relative_error(means, density.to(nd::kCPU, nd::kDouble).mean(1)), 1e-13);
  }
}

TEST(FusedFlowCuda, GradientsMatchThePlainVersion) {
  SKIP_WITHOUT_GPU();
  for (const auto& options : cuda_architectures()) {
    const Subject s(options);
    // More rows than a tile of a block, and no whole number of tiles.
    const std::int64_t b = 203, p = options.dimension;
    Random random(8);
    const auto order = random.permutation(s.data.size(0));
    const auto index = nd::tensor(
        std::vector<std::int64_t>(order.begin(), order.begin() + b), nd::kLong);
    const auto gpu_index = index.to(nd::kCUDA);
    const auto slopes = normal({kReplicas, b, p}, 9, 1.0 / b).to(nd::kFloat);
    const float log_abs_det_slope = -1.0F / static_cast<float>(b);

    const FusedFlowCuda::Batch batch{
        .count = b, .index = gpu_index.data_ptr<std::int64_t>(), .rows = s.rows()};
    const auto workspace =
        nd::empty({static_cast<std::int64_t>(s.fused.workspace_bytes(b, kReplicas))},
                  s.values.options().dtype(nd::kByte));
    const auto latents = nd::full({kReplicas, b, p}, NAN, s.values.options());
    const auto log_abs_det = nd::full({kReplicas, b}, NAN, s.values.options());
    const auto gradient = nd::full_like(s.values, NAN);
    s.fused.to_latent(batch, kReplicas, pointer(s.values), latents.data_ptr<float>(),
                      log_abs_det.data_ptr<float>(), workspace.data_ptr(), nullptr);
    const auto gpu_slopes = to_gpu(slopes);
    s.fused.backward(batch, kReplicas, pointer(s.values), gpu_slopes.data_ptr<float>(),
                     log_abs_det_slope, workspace.data_ptr(),
                     gradient.data_ptr<float>(), nullptr);

    const auto by_plain_flow = [&](const Flow& flow, nd::ScalarType type,
                                   LatentResult& result) {
      const auto take = [&](const Array& all) {
        return all.defined() ? s.for_all(all.index_select(0, index)).to(type) : all;
      };
      result = flow.to_latent(take(s.data), take(s.context));
      return test::plain_gradient(flow, take(s.data), take(s.context), slopes.to(type),
                                  log_abs_det_slope);
    };
    LatentResult exact, single;
    const auto exact_gradient = by_plain_flow(s.exact, nd::kDouble, exact);
    const auto single_gradient = by_plain_flow(s.single, nd::kFloat, single);
    expect_exact(options, 1, relative_error(latents, exact.latents),
                 relative_error(single.latents, exact.latents));
    expect_exact(options, 1, relative_error(log_abs_det, exact.log_abs_det),
                 relative_error(single.log_abs_det, exact.log_abs_det));
    for (const auto& slot : s.exact.slots()) {
      const auto part = [&](const Array& all) {
        return all.narrow(1, slot.offset, slot.count);
      };
      SCOPED_TRACE(slot.name);
      expect_exact(options, b, relative_error(part(gradient), part(exact_gradient)),
                   relative_error(part(single_gradient), part(exact_gradient)));
    }
  }
}

TEST(FusedFlowCuda, InverseMatchesThePlainVersion) {
  SKIP_WITHOUT_GPU();
  for (const auto& options : cuda_architectures()) {
    const Subject s(options);
    const std::int64_t n = s.data.size(0);
    const auto latents = s.exact.to_latent(s.for_all(s.data), s.for_all(s.context))
                             .latents.to(nd::kFloat);
    const auto gpu_latents = to_gpu(latents);
    const auto data = nd::full_like(gpu_latents, NAN);
    s.fused.from_latent(n, pointer(gpu_latents), pointer(s.gpu_context), kReplicas,
                        pointer(s.values), data.data_ptr<float>(), nullptr);
    const auto context =
        s.for_all(s.context.defined() ? s.context.to(nd::kFloat) : s.context);
    const auto exact =
        s.exact.from_latent(latents.to(nd::kDouble), s.for_all(s.context));
    expect_exact(options, 1, relative_error(data, exact),
                 relative_error(s.single.from_latent(latents, context), exact));
  }
}

TEST(FusedFlowCuda, ValuesFarOutsideAndExtremeWeightsStayFinite) {
  SKIP_WITHOUT_GPU();
  for (const auto kind : {FlowKind::spline, FlowKind::affine}) {
    const FlowOptions options{.kind = kind, .dimension = 2, .hidden = {64, 64}};
    const auto flow =
        random_flow(options, {1}, nd::kFloat, kind == FlowKind::spline ? 100 : 0.5);
    const auto values = to_gpu(flow.values());
    const auto data =
        to_gpu(nd::tensor({1e6, -1e6, 0.0, 1e6, -1e18, 0.1, 5.0, -5.0}).view({4, 2}));
    const auto latents = nd::empty_like(data),
               log_abs_det = nd::empty({4}, data.options());
    const FusedFlowCuda fused(make_plan(options));
    fused.to_latent({.count = 4, .data = pointer(data)}, 1, pointer(values),
                    latents.data_ptr<float>(), log_abs_det.data_ptr<float>(), nullptr);
    EXPECT_TRUE(nd::isfinite(latents).all().item<bool>());
    EXPECT_TRUE(nd::isfinite(log_abs_det).all().item<bool>());
  }
}

TEST(FusedFlowCuda, SaysWhichFlowsAreTooLarge) {
  EXPECT_TRUE(FusedFlowCuda::fits(make_plan({.dimension = 20})));
  EXPECT_FALSE(FusedFlowCuda::fits(make_plan({.dimension = 2, .hidden = {256}})));
  EXPECT_FALSE(FusedFlowCuda::fits(make_plan({.dimension = 2, .bins = 50})));
  EXPECT_FALSE(FusedFlowCuda::fits(make_plan({.dimension = 200})));
}

}  // namespace
}  // namespace kinflow

#else

TEST(FusedFlowCuda, NeedsABuildWithCuda) { GTEST_SKIP() << "built without CUDA"; }

#endif
