// A flow on the CPU by fused kernels: every layer's conditioner, map and
// log-determinant in one pass over tiles of rows that stay in the cache, with gradients
// derived by hand.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "kinflow/core/aligned_vector.h"
#include "kinflow/core/instruction_set.h"
#include "kinflow/core/workers.h"
#include "kinflow/flow/cpu/kernel_plan.h"
#include "kinflow/flow/flow_plan.h"

namespace kinflow {

/// Rows of a matrix with p columns and, where the flow has context, one with c.
template <typename Real>
struct RowSet {
  const Real* data = nullptr;     ///< [.][p]
  const Real* context = nullptr;  ///< [.][c] or null
  std::int64_t count = 0;
  const std::int64_t* rows = nullptr;  ///< [count], or null for the first `count` rows
};

/// The kernels for one architecture. Has no weights: `values` are those of one replica,
/// in the order of Flow's buffer. Every function may be called by many threads at once.
template <typename Real>
class FusedFlow {
 public:
  explicit FusedFlow(const FlowPlan& plan, InstructionSet set = InstructionSet::best);
  ~FusedFlow();
  FusedFlow(const FusedFlow&) = delete;
  FusedFlow& operator=(const FusedFlow&) = delete;

  const FlowPlan& plan() const;
  /// Of the kernels in use: "portable", "avx2" or "avx512".
  std::string instruction_set() const;

  /// Latents [count][p] and log |det| [count] of rows.
  void to_latent(const Real* values, const RowSet<Real>& rows, Real* latents,
                 Real* log_abs_det, Workers& workers) const;
  /// Data [count][p] from latents, which stand in `rows.data`.
  void from_latent(const Real* values, const RowSet<Real>& rows, Real* data,
                   Workers& workers) const;

 private:
  template <typename>
  friend class FusedBatch;
  struct Kernels;
  template <typename Map>
  void for_tiles(const RowSet<Real>& rows, Workers& workers, const Map& map) const;

  std::unique_ptr<const Kernels> kernels_;
};

/// One training batch of one replica: to_latent() keeps what gradient() needs. After
/// the first batch of a size, or reserve(), nothing is allocated. The result does not
/// depend on the number of threads.
template <typename Real>
class FusedBatch {
 public:
  /// `flow` must outlive the batch.
  explicit FusedBatch(const FusedFlow<Real>& flow) : flow_(flow) {}

  /// Makes room for batches of up to so many rows.
  void reserve(std::int64_t rows, std::int64_t threads);
  void to_latent(const Real* values, const RowSet<Real>& rows, Real* latents,
                 Real* log_abs_det, Workers& workers);
  /// Gradient [P] in the values of
  ///     sum over rows of latents . latent_slopes + log_abs_det_slope * log_abs_det,
  /// of the rows and values of the last to_latent().
  /// @param latent_slopes  [count][p]
  void gradient(const Real* values, const Real* latent_slopes, Real log_abs_det_slope,
                Real* gradient, Workers& workers);

 private:
  const FusedFlow<Real>& flow_;
  std::int64_t count_ = 0;
  AlignedVector<Real> workspace_;  // of all tiles
  AlignedVector<Real> scratch_;    // of each thread
  AlignedVector<Real> partial_;    // gradients of groups of tiles, but for the first
};

/// One step of Adamax.
template <typename Real>
void adamax_step(const AdamaxStep<Real>& step);

template <typename Real>
bool all_finite(const Real* numbers, std::int64_t count);

}  // namespace kinflow
