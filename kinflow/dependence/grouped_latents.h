// Blocks with one correlation for each group of columns of the latents.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kinflow/array/array.h"
#include "kinflow/dependence/per_latent.h"

namespace kinflow {

/// Groups of columns, as a multi-scale flow of images makes them: part after part, in a
/// part position after position, and at each position a column of every group of the
/// part.
struct LatentGroups {
  struct Part {
    std::int64_t positions = 1, groups = 1;
  };
  std::vector<Part> parts;

  std::int64_t columns() const;
  std::int64_t count() const;  ///< of all groups
  /// [p] int64 on the CPU.
  Array group_of_column() const;
  /// Sums over the columns of every group: [..., p] to [..., G].
  Array sums(const Array& columns) const;
};

/// Blocks whose correlation in column j is that of the column's group, the same for all
/// blocks of at least two rows: [R, G]. A step of the memory costs O(b p), whatever the
/// numbers of blocks and groups are.
class GroupedLatents final : public FoldedLatents {
 public:
  /// @param block_of_row  as in Blocks
  GroupedLatents(const Array& block_of_row, LatentGroups groups);

  const LatentGroups& groups() const { return groups_; }
  /// What each row is worth in each group, C^-1 1: [R, n, G].
  Array worth_by_group(const Array& parameters) const;
  /// Numbers of groups [..., G] as numbers of columns [..., p].
  Array to_columns(const Array& of_groups) const;

  std::int64_t parameter_count() const override;
  Array inner_parameters(const Array& parameters) const override;
  /// The correlation of every column, [R, p].
  Array interpreted(const Array& parameters) const override;
  bool has_separate_parameters() const override { return true; }
  std::optional<std::int64_t> edges_of_independence() const override {
    return parameter_count();
  }

  Array pairs_rows(const Array& parameters, const Array& rows,
                   const Array& latents) const override;
  Array pairs_parameter_gradient(const Array& parameters, const Array& rows,
                                 const Array& latents) const override;
  std::unique_ptr<LatentMemory> make_memory() const override;
  std::unique_ptr<BatchEstimator> make_estimator(
      const std::vector<EstimatorChoice>& choices, nd::ScalarType type) const override;
  ConditionalRows condition_rows(const Array& parameters, const Array& observed,
                                 const Array& latents) const override;
  Array sample_given(const Array& parameters, const Array& observed,
                     const Array& latents, Random& random) const override;

 protected:
  Array own_gradient(const Array& parameters,
                     const Array& inner_gradient) const override;

 private:
  class Memory;

  /// Blocks of one size are of one class, and have the same eigenvalues: [R, C, G]
  /// each, as in Blocks.
  struct Terms {
    Array correlation, along, across;
  };

  GroupedLatents(std::shared_ptr<const Blocks> blocks, LatentGroups groups);

  Terms terms(const Array& parameters) const;
  Array class_of_rows(const Array& rows) const;
  /// Sums of latents of the others of a row's block in the batch, [R, b, p].
  Array others_of_block(const Array& rows, const Array& batch) const;
  /// Rows of C^-1 U from the rows' own latents and their blocks' sums, [R, b, p] each.
  Array precision_rows(const Terms& terms, const Array& classes, const Array& latents,
                       const Array& sums) const;
  /// What the log-determinant adds to twice the gradient, by class: [R, C, G].
  Array log_det_slopes(const Terms& terms) const;
  /// Slopes [R, C, G] added up to a gradient [R, k].
  Array add_classes(const Array& slopes) const;
  /// Correlations [k] of the blocks in one group.
  Array parameters_of(const Array& parameters, std::int64_t group) const;
  /// The columns of one group of latents [q, p].
  Array columns_of(const Array& latents, std::int64_t group) const;
  /// Columns [q, .] of one group after the other, in the order of the latents: [q, p].
  Array in_order(const std::vector<Array>& by_group) const;

  std::shared_ptr<const Blocks> blocks_;
  LatentGroups groups_;
  Array group_of_column_;           // [p] int64
  std::vector<Array> columns_;      // of each group, int64
  Array place_of_column_;           // [p] int64, where columns_ has a column
  Array columns_of_group_;          // [1, G] float64, how many
  Array class_of_block_;            // [B] int64
  Array other_rows_, is_repeated_;  // [C, 1] float64, of a class
  Array blocks_of_class_;           // [C, 1] float64, how many
};

}  // namespace kinflow
