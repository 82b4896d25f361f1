// The Adamax optimiser (Kingma and Ba, 2015) on a matrix of parameters, one row a
// replica.
#pragma once

#include <cstdint>

#include "kinflow/array/array.h"

namespace kinflow {

/// Moments of Adamax for parameters [R, P]. Every replica has its own learning rate and
/// weight decay; the decay is coupled: it is added to the gradient.
class Adamax {
 public:
  explicit Adamax(const Array& parameters);

  /// One step, in place: no array of the state moves. @param learning_rate [R, 1]
  /// @param weight_decay of a shape that broadcasts to [R, P], or undefined
  /// @param active [R, 1] bool; other replicas keep parameters and moments
  void step(Array& parameters, const Array& gradient, const Array& learning_rate,
            const Array& weight_decay, const Array& active);
  /// The same by kernels for arrays on the CPU, replicas shared among the process's
  /// team. @param weight_decay [R, P]
  void step_by_kernels(Array& parameters, const Array& gradient,
                       const Array& learning_rate, const Array& weight_decay,
                       const Array& active);
  /// What the learning rate of step number `steps` (from 1) is divided by.
  static double correction(std::int64_t steps);
  /// Forgets the moments of the replicas where `which` [R, 1] bool holds.
  void reset(const Array& which);

  /// State, for checkpoints.
  Array first_moment;   ///< [R, P]
  Array infinity_norm;  ///< [R, P]
  Array steps;          ///< [R, 1] int64

 private:
  template <typename Real>
  void step_on_cpu(Array& parameters, const Array& gradient, const Array& learning_rate,
                   const Array& weight_decay, const Array& active);
};

}  // namespace kinflow
