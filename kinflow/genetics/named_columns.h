// Columns of numbers with names.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kinflow {

/// [rows x names], column-major.
struct NamedColumns {
  std::vector<std::string> names;
  std::vector<double> values;
};

/// The names, in quotes and with commas between, for messages.
std::string quoted_names(const std::vector<std::string>& names);

}  // namespace kinflow
