// Which kinflow this is.
#pragma once

#include <string>

namespace kinflow {

/// "0.1.0".
std::string version();
/// The commit that was built, "unknown" outside a git checkout.
std::string commit();

}  // namespace kinflow
