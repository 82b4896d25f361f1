// Sparse square matrices.
#pragma once

#include <cstdint>
#include <vector>

namespace kinflow {

/// A sparse square matrix of n rows in compressed rows: the elements of row i are those
/// from row_starts[i] up to row_starts[i + 1]. Those who make and take one say in what
/// order a row's elements stand and which must be there.
struct CompressedRows {
  std::vector<std::int64_t> row_starts;  ///< [n + 1], from 0
  std::vector<std::int64_t> columns;     ///< [elements]
  std::vector<double> values;            ///< [elements]

  std::int64_t rows() const { return static_cast<std::int64_t>(row_starts.size()) - 1; }
};

}  // namespace kinflow
