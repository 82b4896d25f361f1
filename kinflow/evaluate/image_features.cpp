// Reading features that the user has computed.
#include "kinflow/evaluate/image_features.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "kinflow/core/error.h"
#include "kinflow/core/memory.h"
#include "kinflow/data/npy.h"
#include "kinflow/evaluate/prd.h"

namespace kinflow {
namespace {

/// A file whose shape and type are right.
struct FeatureFile {
  explicit FeatureFile(const std::string& from) : path(from), reader(from) {
    const auto& layout = reader.layout();
    const auto& shape = layout.shape;
    const bool is_floating = layout.dtype == "f4" || layout.dtype == "f8";
    if (!is_floating || shape.size() != 2 || shape[0] < PrdOptions{}.clusters ||
        shape[1] < 1) {
      throw InputError(fmt::format(
          "{}: expected float32 or float64 features of shape [n, d] with n at least {} "
          "and d at least 1, found [{}] of {}",
          path, PrdOptions{}.clusters, fmt::join(shape, ", "), layout.dtype));
    }
  }

  std::int64_t rows() const { return reader.rows(); }
  std::int64_t columns() const { return reader.layout().shape[1]; }

  Array read() const {
    const auto values = reader.read(0, rows());
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (std::isfinite(values[i])) continue;
      const auto d = static_cast<std::size_t>(columns());
      throw InputError(
          fmt::format("{}: expected finite features, found {} in row {}, column {}",
                      path, values[i], i / d + 1, i % d + 1));
    }
    return nd::tensor(values, nd::kDouble).view({rows(), columns()});
  }

  std::string path;
  NpyReader reader;
};

// Values as they are read and kept, and the matrices of a Frechet distance.
void check_memory(const FeatureFile& real, const FeatureFile& generated) {
  const auto n = static_cast<double>(real.rows() + generated.rows());
  const auto d = static_cast<double>(real.columns());
  require_memory(sizeof(double) * (3 * n * d + 8 * d * d), real.path + ":",
                 fmt::format("distances between {} columns", real.columns()),
                 "fewer columns need less");
}

}  // namespace

ImageFeatures read_features(const std::string& of_real,
                            const std::string& of_generated) {
  const FeatureFile real(of_real), generated(of_generated);
  if (real.columns() != generated.columns()) {
    throw InputError(fmt::format("{}: expected {} columns, as in {}, found {}",
                                 of_generated, real.columns(), of_real,
                                 generated.columns()));
  }
  check_memory(real, generated);
  return {.name = fmt::format("{} and {}", of_real, of_generated),
          .real = real.read(),
          .generated = generated.read()};
}

}  // namespace kinflow
