// kinflow-features-1: light and colour by place, and a scattering transform of edges.
#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

#include "kinflow/core/error.h"
#include "kinflow/evaluate/image_features.h"

namespace kinflow {
namespace {

constexpr std::int64_t kBuiltInBatch = 256;
constexpr std::int64_t kDirections = 4;
constexpr std::int64_t kRadius = 3;       // of a filter, in pixels
constexpr double kWavelength = 3.2;       // of a filter, in pixels
constexpr double kWindow = 1.3;           // standard deviation of its window, in pixels
constexpr std::int64_t kFineCells = 4;    // to a side
constexpr std::int64_t kCoarseCells = 2;  // to a side
constexpr std::int64_t kLeastSide = 4;
constexpr std::int64_t kLeastSideOfScale = 8;
// Strengths below this, 2.5 of 255 grey levels, are told apart less and less.
constexpr double kFaintestEdge = 0.01;
// A difference in light of 1/4 of the range counts as one in strength by a factor of e.
constexpr double kWeightOfLight = 4;

const std::string kName = "kinflow-features-1";

// Waves in a Gaussian window, [2 directions, 1, side, side]: cosines, whose sum is made
// 0, then sines. A wave of amplitude 1 and the filter's frequency gives strength 1.
at::Tensor make_filters() {
  const std::int64_t side = 2 * kRadius + 1;
  const auto line = at::arange(-kRadius, kRadius + 1, at::kDouble);
  const auto x = line.unsqueeze(0), y = line.unsqueeze(1);
  const auto window = (-(x.square() + y.square()) / (2 * kWindow * kWindow)).exp();
  std::vector<at::Tensor> cosines, sines;
  for (std::int64_t i = 0; i < kDirections; ++i) {
    const double angle =
        std::numbers::pi * static_cast<double>(i) / static_cast<double>(kDirections);
    const auto phase = 2 * std::numbers::pi / kWavelength *
                       (x * std::cos(angle) + y * std::sin(angle));
    const auto wave = window * phase.cos();
    const auto gain = (wave * phase.cos()).sum();
    cosines.push_back((wave - window * (wave.sum() / window.sum())) / gain);
    sines.push_back(window * phase.sin() / gain);
  }
  return at::cat({at::stack(cosines), at::stack(sines)})
      .view({2 * kDirections, 1, side, side});
}

// Light and two differences of colours, orthonormal: [b, 3, H, W].
at::Tensor opponent_colors(const at::Tensor& images) {
  const auto red = images.select(1, 0), green = images.select(1, 1),
             blue = images.select(1, 2);
  return at::stack(
      {(red + green + blue) / std::sqrt(3.0), (red - blue) / std::numbers::sqrt2,
       (red - 2 * green + blue) / std::sqrt(6.0)},
      1);
}

at::Tensor cell_means(const at::Tensor& maps, std::int64_t cells) {
  return at::adaptive_avg_pool2d(maps, {cells, cells}).flatten(1);
}

at::Tensor log_strengths(const at::Tensor& strengths, std::int64_t cells) {
  return (cell_means(strengths, cells) + kFaintestEdge).log();
}

at::Tensor at_half_size(const at::Tensor& maps) { return at::avg_pool2d(maps, 2); }

class BuiltInFeatures final : public ImageFeatures {
 public:
  explicit BuiltInFeatures(at::Device device)
      : ImageFeatures(device, kBuiltInBatch),
        filters_(make_filters().to(device, at::kFloat)) {}

  const std::string& name() const override { return kName; }
  std::string description() const override {
    return kName +
           ": light and colour on a 4 x 4 grid, and a fixed scattering transform "
           "(strength of edges by place, direction and scale, and edges of these "
           "strengths), learned from no data; not comparable to FID";
  }

 private:
  at::Tensor of_batch(const at::Tensor& images) const override {
    const auto least_side = std::min(images.size(2), images.size(3));
    if (least_side < kLeastSide) {
      throw InputError(fmt::format(
          "[{}] expected images with sides of at least {} pixels, received {} x {}",
          kName, kLeastSide, images.size(2), images.size(3)));
    }
    auto colors = opponent_colors(images);
    std::vector<at::Tensor> features{kWeightOfLight * cell_means(colors, kFineCells)};
    at::Tensor finer_edges;
    for (auto side = least_side;; side /= 2) {
      const auto edges = edge_strengths(colors);
      const auto edges_of_light = edges.narrow(1, 0, kDirections);
      features.push_back(log_strengths(edges_of_light, kFineCells));
      features.push_back(log_strengths(mean_of_directions(edges), kCoarseCells));
      if (finer_edges.defined()) {
        features.push_back(log_strengths(edge_strengths(finer_edges), kCoarseCells));
      }
      if (side / 2 < kLeastSideOfScale) return at::cat(features, 1);
      finer_edges = at_half_size(edges_of_light);
      colors = at_half_size(colors);
    }
  }

  // Strengths of waves in every direction, [b, C, H, W] to [b, C directions, H, W].
  at::Tensor edge_strengths(const at::Tensor& maps) const {
    const auto height = maps.size(2), width = maps.size(3);
    const auto waves =
        at::conv2d(at::replication_pad2d(maps.reshape({-1, 1, height, width}),
                                         {kRadius, kRadius, kRadius, kRadius}),
                   filters_);
    return at::hypot(waves.narrow(1, 0, kDirections),
                     waves.narrow(1, kDirections, kDirections))
        .view({maps.size(0), -1, height, width});
  }

  // Of the two colour differences, [b, 2, H, W].
  static at::Tensor mean_of_directions(const at::Tensor& edges) {
    return edges.narrow(1, kDirections, 2 * kDirections)
        .reshape({edges.size(0), 2, kDirections, edges.size(2), edges.size(3)})
        .mean(2);
  }

  at::Tensor filters_;
};

}  // namespace

std::unique_ptr<ImageFeatures> built_in_features(at::Device device) {
  return std::make_unique<BuiltInFeatures>(device);
}

}  // namespace kinflow
