// Rows that do not depend on each other: the precision is the identity.
#include "kinflow/dependence/independent.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "kinflow/core/error.h"
#include "kinflow/core/tensor_numbers.h"

namespace kinflow {
namespace {

class IndependentMemory final : public LatentMemory {
 public:
  explicit IndependentMemory(std::int64_t rows) : LatentMemory(rows) {}

  void update(const at::Tensor& rows, const at::Tensor& latents) override {
    exchange_rows(rows, latents);
  }
  at::Tensor precision_rows(const at::Tensor& /*parameters*/,
                            const at::Tensor& rows) const override {
    return latents_.index_select(1, rows).to(at::kDouble);
  }
  at::Tensor parameter_gradient(const at::Tensor& parameters) const override {
    return at::zeros_like(parameters);
  }
};

}  // namespace

Independent::Independent(std::int64_t rows) : rows_(rows) {
  if (rows < 1) {
    throw InputError(
        fmt::format("[Independent] expected at least 1 row, received {}", rows));
  }
}

at::Tensor Independent::log_det(const at::Tensor& parameters) const {
  return checked_parameters(parameters).sum(1);
}

at::Tensor Independent::precision_times(const at::Tensor& parameters,
                                        const at::Tensor& latents) const {
  checked_parameters(parameters);
  return checked_latents(parameters, latents, rows());
}

at::Tensor Independent::parameter_gradient(const at::Tensor& parameters,
                                           const at::Tensor& latents) const {
  checked_latents(parameters, latents, rows());
  return at::zeros_like(checked_parameters(parameters));
}

at::Tensor Independent::pairs_rows(const at::Tensor& parameters, const at::Tensor& rows,
                                   const at::Tensor& latents) const {
  checked_parameters(parameters);
  return checked_latents(parameters, latents, rows.size(0));
}

at::Tensor Independent::pairs_parameter_gradient(const at::Tensor& parameters,
                                                 const at::Tensor& rows,
                                                 const at::Tensor& latents) const {
  checked_latents(parameters, latents, rows.size(0));
  return at::zeros_like(checked_parameters(parameters));
}

std::unique_ptr<LatentMemory> Independent::make_memory() const {
  return std::make_unique<IndependentMemory>(rows());
}

at::Tensor Independent::sample(const at::Tensor& parameters, std::int64_t columns,
                               Random& random) const {
  checked_one_replica(parameters);
  return normal_numbers({rows(), columns}, random);
}

at::Tensor Independent::covariance(const at::Tensor& parameters) const {
  return at::eye(rows(), checked_one_replica(parameters).options()).unsqueeze(0);
}

ConditionalRows Independent::condition_rows(const at::Tensor& parameters,
                                            const at::Tensor& observed,
                                            const at::Tensor& latents) const {
  checked_one_replica(parameters);
  const at::Tensor unknown = checked_unknown_rows(observed, latents);
  const auto numbers = latents.options().dtype(at::kDouble);
  return {unknown, at::zeros({unknown.size(0), latents.size(1)}, numbers),
          at::ones({unknown.size(0), 1}, numbers)};
}

}  // namespace kinflow
