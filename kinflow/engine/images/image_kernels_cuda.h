// Pixels and parameters in the training of image flows on a GPU. Plain pointers to its
// memory.
#pragma once

#include <cstdint>

#include "kinflow/engine/images/pixel_number.h"

namespace kinflow {

struct DequantizeCuda {
  PixelSource from;
  const std::int64_t* rows;
  std::int64_t images;  ///< of the result
  const std::int64_t* round;
  float* result;
};
void launch_dequantize(const DequantizeCuda& work, void* stream);

struct AdamaxCuda {
  float *values, *first_moment, *infinity_norm;
  const float* gradient;
  std::int64_t count, decaying;
  float weight_decay;
  const double *rate, *factor;
  const bool* sound;
  std::int64_t* steps;  ///< grows by one where the step is taken
};
void launch_adamax(const AdamaxCuda& work, void* stream);

}  // namespace kinflow
