// Where independent rows place the latents of flows that were trained on dependent
// ones.
#pragma once

#include <cstdint>
#include <vector>

#include "kinflow/array/array.h"
#include "kinflow/flow/layer.h"

namespace kinflow {

/// Calibrated latents are (u - mean) / deviation, column by column, for each replica.
///
/// Dependent rows tell little about the mean and the spread of the population: n rows
/// of a few families are worth a few rows. Independent rows, though fewer and used for
/// nothing else but to choose among flows, tell these 2 p numbers well.
struct Calibration {
  Array mean;       ///< [R, p] float64
  Array deviation;  ///< [R, p] float64, positive

  /// Calibrated latents [R, n, p] and log-determinants [R, n], float64.
  LatentResult apply(const LatentResult& result) const;
  /// Latents of the flow from calibrated ones, [R, n, p] float64.
  Array undo(const Array& calibrated) const;
  /// Those of some of the replicas, in the order given, on the CPU.
  Calibration of_replicas(const std::vector<std::int64_t>& replicas) const;
};

/// Mean and deviation of the latents of independent rows, taken together with what the
/// training rows say: that the latents are standard normal, with the weight of so many
/// independent rows as they are worth.
/// @param latents  [R, m, p], of independent rows
/// @param training_information  1' C^-1 1 of each replica, at least 0, [R] float64
Calibration calibrate(const Array& latents, const Array& training_information);

}  // namespace kinflow
