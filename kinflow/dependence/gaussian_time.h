// Rows at points in time whose dependence decays like a normal density: C = lambda I +
// (1 - lambda) G with G_ij = exp(-gamma (t_i - t_j)^2).
#pragma once

#include <cstdint>

#include "kinflow/array/array.h"
#include "kinflow/dependence/decay_rate.h"
#include "kinflow/dependence/dense_law.h"

namespace kinflow {

struct GaussianTimeOptions {
  /// More rows are refused: every new value of the parameters costs a Cholesky factor.
  std::int64_t largest_rows = kLargestFactorized;
};

/// Parameters: lambda in (0, 1) and gamma > 0, in units of 1 / time^2. G changes with
/// gamma and is dense, so a new value of either costs O(n^3); see DenseLaw. With gamma
/// given, Relationship with gaussian_time_relationship() decomposes G once.
class GaussianTime final : public DecayLaw<DenseLaw> {
 public:
  /// InputError where times are not finite numbers [n] or too many.
  /// @param times [n], in any order; equal ones are welcome
  explicit GaussianTime(const Array& times, GaussianTimeOptions options = {});

  std::int64_t parameter_count() const override { return 2; }
  std::string kind() const override { return "gaussian-time"; }

  /// [n] float64, as given.
  const Array& times() const { return times_; }

  /// gamma is 1 / (mean time between rows)^2.
  Array default_parameters() const override;

 protected:
  Array covariances(std::size_t group, const Array& parameters) const override;
  Array slopes(std::size_t group, const Array& parameters, const Array& components,
               const Array& x) const override;

 private:
  /// G of every replica: [R, 1, n, n].
  Array kernels(const Array& parameters) const;

  Array times_;
  Array squared_distances_;  // [n, n]
};

}  // namespace kinflow
