// Which kinflow this is.
#pragma once

#include <string>

namespace kinflow {

/// Such as "0.2.0".
std::string version();
/// The commit that was built, "unknown" outside a git checkout.
std::string commit();

}  // namespace kinflow
