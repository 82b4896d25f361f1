// Rows that do not depend on each other: the precision is the identity.
#include "kinflow/dependence/independent.h"

#include <fmt/format.h>

#include "kinflow/array/array.h"
#include "kinflow/array/array_numbers.h"
#include "kinflow/core/error.h"

namespace kinflow {
namespace {

class IndependentMemory final : public LatentMemory {
 public:
  explicit IndependentMemory(std::int64_t rows) : LatentMemory(rows) {}

  void update(const Array& rows, const Array& latents) override {
    exchange_rows(rows, latents);
  }
  Array precision_rows(const Array& /*parameters*/, const Array& rows) const override {
    return latents_.index_select(1, rows).to(nd::kDouble);
  }
  Array parameter_gradient(const Array& parameters) const override {
    return nd::zeros_like(parameters);
  }
};

}  // namespace

Independent::Independent(std::int64_t rows) : rows_(rows) {
  if (rows < 1) {
    throw InputError(
        fmt::format("[Independent] expected at least 1 row, received {}", rows));
  }
}

Array Independent::log_det(const Array& parameters) const {
  return checked_parameters(parameters).sum(1);
}

Array Independent::precision_times(const Array& parameters,
                                   const Array& latents) const {
  checked_parameters(parameters);
  return checked_latents(parameters, latents, rows());
}

Array Independent::parameter_gradient(const Array& parameters,
                                      const Array& latents) const {
  checked_latents(parameters, latents, rows());
  return nd::zeros_like(checked_parameters(parameters));
}

Array Independent::pairs_rows(const Array& parameters, const Array& rows,
                              const Array& latents) const {
  checked_parameters(parameters);
  return checked_latents(parameters, latents, rows.size(0));
}

Array Independent::pairs_parameter_gradient(const Array& parameters, const Array& rows,
                                            const Array& latents) const {
  checked_latents(parameters, latents, rows.size(0));
  return nd::zeros_like(checked_parameters(parameters));
}

std::unique_ptr<LatentMemory> Independent::make_memory() const {
  return std::make_unique<IndependentMemory>(rows());
}

Array Independent::sample(const Array& parameters, std::int64_t columns,
                          Random& random) const {
  checked_one_replica(parameters);
  return normal_numbers({rows(), columns}, random);
}

Array Independent::covariance(const Array& parameters) const {
  return nd::eye(rows(), checked_one_replica(parameters).options()).unsqueeze(0);
}

ConditionalRows Independent::condition_rows(const Array& parameters,
                                            const Array& observed,
                                            const Array& latents) const {
  checked_one_replica(parameters);
  const Array unknown = checked_unknown_rows(observed, latents);
  const auto numbers = latents.options().dtype(nd::kDouble);
  return {unknown, nd::zeros({unknown.size(0), latents.size(1)}, numbers),
          nd::ones({unknown.size(0), 1}, numbers)};
}

}  // namespace kinflow
