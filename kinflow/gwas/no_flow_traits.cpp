// In place of flow_traits.cpp, in programs without LibTorch.
#include <stdexcept>

#include "kinflow/gwas/flow_traits.h"

namespace kinflow {

NamedColumns latents_of_flow(const FlowTraits&, const std::atomic<bool>*, Logger&) {
  throw std::logic_error("[latents_of_flow] this program has no flows");
}

}  // namespace kinflow
