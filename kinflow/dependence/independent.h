// Rows that do not depend on each other: the baseline.
#pragma once

#include "kinflow/dependence/dependence.h"

namespace kinflow {

/// C = I, without parameters. Has no tensors of its own, so it works on every device.
class Independent final : public Dependence {
 public:
  explicit Independent(std::int64_t rows);

  std::int64_t rows() const override { return rows_; }
  std::int64_t parameter_count() const override { return 0; }
  std::string kind() const override { return "independent"; }

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
  ConditionalRows condition_rows(const at::Tensor& parameters,
                                 const at::Tensor& observed,
                                 const at::Tensor& latents) const override;

 private:
  std::int64_t rows_;
};

}  // namespace kinflow
