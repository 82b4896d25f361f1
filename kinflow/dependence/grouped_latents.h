// Blocks with one correlation for each group of columns of the latents.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

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
  at::Tensor group_of_column() const;
  /// Sums over the columns of every group: [..., p] to [..., G].
  at::Tensor sums(const at::Tensor& columns) const;
};

/// Blocks whose correlation in column j is that of the column's group, the same for all
/// blocks of at least two rows: [R, G]. A step of the memory costs O(b p), whatever the
/// numbers of blocks and groups are.
class GroupedLatents final : public FoldedLatents {
 public:
  /// @param block_of_row  as in Blocks
  GroupedLatents(const at::Tensor& block_of_row, LatentGroups groups);

  const LatentGroups& groups() const { return groups_; }
  /// What each row is worth in each group, C^-1 1: [R, n, G].
  at::Tensor worth_by_group(const at::Tensor& parameters) const;
  /// Numbers of groups [..., G] as numbers of columns [..., p].
  at::Tensor to_columns(const at::Tensor& of_groups) const;

  std::int64_t parameter_count() const override;
  at::Tensor inner_parameters(const at::Tensor& parameters) const override;
  /// The correlation of every column, [R, p].
  at::Tensor interpreted(const at::Tensor& parameters) const override;
  bool has_separate_parameters() const override { return true; }
  std::optional<std::int64_t> edges_of_independence() const override {
    return parameter_count();
  }

  at::Tensor pairs_rows(const at::Tensor& parameters, const at::Tensor& rows,
                        const at::Tensor& latents) const override;
  at::Tensor pairs_parameter_gradient(const at::Tensor& parameters,
                                      const at::Tensor& rows,
                                      const at::Tensor& latents) const override;
  std::unique_ptr<LatentMemory> make_memory() const override;
  std::unique_ptr<BatchEstimator> make_estimator(
      const std::vector<EstimatorChoice>& choices, at::ScalarType type) const override;
  ConditionalRows condition_rows(const at::Tensor& parameters,
                                 const at::Tensor& observed,
                                 const at::Tensor& latents) const override;
  at::Tensor sample_given(const at::Tensor& parameters, const at::Tensor& observed,
                          const at::Tensor& latents, Random& random) const override;

 protected:
  at::Tensor own_gradient(const at::Tensor& parameters,
                          const at::Tensor& inner_gradient) const override;

 private:
  class Memory;

  /// Blocks of one size are of one class, and have the same eigenvalues: [R, C, G]
  /// each, as in Blocks.
  struct Terms {
    at::Tensor correlation, along, across;
  };

  GroupedLatents(std::shared_ptr<const Blocks> blocks, LatentGroups groups);

  Terms terms(const at::Tensor& parameters) const;
  at::Tensor class_of_rows(const at::Tensor& rows) const;
  /// Sums of latents of the others of a row's block in the batch, [R, b, p].
  at::Tensor others_of_block(const at::Tensor& rows, const at::Tensor& batch) const;
  /// Rows of C^-1 U from the rows' own latents and their blocks' sums, [R, b, p] each.
  at::Tensor precision_rows(const Terms& terms, const at::Tensor& classes,
                            const at::Tensor& latents, const at::Tensor& sums) const;
  /// What the log-determinant adds to twice the gradient, by class: [R, C, G].
  at::Tensor log_det_slopes(const Terms& terms) const;
  /// Slopes [R, C, G] added up to a gradient [R, k].
  at::Tensor add_classes(const at::Tensor& slopes) const;
  /// Correlations [k] of the blocks in one group.
  at::Tensor parameters_of(const at::Tensor& parameters, std::int64_t group) const;
  /// The columns of one group of latents [q, p].
  at::Tensor columns_of(const at::Tensor& latents, std::int64_t group) const;
  /// Columns [q, .] of one group after the other, in the order of the latents: [q, p].
  at::Tensor in_order(const std::vector<at::Tensor>& by_group) const;

  std::shared_ptr<const Blocks> blocks_;
  LatentGroups groups_;
  at::Tensor group_of_column_;           // [p] int64
  std::vector<at::Tensor> columns_;      // of each group, int64
  at::Tensor place_of_column_;           // [p] int64, where columns_ has a column
  at::Tensor columns_of_group_;          // [1, G] float64, how many
  at::Tensor class_of_block_;            // [B] int64
  at::Tensor other_rows_, is_repeated_;  // [C, 1] float64, of a class
  at::Tensor blocks_of_class_;           // [C, 1] float64, how many
};

}  // namespace kinflow
