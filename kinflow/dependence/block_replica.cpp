// Loops over the rows of a batch and over blocks.
#include "kinflow/dependence/block_replica.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "kinflow/array/array.h"
#include "kinflow/core/error.h"
#include "kinflow/dependence/per_latent.h"

namespace kinflow {
namespace {

std::vector<std::int64_t> numbers_of(const Array& tensor) {
  const auto cpu = tensor.cpu().contiguous();
  const auto* first = cpu.data_ptr<std::int64_t>();
  return {first, first + cpu.numel()};
}

}  // namespace

BlockArrays::BlockArrays(const Dependence& law) {
  const Blocks* blocks = blocks_of(law);
  if (blocks == nullptr || blocks->options().correlation == BlockCorrelation::pooled) {
    throw InputError(
        "[BlockArrays] expected blocks whose correlations are not pooled, received "
        "another law");
  }
  block_of_row = numbers_of(blocks->block_of_row());
  parameter_of_block = numbers_of(blocks->parameter_of_block());
  parameters = law.parameter_count();
  latents = law.distinct_latents();
  are_effects = dynamic_cast<const BlockAndLatentEffects*>(&law) != nullptr;
  if (latents > 1 && !are_effects) parameters_per_latent = blocks->parameter_count();
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> classes_known;
  const auto sizes = numbers_of(blocks->sizes());
  for (std::size_t b = 0; b < sizes.size(); ++b) {
    const auto others = static_cast<double>(sizes[b] - 1);
    other_rows.push_back(others);
    const auto [found, is_new] =
        classes_known.try_emplace({parameter_of_block[b], sizes[b]}, classes());
    class_of_block.push_back(found->second);
    if (is_new) {
      class_other_rows.push_back(others);
      class_blocks.push_back(0);
      parameter_of_class.push_back(parameter_of_block[b]);
    }
    class_blocks[static_cast<std::size_t>(found->second)] += 1;
  }
}

BlockReplica::BlockReplica(const BlockArrays& arrays, std::int64_t columns)
    : arrays_(arrays),
      columns_(columns),
      latent_step_(arrays.latents > 1 ? 1 : 0),
      columns_per_latent_(static_cast<double>(arrays.latents > 1 ? 1 : columns)) {
  if (arrays.latents > 1 && arrays.latents != columns) {
    throw InputError(fmt::format("[BlockReplica] expected {} columns, received {}",
                                 arrays.latents, columns));
  }
  const auto cells = static_cast<std::size_t>(arrays.classes() * arrays.latents);
  correlation_.assign(cells, 0);
  along_.assign(cells, 1);
  across_.assign(cells, 1);
  share_.assign(cells, 0);
  scale_.assign(cells, 1);
  squares_.assign(cells, 0);
  along_squares_.assign(cells, 0);
  const auto sums = static_cast<std::size_t>(arrays.blocks() * columns);
  sums_.assign(sums, 0);
  batch_sums_.assign(sums, 0);
}

void BlockReplica::set_parameters(const double* parameters) {
  const std::int64_t latents = arrays_.latents;
  std::size_t cell = 0;
  for (std::int64_t c = 0; c < arrays_.classes(); ++c) {
    const auto k = arrays_.parameter_of_class[static_cast<std::size_t>(c)];
    const double others = arrays_.class_other_rows[static_cast<std::size_t>(c)];
    for (std::int64_t j = 0; j < latents; ++j, ++cell) {
      double rho = 0;
      if (k >= 0 && arrays_.are_effects) {
        rho = share_from_unconstrained(parameters[k] +
                                       parameters[arrays_.latent_effects() + j]);
      } else if (k >= 0) {
        rho = parameters[k + j * arrays_.parameters_per_latent];
      }
      correlation_[cell] = rho;
      along_[cell] = 1 + rho * others;
      across_[cell] = 1 - rho;
      share_[cell] = rho / along_[cell];
      scale_[cell] = 1 / across_[cell];
    }
  }
}

double BlockReplica::log_det() const {
  double total = 0;
  std::size_t cell = 0;
  for (std::size_t c = 0; c < arrays_.class_blocks.size(); ++c) {
    for (std::int64_t j = 0; j < arrays_.latents; ++j, ++cell) {
      total += arrays_.class_blocks[c] *
               (std::log(along_[cell]) +
                arrays_.class_other_rows[c] * std::log(across_[cell]));
    }
  }
  return total / static_cast<double>(arrays_.latents);
}

template <typename Real>
void BlockReplica::reset(const Real* latents) {
  std::fill(sums_.begin(), sums_.end(), 0);
  std::fill(squares_.begin(), squares_.end(), 0);
  std::fill(along_squares_.begin(), along_squares_.end(), 0);
  for (const auto block : arrays_.block_of_row) {
    const auto of_class = arrays_.class_of_block[static_cast<std::size_t>(block)];
    double* sum = sums_.data() + block * columns_;
    double* square = squares_.data() + of_class * arrays_.latents;
    for (std::int64_t c = 0; c < columns_; ++c, square += latent_step_) {
      const double u = latents[c];
      sum[c] += u;
      *square += u * u;
    }
    latents += columns_;
  }
  const double* sum = sums_.data();
  for (std::size_t b = 0; b < arrays_.class_of_block.size(); ++b) {
    double* along = along_squares_.data() + arrays_.class_of_block[b] * arrays_.latents;
    const double per_row = 1 / (arrays_.other_rows[b] + 1);
    for (std::int64_t c = 0; c < columns_; ++c, ++sum, along += latent_step_) {
      *along += *sum * *sum * per_row;
    }
  }
}

template <typename Real>
void BlockReplica::update(const BatchRows<Real>& batch, Real* latents) {
  const Real* after = batch.latents;
  for (std::int64_t i = 0; i < batch.count; ++i, after += columns_) {
    const auto block = arrays_.block_of_row[static_cast<std::size_t>(batch.rows[i])];
    const auto b = static_cast<std::size_t>(block);
    const auto cell = arrays_.class_of_block[b] * arrays_.latents;
    const double per_row = 1 / (arrays_.other_rows[b] + 1);
    Real* before = latents + batch.rows[i] * columns_;
    double* sum = sums_.data() + block * columns_;
    double* square = squares_.data() + cell;
    double* along = along_squares_.data() + cell;
    for (std::int64_t c = 0; c < columns_;
         ++c, square += latent_step_, along += latent_step_) {
      const double change = static_cast<double>(after[c]) - before[c];
      *square += change * (static_cast<double>(after[c]) + before[c]);
      *along += change * (2 * sum[c] + change) * per_row;
      sum[c] += change;
      before[c] = after[c];
    }
  }
}

template <typename Real>
void BlockReplica::sum_batch(const BatchRows<Real>& batch) {
  const auto sum_of = [&](std::int64_t i) {
    return batch_sums_.data() +
           arrays_.block_of_row[static_cast<std::size_t>(batch.rows[i])] * columns_;
  };
  for (std::int64_t i = 0; i < batch.count; ++i) std::fill_n(sum_of(i), columns_, 0);
  const Real* u = batch.latents;
  for (std::int64_t i = 0; i < batch.count; ++i, u += columns_) {
    double* sum = sum_of(i);
    for (std::int64_t c = 0; c < columns_; ++c) sum[c] += u[c];
  }
}

double BlockReplica::pair_weight(std::int64_t count) const {
  return count > 1
             ? static_cast<double>(arrays_.rows() - 1) / static_cast<double>(count - 1)
             : 0;
}

template <typename Real>
void BlockReplica::precision_rows(const BatchRows<Real>& batch, double memory_share,
                                  Real* result) {
  if (memory_share < 1) sum_batch(batch);
  const double weight = pair_weight(batch.count);
  const Real* u = batch.latents;
  for (std::int64_t i = 0; i < batch.count; ++i) {
    const auto block = arrays_.block_of_row[static_cast<std::size_t>(batch.rows[i])];
    const auto cell =
        arrays_.class_of_block[static_cast<std::size_t>(block)] * arrays_.latents;
    const double* share = share_.data() + cell;
    const double* scale = scale_.data() + cell;
    const double* sum = sums_.data() + block * columns_;
    const double* in_batch = batch_sums_.data() + block * columns_;
    for (std::int64_t c = 0; c < columns_; ++c, ++u, ++result) {
      // All rows of the block together, as remembered or as the batch suggests.
      double all = 0;
      if (memory_share > 0) all += memory_share * sum[c];
      if (memory_share < 1) {
        all += (1 - memory_share) * (*u + weight * (in_batch[c] - *u));
      }
      *result = static_cast<Real>((*u - *share * all) * *scale);
      share += latent_step_;
      scale += latent_step_;
    }
  }
}

void BlockReplica::add_slope(std::int64_t of_class, std::int64_t latent, double slope,
                             double* result) const {
  const auto k = arrays_.parameter_of_class[static_cast<std::size_t>(of_class)];
  if (k < 0) return;
  if (!arrays_.are_effects) {
    result[k + latent * arrays_.parameters_per_latent] += slope;
    return;
  }
  const double rho =
      correlation_[static_cast<std::size_t>(of_class * arrays_.latents + latent)];
  slope *= rho * (1 - rho);
  result[k] += slope;
  result[arrays_.latent_effects() + latent] += slope;
}

void BlockReplica::gradient(double* result) const {
  std::fill_n(result, arrays_.parameters, 0);
  std::size_t cell = 0;
  for (std::int64_t c = 0; c < arrays_.classes(); ++c) {
    const auto of_class = static_cast<std::size_t>(c);
    const double others = arrays_.class_other_rows[of_class];
    const double numbers = columns_per_latent_ * arrays_.class_blocks[of_class];
    for (std::int64_t j = 0; j < arrays_.latents; ++j, ++cell) {
      const double along = along_squares_[cell];
      const double across = std::max(0.0, squares_[cell] - along);
      const double per_along = 1 / along_[cell], per_across = scale_[cell];
      add_slope(c, j,
                0.5 * (others * per_along * (numbers - along * per_along) -
                       (numbers * others - across * per_across) * per_across),
                result);
    }
  }
}

template <typename Real>
void BlockReplica::pairs_gradient(const BatchRows<Real>& batch, double* result) {
  std::fill_n(result, arrays_.parameters, 0);
  std::size_t cell = 0;
  for (std::int64_t c = 0; c < arrays_.classes(); ++c) {
    const auto of_class = static_cast<std::size_t>(c);
    const double numbers = columns_per_latent_ * arrays_.class_blocks[of_class];
    for (std::int64_t j = 0; j < arrays_.latents; ++j, ++cell) {
      add_slope(c, j,
                0.5 * numbers * arrays_.class_other_rows[of_class] *
                    (1 / along_[cell] - scale_[cell]),
                result);
    }
  }
  sum_batch(batch);
  const double weight = pair_weight(batch.count);
  const double factor =
      static_cast<double>(arrays_.rows()) / static_cast<double>(batch.count);
  const Real* u = batch.latents;
  for (std::int64_t i = 0; i < batch.count; ++i, u += columns_) {
    const auto block = arrays_.block_of_row[static_cast<std::size_t>(batch.rows[i])];
    const auto of_class = arrays_.class_of_block[static_cast<std::size_t>(block)];
    if (arrays_.parameter_of_class[static_cast<std::size_t>(of_class)] < 0) continue;
    const double others = arrays_.class_other_rows[static_cast<std::size_t>(of_class)];
    const double* in_batch = batch_sums_.data() + block * columns_;
    for (std::int64_t c = 0; c < columns_; ++c) {
      const auto latent = c * latent_step_;
      const auto at = static_cast<std::size_t>(of_class * arrays_.latents + latent);
      // Derivatives of the elements of C^-1 in the correlation.
      const double rho = correlation_[at], both = along_[at] * across_[at];
      const double off_diagonal = -(1 + others * rho * rho) / (both * both);
      const double diagonal = scale_[at] * scale_[at] + off_diagonal;
      const double square = static_cast<double>(u[c]) * u[c];
      const double product = u[c] * (in_batch[c] - u[c]);
      add_slope(of_class, latent,
                0.5 * factor * (diagonal * square + weight * off_diagonal * product),
                result);
    }
  }
}

#define KINFLOW_FOR(Real)                                                            \
  template void BlockReplica::reset(const Real*);                                    \
  template void BlockReplica::update(const BatchRows<Real>&, Real*);                 \
  template void BlockReplica::precision_rows(const BatchRows<Real>&, double, Real*); \
  template void BlockReplica::pairs_gradient(const BatchRows<Real>&, double*);
KINFLOW_FOR(float)
KINFLOW_FOR(double)
#undef KINFLOW_FOR

}  // namespace kinflow
