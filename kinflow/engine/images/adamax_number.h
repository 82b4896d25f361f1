// Adamax for one number, the same on a CPU and on a GPU.
#pragma once

#include "kinflow/core/everywhere.h"
#include "kinflow/flow/cpu/kernel_plan.h"

namespace kinflow {

struct AdamaxNumber {
  float &value, &first_moment, &infinity_norm;
};

/// @param rate  with the correction of the first steps
KINFLOW_EVERYWHERE inline void move(AdamaxNumber number, float slope, float rate) {
  constexpr auto kMoment = static_cast<float>(1 - kAdamaxFirstDecay);
  constexpr auto kNorm = static_cast<float>(kAdamaxNormDecay);
  constexpr auto kEpsilon = static_cast<float>(kAdamaxEpsilon);
  number.first_moment += kMoment * (slope - number.first_moment);
  const float size = (slope < 0 ? -slope : slope) + kEpsilon;
  const float decayed = number.infinity_norm * kNorm;
  number.infinity_norm = decayed > size ? decayed : size;
  number.value -= rate * number.first_moment / number.infinity_norm;
}

}  // namespace kinflow
