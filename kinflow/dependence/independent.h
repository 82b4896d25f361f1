// Rows that do not depend on each other: the baseline.
#pragma once

#include "kinflow/array/array.h"
#include "kinflow/dependence/dependence.h"

namespace kinflow {

/// C = I, without parameters. Has no arrays of its own, so it works on every device.
class Independent final : public Dependence {
 public:
  explicit Independent(std::int64_t rows);

  std::int64_t rows() const override { return rows_; }
  std::int64_t parameter_count() const override { return 0; }
  std::string kind() const override { return "independent"; }

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
  ConditionalRows condition_rows(const Array& parameters, const Array& observed,
                                 const Array& latents) const override;

 private:
  std::int64_t rows_;
};

}  // namespace kinflow
