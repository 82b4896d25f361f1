// The Adamax optimiser (Kingma and Ba, 2015) on a matrix of parameters, one row a
// replica.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace kinflow {

/// Moments of Adamax for parameters [R, P]. Every replica has its own learning rate and
/// weight decay; the decay is coupled: it is added to the gradient.
class Adamax {
 public:
  explicit Adamax(const at::Tensor& parameters);

  /// One step, in place: no tensor of the state moves. @param learning_rate [R, 1]
  /// @param weight_decay of a shape that broadcasts to [R, P], or undefined
  /// @param active [R, 1] bool; other replicas keep parameters and moments
  void step(at::Tensor& parameters, const at::Tensor& gradient,
            const at::Tensor& learning_rate, const at::Tensor& weight_decay,
            const at::Tensor& active);
  /// The same by kernels for tensors on the CPU, replicas shared among the process's
  /// team. @param weight_decay [R, P]
  void step_by_kernels(at::Tensor& parameters, const at::Tensor& gradient,
                       const at::Tensor& learning_rate, const at::Tensor& weight_decay,
                       const at::Tensor& active);
  /// What the learning rate of step number `steps` (from 1) is divided by.
  static double correction(std::int64_t steps);
  /// Forgets the moments of the replicas where `which` [R, 1] bool holds.
  void reset(const at::Tensor& which);

  /// State, for checkpoints.
  at::Tensor first_moment;   ///< [R, P]
  at::Tensor infinity_norm;  ///< [R, P]
  at::Tensor steps;          ///< [R, 1] int64

 private:
  template <typename Real>
  void step_on_cpu(at::Tensor& parameters, const at::Tensor& gradient,
                   const at::Tensor& learning_rate, const at::Tensor& weight_decay,
                   const at::Tensor& active);
};

}  // namespace kinflow
