// Laws given by C itself and its derivatives: dense, or block-diagonal with dense
// components.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "kinflow/array/array.h"
#include "kinflow/dependence/components.h"
#include "kinflow/dependence/dependence.h"

namespace kinflow {

/// Everything that needs C and dC/dtheta only. Rows of different components are
/// independent; components of equal size make a group and are computed together, as
/// arrays [count, m, m].
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

  Array log_det(const Array& parameters) const override;
  Array precision_times(const Array& parameters, const Array& latents) const override;
  Array parameter_gradient(const Array& parameters,
                           const Array& latents) const override;
  Array pairs_rows(const Array& parameters, const Array& rows,
                   const Array& latents) const override;
  Array pairs_parameter_gradient(const Array& parameters, const Array& rows,
                                 const Array& latents) const override;
  std::unique_ptr<LatentMemory> make_memory() const override;
  Array sample(const Array& parameters, std::int64_t columns,
               Random& random) const override;
  Array covariance(const Array& parameters) const override;
  /// Works component by component; the result's covariance is [m, m] all the same.
  ConditionalLaw condition(const Array& parameters, const Array& observed,
                           const Array& latents) const override;
  /// These two cost O(sum of m^2 (m + p)) and form no n x n matrix.
  ConditionalRows condition_rows(const Array& parameters, const Array& observed,
                                 const Array& latents) const override;
  Array sample_given(const Array& parameters, const Array& observed,
                     const Array& latents, Random& random) const override;

 protected:
  /// The components of one size.
  struct Group {
    std::vector<std::int64_t> components;  ///< their numbers, increasing
    Array rows;                            ///< [count, m] int64
  };

  DenseLaw(Components components, nd::Device device);

  /// C of a group's components: [R, count, m, m].
  /// @param parameters [R, k]
  virtual Array covariances(std::size_t group, const Array& parameters) const = 0;
  /// For each parameter, the sum over i and j of x_ij dC_ij/dtheta, added up over some
  /// of a group's components: [R, k].
  /// @param components [s] int64, places in the group; all in order where undefined
  /// @param x [R, s, m, m]
  virtual Array slopes(std::size_t group, const Array& parameters,
                       const Array& components, const Array& x) const = 0;

  const Components& components() const { return components_; }
  const std::vector<Group>& groups() const { return groups_; }
  nd::Device device() const { return device_; }

 private:
  class Memory;

  /// What the parameters of all replicas determine.
  struct Inverse {
    Array parameters;              ///< [R, k]
    std::vector<Array> precision;  ///< C^-1 of each group, [R, count, m, m]
    Array log_det;                 ///< [R]
    Array log_det_slopes;          ///< in the parameters, [R, k]
  };
  /// The rows of a batch that lie in one group, ordered by component. The components
  /// have different numbers of them: w is the largest, and places beyond are padding.
  struct BatchPart {
    std::size_t group;
    Array components;  ///< [s] int64, places in the group
    Array places;      ///< [s, w] int64, in the component; 0 in the padding
    Array positions;   ///< [s, w] int64, in the batch; b in the padding
  };
  /// Components with observed rows.
  struct Observation {
    BatchPart part;
    Array rows;        ///< all rows of these components, [s m] int64
    Array with_all;    ///< C of observed with all rows, [s, w, m]; padding is 0
    Array cholesky;    ///< of the observed rows' C, [s, w, w]; padding is I
    Array covariance;  ///< C, [s, m, m]
  };

  Array here(const Array& tensor) const;
  /// Parameters as they are needed here, [R, k]; those of one replica as [1, k].
  Array parameters_here(const Array& parameters) const;
  Array one_replica_here(const Array& parameters) const;
  /// A Cholesky factor of every C of a group; NumericalError where there is none.
  Array cholesky(std::size_t group, const Array& parameters) const;
  std::shared_ptr<const Inverse> inverse(const Array& parameters) const;
  void keep_inverse(const Inverse& inverse) const;
  std::vector<BatchPart> parts(const Array& rows) const;
  std::vector<Observation> observe(const Array& parameters,
                                   const Array& observed) const;

  Components components_;
  nd::Device device_;
  std::vector<Group> groups_;
  std::vector<std::size_t> group_of_component_;
  std::vector<std::int64_t> place_in_group_;  // of each component
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const Inverse> last_;
};

}  // namespace kinflow
