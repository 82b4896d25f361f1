// Features of images, in which sets of images are compared.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <memory>
#include <string>

namespace kinflow {

/// A fixed map from images to features.
class ImageFeatures {
 public:
  virtual ~ImageFeatures() = default;

  /// Short, for tables: which features these are.
  virtual const std::string& name() const = 0;
  /// A sentence for reports.
  virtual std::string description() const = 0;

  /// The features of each image, [n, d] float32 on the device of this object, computed
  /// in batches without gradients.
  /// @param images  [n, 1 or 3, H, W] on any device, n at least 1: uint8, or floating
  ///     from 0 to 1; grey ones are repeated to three channels. Else InputError that
  ///     names the first bad image.
  at::Tensor of(const at::Tensor& images) const;

 protected:
  ImageFeatures(at::Device device, std::int64_t batch)
      : device_(device), batch_(batch) {}

 private:
  /// @param images  [b, 3, H, W] float32 from 0 to 1, on the device
  /// @returns [b, d] float32, finite; the checks are those of the caller
  virtual at::Tensor of_batch(const at::Tensor& images) const = 0;

  at::Device device_;
  std::int64_t batch_;
};

/// Features that need no file and were learned from no data, "kinflow-features-1":
/// light and colour on a coarse grid, and logarithms of the strength of edges by place,
/// direction and scale, and of the edges of these strengths (a scattering transform).
/// Sides must have at least 4 pixels. Distances between them are no FID.
std::unique_ptr<ImageFeatures> built_in_features(at::Device device);

/// The network of a TorchScript file, e.g. an Inception. It gets [b, 3, H, W] float32
/// from 0 to 1 with images in their own size (it must scale and normalise them itself)
/// and must give [b, d] finite floating numbers. InputError in one line where the file
/// cannot be read, and in of() where the network fails or gives anything else. Such a
/// file is a program: load only what you trust.
std::unique_ptr<ImageFeatures> load_features(const std::string& path,
                                             at::Device device);

}  // namespace kinflow
