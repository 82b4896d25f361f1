// Relationship matrices that are only ever multiplied: dense ones too large to
// decompose, and sparse ones.
#pragma once

#include <cstdint>

#include "kinflow/array/array.h"
#include "kinflow/data/compressed_rows.h"

namespace kinflow {

/// A symmetric positive semidefinite matrix G, known by its products.
class RelationshipOperator {
 public:
  virtual ~RelationshipOperator();

  virtual std::int64_t rows() const = 0;
  /// Where products are computed; their arguments must be there.
  virtual nd::Device device() const = 0;
  /// Multiplications in the product with one column.
  virtual double product_cost() const = 0;
  /// G X: [n, c] float64. @param matrix X [n, c] float64
  virtual Array times(const Array& matrix) const = 0;
  /// A part of G: [a, b] float64. @param rows [a]  @param columns [b], both int64
  virtual Array block(const Array& rows, const Array& columns) const = 0;
  virtual double trace() const = 0;
  /// The sum of the squares of all elements, tr(G^2).
  virtual double sum_of_squares() const = 0;
};

/// A dense matrix, kept in the floating type and on the device that it comes in. From
/// float32 storage panels of rows are widened during a product, so that the product is
/// the float64 one of the stored numbers.
class DenseRelationshipOperator final : public RelationshipOperator {
 public:
  /// InputError where G is not square, float32 or float64, finite and symmetric.
  /// @param relationship [n, n]; not copied
  explicit DenseRelationshipOperator(Array relationship);

  std::int64_t rows() const override { return relationship_.size(0); }
  nd::Device device() const override { return relationship_.device(); }
  double product_cost() const override;
  Array times(const Array& matrix) const override;
  Array block(const Array& rows, const Array& columns) const override;
  double trace() const override;
  double sum_of_squares() const override { return sum_of_squares_; }

 private:
  Array relationship_;
  double sum_of_squares_ = 0;
};

/// A sparse matrix, on the CPU.
class SparseRelationshipOperator final : public RelationshipOperator {
 public:
  /// InputError where G is not finite and symmetric or holds an element twice.
  /// @param relationship G [n, n], both triangles
  explicit SparseRelationshipOperator(CompressedRows relationship);

  std::int64_t rows() const override {
    return static_cast<std::int64_t>(relationship_.row_starts.size()) - 1;
  }
  nd::Device device() const override { return nd::kCPU; }
  double product_cost() const override {
    return static_cast<double>(relationship_.values.size());
  }
  Array times(const Array& matrix) const override;
  Array block(const Array& rows, const Array& columns) const override;
  double trace() const override;
  double sum_of_squares() const override;

 private:
  CompressedRows relationship_;  // columns increase inside a row, no element is 0
};

}  // namespace kinflow
