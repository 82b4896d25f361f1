// Rows that depend on each other in any way: C = L^-1 L^-T, every element learned.
#pragma once

#include <cstdint>
#include <optional>

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

  at::Tensor log_det(const at::Tensor& parameters) const override;
  at::Tensor precision_times(const at::Tensor& parameters,
                             const at::Tensor& latents) const override;
  at::Tensor quadratic(const at::Tensor& parameters,
                       const at::Tensor& latents) const override;
  at::Tensor parameter_gradient(const at::Tensor& parameters,
                                const at::Tensor& latents) const override;
  at::Tensor pairs_rows(const at::Tensor& parameters, const at::Tensor& rows,
                        const at::Tensor& latents) const override;
  at::Tensor pairs_parameter_gradient(const at::Tensor& parameters,
                                      const at::Tensor& rows,
                                      const at::Tensor& latents) const override;
  std::unique_ptr<LatentMemory> make_memory() const override;

  /// The parameters themselves.
  at::Tensor to_unconstrained(const at::Tensor& parameters) const override;
  at::Tensor from_unconstrained(const at::Tensor& unconstrained) const override;
  at::Tensor unconstrained_gradient(const at::Tensor& parameters,
                                    const at::Tensor& gradient) const override;
  /// A standard normal density of every parameter.
  at::Tensor unconstrained_prior_gradient(const at::Tensor& parameters) const override;
  at::Tensor prior_objective(const at::Tensor& parameters) const override;
  /// C = I is inside the range.
  std::optional<std::int64_t> edges_of_independence() const override { return {}; }
  /// C = I.
  at::Tensor default_parameters() const override;

  at::Tensor sample(const at::Tensor& parameters, std::int64_t columns,
                    Random& random) const override;
  at::Tensor covariance(const at::Tensor& parameters) const override;

 private:
  class Memory;

  /// L of every replica: [R, n, n].
  at::Tensor factor(const at::Tensor& parameters) const;
  /// Gradient of the objective in the parameters from that of the trace's part in L.
  at::Tensor to_parameters(const at::Tensor& factor, const at::Tensor& factor_gradient,
                           std::int64_t columns) const;

  std::int64_t rows_;
};

}  // namespace kinflow
