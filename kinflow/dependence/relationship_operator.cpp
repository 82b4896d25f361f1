// Products with dense and sparse relationship matrices.
#include "kinflow/dependence/relationship_operator.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

#include "kinflow/array/array.h"
#include "kinflow/core/error.h"
#include "kinflow/core/size.h"
#include "kinflow/dependence/components.h"
#include "kinflow/dependence/spectral_decomposition.h"

namespace kinflow {
namespace {

/// Elements of a dense matrix that are looked at or widened at a time: 8 MB of float64.
constexpr std::int64_t kPanelElements = std::int64_t{1} << 20;
/// Rows of a sparse matrix that a thread takes at a time.
constexpr std::int64_t kRowsPerTask = 1024;
/// kAsymmetry of float32 storage.
constexpr double kAsymmetryOfFloat32 = 1e-6;

/// Calls visit(first row, rows) for panels that cover a matrix of n columns.
template <typename Visit>
void for_each_panel(std::int64_t n, const Visit& visit) {
  const std::int64_t height = std::max<std::int64_t>(1, kPanelElements / n);
  for (std::int64_t first = 0; first < n; first += height) {
    visit(first, std::min(height, n - first));
  }
}

/// Elements in order of their columns inside each row, without zeros.
CompressedRows sorted_rows(const CompressedRows& matrix) {
  CompressedRows result;
  result.row_starts.reserve(matrix.row_starts.size());
  result.columns.reserve(matrix.columns.size());
  result.values.reserve(matrix.values.size());
  result.row_starts.push_back(0);
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i + 1 < matrix.row_starts.size(); ++i) {
    order.resize(to_size(matrix.row_starts[i + 1] - matrix.row_starts[i]));
    std::iota(order.begin(), order.end(), to_size(matrix.row_starts[i]));
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return matrix.columns[a] < matrix.columns[b];
    });
    for (std::size_t e = 0; e < order.size(); ++e) {
      const std::int64_t column = matrix.columns[order[e]];
      if (e > 0 && matrix.columns[order[e - 1]] == column) {
        throw InputError(fmt::format(
            "[sparse relationship] expected every element once, received row {}, "
            "column {} twice",
            i + 1, column + 1));
      }
      if (matrix.values[order[e]] == 0) continue;
      result.columns.push_back(column);
      result.values.push_back(matrix.values[order[e]]);
    }
    result.row_starts.push_back(static_cast<std::int64_t>(result.columns.size()));
  }
  return result;
}

/// @param matrix with sorted rows
void check_symmetric(const CompressedRows& matrix) {
  double largest = 0;
  for (const double value : matrix.values) largest = std::max(largest, std::abs(value));
  // Where the next element of each row stands: the elements of column i, met in order
  // of their rows, are those of row i in a symmetric matrix.
  std::vector<std::int64_t> next(matrix.row_starts.begin(),
                                 matrix.row_starts.end() - 1);
  const auto refuse = [](std::int64_t row, std::int64_t column, double value,
                         double other) {
    throw InputError(fmt::format(
        "[sparse relationship] expected a symmetric matrix with both triangles, "
        "received {} in row {}, column {} and {} in row {}, column {}",
        value, row + 1, column + 1, other, column + 1, row + 1));
  };
  const auto n = static_cast<std::int64_t>(matrix.row_starts.size()) - 1;
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t e = matrix.row_starts[to_size(i)];
         e < matrix.row_starts[to_size(i + 1)]; ++e) {
      const std::int64_t j = matrix.columns[to_size(e)];
      const std::int64_t mirrored = next[to_size(j)]++;
      const double value = matrix.values[to_size(e)];
      if (mirrored >= matrix.row_starts[to_size(j + 1)] ||
          matrix.columns[to_size(mirrored)] > i) {
        refuse(i, j, value, 0);
      }
      const double other = matrix.values[to_size(mirrored)];
      if (matrix.columns[to_size(mirrored)] < i) {
        refuse(j, matrix.columns[to_size(mirrored)], other, 0);
      }
      if (std::abs(value - other) > kAsymmetry * largest) refuse(i, j, value, other);
    }
  }
}

}  // namespace

RelationshipOperator::~RelationshipOperator() = default;

DenseRelationshipOperator::DenseRelationshipOperator(Array relationship)
    : relationship_(std::move(relationship)) {
  if (relationship_.dim() != 2 || relationship_.size(0) != relationship_.size(1) ||
      relationship_.size(0) == 0 ||
      (relationship_.scalar_type() != nd::kFloat &&
       relationship_.scalar_type() != nd::kDouble)) {
    throw InputError(fmt::format(
        "[dense relationship] expected a square matrix of float32 or float64, received "
        "[{}] {}",
        fmt::join(relationship_.sizes(), ", "), toString(relationship_.scalar_type())));
  }
  relationship_ = relationship_.detach().contiguous();
  const std::int64_t n = rows();
  double largest = 0;
  for_each_panel(n, [&](std::int64_t first, std::int64_t height) {
    const Array panel = relationship_.narrow(0, first, height).to(nd::kDouble);
    const double panel_largest = panel.abs().max().item<double>();
    if (!std::isfinite(panel_largest)) {
      const Array place = nd::nonzero(panel.isfinite().logical_not())[0];
      const auto row = place[0].item<std::int64_t>();
      const auto column = place[1].item<std::int64_t>();
      throw InputError(fmt::format(
          "[dense relationship] expected finite numbers, received {} in row {}, column "
          "{}",
          panel[row][column].item<double>(), first + row + 1, column + 1));
    }
    largest = std::max(largest, panel_largest);
    sum_of_squares_ += panel.square().sum().item<double>();
  });
  const double rounding =
      relationship_.scalar_type() == nd::kFloat ? kAsymmetryOfFloat32 : kAsymmetry;
  for_each_panel(n, [&](std::int64_t first, std::int64_t height) {
    const Array difference = (relationship_.narrow(0, first, height) -
                              relationship_.narrow(1, first, height).t())
                                 .abs();
    if (difference.max().item<double>() <= rounding * largest) return;
    const auto place = difference.argmax().item<std::int64_t>();
    const std::int64_t row = first + place / n, column = place % n;
    throw InputError(fmt::format(
        "[dense relationship] expected a symmetric matrix, received {} in row {}, "
        "column {} and {} in row {}, column {}",
        relationship_[row][column].item<double>(), row + 1, column + 1,
        relationship_[column][row].item<double>(), column + 1, row + 1));
  });
}

double DenseRelationshipOperator::product_cost() const {
  return static_cast<double>(rows()) * static_cast<double>(rows());
}

Array DenseRelationshipOperator::times(const Array& matrix) const {
  // X'G, which is (G X)': BLAS walks through G faster when few columns stand on this
  // side.
  const Array left = matrix.t().contiguous();
  if (relationship_.scalar_type() == nd::kDouble) {
    return nd::mm(left, relationship_).t().contiguous();
  }
  Array result = nd::zeros_like(left);
  for_each_panel(rows(), [&](std::int64_t first, std::int64_t height) {
    result += nd::mm(left.narrow(1, first, height),
                     relationship_.narrow(0, first, height).to(nd::kDouble));
  });
  return result.t().contiguous();
}

Array DenseRelationshipOperator::block(const Array& rows, const Array& columns) const {
  return relationship_.index_select(0, rows).index_select(1, columns).to(nd::kDouble);
}

double DenseRelationshipOperator::trace() const {
  return relationship_.diagonal().sum(nd::kDouble).item<double>();
}

SparseRelationshipOperator::SparseRelationshipOperator(CompressedRows relationship) {
  check_compressed_rows(relationship, "sparse relationship");
  relationship_ = sorted_rows(relationship);
  check_symmetric(relationship_);
}

Array SparseRelationshipOperator::times(const Array& matrix) const {
  const Array input = matrix.contiguous();
  const std::int64_t c = input.size(1);
  Array result = nd::zeros_like(input);
  const double* in = input.data_ptr<double>();
  double* out = result.data_ptr<double>();
  nd::parallel_for(0, rows(), kRowsPerTask, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      double* sum = out + i * c;
      for (std::int64_t e = relationship_.row_starts[to_size(i)];
           e < relationship_.row_starts[to_size(i + 1)]; ++e) {
        const double value = relationship_.values[to_size(e)];
        const double* row = in + relationship_.columns[to_size(e)] * c;
        for (std::int64_t k = 0; k < c; ++k) sum[k] += value * row[k];
      }
    }
  });
  return result;
}

Array SparseRelationshipOperator::block(const Array& rows, const Array& columns) const {
  const Array row = rows.contiguous(), column = columns.contiguous();
  std::vector<std::int64_t> place(to_size(this->rows()), -1);
  for (std::int64_t k = 0; k < column.size(0); ++k) {
    place[to_size(column.data_ptr<std::int64_t>()[k])] = k;
  }
  Array result = nd::zeros({row.size(0), column.size(0)}, nd::kDouble);
  for (std::int64_t j = 0; j < row.size(0); ++j) {
    const std::int64_t i = row.data_ptr<std::int64_t>()[j];
    double* out = result.data_ptr<double>() + j * column.size(0);
    for (std::int64_t e = relationship_.row_starts[to_size(i)];
         e < relationship_.row_starts[to_size(i + 1)]; ++e) {
      const std::int64_t k = place[to_size(relationship_.columns[to_size(e)])];
      if (k >= 0) out[k] = relationship_.values[to_size(e)];
    }
  }
  return result;
}

double SparseRelationshipOperator::trace() const {
  double sum = 0;
  for (std::int64_t i = 0; i < rows(); ++i) {
    for (std::int64_t e = relationship_.row_starts[to_size(i)];
         e < relationship_.row_starts[to_size(i + 1)]; ++e) {
      if (relationship_.columns[to_size(e)] == i)
        sum += relationship_.values[to_size(e)];
    }
  }
  return sum;
}

double SparseRelationshipOperator::sum_of_squares() const {
  double sum = 0;
  for (const double value : relationship_.values) sum += value * value;
  return sum;
}

}  // namespace kinflow
