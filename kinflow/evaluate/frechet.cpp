// Moments of two sets, and the trace of the root of their covariances' product.
#include "kinflow/evaluate/frechet.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include "kinflow/array/array.h"
#include "kinflow/core/error.h"

namespace kinflow {
namespace {

struct Moments {
  Array mean;        // [d]
  Array covariance;  // [d, d]
};

void check(const Array& features) {
  if (features.dim() != 2 || features.size(0) < 2 || features.size(1) < 1 ||
      !features.is_floating_point()) {
    std::ostringstream shape;
    shape << features.sizes() << ' ' << features.dtype();
    throw InputError(fmt::format(
        "[frechet_distance] expected floating features of shape [n, d] with n at least "
        "2 and d at least 1, received {}",
        shape.str()));
  }
  if (!nd::isfinite(features).all().item<bool>()) {
    throw InputError(
        "[frechet_distance] expected finite features, received one that is not finite");
  }
}

Moments moments_of(const Array& features) {
  check(features);
  const auto values = features.detach().to(nd::kCPU, nd::kDouble);
  const auto mean = values.mean(0);
  const auto centred = values - mean;
  return {mean, nd::mm(centred.t(), centred) / static_cast<double>(values.size(0) - 1)};
}

void check_overflow(bool is_finite) {
  if (is_finite) return;
  throw NumericalError("the Frechet distance overflows: features are too large");
}

// R with R^T R = covariance, [r, d]. Directions without variance are left out: they add
// nothing to products, and the root of their rounding errors would be large.
Array root_of(const Array& covariance) {
  const auto [values, vectors] = nd::linalg_eigh(covariance);
  const double tolerance = values.max().item<double>() *
                           std::numeric_limits<double>::epsilon() *
                           static_cast<double>(values.numel());
  const auto kept = nd::nonzero(values > tolerance).flatten();
  return (vectors.index_select(1, kept) * values.index_select(0, kept).sqrt()).t();
}

// tr (A^1/2 B A^1/2)^1/2, which is the same for every root of A.
double trace_of_root(const Array& a, const Array& b) {
  const auto root = root_of(a);
  if (root.size(0) == 0) return 0;
  const auto product = nd::mm(nd::mm(root, b), root.t());
  const auto values = nd::linalg_eigvalsh((product + product.t()) / 2);
  return values.clamp_min(0).sqrt().sum().item<double>();
}

}  // namespace

double frechet_distance(const Array& first, const Array& second) {
  const auto a = moments_of(first), b = moments_of(second);
  if (a.mean.size(0) != b.mean.size(0)) {
    throw InputError(fmt::format(
        "[frechet_distance] expected sets with the same number of columns, received {} "
        "and {}",
        a.mean.size(0), b.mean.size(0)));
  }
  // Scaled to a total variance of 1, so that products of covariances keep their range.
  const double variance =
      a.covariance.trace().item<double>() + b.covariance.trace().item<double>();
  const double apart = (a.mean - b.mean).square().sum().item<double>();
  check_overflow(std::isfinite(variance) && std::isfinite(apart));
  if (variance < std::numeric_limits<double>::min()) return apart;
  const double shared = trace_of_root(a.covariance / variance, b.covariance / variance);
  return apart + variance * std::max(0.0, 1 - 2 * shared);
}

}  // namespace kinflow
