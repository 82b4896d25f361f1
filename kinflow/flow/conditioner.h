// The small network that turns the unchanged columns and the context into the
// parameters of a coupling layer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kinflow/array/array.h"
#include "kinflow/flow/layer.h"

namespace kinflow {

/// A fully connected network with SiLU between its layers. With no inputs it is a
/// learned constant. Weights are [R, in, out], biases [R, 1, out].
///
/// The last layer starts at 0, so that a new coupling layer is the identity. The first
/// layer starts uniform within +-first_gain / sqrt(in) and has no weight decay: it says
/// where the network bends, and decay would pull all bends to the middle.
class Conditioner {
 public:
  /// @param seeds  one per replica; R is their number
  Conditioner(std::int64_t inputs, const std::vector<std::int64_t>& hidden,
              std::int64_t outputs, double first_gain,
              const std::vector<std::uint64_t>& seeds, std::uint64_t stream);

  /// [R, b, in] -> [R, b, out]; with no inputs [R, 1, out], to be broadcast.
  Array operator()(const Array& inputs) const;
  void visit_parameters(const std::string& prefix, const ParameterVisitor& visit);

 private:
  std::vector<Array> weights_;
  std::vector<Array> biases_;
};

}  // namespace kinflow
