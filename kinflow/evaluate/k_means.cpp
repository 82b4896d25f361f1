// Lloyd's algorithm as matrix products, with k-means++ starts.
#include "kinflow/evaluate/k_means.h"

#include <fmt/format.h>

#include <vector>

#include "kinflow/array/array.h"
#include "kinflow/core/error.h"
#include "kinflow/core/random.h"

namespace kinflow {
namespace {

constexpr double kLeastGain = 1e-5;

struct Assignment {
  Array cluster;   // [n] int64
  Array distance;  // [n] squared, to the centre of the cluster
};

// A number from 0 to n - 1, with probabilities in proportion to weights.
std::int64_t draw_by_weight(const Array& weights, Random& random) {
  const auto on_cpu = weights.to(nd::kCPU, nd::kDouble).contiguous();
  const double* weight = on_cpu.data_ptr<double>();
  const std::int64_t n = on_cpu.numel();
  const double total = on_cpu.sum().item<double>();
  if (!(total > 0)) return random.below(n);
  double left = random.uniform() * total;
  std::int64_t last_positive = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    if (weight[i] <= 0) continue;
    last_positive = i;
    left -= weight[i];
    if (left < 0) break;
  }
  return last_positive;
}

// k-means++: each centre is a point, drawn by its squared distance to those before.
Array draw_centers(const Array& points, std::int64_t clusters, Random& random) {
  std::vector<Array> centers{points[random.below(points.size(0))]};
  auto nearest = (points - centers.back()).square().sum(1);
  while (static_cast<std::int64_t>(centers.size()) < clusters) {
    centers.push_back(points[draw_by_weight(nearest, random)]);
    nearest = nd::minimum(nearest, (points - centers.back()).square().sum(1));
  }
  return nd::stack(centers);
}

Assignment assign(const Array& points, const Array& squared_norms,
                  const Array& centers) {
  const auto distances = nd::addmm(centers.square().sum(1), points, centers.t(), 1, -2);
  const auto [nearest, cluster] = distances.min(1);
  return {cluster, (nearest + squared_norms).clamp_min(0)};
}

// Means of the clusters, as a product: its sums have a fixed order on every device.
Array means_of(const Array& points, const Assignment& assigned, std::int64_t clusters) {
  const auto numbers = nd::arange(clusters, assigned.cluster.options());
  const auto is_in =
      (numbers.unsqueeze(1) == assigned.cluster.unsqueeze(0)).to(points.dtype());
  const auto counts = is_in.sum(1, /*keepdim=*/true);
  auto means = nd::mm(is_in, points) / counts.clamp_min(1);
  const auto empty = nd::nonzero(counts.flatten() == 0).flatten().to(nd::kCPU);
  if (empty.numel() == 0) return means;
  const auto farthest =
      std::get<1>(assigned.distance.topk(empty.numel())).to(points.device());
  return means.index_copy(0, empty.to(points.device()),
                          points.index_select(0, farthest));
}

KMeansResult cluster_once(const Array& points, const Array& squared_norms,
                          const KMeansOptions& options, Random& random) {
  auto centers = draw_centers(points, options.clusters, random);
  auto assigned = assign(points, squared_norms, centers);
  double spread = assigned.distance.sum(nd::kDouble).item<double>();
  for (std::int64_t round = 0; round < options.most_rounds; ++round) {
    centers = means_of(points, assigned, options.clusters);
    assigned = assign(points, squared_norms, centers);
    const double before = spread;
    spread = assigned.distance.sum(nd::kDouble).item<double>();
    if (before - spread <= kLeastGain * before) break;
  }
  return {assigned.cluster.to(nd::kCPU), spread};
}

}  // namespace

KMeansResult k_means(const Array& points, const KMeansOptions& options) {
  if (points.dim() != 2 || points.size(1) < 1 || options.clusters < 1 ||
      options.restarts < 1 || points.size(0) < options.clusters) {
    throw InputError(fmt::format(
        "[k_means] expected a matrix with at least {} points and at least one start, "
        "received {} points and {} starts",
        options.clusters, points.dim() > 0 ? points.size(0) : 0, options.restarts));
  }
  const auto values = points.detach().to(nd::kDouble);
  const auto centred = values - values.mean(0);
  // In a unit in which squares keep the range of float32.
  const double largest = centred.abs().max().item<double>();
  const double unit = largest > 0 ? largest : 1;
  const auto scaled = (centred / unit).to(nd::kFloat);
  const auto squared_norms = scaled.square().sum(1);
  Random random(options.seed, stream(Purpose::clusters, options.clustering));
  KMeansResult best;
  for (std::int64_t i = 0; i < options.restarts; ++i) {
    auto result = cluster_once(scaled, squared_norms, options, random);
    if (i == 0 || result.spread < best.spread) best = std::move(result);
  }
  best.spread *= unit * unit;
  return best;
}

}  // namespace kinflow
