// Features by a network that the user gives; the only file that includes TorchScript.
#include <ATen/ATen.h>
#include <fmt/format.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/serialization/import.h>

#include <exception>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include "kinflow/core/error.h"
#include "kinflow/core/in_quotes.h"
#include "kinflow/core/zip_archive.h"
#include "kinflow/evaluate/image_features.h"

namespace kinflow {
namespace {

constexpr std::int64_t kScriptBatch = 64;
constexpr std::size_t kLongestReason = 200;

// One line of an exception of LibTorch, which has traces of calls around its reason.
std::string reason_of(const std::exception& error) {
  const std::string text = error.what();
  const std::string marker = "RuntimeError: ";
  const auto place = text.rfind(marker);
  const auto begin = place == std::string::npos ? 0 : place + marker.size();
  return in_quotes(text.substr(begin, text.find('\n', begin) - begin), kLongestReason);
}

std::string shape_of(const at::Tensor& tensor) {
  std::ostringstream shape;
  shape << tensor.sizes() << ' ' << tensor.dtype();
  return shape.str();
}

class TorchScriptFeatures final : public ImageFeatures {
 public:
  TorchScriptFeatures(std::string path, torch::jit::Module network, at::Device device)
      : ImageFeatures(device, kScriptBatch),
        path_(std::move(path)),
        network_(std::move(network)) {}

  const std::string& name() const override { return path_; }
  std::string description() const override {
    return fmt::format("the output of the TorchScript network {}", path_);
  }

 private:
  at::Tensor of_batch(const at::Tensor& images) const override {
    auto features = output_for(images);
    const auto count = images.size(0);
    const bool is_first = columns_ == 0;
    if (features.dim() != 2 || features.size(0) != count || features.size(1) < 1 ||
        !features.is_floating_point() || (!is_first && features.size(1) != columns_)) {
      throw InputError(fmt::format(
          "{}: expected floating features of shape [{}, {}] for images of shape "
          "[{}, 3, {}, {}], found {}",
          path_, count, is_first ? "d" : fmt::format("{}", columns_), count,
          images.size(2), images.size(3), shape_of(features)));
    }
    columns_ = features.size(1);
    features = features.to(images.device(), at::kFloat);
    if (!at::isfinite(features).all().item<bool>()) {
      throw InputError(fmt::format(
          "{}: expected finite features, found one that is not finite", path_));
    }
    return features;
  }

  at::Tensor output_for(const at::Tensor& images) const {
    try {
      const auto output = network_.forward({images});
      if (output.isTensor()) return output.toTensor();
      throw InputError(
          fmt::format("{}: expected a network that gives one tensor, found one that "
                      "gives a {}",
                      path_, output.tagKind()));
    } catch (const InputError&) {
      throw;
    } catch (const std::exception& error) {
      throw InputError(fmt::format(
          "{}: expected a network for images of shape [{}, 3, {}, {}], found one that "
          "fails: {}",
          path_, images.size(0), images.size(2), images.size(3), reason_of(error)));
    }
  }

  std::string path_;
  mutable torch::jit::Module network_;
  mutable std::int64_t columns_ = 0;  // of the features, once they are known
};

}  // namespace

std::unique_ptr<ImageFeatures> load_features(const std::string& path,
                                             at::Device device) {
  // LibTorch does not look at checksums, and damaged archives make it crash.
  check_zip_archive(path);
  try {
    auto network = torch::jit::load(path, device);
    network.eval();
    if (!network.find_method("forward")) {
      throw InputError(fmt::format(
          "{}: expected a TorchScript network with a function 'forward', found none",
          path));
    }
    return std::make_unique<TorchScriptFeatures>(path, std::move(network), device);
  } catch (const InputError&) {
    throw;
  } catch (const std::exception& error) {
    throw InputError(fmt::format("{}: expected a TorchScript network, found {}", path,
                                 reason_of(error)));
  }
}

}  // namespace kinflow
