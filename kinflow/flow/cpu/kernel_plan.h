// What the kernels of all instruction sets are given: a flow's plan without containers,
// the layout of their workspace, and the table of functions that each set fills.
#pragma once

#include <cstdint>

namespace kinflow {

/// Rows that a kernel works on at once. Arrays are [feature][kTileRows], so that a
/// vector holds rows and the work on a feature is the same for all of them.
inline constexpr std::int64_t kTileRows = 64;

/// A linear layer; offsets of weights are into one replica's values, the others into
/// the part of the workspace that belongs to the coupling, all in numbers.
struct KernelLinear {
  std::int64_t inputs, outputs;
  std::int64_t weight, bias;
  std::int64_t result;  ///< [outputs][tile]: after SiLU, or of the last layer as it is
  std::int64_t
      slope;  ///< [outputs][tile]: derivative of SiLU; unused in the last layer
};

struct KernelCoupling {
  const std::int64_t* unchanged;
  const std::int64_t* mapped;
  std::int64_t unchanged_count, mapped_count;
  const KernelLinear* linears;
  std::int64_t linear_count;
  std::int64_t log_scale, shift;  ///< of ActNorm, in the values; -1 without
  std::int64_t inputs;            ///< [unchanged + context][tile]
  std::int64_t saved;   ///< [mapped * kSaved][tile], what the map's gradient needs
  std::int64_t normed;  ///< [p][tile], what ActNorm was given
};

/// Numbers that the gradient of the map of one column needs besides the conditioner's
/// outputs, for the kind of map that needs most.
inline constexpr std::int64_t kSaved = 11;

struct KernelPlan {
  bool is_spline;
  std::int64_t dimension, context, bins, parameters_per_column;
  double bound;
  const KernelCoupling* couplings;
  std::int64_t coupling_count;
  std::int64_t workspace;   ///< numbers of one coupling's part
  std::int64_t widest;      ///< most features of any array
  std::int64_t parameters;  ///< P
  std::int64_t latent_map;  ///< of the last linear map, in the values; -1 without
};

/// Rows of a tile, feature by feature; `rows` are in use, the rest hold harmless
/// numbers.
template <typename Real>
struct Tile {
  Real* columns;        ///< [p][tile], changed in place
  const Real* context;  ///< [c][tile]
  Real* log_abs_det;    ///< [tile], added to
  std::int64_t rows;
};

/// Constants of Adamax (Kingma and Ba, 2015).
inline constexpr double kAdamaxFirstDecay = 0.9;
inline constexpr double kAdamaxNormDecay = 0.999;
inline constexpr double kAdamaxEpsilon = 1e-8;

template <typename Real>
struct AdamaxStep {
  Real* values;
  Real* first_moment;
  Real* infinity_norm;
  const Real* gradient;
  const Real* decays;  ///< 1 where weight decay applies
  std::int64_t count;
  Real rate;  ///< with the correction of the first steps
  Real weight_decay;
};

/// The kernels of one instruction set.
template <typename Real>
struct FlowKernels {
  const char* name;
  /// Data to latents. With `keep` every coupling has its own part of the workspace and
  /// leaves there what backward() needs, and the linear map 2 p [tile] after them;
  /// otherwise all share one part.
  void (*to_latent)(const KernelPlan& plan, const Real* values, Tile<Real> tile,
                    Real* workspace, bool keep);
  /// Latents to data; log_abs_det is not used.
  void (*from_latent)(const KernelPlan& plan, const Real* values, Tile<Real> tile,
                      Real* workspace);
  /// Adds to `gradient` [P] the gradient of a sum over rows in the values, after
  /// to_latent() of the tile. The tile's columns hold the gradient in the latents, its
  /// log_abs_det that in log_abs_det; both must be 0 in unused rows.
  /// @param scratch  3 * widest * kTileRows numbers
  void (*backward)(const KernelPlan& plan, const Real* values, Tile<Real> tile,
                   Real* workspace, Real* scratch, Real* gradient);
  void (*adamax)(const AdamaxStep<Real>& step);
  bool (*all_finite)(const Real* numbers, std::int64_t count);
};

}  // namespace kinflow
