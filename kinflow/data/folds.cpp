// Dealing units to folds, and cutting time.
#include "kinflow/data/folds.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kinflow/core/random.h"

namespace kinflow {

std::vector<std::int64_t> deal_units(const std::vector<double>& worth_of_unit,
                                     std::int64_t folds, std::uint64_t seed) {
  auto order = Random(seed, stream(Purpose::split))
                   .permutation(static_cast<std::int64_t>(worth_of_unit.size()));
  const auto worth = [&](std::int64_t unit) {
    return worth_of_unit[static_cast<std::size_t>(unit)];
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](auto a, auto b) { return worth(a) > worth(b); });
  std::vector<double> worth_of_fold(static_cast<std::size_t>(folds));
  std::vector<std::int64_t> units_of_fold(worth_of_fold.size());
  std::vector<std::int64_t> places(worth_of_fold.size());
  std::iota(places.begin(), places.end(), std::int64_t{0});
  std::vector<std::int64_t> fold_of_unit(worth_of_unit.size());
  for (const auto unit : order) {
    const auto lightest =
        *std::min_element(places.begin(), places.end(), [&](auto a, auto b) {
          const auto i = static_cast<std::size_t>(a), j = static_cast<std::size_t>(b);
          return worth_of_fold[i] != worth_of_fold[j]
                     ? worth_of_fold[i] < worth_of_fold[j]
                     : units_of_fold[i] < units_of_fold[j];
        });
    fold_of_unit[static_cast<std::size_t>(unit)] = lightest;
    worth_of_fold[static_cast<std::size_t>(lightest)] += worth(unit);
    ++units_of_fold[static_cast<std::size_t>(lightest)];
  }
  return fold_of_unit;
}

double usual_worth_of_unit(std::int64_t rows) {
  return 2 * static_cast<double>(rows) / static_cast<double>(rows + 1);
}

std::vector<std::int64_t> stretches_of_time(const std::vector<double>& time_of_row,
                                            std::int64_t stretches) {
  std::vector<std::size_t> order(time_of_row.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return time_of_row[a] < time_of_row[b];
  });
  // Numbers of rows before a new time, of which the nearest to equal parts are taken.
  std::vector<std::size_t> changes;
  for (std::size_t i = 1; i < order.size(); ++i) {
    if (time_of_row[order[i - 1]] < time_of_row[order[i]]) changes.push_back(i);
  }
  std::vector<std::size_t> cuts;
  for (std::int64_t part = 1; part < stretches && !changes.empty(); ++part) {
    const double wanted = static_cast<double>(part) *
                          static_cast<double>(order.size()) /
                          static_cast<double>(stretches);
    const auto distance = [&](std::size_t cut) {
      return std::abs(static_cast<double>(cut) - wanted);
    };
    const auto nearest = *std::min_element(
        changes.begin(), changes.end(),
        [&](std::size_t a, std::size_t b) { return distance(a) < distance(b); });
    if (cuts.empty() || cuts.back() < nearest) cuts.push_back(nearest);
  }
  std::vector<std::int64_t> stretch_of_row(time_of_row.size());
  std::size_t passed = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (passed < cuts.size() && cuts[passed] == i) ++passed;
    stretch_of_row[order[i]] = static_cast<std::int64_t>(passed);
  }
  return stretch_of_row;
}

}  // namespace kinflow
