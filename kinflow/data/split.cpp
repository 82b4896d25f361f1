// Splits by row, by block and by time.
#include "kinflow/data/split.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <stdexcept>

#include "kinflow/core/error.h"
#include "kinflow/core/random.h"

namespace kinflow {
namespace {

enum Part : char { kTrainPart, kValidPart, kTestPart };

struct HeldOutPart {
  Part part;
  double wanted_worth;
};

/// The parts to hold out, in the order in which they are chosen.
std::vector<HeldOutPart> held_out_parts(double worth, const SplitOptions& options) {
  const double valid = options.valid_fraction, test = options.test_fraction;
  if (!(valid >= 0 && test >= 0 && valid + test < 1)) {
    throw InputError(
        fmt::format("[split] expected fractions of at least 0 that sum to less than 1, "
                    "received {} for validation and {} for test",
                    valid, test));
  }
  std::vector<HeldOutPart> parts;
  if (test > 0) parts.push_back({.part = kTestPart, .wanted_worth = test * worth});
  if (valid > 0) parts.push_back({.part = kValidPart, .wanted_worth = valid * worth});
  return parts;
}

/// Throws where there are fewer units (rows, groups, times) than parts.
void check_enough(std::size_t units, const std::vector<HeldOutPart>& parts,
                  const std::string& what) {
  if (units > parts.size()) return;
  throw InputError(fmt::format(
      "[split] expected at least {} {} for {} parts that are not empty, received {}",
      parts.size() + 1, what, parts.size() + 1, units));
}

std::vector<Part> split_by_rows(std::int64_t rows,
                                const std::vector<HeldOutPart>& parts,
                                std::uint64_t seed) {
  check_enough(static_cast<std::size_t>(rows), parts, "rows");
  std::vector<Part> part_of_row(static_cast<std::size_t>(rows), kTrainPart);
  const std::vector<std::int64_t> order =
      Random(seed, stream(Purpose::split)).permutation(rows);
  std::size_t used = 0;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    // Training and the parts to come get at least one row each.
    const std::size_t most = order.size() - used - (parts.size() - p);
    const auto wanted = static_cast<std::size_t>(std::llround(parts[p].wanted_worth));
    const std::size_t count = std::clamp<std::size_t>(wanted, 1, most);
    for (std::size_t i = 0; i < count; ++i) {
      part_of_row[static_cast<std::size_t>(order[used++])] = parts[p].part;
    }
  }
  return part_of_row;
}

std::vector<Part> split_by_group(const std::vector<std::int64_t>& block_of_row,
                                 const std::vector<double>& worth_of_row,
                                 const std::vector<HeldOutPart>& parts,
                                 std::uint64_t seed) {
  std::map<std::int64_t, double> worth_of_block;
  for (std::size_t row = 0; row < block_of_row.size(); ++row) {
    worth_of_block[block_of_row[row]] += worth_of_row.empty() ? 1 : worth_of_row[row];
  }
  check_enough(worth_of_block.size(), parts, "groups");

  std::vector<std::int64_t> blocks;
  for (const auto& [block, size] : worth_of_block) blocks.push_back(block);
  std::vector<std::int64_t> free;
  for (const std::int64_t i :
       Random(seed, stream(Purpose::split))
           .permutation(static_cast<std::int64_t>(blocks.size()))) {
    free.push_back(blocks[static_cast<std::size_t>(i)]);
  }

  std::map<std::int64_t, Part> part_of_block;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    double missing = parts[p].wanted_worth;
    std::vector<std::int64_t> left;
    bool empty = true;
    for (std::size_t i = 0; i < free.size(); ++i) {
      const double size = worth_of_block[free[i]];
      // Training and the parts to come get at least one block each.
      const bool enough_left = left.size() + free.size() - i > parts.size() - p;
      if (enough_left && missing > 0 && size - missing <= missing / 2) {
        part_of_block[free[i]] = parts[p].part;
        missing -= size;
        empty = false;
      } else {
        left.push_back(free[i]);
      }
    }
    if (empty) {
      const auto smallest = std::min_element(
          left.begin(), left.end(), [&](std::int64_t a, std::int64_t b) {
            return worth_of_block[a] < worth_of_block[b];
          });
      part_of_block[*smallest] = parts[p].part;
      left.erase(smallest);
    }
    free = std::move(left);
  }

  std::vector<Part> part_of_row;
  for (const std::int64_t block : block_of_row) {
    const auto found = part_of_block.find(block);
    part_of_row.push_back(found == part_of_block.end() ? kTrainPart : found->second);
  }
  return part_of_row;
}

std::vector<Part> split_by_time(const std::vector<double>& time_of_row,
                                const std::vector<HeldOutPart>& parts) {
  for (const double time : time_of_row) {
    if (!std::isfinite(time)) throw InputError("[split] expected finite times");
  }
  std::vector<std::size_t> order(time_of_row.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return time_of_row[a] < time_of_row[b];
  });
  // Numbers of rows that may come before a cut: between two different times.
  std::vector<std::size_t> cuts;
  for (std::size_t i = 1; i < order.size(); ++i) {
    if (time_of_row[order[i - 1]] < time_of_row[order[i]]) cuts.push_back(i);
  }
  check_enough(cuts.size() + (order.empty() ? 0 : 1), parts, "different times");

  std::vector<Part> part_of_row(time_of_row.size(), kTrainPart);
  std::size_t end = order.size();
  for (std::size_t p = 0; p < parts.size(); ++p) {
    // One cut remains for each part to come.
    const std::size_t parts_to_come = parts.size() - p - 1;
    const double wanted = static_cast<double>(end) - parts[p].wanted_worth;
    const auto distance = [&](std::size_t cut) {
      return std::abs(static_cast<double>(cut) - wanted);
    };
    const auto nearest = std::min_element(
        cuts.begin() + static_cast<std::ptrdiff_t>(parts_to_come), cuts.end(),
        [&](std::size_t a, std::size_t b) { return distance(a) < distance(b); });
    for (std::size_t i = *nearest; i < end; ++i) part_of_row[order[i]] = parts[p].part;
    end = *nearest;
    cuts.erase(nearest, cuts.end());
  }
  return part_of_row;
}

}  // namespace

Split split(std::int64_t rows, const SplitOptions& options) {
  const auto n = static_cast<std::size_t>(rows);
  const auto& worth = options.worth_of_row;
  const auto parts =
      held_out_parts(worth.empty() ? static_cast<double>(rows)
                                   : std::accumulate(worth.begin(), worth.end(), 0.0),
                     options);
  if ((!worth.empty() && worth.size() != n) ||
      (options.by == SplitBy::group && options.block_of_row.size() != n) ||
      (options.by == SplitBy::time && options.time_of_row.size() != n)) {
    throw std::logic_error("[split] expected one block, worth or time for each row");
  }
  const std::vector<Part> part_of_row =
      options.by == SplitBy::group
          ? split_by_group(options.block_of_row, worth, parts, options.seed)
      : options.by == SplitBy::time ? split_by_time(options.time_of_row, parts)
                                    : split_by_rows(rows, parts, options.seed);
  Split result;
  for (std::size_t row = 0; row < n; ++row) {
    auto& part = part_of_row[row] == kTrainPart   ? result.train
                 : part_of_row[row] == kValidPart ? result.valid
                                                  : result.test;
    part.push_back(static_cast<std::int64_t>(row));
  }
  return result;
}

}  // namespace kinflow
