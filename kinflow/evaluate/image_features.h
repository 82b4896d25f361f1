// Features of images, in which sets of images are compared.
#pragma once

#include <string>

#include "kinflow/array/array.h"

namespace kinflow {

/// Features of real and of generated images, by one map.
struct ImageFeatures {
  std::string name;  ///< short, for tables: which features these are
  Array real;        ///< [n, d] floating, finite, on the CPU
  Array generated;   ///< [m, d], of the same type
};

/// What "kinflow-features-1" are, a sentence for reports.
std::string built_in_description();

/// Features that need no file and were learned from no data, "kinflow-features-1":
/// light and colour on a coarse grid, and logarithms of the strength of edges by place,
/// direction and scale, and of the edges of these strengths (a scattering transform).
/// Distances between them are no FID.
/// @param images  [n, 1 or 3, H, W] on any device, n at least 1, sides of at least 4:
///     uint8, or floating from 0 to 1; grey ones are as those of three equal channels.
///     Else InputError, for pixels one that names the first bad image.
/// @returns [n, d] float32 on the CPU
Array built_in_features(const Array& images);

/// Those of two sets of images of the same size, else InputError.
ImageFeatures built_in_features(const Array& real, const Array& generated);

/// Features that the user has computed: .npy arrays [n, d] and [m, d], float32 or
/// float64. InputError in one line where a file cannot be read, has another shape or
/// type, too few rows for a precision-recall curve, or a value that is not finite.
ImageFeatures read_features(const std::string& of_real,
                            const std::string& of_generated);

}  // namespace kinflow
