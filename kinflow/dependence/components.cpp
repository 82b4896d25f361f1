// Checks, connected components and dense parts of sparse matrices.
#include "kinflow/dependence/components.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <numeric>

#include "kinflow/array/array.h"
#include "kinflow/core/error.h"
#include "kinflow/core/size.h"
#include "kinflow/data/row_sets.h"
#include "kinflow/dependence/spectral_decomposition.h"

namespace kinflow {
namespace {}  // namespace

void check_compressed_rows(const CompressedRows& matrix, std::string_view who) {
  const auto& starts = matrix.row_starts;
  if (starts.size() < 2 || starts.front() != 0 ||
      !std::is_sorted(starts.begin(), starts.end()) ||
      to_size(starts.back()) != matrix.columns.size() ||
      matrix.columns.size() != matrix.values.size()) {
    throw InputError(fmt::format(
        "[{}] expected at least one row, row starts that increase from 0 to the number "
        "of elements, and as many columns as values",
        who));
  }
  const std::int64_t n = matrix.rows();
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t e = starts[to_size(i)]; e < starts[to_size(i + 1)]; ++e) {
      const std::int64_t j = matrix.columns[to_size(e)];
      if (j < 0 || j >= n) {
        throw InputError(
            fmt::format("[{}] expected columns from 1 to {}, received {} in row {}",
                        who, n, j + 1, i + 1));
      }
      if (!std::isfinite(matrix.values[to_size(e)])) {
        throw InputError(fmt::format(
            "[{}] expected finite numbers, received {} in row {}, column {}", who,
            matrix.values[to_size(e)], i + 1, j + 1));
      }
    }
  }
}

Components connected_components(const std::vector<const CompressedRows*>& matrices) {
  const std::int64_t n = matrices.front()->rows();
  RowSets sets(n);
  for (const CompressedRows* matrix : matrices) {
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t e = matrix->row_starts[to_size(i)];
           e < matrix->row_starts[to_size(i + 1)]; ++e) {
        if (matrix->values[to_size(e)] != 0) sets.join(i, matrix->columns[to_size(e)]);
      }
    }
  }
  Components result;
  result.component_of_row = sets.numbers();
  std::vector<std::int64_t> sizes;
  for (const std::int64_t component : result.component_of_row) {
    if (to_size(component) == sizes.size()) sizes.push_back(0);
    result.place_of_row.push_back(sizes[to_size(component)]++);
  }
  result.first.assign(1, 0);
  for (const std::int64_t size : sizes) {
    result.first.push_back(result.first.back() + size);
  }
  result.row_at.resize(to_size(n));
  for (std::int64_t i = 0; i < n; ++i) {
    result.row_at[to_size(result.first[to_size(result.component_of_row[to_size(i)])] +
                          result.place_of_row[to_size(i)])] = i;
  }
  return result;
}

Components one_component(std::int64_t rows) {
  Components result;
  result.component_of_row.assign(to_size(rows), 0);
  result.place_of_row.resize(to_size(rows));
  std::iota(result.place_of_row.begin(), result.place_of_row.end(), 0);
  result.row_at = result.place_of_row;
  result.first = {0, rows};
  return result;
}

void write_component(const CompressedRows& matrix, const Components& components,
                     std::int64_t component, std::string_view who, double* dense) {
  const std::int64_t m = components.size(component);
  const std::int64_t* rows =
      components.row_at.data() + components.first[to_size(component)];
  std::fill_n(dense, m * m, 0);
  double largest = 0;
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t e = matrix.row_starts[to_size(rows[i])];
         e < matrix.row_starts[to_size(rows[i] + 1)]; ++e) {
      const double value = matrix.values[to_size(e)];
      if (value == 0) continue;
      const std::int64_t column = matrix.columns[to_size(e)];
      double& place = dense[i * m + components.place_of_row[to_size(column)]];
      // Elements that are 0 are left out, so a place that is not 0 has been written.
      if (place != 0) {
        throw InputError(fmt::format(
            "[{}] expected every element once, received row {}, column {} twice", who,
            rows[i] + 1, column + 1));
      }
      place = value;
      largest = std::max(largest, std::abs(value));
    }
  }
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < i; ++j) {
      const double below = dense[i * m + j], above = dense[j * m + i];
      if (std::abs(below - above) <= kAsymmetry * largest) continue;
      throw InputError(fmt::format(
          "[{}] expected a symmetric matrix with both triangles, received {} in row "
          "{}, column {} and {} in row {}, column {}",
          who, below, rows[i] + 1, rows[j] + 1, above, rows[j] + 1, rows[i] + 1));
    }
  }
}

CompressedRows block_rows(const Array& block_of_row) {
  if (block_of_row.dim() != 1 || block_of_row.scalar_type() != nd::kLong ||
      block_of_row.size(0) == 0) {
    throw InputError(fmt::format(
        "[blocks] expected block_of_row [n] int64 with n >= 1, received [{}] {}",
        fmt::join(block_of_row.sizes(), ", "), toString(block_of_row.scalar_type())));
  }
  const Array labels = block_of_row.cpu().contiguous();
  const auto* label = labels.data_ptr<std::int64_t>();
  std::map<std::int64_t, std::vector<std::int64_t>> rows_of_label;
  for (std::int64_t i = 0; i < labels.size(0); ++i) {
    rows_of_label[label[i]].push_back(i);
  }
  for (const auto& [block, rows] : rows_of_label) {
    if (rows.size() <= to_size(kLargestFactorized)) continue;
    throw InputError(fmt::format(
        "[blocks] expected blocks of at most {} rows in a sum, received one of {} rows",
        kLargestFactorized, rows.size()));
  }
  CompressedRows result;
  result.row_starts.push_back(0);
  for (std::int64_t i = 0; i < labels.size(0); ++i) {
    const auto& rows = rows_of_label[label[i]];
    result.columns.insert(result.columns.end(), rows.begin(), rows.end());
    result.row_starts.push_back(static_cast<std::int64_t>(result.columns.size()));
  }
  result.values.assign(result.columns.size(), 1);
  return result;
}

}  // namespace kinflow
