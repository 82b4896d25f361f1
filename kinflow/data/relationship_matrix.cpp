// Reading and checking relationship matrices.
#include "kinflow/data/relationship_matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kinflow/core/error.h"
#include "kinflow/core/input_file.h"
#include "kinflow/data/cells.h"
#include "kinflow/data/in_quotes.h"
#include "kinflow/data/npy.h"

namespace kinflow {
namespace {

constexpr double kSymmetryTolerance = 1e-6;
constexpr std::size_t kTile = 64;

bool is_npy(const std::string& name) { return name.ends_with(".npy"); }

NpyArray parse_text(std::string_view bytes, const std::string& source) {
  if (bytes.find('\0') != std::string_view::npos) {
    throw InputError(source + ": not a matrix of text: found a NUL byte");
  }
  const std::size_t last = bytes.find_last_not_of(" \t\r\n");
  bytes = bytes.substr(0, last == std::string_view::npos ? 0 : last + 1);
  if (bytes.empty()) throw InputError(source + ": the file is empty");
  NpyArray matrix{.shape = {0, 0}, .values = {}};
  std::int64_t line = 0;
  while (!bytes.empty()) {
    ++line;
    const std::size_t newline = std::min(bytes.find('\n'), bytes.size());
    std::string_view rest = bytes.substr(0, newline);
    bytes.remove_prefix(std::min(newline + 1, bytes.size()));
    std::int64_t found = 0;
    for (;;) {
      rest.remove_prefix(std::min(rest.find_first_not_of(" \t\r,"), rest.size()));
      if (rest.empty()) break;
      const std::string_view cell = rest.substr(0, rest.find_first_of(" \t\r,"));
      rest.remove_prefix(cell.size());
      double value = 0;
      ++found;
      const CellKind kind = read_number(cell, value);
      if (kind != CellKind::number) {
        throw InputError(fmt::format(
            "{}:{}: column {}: expected a {}number, found {}", source, line, found,
            kind == CellKind::text ? "" : "finite ", in_quotes(cell)));
      }
      matrix.values.push_back(value);
    }
    if (line == 1) matrix.shape[1] = found;
    if (found != matrix.shape[1]) {
      throw InputError(fmt::format("{}:{}: expected {} numbers as in line 1, found {}",
                                   source, line, matrix.shape[1], found));
    }
  }
  matrix.shape[0] = line;
  return matrix;
}

/// Throws unless the array is n x n for the expected n.
void check_shape(const std::vector<std::int64_t>& shape, const std::string& source,
                 std::int64_t expected_rows) {
  if (shape.size() != 2) {
    throw InputError(
        fmt::format("{}: expected a square matrix, found an array of {} "
                    "dimensions",
                    source, shape.size()));
  }
  if (shape[0] != shape[1]) {
    throw InputError(fmt::format("{}: expected a square matrix, found {} x {}", source,
                                 shape[0], shape[1]));
  }
  if (shape[0] != expected_rows) {
    throw InputError(
        fmt::format("{}: expected a {} x {} matrix, one row for each row of the table, "
                    "found {} x {}",
                    source, expected_rows, expected_rows, shape[0], shape[1]));
  }
}

void check_entries(const std::vector<double>& values, std::size_t n,
                   const std::string& source) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) {
      throw InputError(
          fmt::format("{}: expected finite numbers, found {} in row {}, "
                      "column {}",
                      source, values[i], i / n + 1, i % n + 1));
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    if (!(values[i * n + i] > 0)) {
      throw InputError(
          fmt::format("{}: expected a positive diagonal, found {} in row {}", source,
                      values[i * n + i], i + 1));
    }
  }
}

/// Replaces G_ij and G_ji by their mean; throws where they differ by too much.
void symmetrise(std::vector<double>& values, std::size_t n, const std::string& source) {
  std::vector<double> scale(n);
  for (std::size_t i = 0; i < n; ++i) scale[i] = std::sqrt(values[i * n + i]);
  double worst = 0;
  std::size_t worst_row = 0, worst_column = 0;
  // In tiles, so that both G_ij and G_ji stay in the cache.
  for (std::size_t row = 0; row < n; row += kTile) {
    for (std::size_t column = 0; column <= row; column += kTile) {
      for (std::size_t i = row; i < std::min(row + kTile, n); ++i) {
        for (std::size_t j = column; j < std::min(column + kTile, i); ++j) {
          double& lower = values[i * n + j];
          double& upper = values[j * n + i];
          if (lower == upper) continue;
          const double size =
              std::max({std::abs(lower), std::abs(upper), scale[i] * scale[j]});
          const double difference = std::abs(lower / size - upper / size);
          if (difference > kSymmetryTolerance) {
            if (difference > worst) worst_row = i, worst_column = j;
            worst = std::max(worst, difference);
          } else {
            lower = upper = lower + (upper - lower) / 2;
          }
        }
      }
    }
  }
  if (worst > 0) {
    throw InputError(fmt::format(
        "{}: expected a symmetric matrix, found {} in row {}, column {}, but {} in row "
        "{}, "
        "column {}",
        source, values[worst_row * n + worst_column], worst_row + 1, worst_column + 1,
        values[worst_column * n + worst_row], worst_column + 1, worst_row + 1));
  }
}

std::vector<double> checked(NpyArray matrix, const std::string& source,
                            std::int64_t expected_rows) {
  check_shape(matrix.shape, source, expected_rows);
  const auto n = static_cast<std::size_t>(expected_rows);
  check_entries(matrix.values, n, source);
  symmetrise(matrix.values, n, source);
  return std::move(matrix.values);
}

}  // namespace

std::vector<double> parse_relationship_matrix(std::string_view bytes,
                                              const std::string& source,
                                              std::int64_t expected_rows) {
  return checked(is_npy(source) ? parse_npy(bytes, source) : parse_text(bytes, source),
                 source, expected_rows);
}

std::vector<double> read_relationship_matrix(const std::string& path,
                                             std::int64_t expected_rows) {
  if (is_npy(path)) return checked(read_npy(path), path, expected_rows);
  return parse_relationship_matrix(read_whole_file(path), path, expected_rows);
}

std::vector<double> subset(std::span<const double> matrix,
                           const std::vector<std::int64_t>& rows) {
  const auto n = static_cast<std::size_t>(
      std::llround(std::sqrt(static_cast<double>(matrix.size()))));
  std::vector<double> result;
  result.reserve(rows.size() * rows.size());
  for (const std::int64_t i : rows) {
    for (const std::int64_t j : rows) {
      result.push_back(
          matrix[static_cast<std::size_t>(i) * n + static_cast<std::size_t>(j)]);
    }
  }
  return result;
}

}  // namespace kinflow
