// Matrices as plain float32 or float64, without a header: the length is all they say.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <utility>

#include "kinflow/core/error.h"
#include "kinflow/core/input_file.h"
#include "kinflow/data/relationship_readers.h"

static_assert(std::endian::native == std::endian::little);

namespace kinflow {
namespace {

constexpr std::size_t kTile = 64;
constexpr std::int64_t kMaximumRows = 1 << 30;

/// Bytes of a file or of memory, in order.
struct Bytes {
  std::string source;
  std::uint64_t size;
  std::function<void(void*, std::size_t)> take;
};

/// Calls `use` with the bytes of a file.
template <typename Use>
RelationshipFile with_file(const std::string& path, const Use& use) {
  InputFile file(path);
  if (!file.is_regular()) {
    throw InputError(path + ": expected a file whose length is known, found a pipe");
  }
  return use(Bytes{.source = path, .size = file.size(), .take = [&](void* to, auto n) {
                     file.read_exactly(to, n);
                   }});
}

template <typename Use>
RelationshipFile with_memory(std::string_view bytes, std::string source,
                             const Use& use) {
  return use(Bytes{.source = std::move(source),
                   .size = bytes.size(),
                   .take = [bytes](void* to, std::size_t n) mutable {
                     std::memcpy(to, bytes.data(), n);
                     bytes.remove_prefix(n);
                   }});
}

enum class Shape { square, triangle, strict_triangle };

std::uint64_t values_in(Shape shape, std::uint64_t n) {
  return shape == Shape::square     ? n * n
         : shape == Shape::triangle ? n * (n + 1) / 2
                                    : n * (n - 1) / 2;
}

/// Reads the rows of a square, or of a lower triangle into its place in one.
template <typename Number>
std::vector<double> read_values(const Bytes& bytes, std::int64_t rows, Shape shape) {
  const auto n = static_cast<std::size_t>(rows);
  require_dense_memory(rows, bytes.source);
  std::vector<double> values(n * n);
  std::vector<Number> row(n);
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t count = shape == Shape::square     ? n
                              : shape == Shape::triangle ? i + 1
                                                         : i;
    bytes.take(row.data(), count * sizeof(Number));
    std::copy_n(row.begin(), count,
                values.begin() + static_cast<std::ptrdiff_t>(i * n));
  }
  return values;
}

void check_finite(const RelationshipFile& file) {
  const auto n = static_cast<std::size_t>(file.rows);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      const double value = file.dense[i * n + j];
      if (std::isfinite(value)) continue;
      throw InputError(fmt::format(
          "{}: expected finite numbers, found {} in {}, column {}", file.source, value,
          row_name(file, static_cast<std::int64_t>(i)), j + 1));
    }
  }
}

RelationshipFile grm_from(const Bytes& bytes, std::vector<SampleId> ids) {
  auto rows = static_cast<std::int64_t>(ids.size());
  if (rows == 0) {
    rows = static_cast<std::int64_t>(std::sqrt(static_cast<double>(bytes.size) / 2));
    // The triangle of n rows has more than n^2 / 2 values, that of n + 1 fewer.
    while (rows > 0 &&
           2 * values_in(Shape::triangle, static_cast<std::uint64_t>(rows)) >
               bytes.size / 2) {
      --rows;
    }
  }
  const std::uint64_t expected =
      4 * values_in(Shape::triangle, static_cast<std::uint64_t>(rows));
  if (rows == 0 || rows > kMaximumRows || bytes.size != expected) {
    throw InputError(
        ids.empty()
            ? fmt::format("{}: expected 4 n (n + 1) / 2 bytes, the float32 lower "
                          "triangle of n rows, found {} bytes, where {} rows have {}",
                          bytes.source, bytes.size, rows, expected)
            : fmt::format("{}: expected {} bytes, the float32 lower triangle of the {} "
                          "rows that have ids, found {} bytes",
                          bytes.source, expected, rows, bytes.size));
  }
  RelationshipFile file{.source = bytes.source,
                        .ids = std::move(ids),
                        .rows = rows,
                        .dense = read_values<float>(bytes, rows, Shape::triangle),
                        .sparse = {}};
  mirror_lower_triangle(file.dense, rows);
  check_finite(file);
  return file;
}

RelationshipFile plink_from(const Bytes& bytes, std::vector<SampleId> ids,
                            const MatrixLayout& layout) {
  if (ids.empty()) {
    throw InputError(bytes.source +
                     ": expected ids, which say how many rows the file has, found no "
                     "file of ids beside it");
  }
  const Shape triangle = layout.is_kinship ? Shape::strict_triangle : Shape::triangle;
  const auto n = static_cast<std::uint64_t>(ids.size());
  RelationshipFile file{.source = bytes.source,
                        .ids = std::move(ids),
                        .rows = static_cast<std::int64_t>(n),
                        .dense = {},
                        .sparse = {}};
  bool is_triangle = false;
  for (const Shape shape : {Shape::square, triangle}) {
    const std::uint64_t count = values_in(shape, n);
    if (bytes.size != 8 * count && bytes.size != 4 * count) continue;
    file.dense = bytes.size == 8 * count ? read_values<double>(bytes, file.rows, shape)
                                         : read_values<float>(bytes, file.rows, shape);
    is_triangle = shape == triangle;
    break;
  }
  if (file.dense.empty()) {
    throw InputError(fmt::format(
        "{}: expected {} or {} bytes (a square of {} rows in float64 or float32), or "
        "{} or {} (a triangle), found {} bytes",
        bytes.source, 8 * n * n, 4 * n * n, n, 8 * values_in(triangle, n),
        4 * values_in(triangle, n), bytes.size));
  }
  if (is_triangle && layout.is_kinship) {
    for (std::size_t i = 0; i < n; ++i) file.dense[i * n + i] = 0.5;
  }
  check_finite(file);
  bool zeros_above = layout.zeros_above_mean_triangle;
  for (std::size_t i = 0; zeros_above && i < n; ++i) {
    for (std::size_t j = i + 1; zeros_above && j < n; ++j) {
      zeros_above = file.dense[i * n + j] == 0;
    }
  }
  if (is_triangle || zeros_above) mirror_lower_triangle(file.dense, file.rows);
  return file;
}

}  // namespace

void mirror_lower_triangle(std::vector<double>& values, std::int64_t rows) {
  const auto n = static_cast<std::size_t>(rows);
  // In tiles, so that both halves stay in the cache.
  for (std::size_t row = 0; row < n; row += kTile) {
    for (std::size_t column = 0; column <= row; column += kTile) {
      for (std::size_t i = row; i < std::min(row + kTile, n); ++i) {
        for (std::size_t j = column; j < std::min(column + kTile, i); ++j) {
          values[j * n + i] = values[i * n + j];
        }
      }
    }
  }
}

RelationshipFile read_grm_binary(const std::string& path, std::vector<SampleId> ids) {
  return with_file(path,
                   [&](const Bytes& bytes) { return grm_from(bytes, std::move(ids)); });
}

RelationshipFile parse_grm_binary(std::string_view bytes, std::string source,
                                  std::vector<SampleId> ids) {
  return with_memory(bytes, std::move(source), [&](const Bytes& whole) {
    return grm_from(whole, std::move(ids));
  });
}

double read_mean_count(const std::string& path, std::int64_t rows) {
  InputFile file(path);
  const std::uint64_t count =
      values_in(Shape::triangle, static_cast<std::uint64_t>(rows));
  if (file.size() != 4 * count) {
    throw InputError(fmt::format(
        "{}: expected {} bytes, the float32 lower triangle of {} rows, found {} bytes",
        path, 4 * count, rows, file.size()));
  }
  double sum = 0;
  std::vector<float> row(static_cast<std::size_t>(rows));
  for (std::size_t i = 0; i < row.size(); ++i) {
    file.read_exactly(row.data(), (i + 1) * sizeof(float));
    for (std::size_t j = 0; j <= i; ++j) sum += row[j];
  }
  return sum / static_cast<double>(count);
}

RelationshipFile read_plink_binary(const std::string& path, std::vector<SampleId> ids,
                                   const MatrixLayout& layout) {
  return with_file(path, [&](const Bytes& bytes) {
    return plink_from(bytes, std::move(ids), layout);
  });
}

RelationshipFile parse_plink_binary(std::string_view bytes, std::string source,
                                    std::vector<SampleId> ids,
                                    const MatrixLayout& layout) {
  return with_memory(bytes, std::move(source), [&](const Bytes& whole) {
    return plink_from(whole, std::move(ids), layout);
  });
}

}  // namespace kinflow
