// Parts into which sparse matrices fall apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "kinflow/array/array.h"
#include "kinflow/data/compressed_rows.h"

namespace kinflow {

/// InputError, which begins with [who], where there is no row, a place lies outside the
/// matrix or a number is not finite.
void check_compressed_rows(const CompressedRows& matrix, std::string_view who);

/// A division of n rows into components.
struct Components {
  std::vector<std::int64_t> component_of_row;  ///< [n]
  std::vector<std::int64_t> place_of_row;      ///< [n], within the component
  std::vector<std::int64_t> row_at;            ///< [n], rows in order of components
  std::vector<std::int64_t> first;             ///< of each component in row_at; then n

  std::int64_t count() const { return static_cast<std::int64_t>(first.size()) - 1; }
  std::int64_t size(std::int64_t component) const {
    return first[static_cast<std::size_t>(component + 1)] -
           first[static_cast<std::size_t>(component)];
  }
};

/// Components of rows that are connected by an element of any of the matrices, all n x
/// n, that is not 0. They are numbered in the order of their first rows, and hold their
/// rows in increasing order.
Components connected_components(const std::vector<const CompressedRows*>& matrices);

/// All n rows in one component.
Components one_component(std::int64_t rows);

/// Writes one component of a matrix of m rows, which connects no others, into `dense`:
/// m x m, row by row. InputError, which begins with [who], where an element is given
/// twice or the component is not symmetric.
void write_component(const CompressedRows& matrix, const Components& components,
                     std::int64_t component, std::string_view who, double* dense);

/// The most rows of a matrix that is factorised anew for every value of the parameters.
constexpr std::int64_t kLargestFactorized = 8000;

/// 1 where two rows have the same label, else 0, as a part of a sum; alone it is far
/// cheaper as Blocks. Has as many elements as the squares of the blocks' sizes add up
/// to, so a block of more than kLargestFactorized rows is an InputError.
/// @param block_of_row [n] int64, any labels
CompressedRows block_rows(const Array& block_of_row);

}  // namespace kinflow
