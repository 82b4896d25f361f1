// Rows of the tables in reports.
#pragma once

#include <string>

namespace kinflow {

/// The first row that begins so; "" where none does.
inline std::string row_of(const std::string& report, const std::string& beginning) {
  const auto at = report.find("| " + beginning);
  if (at == report.npos) return {};
  return report.substr(at, report.find('\n', at) - at);
}

}  // namespace kinflow
