// Rows that depend on each other in any way: C = L^-1 L^-T, every element learned.
#pragma once

#include <cstdint>
#include <optional>

#include "kinflow/array/array.h"
#include "kinflow/dependence/dependence.h"

namespace kinflow {

struct UnstructuredOptions {
  /// More rows are refused: there are n (n + 1) / 2 parameters.
  std::int64_t largest_rows = 500;
};

/// C = L^-1 L^-T with L lower triangular and its diagonal positive. The n (n + 1) / 2
/// parameters are the elements of L row by row, those of the diagonal by their
/// logarithms: any real numbers, and all 0 is C = I. O(n^2 p) for all rows and for a
/// batch.
///
/// From the latents of one table alone C cannot be estimated well: there are more
/// parameters than numbers.
class Unstructured final : public Dependence {
 public:
  explicit Unstructured(std::int64_t rows, UnstructuredOptions options = {});

  std::int64_t rows() const override { return rows_; }
  std::int64_t parameter_count() const override { return rows_ * (rows_ + 1) / 2; }
  std::string kind() const override { return "unstructured"; }

  Array log_det(const Array& parameters) const override;
  Array precision_times(const Array& parameters, const Array& latents) const override;
  Array quadratic(const Array& parameters, const Array& latents) const override;
  Array parameter_gradient(const Array& parameters,
                           const Array& latents) const override;
  Array pairs_rows(const Array& parameters, const Array& rows,
                   const Array& latents) const override;
  Array pairs_parameter_gradient(const Array& parameters, const Array& rows,
                                 const Array& latents) const override;
  std::unique_ptr<LatentMemory> make_memory() const override;

  /// The parameters themselves.
  Array to_unconstrained(const Array& parameters) const override;
  Array from_unconstrained(const Array& unconstrained) const override;
  Array unconstrained_gradient(const Array& parameters,
                               const Array& gradient) const override;
  /// A standard normal density of every parameter.
  Array unconstrained_prior_gradient(const Array& parameters) const override;
  Array prior_objective(const Array& parameters) const override;
  /// C = I is inside the range.
  std::optional<std::int64_t> edges_of_independence() const override { return {}; }
  /// C = I.
  Array default_parameters() const override;

  Array sample(const Array& parameters, std::int64_t columns,
               Random& random) const override;
  Array covariance(const Array& parameters) const override;

 private:
  class Memory;

  /// L of every replica: [R, n, n].
  Array factor(const Array& parameters) const;
  /// Gradient of the objective in the parameters from that of the trace's part in L.
  Array to_parameters(const Array& factor, const Array& factor_gradient,
                      std::int64_t columns) const;

  std::int64_t rows_;
};

}  // namespace kinflow
