// Lloyd's algorithm as matrix products, with k-means++ starts.
#include "kinflow/evaluate/k_means.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <vector>

#include "kinflow/core/error.h"
#include "kinflow/core/random.h"

namespace kinflow {
namespace {

constexpr double kLeastGain = 1e-5;

struct Assignment {
  at::Tensor cluster;   // [n] int64
  at::Tensor distance;  // [n] squared, to the centre of the cluster
};

// A number from 0 to n - 1, with probabilities in proportion to weights.
std::int64_t draw_by_weight(const at::Tensor& weights, Random& random) {
  const auto on_cpu = weights.to(at::kCPU, at::kDouble).contiguous();
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
at::Tensor draw_centers(const at::Tensor& points, std::int64_t clusters,
                        Random& random) {
  std::vector<at::Tensor> centers{points[random.below(points.size(0))]};
  auto nearest = (points - centers.back()).square().sum(1);
  while (static_cast<std::int64_t>(centers.size()) < clusters) {
    centers.push_back(points[draw_by_weight(nearest, random)]);
    nearest = at::minimum(nearest, (points - centers.back()).square().sum(1));
  }
  return at::stack(centers);
}

Assignment assign(const at::Tensor& points, const at::Tensor& squared_norms,
                  const at::Tensor& centers) {
  const auto distances = at::addmm(centers.square().sum(1), points, centers.t(), 1, -2);
  const auto [nearest, cluster] = distances.min(1);
  return {cluster, (nearest + squared_norms).clamp_min(0)};
}

// Means of the clusters, as a product: its sums have a fixed order on every device.
at::Tensor means_of(const at::Tensor& points, const Assignment& assigned,
                    std::int64_t clusters) {
  const auto numbers = at::arange(clusters, assigned.cluster.options());
  const auto is_in =
      (numbers.unsqueeze(1) == assigned.cluster.unsqueeze(0)).to(points.dtype());
  const auto counts = is_in.sum(1, /*keepdim=*/true);
  auto means = at::mm(is_in, points) / counts.clamp_min(1);
  const auto empty = at::nonzero(counts.flatten() == 0).flatten().to(at::kCPU);
  if (empty.numel() == 0) return means;
  const auto farthest =
      std::get<1>(assigned.distance.topk(empty.numel())).to(points.device());
  return means.index_copy(0, empty.to(points.device()),
                          points.index_select(0, farthest));
}

KMeansResult cluster_once(const at::Tensor& points, const at::Tensor& squared_norms,
                          const KMeansOptions& options, Random& random) {
  auto centers = draw_centers(points, options.clusters, random);
  auto assigned = assign(points, squared_norms, centers);
  double spread = assigned.distance.sum(at::kDouble).item<double>();
  for (std::int64_t round = 0; round < options.most_rounds; ++round) {
    centers = means_of(points, assigned, options.clusters);
    assigned = assign(points, squared_norms, centers);
    const double before = spread;
    spread = assigned.distance.sum(at::kDouble).item<double>();
    if (before - spread <= kLeastGain * before) break;
  }
  return {assigned.cluster.to(at::kCPU), spread};
}

}  // namespace

KMeansResult k_means(const at::Tensor& points, const KMeansOptions& options) {
  if (points.dim() != 2 || options.clusters < 1 || options.restarts < 1 ||
      points.size(0) < options.clusters) {
    throw InputError(fmt::format(
        "[k_means] expected a matrix with at least {} points and at least one start, "
        "received {} points and {} starts",
        options.clusters, points.dim() > 0 ? points.size(0) : 0, options.restarts));
  }
  const auto values = points.detach().to(at::kFloat);
  const auto centred = values - values.mean(0);
  const auto squared_norms = centred.square().sum(1);
  Random random(options.seed, stream(Purpose::clusters, options.clustering));
  KMeansResult best;
  for (std::int64_t i = 0; i < options.restarts; ++i) {
    auto result = cluster_once(centred, squared_norms, options, random);
    if (i == 0 || result.spread < best.spread) best = std::move(result);
  }
  return best;
}

}  // namespace kinflow
