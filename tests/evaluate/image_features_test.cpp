// Features of images: what they see, what they ignore, and features from files.
#include "kinflow/evaluate/image_features.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <limits>
#include <numbers>
#include <span>
#include <string>
#include <vector>

#include "kinflow/array/array.h"
#include "kinflow/array/array_numbers.h"
#include "kinflow/core/error.h"
#include "kinflow/core/size.h"
#include "kinflow/core/workers.h"
#include "kinflow/data/npy.h"
#include "kinflow/evaluate/frechet.h"
#include "tests/data/helpers.h"
#include "tests/random_arrays.h"

namespace kinflow {
namespace {

// Coloured ellipses of random place, size and colour on a gradient: [n, 3, 16, 16].
Array ellipses(std::int64_t n, std::uint64_t seed, double shift = 0) {
  const std::int64_t side = 16;
  const auto number = [&](std::uint64_t which) {
    return uniform({n, 1, 1, 1}, 100 * seed + which);
  };
  const auto line = (nd::arange(side, nd::kFloat) + 0.5) / static_cast<double>(side);
  const auto x = line.view({1, 1, 1, side}), y = line.view({1, 1, side, 1});
  const auto dx = (x - 0.35 - 0.3 * number(1) - shift) / (0.15 + 0.15 * number(2));
  const auto dy = (y - 0.35 - 0.3 * number(3)) / (0.15 + 0.15 * number(4));
  const auto inside = (12 * (1 - dx.square() - dy.square())).sigmoid();
  const auto ground = 0.2 + 0.4 * (number(5) * x + number(6) * y);
  const auto color = 0.3 + 0.6 * uniform({n, 3, 1, 1}, 100 * seed + 7);
  return (inside * color + (1 - inside) * ground).clamp(0, 1);
}

// Means of three neighbours along an axis; the outermost ones are their own.
Array smoothed(const Array& images, std::int64_t axis) {
  const auto n = images.size(axis);
  const auto wide =
      nd::cat({images.narrow(axis, 0, 1), images, images.narrow(axis, n - 1, 1)}, axis);
  return (wide.narrow(axis, 0, n) + images + wide.narrow(axis, 2, n)) / 3;
}

Array blurred(const Array& images, int times) {
  auto result = images;
  for (int i = 0; i < times; ++i) result = smoothed(smoothed(result, 2), 3);
  return result.clamp(0, 1);
}

Array noisy(const Array& images, double deviation) {
  const auto noise = normal(images.sizes().vec(), 9).to(nd::kFloat);
  return (images + deviation * noise).clamp(0, 1);
}

// The first part of the images replaced by others.
Array mixed(const Array& images, const Array& others, double share) {
  const auto n = static_cast<std::int64_t>(share * static_cast<double>(images.size(0)));
  return nd::cat({others.narrow(0, 0, n), images.narrow(0, n, images.size(0) - n)});
}

class BuiltIn : public testing::Test {
 protected:
  double distance(const Array& a, const Array& b) const {
    return frechet_distance(built_in_features(a), built_in_features(b));
  }
  // Each is farther from the real images than the one before, and the first farther
  // than other images of the same law.
  void expect_growth(const std::vector<Array>& worse) const {
    double last = 1.1 * distance(real, same);
    for (std::size_t i = 0; i < worse.size(); ++i) {
      const double now = distance(real, worse[i]);
      EXPECT_GT(now, last) << i;
      last = now;
    }
    EXPECT_GT(last, 5 * distance(real, same));
  }

  Array real = ellipses(700, 1), same = ellipses(700, 2);
};

TEST_F(BuiltIn, DistanceGrowsWithBlur) {
  expect_growth(
      {blurred(same, 1), blurred(same, 2), blurred(same, 4), blurred(same, 8)});
}

TEST_F(BuiltIn, DistanceGrowsWithNoise) {
  expect_growth(
      {noisy(same, 0.02), noisy(same, 0.05), noisy(same, 0.1), noisy(same, 0.2)});
}

TEST_F(BuiltIn, DistanceGrowsWithTheShareOfAnotherKind) {
  const auto other = ellipses(700, 3, 0.2);
  expect_growth({mixed(same, other, 0.25), mixed(same, other, 0.5),
                 mixed(same, other, 0.75), other});
}

TEST_F(BuiltIn, DistanceGrowsWithTheShareOfOneRepeatedImage) {
  const auto one = same.narrow(0, 0, 1).expand_as(same);
  expect_growth({mixed(same, one, 0.1), mixed(same, one, 0.2), mixed(same, one, 0.4)});
}

TEST_F(BuiltIn, TellMirroredPlacesAndColorsApart) {
  const auto image = ellipses(1, 4);
  const auto own = built_in_features(image);
  const auto far = [&](const Array& other) {
    return (built_in_features(other) - own).norm().item<double>();
  };
  EXPECT_GT(far(image.flip({3})), 0.5);
  EXPECT_GT(far(image.transpose(2, 3)), 0.5);
  EXPECT_GT(far(image.flip({1})), 0.5);
}

TEST_F(BuiltIn, AreTheSameForBytesBatchesAndGreyImages) {
  const auto bytes = (ellipses(300, 5) * 255).round().to(nd::kByte);
  const auto all = built_in_features(bytes);
  EXPECT_EQ(all.scalar_type(), nd::kFloat);
  EXPECT_TRUE(
      nd::allclose(all, built_in_features(bytes.to(nd::kFloat) / 255), 1e-4, 1e-5));
  EXPECT_TRUE(nd::allclose(all.narrow(0, 290, 10),
                           built_in_features(bytes.narrow(0, 290, 10)), 1e-4, 1e-4));
  const auto grey = bytes.narrow(1, 0, 1);
  EXPECT_TRUE(nd::allclose(built_in_features(grey),
                           built_in_features(grey.expand({-1, 3, -1, -1})), 1e-4,
                           1e-5));
}

// The features by their definition, one number after another in float64.
class Definition {
 public:
  using Grid = std::vector<std::vector<double>>;

  // @param image  [3, H, W] from 0 to 1
  static std::vector<double> of(const Array& image) {
    const auto colors = opponent(image);
    std::vector<double> features;
    for (const auto& color : colors) {
      for (const double mean : means(color, 4)) features.push_back(4 * mean);
    }
    add_scale(colors, {}, features);
    return features;
  }

 private:
  static void add_scale(const std::vector<Grid>& colors, const std::vector<Grid>& finer,
                        std::vector<double>& features) {
    const auto add = [&](const Grid& strengths, int cells) {
      for (const double mean : means(strengths, cells)) {
        features.push_back(std::log(0.01 + mean));
      }
    };
    const auto edges = strengths(colors[0]);
    for (const auto& one : edges) add(one, 4);
    for (std::size_t color : {1, 2}) {
      auto mean = zeros(height(colors[0]), width(colors[0]));
      for (const auto& one : strengths(colors[color])) {
        for (int y = 0; y < height(mean); ++y) {
          for (int x = 0; x < width(mean); ++x) at(mean, y, x) += at(one, y, x) / 4;
        }
      }
      add(mean, 2);
    }
    for (const auto& one : finer) {
      for (const auto& of_edges : strengths(one)) add(of_edges, 2);
    }
    if (std::min(height(colors[0]), width(colors[0])) / 2 < 8) return;
    add_scale(halves(colors), halves(edges), features);
  }

  static int height(const Grid& grid) { return static_cast<int>(grid.size()); }
  static int width(const Grid& grid) { return static_cast<int>(grid[0].size()); }
  static double& at(Grid& grid, int y, int x) {
    return grid[static_cast<std::size_t>(y)][static_cast<std::size_t>(x)];
  }
  static double at(const Grid& grid, int y, int x) {
    return grid[static_cast<std::size_t>(y)][static_cast<std::size_t>(x)];
  }
  static Grid zeros(int height, int width) {
    return Grid(static_cast<std::size_t>(height),
                std::vector<double>(static_cast<std::size_t>(width)));
  }

  static std::vector<Grid> opponent(const Array& image) {
    const std::array<std::array<double, 3>, 3> weights = {
        {{1 / std::sqrt(3), 1 / std::sqrt(3), 1 / std::sqrt(3)},
         {1 / std::sqrt(2), 0, -1 / std::sqrt(2)},
         {1 / std::sqrt(6), -2 / std::sqrt(6), 1 / std::sqrt(6)}}};
    std::vector<Grid> colors;
    for (const auto& of_color : weights) {
      auto color =
          zeros(static_cast<int>(image.size(1)), static_cast<int>(image.size(2)));
      for (std::int64_t c = 0; c < 3; ++c) {
        const auto values = numbers_of(image[c]);
        for (int y = 0, i = 0; y < height(color); ++y) {
          for (int x = 0; x < width(color); ++x, ++i) {
            at(color, y, x) += of_color[static_cast<std::size_t>(c)] *
                               values[static_cast<std::size_t>(i)];
          }
        }
      }
      colors.push_back(color);
    }
    return colors;
  }

  // A wave in a Gaussian window: cosines without their mean, or sines, of gain 1.
  static Grid filter(int direction, bool is_sine) {
    const double pi = std::numbers::pi, angle = pi * direction / 4;
    auto wave = zeros(7, 7), cosine = wave, window = wave;
    double gain = 0, waves = 0, windows = 0;
    for (int y = -3; y <= 3; ++y) {
      for (int x = -3; x <= 3; ++x) {
        const double phase = 2 * pi / 3.2 * (x * std::cos(angle) + y * std::sin(angle));
        const double weight = std::exp(-(x * x + y * y) / (2 * 1.3 * 1.3));
        at(wave, y + 3, x + 3) = weight * (is_sine ? std::sin(phase) : std::cos(phase));
        at(window, y + 3, x + 3) = weight;
        gain += weight * std::cos(phase) * std::cos(phase);
        waves += at(wave, y + 3, x + 3);
        windows += weight;
      }
    }
    for (int y = 0; y < 7; ++y) {
      for (int x = 0; x < 7; ++x) {
        if (!is_sine) at(wave, y, x) -= at(window, y, x) * waves / windows;
        at(wave, y, x) /= gain;
      }
    }
    return wave;
  }

  // Beyond the border pixels are as on it.
  static double filtered(const Grid& map, const Grid& filter, int y, int x) {
    double sum = 0;
    for (int dy = -3; dy <= 3; ++dy) {
      for (int dx = -3; dx <= 3; ++dx) {
        sum +=
            at(filter, dy + 3, dx + 3) * at(map, std::clamp(y + dy, 0, height(map) - 1),
                                            std::clamp(x + dx, 0, width(map) - 1));
      }
    }
    return sum;
  }

  static std::vector<Grid> strengths(const Grid& map) {
    std::vector<Grid> result;
    for (int direction = 0; direction < 4; ++direction) {
      const auto cosine = filter(direction, false), sine = filter(direction, true);
      auto strength = zeros(height(map), width(map));
      for (int y = 0; y < height(map); ++y) {
        for (int x = 0; x < width(map); ++x) {
          at(strength, y, x) =
              std::hypot(filtered(map, cosine, y, x), filtered(map, sine, y, x));
        }
      }
      result.push_back(strength);
    }
    return result;
  }

  static std::vector<Grid> halves(const std::vector<Grid>& maps) {
    std::vector<Grid> result;
    for (const auto& map : maps) {
      auto half = zeros(height(map) / 2, width(map) / 2);
      for (int y = 0; y < height(half); ++y) {
        for (int x = 0; x < width(half); ++x) {
          for (int i = 0; i < 4; ++i) {
            at(half, y, x) += at(map, 2 * y + i / 2, 2 * x + i % 2) / 4;
          }
        }
      }
      result.push_back(half);
    }
    return result;
  }

  // Of every pixel that a cell touches.
  static std::vector<double> means(const Grid& map, int cells) {
    std::vector<double> result;
    for (int i = 0; i < cells; ++i) {
      for (int j = 0; j < cells; ++j) {
        double sum = 0, count = 0;
        for (int y = 0; y < height(map); ++y) {
          for (int x = 0; x < width(map); ++x) {
            if (!touches(y, i, height(map), cells)) continue;
            if (!touches(x, j, width(map), cells)) continue;
            sum += at(map, y, x);
            ++count;
          }
        }
        result.push_back(sum / count);
      }
    }
    return result;
  }
  static bool touches(int place, int cell, int side, int cells) {
    return (place + 1) * cells > cell * side && place * cells < (cell + 1) * side;
  }
};

TEST_F(BuiltIn, AreTheirDefinition) {
  const std::vector<std::vector<std::int64_t>> shapes = {
      {2, 3, 16, 20}, {1, 3, 9, 35}, {1, 3, 5, 4}, {1, 3, 34, 33}, {2, 1, 8, 8}};
  for (const auto& shape : shapes) {
    const auto images = uniform(shape, 6);
    const auto found = built_in_features(images);
    for (std::int64_t i = 0; i < shape[0]; ++i) {
      const auto expected =
          Definition::of(images[i].expand({3, shape[2], shape[3]}).contiguous());
      ASSERT_EQ(found.size(1), std::ssize(expected));
      const auto difference =
          (found[i].to(nd::kDouble) - nd::tensor(expected, nd::kDouble)).abs();
      EXPECT_LT(difference.max().item<double>(), 2e-5) << shape[2] << " x " << shape[3];
    }
  }
}

TEST_F(BuiltIn, AreTheSameWithEveryNumberOfThreads) {
  const auto before = shared_workers().threads();
  set_worker_threads(1);
  const auto alone = built_in_features(real);
  set_worker_threads(3);
  EXPECT_TRUE(built_in_features(real).equal(alone));
  set_worker_threads(before);
}

TEST_F(BuiltIn, FineEdgesAreFarFromCoarseOnesAndFlatImagesAreFinite) {
  const auto flat = built_in_features(nd::zeros({1, 3, 32, 32}));
  EXPECT_TRUE(nd::isfinite(flat).all().item<bool>());
  const auto stripes = [](std::int64_t width) {
    const auto line = nd::arange(32).floor_divide(width).remainder(2).to(nd::kFloat);
    return line.view({1, 1, 1, 32}).expand({1, 3, 32, 32});
  };
  EXPECT_GT((built_in_features(stripes(2)) - built_in_features(stripes(8)))
                .norm()
                .item<double>(),
            3);
}

TEST_F(BuiltIn, HaveAScaleForEveryHalvingOfTheSide) {
  const auto columns = [&](std::int64_t height, std::int64_t width) {
    return built_in_features(uniform({2, 3, height, width}, 1)).size(1);
  };
  EXPECT_EQ(columns(32, 32), 392);
  EXPECT_EQ(columns(4, 4), columns(8, 8));
  EXPECT_LT(columns(8, 8), columns(16, 16));
  EXPECT_LT(columns(32, 32), columns(64, 64));
  EXPECT_EQ(columns(17, 40), columns(16, 16));
  EXPECT_THROW(columns(3, 32), InputError);
}

TEST_F(BuiltIn, AreNamedAndNeverAnFid) {
  EXPECT_EQ(built_in_features(real, same).name, "kinflow-features-1");
  EXPECT_NE(built_in_description().find("not comparable to FID"), std::string::npos);
}

TEST_F(BuiltIn, BadImagesAreRefused) {
  EXPECT_THROW(built_in_features(uniform({3, 32, 32}, 1)), InputError);
  EXPECT_THROW(built_in_features(uniform({0, 3, 32, 32}, 1)), InputError);
  EXPECT_THROW(built_in_features(uniform({2, 2, 32, 32}, 1)), InputError);
  EXPECT_THROW(built_in_features(nd::zeros({2, 3, 32, 32}, nd::kLong)), InputError);
  auto images = uniform({5, 3, 32, 32}, 1);
  images[3][0][1][1] = 1.5;
  try {
    built_in_features(images);
    FAIL() << "expected an InputError";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("image 4"), std::string::npos);
  }
  images[3][0][1][1] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THROW(built_in_features(images), InputError);
}

// Files of features of 24 real and of 30 generated images.
class FeatureFiles : public testing::Test {
 protected:
  FeatureFiles() {
    write_npy(real_path, real);
    write_npy(generated_path, generated);
  }

  static void write_npy(const std::string& path, const Array& features) {
    kinflow::write_npy(path, features.sizes().vec(), numbers_of(features));
  }
  // As NumPy writes float32.
  std::string write_float32(const Array& features) const {
    auto head = npy_preamble(features.sizes().vec());
    head.replace(head.find("<f8"), 3, "<f4");
    const auto values = features.to(nd::kFloat).contiguous();
    return folder.write(
        "f4.npy",
        head + std::string(reinterpret_cast<const char*>(values.data_ptr<float>()),
                           to_size(values.nbytes())));
  }
  // What goes wrong where the file of the generated images is another one: one line
  // that names it.
  std::string refusal(const std::string& path) const {
    const auto text = input_error_of([&] { read_features(real_path, path); });
    EXPECT_EQ(text.rfind(path + ": ", 0), 0U) << text;
    return text;
  }
  std::string refusal(const Array& features) const {
    write_npy(folder.path("bad.npy"), features);
    return refusal(folder.path("bad.npy"));
  }

  TemporaryFolder folder;
  std::string real_path = folder.path("real.npy");
  std::string generated_path = folder.path("generated.npy");
  Array real = normal({24, 5}, 1), generated = normal({30, 5}, 2);
};

TEST_F(FeatureFiles, AreReadAsTheyAre) {
  const auto features = read_features(real_path, generated_path);
  EXPECT_TRUE(features.real.equal(real));
  EXPECT_TRUE(features.generated.equal(generated));
  EXPECT_EQ(features.name, real_path + " and " + generated_path);
  const auto of_float32 = read_features(real_path, write_float32(generated)).generated;
  EXPECT_TRUE(of_float32.equal(generated.to(nd::kFloat).to(nd::kDouble)));
}

TEST_F(FeatureFiles, ThatDoNotFitTogetherAreRefused) {
  EXPECT_EQ(refusal(normal({30, 4}, 3)), folder.path("bad.npy") +
                                             ": expected 5 columns, as in " +
                                             real_path + ", found 4");
}

TEST_F(FeatureFiles, OfOtherShapesOrTypesAreRefused) {
  EXPECT_NE(refusal(normal({30}, 3)).find("[n, d]"), std::string::npos);
  EXPECT_NE(refusal(normal({30, 5, 1}, 3)).find("found [30, 5, 1]"), std::string::npos);
  EXPECT_NE(refusal(normal({19, 5}, 3)).find("n at least 20"), std::string::npos);
  EXPECT_NE(refusal(normal({30, 0}, 3)).find("found [30, 0]"), std::string::npos);
  const std::vector<std::uint8_t> bytes(150);
  kinflow::write_npy(folder.path("bytes.npy"), {30, 5},
                     std::span<const std::uint8_t>(bytes));
  EXPECT_NE(refusal(folder.path("bytes.npy")).find("found [30, 5] of u1"),
            std::string::npos);
}

TEST_F(FeatureFiles, ThatAreNotFiniteAreRefusedByPlace) {
  generated[6][3] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_NE(refusal(generated).find("found nan in row 7, column 4"), std::string::npos);
  generated[6][3] = -std::numeric_limits<double>::infinity();
  EXPECT_NE(refusal(generated).find("found -inf in row 7"), std::string::npos);
}

TEST_F(FeatureFiles, ThatAreNoArraysAreRefused) {
  EXPECT_NE(refusal(folder.path("none.npy")), "");
  EXPECT_NE(refusal(folder.write("text.npy", "1,2,3\n")).find("not a .npy file"),
            std::string::npos);
  const auto whole = content_of(generated_path);
  for (std::size_t bytes = 0; bytes < whole.size(); bytes += 50) {
    EXPECT_NE(refusal(folder.write("cut.npy", whole.substr(0, bytes))), "");
  }
}

TEST_F(FeatureFiles, ThatNeedMoreMemoryThanThereIsAreRefused) {
  const std::vector<std::int64_t> shape = {20, 4'000'000};
  for (const auto& path : {real_path, generated_path}) {
    folder.write(std::filesystem::path(path).filename().string(), npy_preamble(shape));
    std::filesystem::resize_file(path, npy_preamble(shape).size() + 20 * 4'000'000 * 8);
  }
  const auto text = input_error_of([&] { read_features(real_path, generated_path); });
  EXPECT_EQ(text.rfind(real_path + ": expected ", 0), 0U) << text;
  EXPECT_NE(text.find("of memory for distances between 4000000 columns"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace kinflow
