// Fused CPU kernels against the plain version, for every instruction set of the
// machine.
#include "kinflow/flow/cpu/fused_flow.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>

#include "kinflow/array/array.h"
#include "tests/flow/architectures.h"
#include "tests/flow/plain_flow.h"

namespace kinflow {
namespace {

// Norm of the difference over the norm of what is expected.
double relative_error(const Array& found, const Array& expected) {
  const auto difference = found.to(nd::kDouble) - expected.to(nd::kDouble);
  return (difference.norm() / expected.to(nd::kDouble).norm().clamp_min(1e-12))
      .item<double>();
}

template <typename Real>
RowSet<Real> rows_of(const Array& data, const Array& context) {
  return {.data = data.data_ptr<Real>(),
          .context = context.defined() ? context.data_ptr<Real>() : nullptr,
          .count = data.size(0)};
}

// Fused results of one replica for rows [n, p], in the type of the flow.
template <typename Real>
struct Fused {
  Array latents, log_abs_det, gradient, data;

  Fused(const Flow& flow, const Array& rows, const Array& context, const Array& slopes,
        double log_abs_det_slope, InstructionSet set, std::int64_t threads = 1) {
    const FusedFlow<Real> fused(make_plan(flow.options()), set);
    FusedBatch<Real> batch(fused);
    Workers workers(threads);
    latents = nd::empty_like(rows);
    log_abs_det = nd::empty({rows.size(0)}, rows.options());
    gradient = nd::empty({flow.values().size(1)}, rows.options());
    data = nd::empty_like(rows);
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
Flow flow_with_weights(const FlowOptions& options, nd::ScalarType type,
                       double disturbance) {
  double width = 1;
  for (const auto hidden : options.hidden) {
    width = std::max(width, static_cast<double>(hidden));
  }
  return random_flow(options, {3}, type, disturbance / std::sqrt(width));
}

const InstructionSet kSets[] = {InstructionSet::portable, InstructionSet::avx2,
                                InstructionSet::avx512};

struct Outcome {
  Array latents, log_abs_det, gradient;
};

// By layers, with the gradient of the flow number by number.
Outcome by_plain_flow(const Flow& flow, const Array& rows, const Array& context,
                      const Array& slopes, double log_abs_det_slope) {
  const auto ready = [&](const Array& all) {
    return all.defined() ? all.to(flow.values().scalar_type()).unsqueeze(0) : all;
  };
  const auto result = flow.to_latent(ready(rows), ready(context));
  const auto gradient = test::plain_gradient(flow, ready(rows), ready(context),
                                             ready(slopes), log_abs_det_slope);
  return {result.latents[0], result.log_abs_det[0], gradient[0]};
}

// The largest relative errors of latents, log-determinants and the gradient of every
// weight against the plain version in float64: of the fused version, and of the plain
// version in the same precision as the fused.
template <typename Real>
class Comparison {
 public:
  static constexpr auto kType = std::is_same_v<Real, float> ? nd::kFloat : nd::kDouble;
  static constexpr double kSlope = -0.7;  // of the log-determinant

  Comparison(const FlowOptions& options, std::int64_t rows, double disturbance)
      : flow_(flow_with_weights(options, kType, disturbance)),
        // Some rows lie in the tails.
        data_(normal({rows, options.dimension}, 5, 2.5).to(kType)),
        slopes_(normal({rows, options.dimension}, 7).to(kType)) {
    if (options.context > 0) {
      context_ = normal({rows, options.context}, 17).to(kType);
    }
    Flow exact(options, {3}, nd::kDouble);
    exact.values().copy_(flow_.values());
    expected_ = by_plain_flow(exact, data_, context_, slopes_, kSlope);
  }

  double error_of_fused(InstructionSet set) const {
    const Fused<Real> fused(flow_, data_, context_, slopes_, kSlope, set);
    return error_of({fused.latents, fused.log_abs_det, fused.gradient});
  }
  double error_of_plain() const {
    return error_of(by_plain_flow(flow_, data_, context_, slopes_, kSlope));
  }

 private:
  double error_of(const Outcome& found) const {
    double error = std::max(relative_error(found.latents, expected_.latents),
                            relative_error(found.log_abs_det, expected_.log_abs_det));
    for (const auto& slot : flow_.slots()) {
      const auto part = [&](const Array& all) {
        return all.narrow(0, slot.offset, slot.count);
      };
      error = std::max(error,
                       relative_error(part(found.gradient), part(expected_.gradient)));
    }
    return error;
  }

  Flow flow_;
  Array data_, slopes_, context_;
  Outcome expected_;
};

TEST(FusedFlow, SinglePrecisionAgreesWithThePlainVersion) {
  for (const auto& options : fused_architectures()) {
    const Comparison<float> tame(options, 256, 0.2), wild(options, 256, 1);
    // Here single precision itself is not as good as that.
    const double of_wild = 3 * wild.error_of_plain() + 1e-5;
    for (const auto set : kSets) {
      EXPECT_LT(tame.error_of_fused(set), 1e-5)
          << static_cast<int>(options.kind) << " p " << options.dimension;
      EXPECT_LT(wild.error_of_fused(set), of_wild)
          << static_cast<int>(options.kind) << " p " << options.dimension;
    }
  }
}

TEST(FusedFlow, DoublePrecisionAgreesWithThePlainVersion) {
  for (const auto& options : fused_architectures()) {
    const Comparison<double> comparison(options, 256, 0.4);
    for (const auto set : kSets) {
      EXPECT_LT(comparison.error_of_fused(set), 1e-12)
          << static_cast<int>(options.kind) << " p " << options.dimension;
    }
  }
}

TEST(FusedFlow, AnyNumberOfRowsWillDo) {
  for (const std::int64_t rows : {1, 2, 15, 16, 17, 63, 64, 65, 200, 1300}) {
    const Comparison<double> comparison({.dimension = 3, .hidden = {9, 9}, .bins = 5},
                                        rows, 0.4);
    for (const auto set : kSets) {
      EXPECT_LT(comparison.error_of_fused(set), 1e-12) << rows;
    }
  }
}

TEST(FusedFlow, TheWayBackAgreesWithThePlainVersion) {
  for (const auto set : kSets) {
    for (const auto& options : fused_architectures()) {
      const auto flow = flow_with_weights(options, nd::kDouble, 0.4);
      const auto rows = normal({100, options.dimension}, 5, 2.5);
      const auto context =
          options.context > 0 ? normal({100, options.context}, 17) : Array();
      const Fused<double> fused(flow, rows, context, rows, -1, set);
      EXPECT_LT(relative_error(fused.data, rows), 1e-9)
          << static_cast<int>(options.kind) << " p " << options.dimension << " bins "
          << options.bins;
    }
  }
}

TEST(FusedFlow, ResultsDoNotDependOnTheThreads) {
  const FlowOptions options{.dimension = 3, .hidden = {24, 24}, .bins = 8};
  const auto flow = random_flow(options, {3}, nd::kFloat, 0.2);
  for (const std::int64_t rows : {100, 700, 3000}) {
    const auto data = normal({rows, 3}, 5).to(nd::kFloat);
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
      const auto flow = random_flow(options, {3}, nd::kFloat, scale);
      auto data = normal({128, 2}, 5, 3).to(nd::kFloat);
      data[0].fill_(1e30);
      data[1].fill_(-1e30);
      data[2].fill_(5);
      data[3].fill_(-5);
      const Fused<float> fused(flow, data, {}, data.clamp(-1, 1), -1, set);
      EXPECT_TRUE(nd::isfinite(fused.latents).all().item<bool>()) << scale;
      EXPECT_TRUE(nd::isfinite(fused.log_abs_det).all().item<bool>()) << scale;
      EXPECT_TRUE(nd::isfinite(fused.data).all().item<bool>()) << scale;
    }
  }
}

TEST(FusedFlow, ARowThatIsNotANumberStaysSoAndLeavesOthersAlone) {
  for (const auto set : kSets) {
    for (const auto& options : fused_architectures()) {
      if (options.context > 0) continue;
      const auto flow = flow_with_weights(options, nd::kDouble, 0.4);
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
