// kinflow-features-1: light and colour by place, and a scattering transform of edges.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <sstream>
#include <vector>

#include "kinflow/array/array.h"
#include "kinflow/core/error.h"
#include "kinflow/core/size.h"
#include "kinflow/core/vector_kernels.h"
#include "kinflow/core/workers.h"
#include "kinflow/evaluate/image_features.h"

namespace kinflow {
namespace {

constexpr int kDirections = 4;
constexpr int kRadius = 3;                // of a filter, in pixels
constexpr int kSide = 2 * kRadius + 1;    // of a filter
constexpr double kWavelength = 3.2;       // of a filter, in pixels
constexpr double kWindow = 1.3;           // standard deviation of its window, in pixels
constexpr std::int64_t kFineCells = 4;    // to a side
constexpr std::int64_t kCoarseCells = 2;  // to a side
constexpr std::int64_t kLeastSide = 4;
constexpr std::int64_t kLeastSideOfScale = 8;
// Strengths below this, 2.5 of 255 grey levels, are told apart less and less.
constexpr float kFaintestEdge = 0.01F;
// A difference in light of 1/4 of the range counts as one in strength by a factor of e.
constexpr float kWeightOfLight = 4;

const std::string kName = "kinflow-features-1";

using Vector = Vec<float>;
constexpr std::int64_t kAtOnce = kLanes<float>;  // pixels of a row

// Numbers by place.
struct Map {
  Map(std::int64_t rows, std::int64_t columns)
      : height(rows), width(columns), values(to_size(rows * columns)) {}

  float* row(std::int64_t y) { return values.data() + y * width; }
  const float* row(std::int64_t y) const { return values.data() + y * width; }

  std::int64_t height, width;
  std::vector<float> values;
};
using Maps = std::vector<Map>;

// Waves in a Gaussian window: by place the cosines of all directions, whose sum is made
// 0, and their sines, each in all lanes of a vector. A wave of amplitude 1 and the
// filter's frequency gives strength 1.
class Filters {
 public:
  Filters() {
    for (int i = 0; i < kDirections; ++i) {
      const double angle = std::numbers::pi * i / kDirections;
      const auto phase = [&](int place) {
        return 2 * std::numbers::pi / kWavelength *
               (x_of(place) * std::cos(angle) + y_of(place) * std::sin(angle));
      };
      double windows = 0, waves = 0, gain = 0;
      for (int place = 0; place < kPlaces; ++place) {
        const double cosine = std::cos(phase(place));
        windows += window(place);
        waves += window(place) * cosine;
        gain += window(place) * cosine * cosine;
      }
      for (int place = 0; place < kPlaces; ++place) {
        set(place, i,
            window(place) * (std::cos(phase(place)) - waves / windows) / gain);
        set(place, kDirections + i, window(place) * std::sin(phase(place)) / gain);
      }
    }
  }

  // The weights of a row of the filters, column by column.
  const Vector* row(int y) const { return weights_.data() + y * kSide * kPerPlace; }

  static constexpr int kPerPlace = 2 * kDirections;

 private:
  static constexpr int kPlaces = kSide * kSide;

  static int x_of(int place) { return place % kSide - kRadius; }
  static int y_of(int place) { return place / kSide - kRadius; }
  static double window(int place) {
    const int x = x_of(place), y = y_of(place);
    return std::exp(-(x * x + y * y) / (2 * kWindow * kWindow));
  }
  void set(int place, int filter, double weight) {
    weights_[static_cast<std::size_t>(place * kPerPlace + filter)] =
        static_cast<float>(weight) - Vector{};
  }

  std::array<Vector, kPlaces * kPerPlace> weights_;
};

// The map with its outermost pixels repeated around it, and room for whole vectors.
Map padded(const Map& map) {
  const auto vectors = (map.width + kAtOnce - 1) / kAtOnce;
  Map result(map.height + 2 * kRadius, vectors * kAtOnce + 2 * kRadius);
  for (std::int64_t y = 0; y < result.height; ++y) {
    const float* from =
        map.row(std::clamp<std::int64_t>(y - kRadius, 0, map.height - 1));
    float* to = result.row(y);
    for (std::int64_t x = 0; x < result.width; ++x) {
      to[x] = from[std::clamp<std::int64_t>(x - kRadius, 0, map.width - 1)];
    }
  }
  return result;
}

// Strengths of waves in every direction.
Maps edge_strengths(const Map& map) {
  static const Filters filters;
  const auto pixels = padded(map);
  Maps strengths(kDirections, Map(map.height, map.width));
  for (std::int64_t y = 0; y < map.height; ++y) {
    for (std::int64_t x = 0; x < map.width; x += kAtOnce) {
      std::array<Vector, Filters::kPerPlace> waves{};
      for (int dy = 0; dy < kSide; ++dy) {
        const float* from = pixels.row(y + dy) + x;
        const Vector* weight = filters.row(dy);
        for (int dx = 0; dx < kSide; ++dx, weight += Filters::kPerPlace) {
          const auto pixel = load(from + dx);
          for (std::size_t i = 0; i < waves.size(); ++i) waves[i] += weight[i] * pixel;
        }
      }
      const auto count = std::min(kAtOnce, map.width - x);
      for (std::size_t i = 0; i < kDirections; ++i) {
        const auto squares =
            waves[i] * waves[i] + waves[kDirections + i] * waves[kDirections + i];
        float* to = strengths[i].row(y) + x;
        for (std::int64_t lane = 0; lane < count; ++lane) {
          to[lane] = std::sqrt(squares[lane]);
        }
      }
    }
  }
  return strengths;
}

Map mean_of(const Maps& maps) {
  auto mean = maps[0];
  for (std::size_t i = 0; i < mean.values.size(); ++i) {
    for (std::size_t m = 1; m < maps.size(); ++m) mean.values[i] += maps[m].values[i];
    mean.values[i] /= static_cast<float>(maps.size());
  }
  return mean;
}

// Means of 2 x 2 pixels; the last row and the last column of odd sides are left out.
Maps at_half_size(const Maps& maps) {
  Maps halves;
  for (const auto& map : maps) {
    auto& half = halves.emplace_back(map.height / 2, map.width / 2);
    for (std::int64_t y = 0; y < half.height; ++y) {
      const float *upper = map.row(2 * y), *lower = map.row(2 * y + 1);
      for (std::int64_t x = 0; x < half.width; ++x) {
        half.row(y)[x] =
            (upper[2 * x] + upper[2 * x + 1] + lower[2 * x] + lower[2 * x + 1]) / 4;
      }
    }
  }
  return halves;
}

// Means of cells x cells parts, which overlap where a side is no multiple.
std::vector<float> cell_means(const Map& map, std::int64_t cells) {
  const auto begin = [&](std::int64_t cell, std::int64_t side) {
    return cell * side / cells;
  };
  const auto end = [&](std::int64_t cell, std::int64_t side) {
    return ((cell + 1) * side + cells - 1) / cells;
  };
  std::vector<float> means;
  for (std::int64_t i = 0; i < cells * cells; ++i) {
    const auto top = begin(i / cells, map.height), bottom = end(i / cells, map.height);
    const auto left = begin(i % cells, map.width), right = end(i % cells, map.width);
    double sum = 0;
    for (auto y = top; y < bottom; ++y) {
      for (auto x = left; x < right; ++x) sum += map.row(y)[x];
    }
    means.push_back(
        static_cast<float>(sum / static_cast<double>((bottom - top) * (right - left))));
  }
  return means;
}

void add_log_strengths(const Map& strengths, std::int64_t cells,
                       std::vector<float>& features) {
  for (const float mean : cell_means(strengths, cells)) {
    features.push_back(std::log(mean + kFaintestEdge));
  }
}

// Light and two differences of colours, orthonormal.
Maps opponent_colors(const Array& image) {
  const auto height = image.size(1), width = image.size(2);
  const auto whole = image.to(nd::kCPU, nd::kFloat).contiguous();
  const float range = image.scalar_type() == nd::kByte ? 255 : 1;
  const float* red = whole.data_ptr<float>();
  const float* green = image.size(0) == 1 ? red : red + height * width;
  const float* blue = image.size(0) == 1 ? red : green + height * width;
  const float root_3 = std::sqrt(3.0F), root_2 = std::sqrt(2.0F),
              root_6 = std::sqrt(6.0F);
  Maps colors(3, Map(height, width));
  for (std::size_t i = 0; i < colors[0].values.size(); ++i) {
    const float r = red[i] / range, g = green[i] / range, b = blue[i] / range;
    colors[0].values[i] = (r + g + b) / root_3;
    colors[1].values[i] = (r - b) / root_2;
    colors[2].values[i] = (r - 2 * g + b) / root_6;
  }
  return colors;
}

std::vector<float> features_of(Maps colors) {
  std::vector<float> features;
  for (const auto& color : colors) {
    for (const float mean : cell_means(color, kFineCells)) {
      features.push_back(kWeightOfLight * mean);
    }
  }
  Maps finer_edges;
  for (auto side = std::min(colors[0].height, colors[0].width);; side /= 2) {
    const auto edges_of_light = edge_strengths(colors[0]);
    for (const auto& edges : edges_of_light) {
      add_log_strengths(edges, kFineCells, features);
    }
    for (const auto* color : {&colors[1], &colors[2]}) {
      add_log_strengths(mean_of(edge_strengths(*color)), kCoarseCells, features);
    }
    for (const auto& finer : finer_edges) {
      for (const auto& edges : edge_strengths(finer)) {
        add_log_strengths(edges, kCoarseCells, features);
      }
    }
    if (side / 2 < kLeastSideOfScale) return features;
    finer_edges = at_half_size(edges_of_light);
    colors = at_half_size(colors);
  }
}

void check_shape(const Array& images) {
  if (images.dim() != 4 || images.size(0) < 1 ||
      (images.size(1) != 1 && images.size(1) != 3) ||
      (images.scalar_type() != nd::kByte && !images.is_floating_point())) {
    std::ostringstream found;
    found << images.sizes() << ' ' << nd::toString(images.scalar_type());
    throw InputError(fmt::format(
        "[image features] expected images of shape [n, 1 or 3, H, W], uint8 or "
        "floating, received {}",
        found.str()));
  }
  if (std::min(images.size(2), images.size(3)) < kLeastSide) {
    throw InputError(fmt::format(
        "[{}] expected images with sides of at least {} pixels, received {} x {}",
        kName, kLeastSide, images.size(2), images.size(3)));
  }
}

void check_pixels(const Array& images) {
  if (images.scalar_type() == nd::kByte) return;
  const auto is_good =
      (images >= 0).logical_and(images <= 1).flatten(1).all(1).to(nd::kCPU);
  if (is_good.all().item<bool>()) return;
  const auto bad = is_good.logical_not().to(nd::kLong).argmax().item<std::int64_t>();
  throw InputError(fmt::format(
      "[image features] expected pixels from 0 to 1, received image {} with others (it "
      "has values from {:g} to {:g})",
      bad + 1, images[bad].min().item<double>(), images[bad].max().item<double>()));
}

}  // namespace

std::string built_in_description() {
  return kName +
         ": light and colour on a 4 x 4 grid, and a fixed scattering transform "
         "(strength of edges by place, direction and scale, and edges of these "
         "strengths), learned from no data; not comparable to FID";
}

Array built_in_features(const Array& images) {
  check_shape(images);
  check_pixels(images);
  std::vector<std::vector<float>> features(to_size(images.size(0)));
  const auto on_cpu = images.to(nd::kCPU);
  shared_workers().run(images.size(0), [&](std::int64_t i, std::int64_t) {
    features[to_size(i)] = features_of(opponent_colors(on_cpu[i]));
  });
  const auto columns = std::ssize(features[0]);
  const auto result = nd::empty({images.size(0), columns}, nd::kFloat);
  float* to = result.data_ptr<float>();
  for (const auto& row : features) to = std::copy(row.begin(), row.end(), to);
  return result;
}

ImageFeatures built_in_features(const Array& real, const Array& generated) {
  if (real.dim() == 4 && generated.dim() == 4 &&
      real.sizes().slice(1) != generated.sizes().slice(1)) {
    std::ostringstream shapes;
    shapes << real.sizes().slice(1) << " and " << generated.sizes().slice(1);
    throw InputError(fmt::format(
        "[image features] expected real and generated images of the same channels, "
        "height and width, received {}",
        shapes.str()));
  }
  return {.name = kName,
          .real = built_in_features(real),
          .generated = built_in_features(generated)};
}

}  // namespace kinflow
