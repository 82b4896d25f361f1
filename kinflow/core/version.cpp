// Version and commit, handed in by the build.
#include "kinflow/core/version.h"

namespace kinflow {

std::string version() { return KINFLOW_VERSION; }
std::string commit() { return KINFLOW_COMMIT; }

}  // namespace kinflow
