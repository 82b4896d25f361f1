// Features of images: what they see, what they ignore, and networks from files.
#include "kinflow/evaluate/image_features.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/api/module.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "kinflow/core/error.h"
#include "kinflow/evaluate/frechet.h"

namespace kinflow {
namespace {

at::Tensor noise_like(const at::Tensor& images, std::uint64_t seed) {
  auto generator = at::detail::createCPUGenerator(seed);
  return at::randn(images.sizes(), generator, at::TensorOptions());
}

at::Tensor uniform(std::vector<std::int64_t> shape, std::uint64_t seed) {
  auto generator = at::detail::createCPUGenerator(seed);
  return at::rand(shape, generator, at::TensorOptions());
}

// Coloured ellipses of random place, size and colour on a gradient: [n, 3, 16, 16].
at::Tensor ellipses(std::int64_t n, std::uint64_t seed, double shift = 0) {
  const std::int64_t side = 16;
  const auto number = [&](std::uint64_t which) {
    return uniform({n, 1, 1, 1}, 100 * seed + which);
  };
  const auto line = (at::arange(side) + 0.5) / static_cast<double>(side);
  const auto x = line.view({1, 1, 1, side}), y = line.view({1, 1, side, 1});
  const auto dx = (x - 0.35 - 0.3 * number(1) - shift) / (0.15 + 0.15 * number(2));
  const auto dy = (y - 0.35 - 0.3 * number(3)) / (0.15 + 0.15 * number(4));
  const auto inside = (12 * (1 - dx.square() - dy.square())).sigmoid();
  const auto ground = 0.2 + 0.4 * (number(5) * x + number(6) * y);
  const auto color = 0.3 + 0.6 * uniform({n, 3, 1, 1}, 100 * seed + 7);
  return (inside * color + (1 - inside) * ground).clamp(0, 1);
}

at::Tensor blurred(const at::Tensor& images, int times) {
  auto result = images;
  for (int i = 0; i < times; ++i) {
    result = at::avg_pool2d(at::replication_pad2d(result, {1, 1, 1, 1}), 3, 1);
  }
  return result;
}

at::Tensor noisy(const at::Tensor& images, double deviation) {
  return (images + deviation * noise_like(images, 9)).clamp(0, 1);
}

// The first part of the images replaced by others.
at::Tensor mixed(const at::Tensor& images, const at::Tensor& others, double share) {
  const auto n = static_cast<std::int64_t>(share * static_cast<double>(images.size(0)));
  return at::cat({others.narrow(0, 0, n), images.narrow(0, n, images.size(0) - n)});
}

class BuiltIn : public testing::Test {
 protected:
  double distance(const at::Tensor& a, const at::Tensor& b) const {
    return frechet_distance(features->of(a), features->of(b));
  }
  // Each is farther from the real images than the one before, and the first farther
  // than other images of the same law.
  void expect_growth(const std::vector<at::Tensor>& worse) const {
    double last = 1.1 * distance(real, same);
    for (std::size_t i = 0; i < worse.size(); ++i) {
      const double now = distance(real, worse[i]);
      EXPECT_GT(now, last) << i;
      last = now;
    }
    EXPECT_GT(last, 5 * distance(real, same));
  }

  std::unique_ptr<ImageFeatures> features = built_in_features(at::kCPU);
  at::Tensor real = ellipses(700, 1), same = ellipses(700, 2);
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
  const auto own = features->of(image);
  const auto far = [&](const at::Tensor& other) {
    return (features->of(other) - own).norm().item<double>();
  };
  EXPECT_GT(far(image.flip({3})), 0.5);
  EXPECT_GT(far(image.transpose(2, 3)), 0.5);
  EXPECT_GT(far(image.flip({1})), 0.5);
}

TEST_F(BuiltIn, AreTheSameForBytesBatchesAndGreyImages) {
  const auto bytes = (ellipses(300, 5) * 255).round().to(at::kByte);
  const auto all = features->of(bytes);
  EXPECT_EQ(all.scalar_type(), at::kFloat);
  EXPECT_TRUE(at::allclose(all, features->of(bytes.to(at::kFloat) / 255), 1e-4, 1e-5));
  EXPECT_TRUE(at::allclose(all.narrow(0, 290, 10),
                           features->of(bytes.narrow(0, 290, 10)), 1e-4, 1e-4));
  const auto grey = bytes.narrow(1, 0, 1);
  EXPECT_TRUE(at::allclose(features->of(grey),
                           features->of(grey.expand({-1, 3, -1, -1})), 1e-4, 1e-5));
}

TEST_F(BuiltIn, FineEdgesAreFarFromCoarseOnesAndFlatImagesAreFinite) {
  const auto flat = features->of(at::zeros({1, 3, 32, 32}));
  EXPECT_TRUE(at::isfinite(flat).all().item<bool>());
  const auto stripes = [](std::int64_t width) {
    const auto line = at::arange(32).div(width, "floor").remainder(2).to(at::kFloat);
    return line.view({1, 1, 1, 32}).expand({1, 3, 32, 32});
  };
  EXPECT_GT((features->of(stripes(2)) - features->of(stripes(8))).norm().item<double>(),
            3);
}

TEST_F(BuiltIn, HaveAScaleForEveryHalvingOfTheSide) {
  const auto columns = [&](std::int64_t height, std::int64_t width) {
    return features->of(at::rand({2, 3, height, width})).size(1);
  };
  EXPECT_EQ(columns(32, 32), 392);
  EXPECT_EQ(columns(4, 4), columns(8, 8));
  EXPECT_LT(columns(8, 8), columns(16, 16));
  EXPECT_LT(columns(32, 32), columns(64, 64));
  EXPECT_EQ(columns(17, 40), columns(16, 16));
  EXPECT_THROW(columns(3, 32), InputError);
}

TEST_F(BuiltIn, AreNamedAndNeverAnFid) {
  EXPECT_EQ(features->name(), "kinflow-features-1");
  EXPECT_NE(features->description().find("not comparable to FID"), std::string::npos);
}

TEST_F(BuiltIn, BadImagesAreRefused) {
  EXPECT_THROW(features->of(at::rand({3, 32, 32})), InputError);
  EXPECT_THROW(features->of(at::rand({0, 3, 32, 32})), InputError);
  EXPECT_THROW(features->of(at::rand({2, 2, 32, 32})), InputError);
  EXPECT_THROW(features->of(at::zeros({2, 3, 32, 32}, at::kLong)), InputError);
  auto images = at::rand({5, 3, 32, 32});
  images[3][0][1][1] = 1.5;
  try {
    features->of(images);
    FAIL() << "expected an InputError";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("image 4"), std::string::npos);
  }
  images[3][0][1][1] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THROW(features->of(images), InputError);
}

class NetworkFile : public testing::Test {
 protected:
  NetworkFile() {
    std::string name =
        (std::filesystem::temp_directory_path() / "kinflow_XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::runtime_error("no temporary folder");
    folder = name;
    path = (folder / "network.pt").string();
  }
  ~NetworkFile() override { std::filesystem::remove_all(folder); }

  // Saves a network with that body of forward(self, x).
  void save(const std::string& body) const {
    torch::jit::Module network("network");
    network.register_buffer("weights", at::arange(12, at::kFloat).view({3, 4}));
    network.define("def forward(self, x):\n" + body);
    network.save(path);
  }
  std::string bytes() const {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write(const std::string& content) const {
    std::ofstream(path, std::ios::binary) << content;
  }
  // What goes wrong: one line that names the file.
  std::string refusal(const at::Tensor& images = at::rand({3, 3, 8, 8})) const {
    try {
      load_features(path, at::kCPU)->of(images);
    } catch (const InputError& error) {
      const std::string text = error.what();
      EXPECT_EQ(text.rfind(path, 0), 0U) << text;
      EXPECT_EQ(text.find('\n'), std::string::npos) << text;
      EXPECT_LT(text.size(), 600U) << text;
      return text;
    }
    return {};
  }

  std::filesystem::path folder;
  std::string path;
};

TEST_F(NetworkFile, GivesTheFeaturesOfItsNetwork) {
  save("    return torch.matmul(x.mean([2, 3]), self.weights)\n");
  const auto network = load_features(path, at::kCPU);
  const auto images = at::rand({150, 3, 6, 5});
  const auto weights = at::arange(12, at::kFloat).view({3, 4});
  EXPECT_TRUE(at::allclose(network->of(images), at::mm(images.mean({2, 3}), weights),
                           1e-4, 1e-5));
  EXPECT_EQ(network->name(), path);
  const auto grey = at::full({2, 1, 4, 4}, 255, at::kByte);
  EXPECT_TRUE(at::allclose(network->of(grey), weights.sum(0).expand({2, 4})));
}

TEST_F(NetworkFile, NetworksThatGiveOtherThanFiniteRowsAreRefused) {
  save("    return x\n");
  EXPECT_NE(refusal().find("[3, d]"), std::string::npos);
  save("    return (x, x)\n");
  EXPECT_NE(refusal().find("Tuple"), std::string::npos);
  save("    return x.flatten(1) / 0.0\n");
  EXPECT_NE(refusal().find("not finite"), std::string::npos);
  save("    return torch.matmul(x.flatten(1), self.weights)\n");
  EXPECT_NE(refusal().find("fails: '"), std::string::npos);
  save("    return x.flatten(1).argmax(1, keepdim=True)\n");
  EXPECT_NE(refusal().find("floating"), std::string::npos);
  save("    return x.mean([2, 3])[:, :int(x.size(0)) - 5]\n");
  EXPECT_NE(refusal(at::rand({71, 3, 8, 8})).find("[7, 3]"), std::string::npos);
}

TEST_F(NetworkFile, FilesThatAreNoNetworksAreRefusedInOneLine) {
  EXPECT_NE(refusal().find("No such file"), std::string::npos);
  for (const std::string& content :
       {std::string(), std::string("hello"), std::string(5000, '\0'),
        std::string("PK\3\4") + std::string(200, 'x')}) {
    write(content);
    EXPECT_NE(refusal().find("expected a zip archive"), std::string::npos);
  }
  path = folder.string();
  EXPECT_NE(refusal(), "");
}

TEST_F(NetworkFile, TruncatedFilesAreRefused) {
  save("    return torch.matmul(x.mean([2, 3]), self.weights)\n");
  const std::string whole = bytes();
  for (int part = 1; part < 40; ++part) {
    write(whole.substr(0, whole.size() * static_cast<std::size_t>(part) / 40));
    EXPECT_NE(refusal(), "") << part;
  }
}

TEST_F(NetworkFile, DamagedFilesAreRefusedOrStillTheSameNetwork) {
  save("    return torch.matmul(x.mean([2, 3]), self.weights)\n");
  const std::string whole = bytes();
  const auto images = at::rand({3, 3, 8, 8});
  const auto features = load_features(path, at::kCPU)->of(images);
  int refused = 0;
  for (std::size_t place = 0; place < whole.size(); place += 3) {
    std::string damaged = whole;
    damaged[place] = static_cast<char>(damaged[place] ^ 0x55);
    write(damaged);
    if (!refusal(images).empty()) {
      ++refused;
      continue;
    }
    EXPECT_TRUE(load_features(path, at::kCPU)->of(images).equal(features)) << place;
  }
  EXPECT_GT(refused, 200);
}

TEST_F(NetworkFile, AnArchiveOfOtherThingsIsRefused) {
  // One stored entry "a" without content.
  const std::string rest("\n\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0", 26);
  const std::string entry = std::string("PK\3\4") + rest + "a";
  const std::string directory =
      std::string("PK\1\2\n\0", 6) + rest + std::string(14, '\0') + "a";
  const std::string end =
      std::string("PK\5\6\0\0\0\0\1\0\1\0\57\0\0\0\37\0\0\0\0\0", 22);
  write(entry + directory + end);
  EXPECT_NE(refusal().find("expected a TorchScript network"), std::string::npos);
}

}  // namespace
}  // namespace kinflow
