// How rows depend on each other: the law of the n x n row covariance C of the latents
// U ~ MatrixNormal(0, C, I_p).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>

namespace kinflow {

class Random;

/// The last known latents of all rows, with the statistics that make rows of C^-1 U and
/// the exact gradient in the parameters cheap after every batch.
class LatentMemory {
 public:
  virtual ~LatentMemory();
  /// Forgets everything and takes these latents. @param latents [R, n, p]
  virtual void reset(const at::Tensor& latents) = 0;
  /// Overwrites some rows. @param rows [b] int64, distinct  @param latents [R, b, p]
  virtual void update(const at::Tensor& rows, const at::Tensor& latents) = 0;
  /// Rows of C^-1 U of the remembered latents: [R, b, p].
  /// @param parameters [R, k] as in Dependence
  virtual at::Tensor precision_rows(const at::Tensor& parameters,
                                    const at::Tensor& rows) const = 0;
  /// Exact gradient of Dependence::objective of the remembered latents: [R, k].
  virtual at::Tensor parameter_gradient(const at::Tensor& parameters) const = 0;
  /// The remembered latents, [R, n, p].
  const at::Tensor& latents() const { return latents_; }

 protected:
  at::Tensor latents_;
};

/// The law of unknown rows given observed ones: each column of the unknown latents is
/// normal with its column of `mean` and the common `covariance`.
struct ConditionalLaw {
  at::Tensor rows;        ///< [m] int64, the unknown rows in increasing order
  at::Tensor mean;        ///< [m, p] float64
  at::Tensor covariance;  ///< [m, m] float64
};

/// A structure of C over n rows with k parameters (correlations, variance shares).
///
/// The structure is fixed; the parameters are an argument, a float64 tensor [R, k] on
/// their natural scale, one row for each of R replicas. Latents are [R, n, p] of any
/// floating type; all algebra is float64, on the device of the arguments. With k = 0
/// the parameters are a [R, 0] tensor.
class Dependence {
 public:
  virtual ~Dependence();

  virtual std::int64_t rows() const = 0;
  /// k; 0 for independent rows.
  virtual std::int64_t parameter_count() const = 0;
  /// Short name used in model files: "independent", "blocks", "relationship".
  virtual std::string kind() const = 0;

  /// log det C: [R].
  virtual at::Tensor log_det(const at::Tensor& parameters) const = 0;
  /// C^-1 U: [R, n, p].
  virtual at::Tensor precision_times(const at::Tensor& parameters,
                                     const at::Tensor& latents) const = 0;
  /// tr(U' C^-1 U): [R].
  virtual at::Tensor quadratic(const at::Tensor& parameters,
                               const at::Tensor& latents) const;
  /// -log p(U) without the constant: p/2 log det C + 1/2 tr(U' C^-1 U): [R].
  at::Tensor objective(const at::Tensor& parameters, const at::Tensor& latents) const;
  /// log p(U) of all rows together: [R].
  at::Tensor log_density(const at::Tensor& parameters, const at::Tensor& latents) const;
  /// Exact gradient of objective() in the parameters: [R, k].
  virtual at::Tensor parameter_gradient(const at::Tensor& parameters,
                                        const at::Tensor& latents) const = 0;

  /// Unbiased estimate of the rows of C^-1 U from the pairs inside a batch: the diagonal
  /// term plus (n - 1)/(b - 1) times the terms with the batch's other rows: [R, b, p].
  /// @param rows [b] int64, distinct  @param latents [R, b, p], the batch's own
  virtual at::Tensor pairs_rows(const at::Tensor& parameters, const at::Tensor& rows,
                                const at::Tensor& latents) const = 0;
  /// Unbiased estimate of parameter_gradient() from the pairs inside a batch: [R, k].
  virtual at::Tensor pairs_parameter_gradient(const at::Tensor& parameters,
                                              const at::Tensor& rows,
                                              const at::Tensor& latents) const = 0;
  virtual std::unique_ptr<LatentMemory> make_memory() const = 0;

  /// Parameters on an unbounded scale for an optimiser, and back. The default is the
  /// logit: every parameter lies in (0, 1).
  virtual at::Tensor to_unconstrained(const at::Tensor& parameters) const;
  virtual at::Tensor from_unconstrained(const at::Tensor& unconstrained) const;
  /// Gradient on the unbounded scale from the one in the parameters.
  virtual at::Tensor unconstrained_gradient(const at::Tensor& parameters,
                                            const at::Tensor& gradient) const;

  /// Draws U ~ MatrixNormal(0, C, I_p): [n, p] float64 on the CPU.
  /// @param parameters [k], one replica
  virtual at::Tensor sample(const at::Tensor& parameters, std::int64_t columns,
                            Random& random) const = 0;
  /// C as a dense [n, n] float64 matrix, for oracles and small problems.
  /// @param parameters [k]
  virtual at::Tensor covariance(const at::Tensor& parameters) const = 0;
  /// Law of all other rows given the latents of some rows.
  /// @param parameters [k]  @param observed [q] int64, distinct  @param latents [q, p]
  virtual ConditionalLaw condition(const at::Tensor& parameters,
                                   const at::Tensor& observed,
                                   const at::Tensor& latents) const;
  /// A draw of all n rows whose observed rows have the given latents: [n, p] float64.
  virtual at::Tensor sample_given(const at::Tensor& parameters,
                                  const at::Tensor& observed, const at::Tensor& latents,
                                  Random& random) const;
};

}  // namespace kinflow
