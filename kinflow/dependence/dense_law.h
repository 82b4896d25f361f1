// Laws given by C itself and its derivatives: dense, or block-diagonal with dense
// components.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "kinflow/dependence/components.h"
#include "kinflow/dependence/dependence.h"

namespace kinflow {

/// Everything that needs C and dC/dtheta only. Rows of different components are
/// independent; components of equal size make a group and are computed together, as
/// tensors [count, m, m].
///
/// A new value of the parameters costs O(sum of m^3) for Cholesky factors and inverses,
/// which are kept until the parameters change: O(R sum of m^2) memory for R replicas.
/// With the parameters unchanged all rows cost O(sum of m^2 p) and a batch, which
/// touches its own components only, O(b m p); the gradient in k parameters adds
/// O(k sum of m^2).
///
/// Computes on the device given to the constructor. Arguments on other devices are
/// copied there, results back.
class DenseLaw : public Dependence {
 public:
  std::int64_t rows() const override {
    return static_cast<std::int64_t>(components_.row_at.size());
  }
  std::int64_t component_count() const { return components_.count(); }
  std::int64_t rows_of_largest_component() const;
  /// True from some ten million multiplications on, the price of a batch.
  bool has_costly_parameters() const override;

  at::Tensor log_det(const at::Tensor& parameters) const override;
  at::Tensor precision_times(const at::Tensor& parameters,
                             const at::Tensor& latents) const override;
  at::Tensor parameter_gradient(const at::Tensor& parameters,
                                const at::Tensor& latents) const override;
  at::Tensor pairs_rows(const at::Tensor& parameters, const at::Tensor& rows,
                        const at::Tensor& latents) const override;
  at::Tensor pairs_parameter_gradient(const at::Tensor& parameters,
                                      const at::Tensor& rows,
                                      const at::Tensor& latents) const override;
  std::unique_ptr<LatentMemory> make_memory() const override;
  at::Tensor sample(const at::Tensor& parameters, std::int64_t columns,
                    Random& random) const override;
  at::Tensor covariance(const at::Tensor& parameters) const override;
  /// Works component by component; the result's covariance is [m, m] all the same.
  ConditionalLaw condition(const at::Tensor& parameters, const at::Tensor& observed,
                           const at::Tensor& latents) const override;
  /// These two cost O(sum of m^2 (m + p)) and form no n x n matrix.
  ConditionalRows condition_rows(const at::Tensor& parameters,
                                 const at::Tensor& observed,
                                 const at::Tensor& latents) const override;
  at::Tensor sample_given(const at::Tensor& parameters, const at::Tensor& observed,
                          const at::Tensor& latents, Random& random) const override;

 protected:
  /// The components of one size.
  struct Group {
    std::vector<std::int64_t> components;  ///< their numbers, increasing
    at::Tensor rows;                       ///< [count, m] int64
  };

  DenseLaw(Components components, at::Device device);

  /// C of a group's components: [R, count, m, m].
  /// @param parameters [R, k]
  virtual at::Tensor covariances(std::size_t group,
                                 const at::Tensor& parameters) const = 0;
  /// For each parameter, the sum over i and j of x_ij dC_ij/dtheta, added up over some
  /// of a group's components: [R, k].
  /// @param components [s] int64, places in the group; all in order where undefined
  /// @param x [R, s, m, m]
  virtual at::Tensor slopes(std::size_t group, const at::Tensor& parameters,
                            const at::Tensor& components,
                            const at::Tensor& x) const = 0;

  const Components& components() const { return components_; }
  const std::vector<Group>& groups() const { return groups_; }
  at::Device device() const { return device_; }

 private:
  class Memory;

  /// What the parameters of all replicas determine.
  struct Inverse {
    at::Tensor parameters;              ///< [R, k]
    std::vector<at::Tensor> precision;  ///< C^-1 of each group, [R, count, m, m]
    at::Tensor log_det;                 ///< [R]
    at::Tensor log_det_slopes;          ///< in the parameters, [R, k]
  };
  /// The rows of a batch that lie in one group, ordered by component. The components
  /// have different numbers of them: w is the largest, and places beyond are padding.
  struct BatchPart {
    std::size_t group;
    at::Tensor components;  ///< [s] int64, places in the group
    at::Tensor places;      ///< [s, w] int64, in the component; 0 in the padding
    at::Tensor positions;   ///< [s, w] int64, in the batch; b in the padding
  };
  /// Components with observed rows.
  struct Observation {
    BatchPart part;
    at::Tensor rows;        ///< all rows of these components, [s m] int64
    at::Tensor with_all;    ///< C of observed with all rows, [s, w, m]; padding is 0
    at::Tensor cholesky;    ///< of the observed rows' C, [s, w, w]; padding is I
    at::Tensor covariance;  ///< C, [s, m, m]
  };

  at::Tensor here(const at::Tensor& tensor) const;
  /// Parameters as they are needed here, [R, k]; those of one replica as [1, k].
  at::Tensor parameters_here(const at::Tensor& parameters) const;
  at::Tensor one_replica_here(const at::Tensor& parameters) const;
  /// A Cholesky factor of every C of a group; NumericalError where there is none.
  at::Tensor cholesky(std::size_t group, const at::Tensor& parameters) const;
  std::shared_ptr<const Inverse> inverse(const at::Tensor& parameters) const;
  void keep_for_stream(const Inverse& inverse) const;
  std::vector<BatchPart> parts(const at::Tensor& rows) const;
  std::vector<Observation> observe(const at::Tensor& parameters,
                                   const at::Tensor& observed) const;

  Components components_;
  at::Device device_;
  std::vector<Group> groups_;
  std::vector<std::size_t> group_of_component_;
  std::vector<std::int64_t> place_in_group_;  // of each component
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const Inverse> last_;
};

}  // namespace kinflow
