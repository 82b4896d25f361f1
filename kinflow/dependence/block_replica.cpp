// Loops over the rows of a batch and over blocks.
#include "kinflow/dependence/block_replica.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

namespace kinflow {
namespace {

std::vector<std::int64_t> numbers_of(const at::Tensor& tensor) {
  const auto cpu = tensor.cpu().contiguous();
  const auto* first = cpu.data_ptr<std::int64_t>();
  return {first, first + cpu.numel()};
}

}  // namespace

BlockArrays::BlockArrays(const Blocks& blocks)
    : block_of_row(numbers_of(blocks.block_of_row())),
      parameter_of_block(numbers_of(blocks.parameter_of_block())),
      parameters(blocks.parameter_count()) {
  for (const auto size : numbers_of(blocks.sizes())) {
    other_rows.push_back(static_cast<double>(size - 1));
  }
}

BlockReplica::BlockReplica(const BlockArrays& arrays, std::int64_t columns)
    : arrays_(arrays), columns_(columns) {
  const auto blocks = arrays.other_rows.size();
  correlation_.assign(blocks, 0);
  along_.assign(blocks, 1);
  across_.assign(blocks, 1);
  sums_.assign(blocks * static_cast<std::size_t>(columns), 0);
  squares_.assign(blocks, 0);
  batch_sums_.assign(blocks * static_cast<std::size_t>(columns), 0);
}

void BlockReplica::set_parameters(const double* parameters) {
  for (std::size_t b = 0; b < correlation_.size(); ++b) {
    const auto k = arrays_.parameter_of_block[b];
    const double rho = k < 0 ? 0 : parameters[k];
    correlation_[b] = rho;
    along_[b] = 1 + rho * arrays_.other_rows[b];
    across_[b] = 1 - rho;
  }
}

double BlockReplica::log_det() const {
  double total = 0;
  for (std::size_t b = 0; b < correlation_.size(); ++b) {
    total += std::log(along_[b]) + arrays_.other_rows[b] * std::log(across_[b]);
  }
  return total;
}

template <typename Real>
void BlockReplica::reset(const Real* latents) {
  std::fill(sums_.begin(), sums_.end(), 0);
  std::fill(squares_.begin(), squares_.end(), 0);
  for (const auto block : arrays_.block_of_row) {
    double* sum = sums_.data() + block * columns_;
    double square = 0;
    for (std::int64_t c = 0; c < columns_; ++c) {
      const double u = latents[c];
      sum[c] += u;
      square += u * u;
    }
    squares_[static_cast<std::size_t>(block)] += square;
    latents += columns_;
  }
}

template <typename Real>
void BlockReplica::update(const BatchRows<Real>& batch, Real* latents) {
  const Real* after = batch.latents;
  for (std::int64_t i = 0; i < batch.count; ++i, after += columns_) {
    const auto block = arrays_.block_of_row[static_cast<std::size_t>(batch.rows[i])];
    Real* before = latents + batch.rows[i] * columns_;
    double* sum = sums_.data() + block * columns_;
    double square = 0;
    for (std::int64_t c = 0; c < columns_; ++c) {
      const double change = static_cast<double>(after[c]) - before[c];
      sum[c] += change;
      square += change * (static_cast<double>(after[c]) + before[c]);
      before[c] = after[c];
    }
    squares_[static_cast<std::size_t>(block)] += square;
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
    const auto b = static_cast<std::size_t>(block);
    const double share = correlation_[b] / along_[b];
    const double* sum = sums_.data() + block * columns_;
    const double* in_batch = batch_sums_.data() + block * columns_;
    for (std::int64_t c = 0; c < columns_; ++c, ++u, ++result) {
      // All rows of the block together, as remembered or as the batch suggests.
      double all = 0;
      if (memory_share > 0) all += memory_share * sum[c];
      if (memory_share < 1) {
        all += (1 - memory_share) * (*u + weight * (in_batch[c] - *u));
      }
      *result = static_cast<Real>((*u - share * all) / across_[b]);
    }
  }
}

void BlockReplica::gradient(double* result) const {
  std::fill_n(result, arrays_.parameters, 0);
  const double columns = static_cast<double>(columns_);
  for (std::size_t b = 0; b < correlation_.size(); ++b) {
    const auto k = arrays_.parameter_of_block[b];
    if (k < 0) continue;
    const double others = arrays_.other_rows[b];
    const double* sum = sums_.data() + b * static_cast<std::size_t>(columns_);
    double along = 0;
    for (std::int64_t c = 0; c < columns_; ++c) along += sum[c] * sum[c];
    along /= others + 1;
    const double across = std::max(0.0, squares_[b] - along);
    result[k] += 0.5 * (others / along_[b] * (columns - along / along_[b]) -
                        (columns * others - across / across_[b]) / across_[b]);
  }
}

template <typename Real>
void BlockReplica::pairs_gradient(const BatchRows<Real>& batch, double* result) {
  std::fill_n(result, arrays_.parameters, 0);
  const double columns = static_cast<double>(columns_);
  for (std::size_t b = 0; b < correlation_.size(); ++b) {
    const auto k = arrays_.parameter_of_block[b];
    if (k < 0) continue;
    result[k] +=
        0.5 * columns * arrays_.other_rows[b] * (1 / along_[b] - 1 / across_[b]);
  }
  sum_batch(batch);
  const double weight = pair_weight(batch.count);
  const double scale =
      static_cast<double>(arrays_.rows()) / static_cast<double>(batch.count);
  const Real* u = batch.latents;
  for (std::int64_t i = 0; i < batch.count; ++i, u += columns_) {
    const auto block = arrays_.block_of_row[static_cast<std::size_t>(batch.rows[i])];
    const auto b = static_cast<std::size_t>(block);
    const auto k = arrays_.parameter_of_block[b];
    if (k < 0) continue;
    const double* in_batch = batch_sums_.data() + block * columns_;
    double square = 0, product = 0;
    for (std::int64_t c = 0; c < columns_; ++c) {
      square += static_cast<double>(u[c]) * u[c];
      product += u[c] * (in_batch[c] - u[c]);
    }
    // Derivatives of the elements of C^-1 in the correlation.
    const double rho = correlation_[b], both = along_[b] * across_[b];
    const double off_diagonal =
        -(1 + arrays_.other_rows[b] * rho * rho) / (both * both);
    const double diagonal = 1 / (across_[b] * across_[b]) + off_diagonal;
    result[k] += 0.5 * scale * (diagonal * square + weight * off_diagonal * product);
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
