// What a training asks of the dependence with every batch, for all replicas in one
// call.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kinflow/array/array.h"
#include "kinflow/dependence/dependence.h"

namespace kinflow {

/// What the estimators do for one replica.
struct EstimatorChoice {
  bool needs_memory = false;
  double memory_share = 0;  ///< of the memory in the flow's gradient, 0 to 1
  bool moves_parameters = false;
};

/// Estimates of the rows of C^-1 U of a batch and of the gradient in the parameters,
/// each replica by its own mixture of memory and pairs. A structure can share work
/// between them. No call but reset() and the
/// first of others waits for a GPU.
class BatchEstimator {
 public:
  virtual ~BatchEstimator();
  /// Takes a copy of these latents as the remembered ones; nothing where no replica
  /// needs them. @param latents [R, n, p]
  virtual void reset(const Array& latents) = 0;
  /// The remembered latents, [R, n, p]; undefined where no replica needs them. They are
  /// the state, as in LatentMemory.
  virtual const Array& latents() const = 0;
  /// Remembers the batch and estimates its rows of C^-1 U: the memory's times
  /// `memory_share` and the pairs' times the rest, [R, b, p].
  /// @param parameters [R, k]  @param rows [b] int64, distinct  @param latents [R, b,
  /// p]
  virtual Array precision_rows(const Array& parameters, const Array& rows,
                               const Array& latents) = 0;
  /// Estimate of Dependence::parameter_gradient() after precision_rows() with the same
  /// parameters: [R, k] float64. It is the memory's where a replica needs one, else
  /// that of the batch's pairs. It means nothing where a replica does not move its
  /// parameters.
  virtual Array parameter_gradient(const Array& parameters) = 0;
  /// Whether calls for batches of the same size queue the same work on a GPU, never
  /// wait for it, and keep the state where it is, so that work can be recorded and
  /// repeated.
  virtual bool is_repeatable() const { return false; }
  /// Whether the work is done by the process's own team, with products of BLAS for what
  /// is small only: its threads would take the team's cores.
  virtual bool uses_own_team() const { return false; }
};

/// The estimator of any structure, by its LatentMemory and its pairs.
std::unique_ptr<BatchEstimator> make_composed_estimator(
    const Dependence& dependence, const std::vector<EstimatorChoice>& choices);

/// What any of some replicas needs.
struct EstimatorNeeds {
  explicit EstimatorNeeds(const std::vector<EstimatorChoice>& choices);

  bool memory = false;
  bool pairs = false;           ///< their rows or their gradient
  bool pairs_gradient = false;  ///< where parameters move without a memory
};

/// One number of each replica, [R] float64. Its copy to a GPU waits for that, so it is
/// made before a training.
template <typename Of>
Array numbers_of(const std::vector<EstimatorChoice>& choices, nd::Device device,
                 const Of& of) {
  std::vector<double> numbers;
  for (const auto& choice : choices) numbers.push_back(static_cast<double>(of(choice)));
  return nd::tensor(numbers, nd::kDouble).to(device);
}

}  // namespace kinflow
