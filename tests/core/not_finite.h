// Numbers that are none, for tests of what they do.
#pragma once

#include <limits>

namespace kinflow {

inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace kinflow
