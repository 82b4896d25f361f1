// Whether a training ended while it still improved.
#pragma once

#include <cstdint>
#include <string>

namespace kinflow {

/// One line where the best epoch is among the last that were asked for, so that more of
/// them may help. Empty where it is not, and where patience ended the training.
/// @param asked  epochs  @param patience  epochs without a better one before stopping
std::string late_best_hint(std::int64_t best_epoch, std::int64_t asked,
                           std::int64_t patience);

}  // namespace kinflow
