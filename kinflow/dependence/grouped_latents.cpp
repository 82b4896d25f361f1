// Sums over groups of columns, blocks of one size together.
#include "kinflow/dependence/grouped_latents.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <tuple>
#include <utility>

#include "kinflow/array/array.h"
#include "kinflow/core/error.h"
#include "kinflow/dependence/batch_estimator.h"

namespace kinflow {

std::int64_t LatentGroups::columns() const {
  std::int64_t sum = 0;
  for (const auto& part : parts) sum += part.positions * part.groups;
  return sum;
}

std::int64_t LatentGroups::count() const {
  std::int64_t sum = 0;
  for (const auto& part : parts) sum += part.groups;
  return sum;
}

Array LatentGroups::group_of_column() const {
  std::vector<Array> groups;
  std::int64_t first = 0;
  for (const auto& part : parts) {
    groups.push_back(
        nd::arange(first, first + part.groups, nd::kLong).repeat({part.positions}));
    first += part.groups;
  }
  return nd::cat(groups);
}

Array LatentGroups::sums(const Array& columns) const {
  if (columns.size(-1) != this->columns()) {
    throw InputError(fmt::format("[LatentGroups] expected {} columns, received {}",
                                 this->columns(), columns.size(-1)));
  }
  std::vector<Array> sums;
  std::int64_t first = 0;
  for (const auto& part : parts) {
    auto shape = columns.sizes().vec();
    shape.back() = part.positions;
    shape.push_back(part.groups);
    const auto count = part.positions * part.groups;
    sums.push_back(columns.narrow(-1, first, count).reshape(shape).sum(-2));
    first += count;
  }
  return nd::cat(sums, -1);
}

/// Keeps the sums of every block; squares, and their parts along constant vectors, of
/// the blocks of a class together.
class GroupedLatents::Memory final : public LatentMemory {
 public:
  explicit Memory(const GroupedLatents& law) : LatentMemory(law.rows()), law_(law) {}

  void reset(const Array& latents) override {
    LatentMemory::reset(latents);
    const auto all = latents_.to(nd::kDouble);
    const auto replicas = all.size(0);
    const auto& blocks = *law_.blocks_;
    const auto sums =
        nd::zeros({replicas, blocks.block_count(), all.size(2)}, all.options())
            .index_add_(1, blocks.block_of_row(), all);
    const auto by_class = [&](const Array& classes, const Array& columns) {
      return nd::zeros({replicas, law_.other_rows_.size(0), law_.groups_.count()},
                       all.options())
          .index_add_(1, classes, law_.groups_.sums(columns));
    };
    const auto classes = law_.class_of_block_;
    set_in_place(along_, by_class(classes, sums.square() / rows_of(classes)));
    set_in_place(squares_, by_class(classes.index_select(0, blocks.block_of_row()),
                                    all.square()));
    set_in_place(sums_, sums);
  }

  void update(const Array& rows, const Array& latents) override {
    const auto before = exchange_rows(rows, latents);
    const auto after = latents_.index_select(1, rows).to(nd::kDouble);
    const auto change = after - before;
    const auto block = law_.blocks_->block_of_row().index_select(0, rows);
    const auto classes = law_.class_of_block_.index_select(0, block);
    // The change of a block's sum stands in the place of one of its rows, 0 in others.
    const auto of_block = nd::zeros_like(change).index_add_(
        1, law_.blocks_->place_within_batch(block), change);
    const auto sums = sums_.index_select(1, block);
    const auto along = of_block * (2 * sums + of_block) / rows_of(classes);
    along_.index_add_(1, classes, law_.groups_.sums(along));
    squares_.index_add_(1, classes, law_.groups_.sums(change * (after + before)));
    sums_.index_add_(1, block, change);
  }

  Array precision_rows(const Array& parameters, const Array& rows) const override {
    const auto block = law_.blocks_->block_of_row().index_select(0, rows);
    return law_.precision_rows(
        law_.terms(parameters), law_.class_of_block_.index_select(0, block),
        latents_.index_select(1, rows).to(nd::kDouble), sums_.index_select(1, block));
  }

  Array parameter_gradient(const Array& parameters) const override {
    const auto terms = law_.terms(parameters);
    const auto across = (squares_ - along_).clamp_min(0);
    return law_.add_classes(law_.log_det_slopes(terms) -
                            law_.other_rows_ * along_ / terms.along.square() +
                            across / terms.across.square());
  }

 private:
  /// Rows of the blocks of these classes, as a column.
  Array rows_of(const Array& classes) const {
    return law_.other_rows_.index_select(0, classes) + 1;
  }

  const GroupedLatents& law_;
  Array sums_;             // [R, B, p]
  Array along_, squares_;  // [R, C, G]
};

GroupedLatents::GroupedLatents(const Array& block_of_row, LatentGroups groups)
    : GroupedLatents(std::make_shared<const Blocks>(
                         block_of_row, BlocksOptions{BlockCorrelation::shared}),
                     std::move(groups)) {}

GroupedLatents::GroupedLatents(std::shared_ptr<const Blocks> blocks,
                               LatentGroups groups)
    : FoldedLatents(blocks, groups.columns()),
      blocks_(std::move(blocks)),
      groups_(std::move(groups)) {
  const auto device = blocks_->sizes().device();
  const auto group_of_column = groups_.group_of_column();
  for (std::int64_t group = 0; group < groups_.count(); ++group) {
    columns_.push_back((group_of_column == group).nonzero().flatten());
  }
  place_of_column_ = nd::cat(columns_).argsort().to(device);
  for (auto& columns : columns_) columns = columns.to(device);
  group_of_column_ = group_of_column.to(device);
  columns_of_group_ =
      groups_.sums(nd::ones({1, groups_.columns()}, nd::kDouble)).to(device);
  const auto [sizes, class_of_block, counts] =
      nd::_unique2(blocks_->sizes(), /*sorted=*/true, /*return_inverse=*/true,
                   /*return_counts=*/true);
  class_of_block_ = class_of_block;
  other_rows_ = (sizes - 1).to(nd::kDouble).unsqueeze(1);
  is_repeated_ = (sizes > 1).to(nd::kDouble).unsqueeze(1);
  blocks_of_class_ = counts.to(nd::kDouble).unsqueeze(1);
}

Array GroupedLatents::to_columns(const Array& of_groups) const {
  return of_groups.index_select(-1, group_of_column_);
}

std::int64_t GroupedLatents::parameter_count() const {
  return blocks_->parameter_count() * groups_.count();
}

Array GroupedLatents::interpreted(const Array& parameters) const {
  const auto checked = checked_parameters(parameters);
  return parameter_count() == 0 ? checked : to_columns(checked);
}

Array GroupedLatents::inner_parameters(const Array& parameters) const {
  return interpreted(parameters)
      .reshape({parameters.size(0) * distinct_latents(), blocks_->parameter_count()});
}

Array GroupedLatents::own_gradient(const Array& parameters,
                                   const Array& inner_gradient) const {
  if (parameter_count() == 0) return nd::zeros_like(parameters, nd::kDouble);
  return groups_.sums(inner_gradient.view({parameters.size(0), distinct_latents()}));
}

GroupedLatents::Terms GroupedLatents::terms(const Array& parameters) const {
  auto of_groups = checked_parameters(parameters);
  if (parameter_count() == 0) {
    of_groups = nd::zeros({parameters.size(0), groups_.count()}, of_groups.options());
  }
  const auto correlation = of_groups.unsqueeze(1) * is_repeated_;
  return {correlation, 1 + other_rows_ * correlation, 1 - correlation};
}

Array GroupedLatents::class_of_rows(const Array& rows) const {
  return class_of_block_.index_select(0, blocks_->block_of_row().index_select(0, rows));
}

Array GroupedLatents::worth_by_group(const Array& parameters) const {
  return terms(parameters)
      .along.reciprocal()
      .index_select(1, class_of_block_.index_select(0, blocks_->block_of_row()));
}

Array GroupedLatents::precision_rows(const Terms& terms, const Array& classes,
                                     const Array& latents, const Array& sums) const {
  const auto of_rows = [&](const Array& of_classes) {
    return to_columns(of_classes.index_select(1, classes));
  };
  return (latents - of_rows(terms.correlation / terms.along) * sums) /
         of_rows(terms.across);
}

Array GroupedLatents::log_det_slopes(const Terms& terms) const {
  return blocks_of_class_ * columns_of_group_ * other_rows_ *
         (terms.along.reciprocal() - terms.across.reciprocal());
}

Array GroupedLatents::add_classes(const Array& slopes) const {
  // Without repeats there is no parameter.
  return 0.5 * (slopes * is_repeated_).sum(1).narrow(1, 0, parameter_count());
}

Array GroupedLatents::others_of_block(const Array& rows, const Array& batch) const {
  const auto block = blocks_->block_of_row().index_select(0, rows);
  return blocks_->sums_within_batch(block, batch) - batch;
}

Array GroupedLatents::pairs_rows(const Array& parameters, const Array& rows,
                                 const Array& latents) const {
  const auto batch = checked_latents(parameters, latents, rows.size(0));
  const auto others = others_of_block(rows, batch);
  return precision_rows(terms(parameters), class_of_rows(rows), batch,
                        batch + pair_weight(rows.size(0)) * others);
}

Array GroupedLatents::pairs_parameter_gradient(const Array& parameters,
                                               const Array& rows,
                                               const Array& latents) const {
  const auto batch = checked_latents(parameters, latents, rows.size(0));
  const auto others = others_of_block(rows, batch);
  const auto of_classes = terms(parameters);
  // Derivatives of the elements of C^-1 in the correlation, as in Blocks.
  const auto off_diagonal = -(1 + other_rows_ * of_classes.correlation.square()) /
                            (of_classes.along * of_classes.across).square();
  const auto diagonal = of_classes.across.pow(-2) + off_diagonal;
  const auto classes = class_of_rows(rows);
  const auto of_rows =
      diagonal.index_select(1, classes) * groups_.sums(batch.square()) +
      pair_weight(rows.size(0)) * off_diagonal.index_select(1, classes) *
          groups_.sums(batch * others);
  const double scale =
      static_cast<double>(this->rows()) / static_cast<double>(rows.size(0));
  return add_classes(
      log_det_slopes(of_classes).index_add_(1, classes, scale * of_rows));
}

std::unique_ptr<LatentMemory> GroupedLatents::make_memory() const {
  return std::make_unique<Memory>(*this);
}

std::unique_ptr<BatchEstimator> GroupedLatents::make_estimator(
    const std::vector<EstimatorChoice>& choices, nd::ScalarType /*type*/) const {
  return make_composed_estimator(*this, choices);
}

Array GroupedLatents::parameters_of(const Array& parameters, std::int64_t group) const {
  const auto own = blocks_->parameter_count();
  return checked_one_replica(parameters).narrow(0, own * group, own);
}

Array GroupedLatents::columns_of(const Array& latents, std::int64_t group) const {
  if (latents.dim() != 2 || latents.size(1) != groups_.columns()) {
    throw InputError(fmt::format("[{}] expected latents [q, {}], received [{}]", kind(),
                                 groups_.columns(), fmt::join(latents.sizes(), ", ")));
  }
  return latents.index_select(1, columns_[static_cast<std::size_t>(group)]);
}

Array GroupedLatents::in_order(const std::vector<Array>& by_group) const {
  const auto together = nd::cat(by_group, 1);
  return together.index_select(1, place_of_column_.to(together.device()));
}

ConditionalRows GroupedLatents::condition_rows(const Array& parameters,
                                               const Array& observed,
                                               const Array& latents) const {
  Array unknown;
  std::vector<Array> means, variances;
  for (std::int64_t group = 0; group < groups_.count(); ++group) {
    const auto rows = blocks_->condition_rows(parameters_of(parameters, group),
                                              observed, columns_of(latents, group));
    unknown = rows.rows;
    means.push_back(rows.mean);
    variances.push_back(rows.variance.expand_as(rows.mean));
  }
  return {unknown, in_order(means), in_order(variances)};
}

Array GroupedLatents::sample_given(const Array& parameters, const Array& observed,
                                   const Array& latents, Random& random) const {
  std::vector<Array> draws;
  for (std::int64_t group = 0; group < groups_.count(); ++group) {
    draws.push_back(blocks_->sample_given(parameters_of(parameters, group), observed,
                                          columns_of(latents, group), random));
  }
  return in_order(draws);
}

}  // namespace kinflow
