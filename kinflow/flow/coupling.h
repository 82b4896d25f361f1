// Coupling layers: half of the columns pass unchanged and steer how the others are
// mapped.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kinflow/array/array.h"
#include "kinflow/flow/conditioner.h"
#include "kinflow/flow/coupling_columns.h"
#include "kinflow/flow/layer.h"

namespace kinflow {

/// What all coupling layers share: splitting, the conditioner, putting together again.
class Coupling : public Layer {
 public:
  struct Network {
    std::vector<std::int64_t> hidden;
    double first_gain = 1;
    std::vector<std::uint64_t> seeds;  ///< one per replica
    std::uint64_t stream = 0;          ///< differs from layer to layer
  };

  LatentResult to_latent(const Array& data, const Array& context) const override;
  Array from_latent(const Array& latents, const Array& context) const override;
  void visit_parameters(const ParameterVisitor& visit) override;

 protected:
  Coupling(CouplingColumns columns, std::int64_t parameters_per_column,
           const Network& network);

  /// The columns' map. Columns are [R, b, d], parameters [R, b or 1, d, k].
  virtual ElementwiseResult map(const Array& columns,
                                const Array& parameters) const = 0;
  virtual Array unmap(const Array& columns, const Array& parameters) const = 0;
  /// What the conditioner sees of the unchanged columns.
  virtual Array steering(const Array& columns) const { return columns; }

 private:
  struct Parts {
    Array unchanged, mapped;
  };
  Parts split(const Array& rows) const;
  Array join(const Array& unchanged, const Array& mapped) const;
  Array parameters(const Array& unchanged, const Array& context) const;

  CouplingColumns columns_;
  Array order_, inverse_order_;  // undefined without a permutation
  std::int64_t mapped_;
  std::int64_t parameters_per_column_;
  Conditioner conditioner_;
};

/// Maps columns by rational-quadratic splines on [-bound, bound] in standardised units.
class SplineCoupling final : public Coupling {
 public:
  SplineCoupling(CouplingColumns columns, std::int64_t bins, double bound,
                 const Network& network);

 protected:
  ElementwiseResult map(const Array& columns, const Array& parameters) const override;
  Array unmap(const Array& columns, const Array& parameters) const override;
  /// Clamped to the bound: a far outlier cannot drive the network's weights.
  Array steering(const Array& columns) const override;

 private:
  double bound_;
};

/// Maps columns by scale and shift, the scale between 0.5 and 1.5.
class AffineCoupling final : public Coupling {
 public:
  AffineCoupling(CouplingColumns columns, const Network& network);

 protected:
  ElementwiseResult map(const Array& columns, const Array& parameters) const override;
  Array unmap(const Array& columns, const Array& parameters) const override;
};

}  // namespace kinflow
