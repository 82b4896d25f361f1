// Columns put together, and turned into rows.
#include "kinflow/genetics/named_columns.h"

#include "kinflow/data/in_quotes.h"

namespace kinflow {

NamedColumns side_by_side(const NamedColumns& left, const NamedColumns& right) {
  auto both = left;
  both.names.insert(both.names.end(), right.names.begin(), right.names.end());
  both.values.insert(both.values.end(), right.values.begin(), right.values.end());
  return both;
}

std::vector<double> by_rows(const NamedColumns& columns, std::int64_t rows) {
  const auto n = static_cast<std::size_t>(rows), width = columns.names.size();
  std::vector<double> values(n * width);
  for (std::size_t j = 0; j < width; ++j) {
    for (std::size_t i = 0; i < n; ++i) {
      values[i * width + j] = columns.values[j * n + i];
    }
  }
  return values;
}

std::string quoted_names(const std::vector<std::string>& names) {
  std::string text;
  for (const auto& name : names) text += (text.empty() ? "" : ", ") + in_quotes(name);
  return text;
}

}  // namespace kinflow
