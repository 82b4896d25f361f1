// The flow's part of a training step on a GPU for flows that its kernels do not take,
// with gradients that LibTorch records.
#pragma once

#include <memory>

#include "kinflow/engine/batch_pass.h"

namespace kinflow {

/// As make_batch_pass().
std::unique_ptr<BatchPass> make_recorded_pass(const Flow& flow, const Array& data,
                                              const Array& context);

}  // namespace kinflow
