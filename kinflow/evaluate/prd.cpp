// Curves of precision and recall from histograms over clusters.
#include "kinflow/evaluate/prd.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "kinflow/array/array.h"
#include "kinflow/core/error.h"
#include "kinflow/core/random.h"
#include "kinflow/evaluate/k_means.h"

namespace kinflow {
namespace {

std::vector<double> normalized(std::vector<double> weights) {
  bool is_law = true;
  for (const double weight : weights) is_law = is_law && weight >= 0;
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  if (!is_law || !(sum > 0) || !std::isfinite(sum)) {
    throw InputError(
        "[prd_curve] expected weights of at least 0 with a positive finite sum, "
        "received others");
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

// The slope of angle `index`; the first and the last stay just inside 0 to 90 degrees.
double slope_at(std::int64_t index, std::int64_t angles) {
  constexpr double kSmallestAngle = 1e-10;
  const double part = static_cast<double>(index) / static_cast<double>(angles - 1);
  return std::tan(
      std::lerp(kSmallestAngle, std::numbers::pi / 2 - kSmallestAngle, part));
}

void check_features(const Array& features, const char* which, std::int64_t least_rows) {
  if (features.dim() == 2 && features.size(0) >= least_rows &&
      nd::isfinite(features).all().item<bool>()) {
    return;
  }
  throw InputError(fmt::format(
      "[precision_recall] expected a matrix of finite features of at least {} {} "
      "images, received {} rows",
      least_rows, which, features.dim() > 0 ? features.size(0) : 0));
}

// `count` rows; a random part where there are more.
Array some_rows(const Array& features, std::int64_t count, Random& random) {
  if (features.size(0) == count) return features;
  auto order = random.permutation(features.size(0));
  order.resize(static_cast<std::size_t>(count));
  return features.index_select(0, nd::tensor(order, nd::kLong).to(features.device()));
}

std::vector<double> histogram_of(const Array& cluster, std::int64_t clusters) {
  const auto counts = nd::bincount(cluster, {}, clusters).to(nd::kDouble).contiguous();
  return {counts.data_ptr<double>(), counts.data_ptr<double>() + clusters};
}

PrdCurve curve_of_clustering(const Array& real, const Array& generated,
                             const PrdOptions& options, std::int64_t clustering) {
  const auto count = std::min(real.size(0), generated.size(0));
  Random random(options.seed, stream(Purpose::subsets, clustering));
  const auto clusters = k_means(
      nd::cat({some_rows(real, count, random), some_rows(generated, count, random)}),
      {.clusters = options.clusters,
       .restarts = options.restarts,
       .seed = options.seed,
       .clustering = clustering});
  return prd_curve(
      histogram_of(clusters.cluster.narrow(0, 0, count), options.clusters),
      histogram_of(clusters.cluster.narrow(0, count, count), options.clusters),
      options.angles);
}

}  // namespace

PrdCurve prd_curve(const std::vector<double>& real,
                   const std::vector<double>& generated, std::int64_t angles) {
  if (real.size() != generated.size() || angles < 3) {
    throw InputError(fmt::format(
        "[prd_curve] expected weights of the same clusters and at least 3 angles, "
        "received {} and {} weights and {} angles",
        real.size(), generated.size(), angles));
  }
  const auto p = normalized(real), q = normalized(generated);
  PrdCurve curve;
  for (std::int64_t i = 0; i < angles; ++i) {
    const double slope = slope_at(i, angles);
    double precision = 0;
    for (std::size_t c = 0; c < p.size(); ++c) {
      precision += std::min(slope * p[c], q[c]);
    }
    curve.precision.push_back(std::min(precision, 1.0));
    curve.recall.push_back(std::min(precision / slope, 1.0));
  }
  return curve;
}

double best_f_score(const PrdCurve& curve, double beta) {
  if (!(beta > 0) || curve.precision.size() != curve.recall.size()) {
    throw InputError(fmt::format(
        "[best_f_score] expected as many precisions as recalls and a positive beta, "
        "received {}, {} and {}",
        curve.precision.size(), curve.recall.size(), beta));
  }
  double best = 0;
  for (std::size_t i = 0; i < curve.precision.size(); ++i) {
    const double p = curve.precision[i], r = curve.recall[i];
    const double weighted = beta * beta * p + r;
    if (weighted > 0) best = std::max(best, (1 + beta * beta) * p * r / weighted);
  }
  return best;
}

PrdScores prd_scores(const PrdCurve& curve) {
  return {.f_8 = best_f_score(curve, 8),
          .f_one_8th = best_f_score(curve, 1.0 / 8),
          .f_4 = best_f_score(curve, 4),
          .f_one_4th = best_f_score(curve, 1.0 / 4)};
}

PrdCurve precision_recall(const Array& real, const Array& generated,
                          const PrdOptions& options) {
  check_features(real, "real", options.clusters);
  check_features(generated, "generated", options.clusters);
  if (real.size(1) != generated.size(1) || options.clusterings < 1) {
    throw InputError(fmt::format(
        "[precision_recall] expected sets with the same number of columns and at least "
        "one clustering, received {} and {} columns and {} clusterings",
        real.size(1), generated.size(1), options.clusterings));
  }
  const auto angles = static_cast<std::size_t>(options.angles);
  PrdCurve mean{std::vector<double>(angles), std::vector<double>(angles)};
  for (std::int64_t i = 0; i < options.clusterings; ++i) {
    const auto curve = curve_of_clustering(real, generated, options, i);
    for (std::size_t a = 0; a < angles; ++a) {
      mean.precision[a] +=
          curve.precision[a] / static_cast<double>(options.clusterings);
      mean.recall[a] += curve.recall[a] / static_cast<double>(options.clusterings);
    }
  }
  return mean;
}

}  // namespace kinflow
