// Algebra on relationship matrices that does not depend on where they come from.
#include "kinflow/data/relationship_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "kinflow/core/error.h"
#include "kinflow/core/size.h"

namespace kinflow {
namespace {

constexpr double kSymmetryTolerance = 1e-6;
constexpr double kUnitTolerance = 1e-12;
constexpr std::size_t kMirrorTile = 64;

/// Position of an entry of a sparse row, or of the next one.
std::size_t lower_bound(const CompressedRows& sparse, std::int64_t row,
                        std::int64_t column) {
  const auto begin = sparse.columns.begin();
  return to_size(std::lower_bound(begin + sparse.row_starts[to_size(row)],
                                  begin + sparse.row_starts[to_size(row) + 1], column) -
                 begin);
}

/// The largest relative difference between two entries that should be the same.
class WorstPair {
 public:
  explicit WorstPair(const RelationshipFile& file) : file_(file) {
    for (std::int64_t i = 0; i < file.rows; ++i) {
      const double diagonal = value_at(file, i, i);
      if (!(diagonal > 0)) {
        throw InputError(fmt::format("{}: expected a positive diagonal, found {} in {}",
                                     file.source, diagonal, row_name(file, i)));
      }
      scale_.push_back(std::sqrt(diagonal));
    }
  }

  /// Replaces both by their mean, unless they differ by too much.
  void settle(std::size_t i, std::size_t j, double& lower, double& upper) {
    if (lower == upper) return;
    const double size =
        std::max({std::abs(lower), std::abs(upper), scale_[i] * scale_[j]});
    const double difference = std::abs(lower / size - upper / size);
    if (difference <= kSymmetryTolerance) {
      lower = upper = lower + (upper - lower) / 2;
    } else if (difference > worst_) {
      worst_ = difference;
      row_ = static_cast<std::int64_t>(i);
      column_ = static_cast<std::int64_t>(j);
    }
  }

  void require_none() const {
    if (worst_ == 0) return;
    throw InputError(fmt::format(
        "{}: expected a symmetric matrix, found {} in {}, column {}, but {} in {}, "
        "column {}",
        file_.source, value_at(file_, row_, column_), row_name(file_, row_),
        column_ + 1, value_at(file_, column_, row_), row_name(file_, column_),
        row_ + 1));
  }

 private:
  const RelationshipFile& file_;
  std::vector<double> scale_;
  double worst_ = 0;
  std::int64_t row_ = 0, column_ = 0;
};

}  // namespace

double value_at(const RelationshipFile& file, std::int64_t row, std::int64_t column) {
  if (!file.is_sparse()) return file.dense[to_size(row * file.rows + column)];
  const std::size_t at = lower_bound(file.sparse, row, column);
  const bool is_there = at < to_size(file.sparse.row_starts[to_size(row) + 1]) &&
                        file.sparse.columns[at] == column;
  return is_there ? file.sparse.values[at] : 0;
}

std::string row_name(const RelationshipFile& file, std::int64_t row) {
  if (file.ids.empty()) return fmt::format("row {}", row + 1);
  return fmt::format("row {} ({})", row + 1, in_quotes(file.ids[to_size(row)]));
}

CompressedRows compress_rows(std::int64_t rows, std::vector<SparseEntry> entries,
                             bool mirrored, const std::string& source) {
  const std::size_t given = entries.size();
  entries.reserve(2 * given);
  for (std::size_t k = 0; k < given; ++k) {
    const auto [row, column, value] = entries[k];
    // A NaN marks the mirror image of an entry that may have one of its own.
    if (row != column) entries.push_back({column, row, mirrored ? value : NAN});
  }
  std::sort(entries.begin(), entries.end(),
            [](const SparseEntry& a, const SparseEntry& b) {
              if (a.row != b.row) return a.row < b.row;
              if (a.column != b.column) return a.column < b.column;
              return std::isnan(a.value) < std::isnan(b.value);
            });
  CompressedRows result;
  result.row_starts.assign(to_size(rows) + 1, 0);
  result.columns.reserve(entries.size());
  result.values.reserve(entries.size());
  for (std::size_t k = 0; k < entries.size(); ++k) {
    const auto [row, column, value] = entries[k];
    const bool again =
        k > 0 && entries[k - 1].row == row && entries[k - 1].column == column;
    if (again && std::isnan(value)) continue;
    if (again) {
      throw InputError(fmt::format(
          "{}: expected every pair of rows once, found rows {} and {} twice", source,
          row + 1, column + 1));
    }
    ++result.row_starts[to_size(row) + 1];
    result.columns.push_back(column);
    result.values.push_back(std::isnan(value) ? 0 : value);
  }
  for (std::size_t i = 0; i < to_size(rows); ++i) {
    result.row_starts[i + 1] += result.row_starts[i];
    const auto row = static_cast<std::int64_t>(i);
    const std::size_t at = lower_bound(result, row, row);
    if (at < to_size(result.row_starts[i + 1]) && result.columns[at] == row) continue;
    throw InputError(fmt::format(
        "{}: expected a diagonal entry for every row, found none for row {}", source,
        i + 1));
  }
  return result;
}

void require_dense_memory(std::int64_t rows, const std::string& source,
                          const MemorySources& sources) {
  const auto n = static_cast<double>(rows);
  require_memory(sizeof(double) * n * n, source + ":",
                 fmt::format("a dense matrix of {} rows", rows),
                 "what needs less: a sparse file (.grm.sp, .mtx) of the same "
                 "relationships",
                 sources);
}

std::vector<double> to_dense(RelationshipFile file) {
  if (!file.is_sparse()) return std::move(file.dense);
  require_dense_memory(file.rows, file.source);
  std::vector<double> values(to_size(file.rows) * to_size(file.rows));
  for (std::int64_t i = 0; i < file.rows; ++i) {
    visit_row(file, i, [&](std::int64_t j, double value) {
      values[to_size(i * file.rows + j)] = value;
    });
  }
  return values;
}

RelationshipFile select_rows(const RelationshipFile& file,
                             const std::vector<std::int64_t>& chosen) {
  RelationshipFile result{.source = file.source,
                          .ids = {},
                          .rows = static_cast<std::int64_t>(chosen.size()),
                          .dense = {},
                          .sparse = {},
                          .variants = file.variants};
  if (!file.ids.empty()) {
    for (const auto row : chosen) result.ids.push_back(file.ids[to_size(row)]);
  }
  if (!file.is_sparse()) {
    result.dense.reserve(chosen.size() * chosen.size());
    for (const auto row : chosen) {
      const double* values = file.dense.data() + row * file.rows;
      for (const auto column : chosen) result.dense.push_back(values[column]);
    }
    return result;
  }
  std::vector<std::int64_t> place(to_size(file.rows), -1);
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    place[to_size(chosen[i])] = static_cast<std::int64_t>(i);
  }
  std::vector<std::pair<std::int64_t, double>> entries;
  result.sparse.row_starts.push_back(0);
  for (const auto row : chosen) {
    entries.clear();
    visit_row(file, row, [&](std::int64_t column, double value) {
      if (place[to_size(column)] >= 0) {
        entries.emplace_back(place[to_size(column)], value);
      }
    });
    std::sort(entries.begin(), entries.end());
    for (const auto& [column, value] : entries) {
      result.sparse.columns.push_back(column);
      result.sparse.values.push_back(value);
    }
    result.sparse.row_starts.push_back(
        static_cast<std::int64_t>(result.sparse.columns.size()));
  }
  return result;
}

double mean_diagonal(const RelationshipFile& file) {
  double sum = 0;
  for (std::int64_t i = 0; i < file.rows; ++i) sum += value_at(file, i, i);
  return sum / static_cast<double>(file.rows);
}

double rescale_to_unit_diagonal(RelationshipFile& file) {
  const double mean = mean_diagonal(file);
  if (!(mean > 0) || !std::isfinite(1 / mean)) {
    throw InputError(fmt::format("{}: expected a diagonal of positive mean, found {}",
                                 file.source, mean));
  }
  if (std::abs(mean - 1) <= kUnitTolerance) return 1;
  for (double& value : file.is_sparse() ? file.sparse.values : file.dense) {
    value /= mean;
  }
  return 1 / mean;
}

RelationshipFile sparsify(const RelationshipFile& file, double threshold) {
  RelationshipFile result{.source = file.source,
                          .ids = file.ids,
                          .rows = file.rows,
                          .dense = {},
                          .sparse = {},
                          .variants = file.variants};
  // Of an asymmetric pair both entries stay, or none.
  const auto is_large = [&](double value) {
    return value != 0 && std::abs(value) >= threshold;
  };
  result.sparse.row_starts.push_back(0);
  for (std::int64_t i = 0; i < file.rows; ++i) {
    visit_row(file, i, [&](std::int64_t j, double value) {
      if (i != j && !is_large(value) && !is_large(value_at(file, j, i))) return;
      result.sparse.columns.push_back(j);
      result.sparse.values.push_back(value);
    });
    result.sparse.row_starts.push_back(
        static_cast<std::int64_t>(result.sparse.columns.size()));
  }
  return result;
}

void make_symmetric(RelationshipFile& file) {
  WorstPair pairs(file);
  const std::size_t n = to_size(file.rows);
  if (file.is_sparse()) {
    auto& sparse = file.sparse;
    for (std::size_t i = 0; i < n; ++i) {
      for (auto at = to_size(sparse.row_starts[i]);
           at < to_size(sparse.row_starts[i + 1]); ++at) {
        const auto j = sparse.columns[at];
        if (to_size(j) >= i) break;
        const auto mirror = lower_bound(sparse, j, static_cast<std::int64_t>(i));
        pairs.settle(i, to_size(j), sparse.values[at], sparse.values[mirror]);
      }
    }
    return pairs.require_none();
  }
  // In tiles, so that both G_ij and G_ji stay in the cache.
  for (std::size_t row = 0; row < n; row += kMirrorTile) {
    for (std::size_t column = 0; column <= row; column += kMirrorTile) {
      for (std::size_t i = row; i < std::min(row + kMirrorTile, n); ++i) {
        for (std::size_t j = column; j < std::min(column + kMirrorTile, i); ++j) {
          pairs.settle(i, j, file.dense[i * n + j], file.dense[j * n + i]);
        }
      }
    }
  }
  pairs.require_none();
}

}  // namespace kinflow
