// Relationship matrices that are only ever multiplied: dense ones too large to
// decompose, and sparse ones.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "kinflow/core/compressed_rows.h"

namespace kinflow {

/// A symmetric positive semidefinite matrix G, known by its products.
class RelationshipOperator {
 public:
  virtual ~RelationshipOperator();

  virtual std::int64_t rows() const = 0;
  /// Where products are computed; their arguments must be there.
  virtual at::Device device() const = 0;
  /// Multiplications in the product with one column.
  virtual double product_cost() const = 0;
  /// G X: [n, c] float64. @param matrix X [n, c] float64
  virtual at::Tensor times(const at::Tensor& matrix) const = 0;
  /// A part of G: [a, b] float64. @param rows [a]  @param columns [b], both int64
  virtual at::Tensor block(const at::Tensor& rows, const at::Tensor& columns) const = 0;
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
  explicit DenseRelationshipOperator(at::Tensor relationship);

  std::int64_t rows() const override { return relationship_.size(0); }
  at::Device device() const override { return relationship_.device(); }
  double product_cost() const override;
  at::Tensor times(const at::Tensor& matrix) const override;
  at::Tensor block(const at::Tensor& rows, const at::Tensor& columns) const override;
  double trace() const override;
  double sum_of_squares() const override { return sum_of_squares_; }

 private:
  at::Tensor relationship_;
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
  at::Device device() const override { return at::kCPU; }
  double product_cost() const override {
    return static_cast<double>(relationship_.values.size());
  }
  at::Tensor times(const at::Tensor& matrix) const override;
  at::Tensor block(const at::Tensor& rows, const at::Tensor& columns) const override;
  double trace() const override;
  double sum_of_squares() const override;

 private:
  CompressedRows relationship_;  // columns increase inside a row, no element is 0
};

}  // namespace kinflow
