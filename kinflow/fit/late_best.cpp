// The last epochs of a training.
#include "kinflow/fit/late_best.h"

#include <fmt/format.h>

#include <algorithm>

namespace kinflow {

std::string late_best_hint(std::int64_t best_epoch, std::int64_t asked,
                           std::int64_t patience) {
  // The last 1 / kPart of all epochs.
  constexpr std::int64_t kPart = 20;
  const auto last = std::max<std::int64_t>(1, asked / kPart);
  const bool ran_out_of_patience = patience <= asked - best_epoch;
  if (best_epoch <= asked - last || best_epoch > asked || ran_out_of_patience)
    return "";
  return fmt::format(
      "train longer: the best epoch is {} of {}, so more --epochs may give a better "
      "flow",
      best_epoch, asked);
}

}  // namespace kinflow
