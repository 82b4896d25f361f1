// Hashes of rows, sorted and looked up.
#include "kinflow/data/shared_rows.h"

#include <algorithm>
#include <cmath>

namespace kinflow {

SharedRows find_shared_rows(const std::vector<std::uint64_t>& rows,
                            std::vector<std::uint64_t> others) {
  std::sort(others.begin(), others.end());
  SharedRows result;
  for (const auto row : rows) {
    result.shared += std::binary_search(others.begin(), others.end(), row) ? 1 : 0;
  }
  auto sorted = rows;
  std::sort(sorted.begin(), sorted.end());
  result.are_all_the_same = sorted == others;
  // A row of another sample is among the others as often as one of them has an equal.
  std::size_t repeated = 0;
  for (std::size_t i = 0; i < others.size(); ++i) {
    const bool as_before = i > 0 && others[i] == others[i - 1];
    const bool as_after = i + 1 < others.size() && others[i] == others[i + 1];
    if (as_before || as_after) ++repeated;
  }
  constexpr double kDeviations = 4;
  const double by_chance =
      static_cast<double>(repeated) /
      static_cast<double>(std::max<std::size_t>(others.size(), 1)) *
      static_cast<double>(rows.size());
  result.are_more_than_chance = static_cast<double>(result.shared) >
                                by_chance + kDeviations * std::sqrt(by_chance);
  result.are_all_shared = result.are_more_than_chance &&
                          result.shared == static_cast<std::int64_t>(rows.size());
  return result;
}

}  // namespace kinflow
