// Bits per dimension by the name that reports of images include.
#pragma once

#include "kinflow/core/bits_per_dimension.h"  // IWYU pragma: export
