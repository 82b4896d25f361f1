// The kernels of a flow for one instruction set, which the build chooses by the
// compiler's flags, KINFLOW_KERNELS (the name) and KINFLOW_VECTOR_BYTES.
#include <cmath>
#include <utility>

#include "kinflow/flow/cpu/column_maps.h"
#include "kinflow/flow/cpu/kernel_plan.h"
#include "kinflow/flow/cpu/products.h"

namespace kinflow {
namespace {

/// SiLU in place and, with Keep, its derivative, of [features][tile].
template <bool Keep, typename Real>
KINFLOW_OWN_REGISTERS void activate(Real* values, Real* slopes, std::int64_t features,
                                    std::int64_t vectors) {
  for (std::int64_t f = 0; f < features; ++f) {
    for (std::int64_t v = 0; v < vectors; ++v) {
      const std::int64_t at = f * kTileRows + v * kLanes<Real>;
      const Vec<Real> z = load(values + at);
      const Vec<Real> share = sigmoid<Real>(z);
      const Vec<Real> result = z * share;
      store(values + at, result);
      if (Keep) store(slopes + at, share + result * (Real(1) - share));
    }
  }
}

/// The conditioner: from the inputs at their place in the workspace to the parameters
/// of the map at theirs.
template <bool Keep, typename Real>
void run_conditioner(const KernelCoupling& coupling, const Real* values,
                     std::int64_t vectors, Real* workspace) {
  const Real* source = workspace + coupling.inputs;
  for (std::int64_t k = 0; k < coupling.linear_count; ++k) {
    const KernelLinear& linear = coupling.linears[k];
    Real* result = workspace + linear.result;
    apply_linear(linear, values, source, vectors, result);
    if (k + 1 < coupling.linear_count) {
      activate<Keep>(result, workspace + linear.slope, linear.outputs, vectors);
    }
    source = result;
  }
}

/// What the conditioner sees: the unchanged columns, clamped for splines, and context.
template <typename Real>
void gather_inputs(const KernelPlan& plan, const KernelCoupling& coupling,
                   const Tile<Real>& tile, Real* inputs) {
  const Real bound = static_cast<Real>(plan.bound);
  for (std::int64_t i = 0; i < coupling.unchanged_count; ++i) {
    const Real* column = tile.columns + coupling.unchanged[i] * kTileRows;
    for (std::int64_t r = 0; r < kTileRows; r += kLanes<Real>, inputs += kLanes<Real>) {
      const Vec<Real> x = load(column + r);
      store(inputs, plan.is_spline ? clamp(x, -bound, bound) : x);
    }
  }
  if (plan.context > 0) {
    std::memcpy(inputs, tile.context,
                static_cast<std::size_t>(plan.context * kTileRows) * sizeof(Real));
  }
}

template <typename Real>
void normalize(const KernelPlan& plan, const KernelCoupling& coupling,
               const Real* values, const Tile<Real>& tile, Real* normed) {
  Real total = 0;
  for (std::int64_t c = 0; c < plan.dimension; ++c) {
    const Real log_scale = values[coupling.log_scale + c];
    const Real scale = std::exp(log_scale), shift = values[coupling.shift + c];
    total += log_scale;
    for (std::int64_t r = c * kTileRows; r < (c + 1) * kTileRows; r += kLanes<Real>) {
      const Vec<Real> x = load(tile.columns + r);
      store(normed + r, x);
      store(tile.columns + r, x * scale + shift);
    }
  }
  for (std::int64_t r = 0; r < kTileRows; r += kLanes<Real>) {
    store(tile.log_abs_det + r, load(tile.log_abs_det + r) + total);
  }
}

template <bool Keep, typename Real>
void coupling_to_latent(const KernelPlan& plan, const KernelCoupling& coupling,
                        const Real* values, const Tile<Real>& tile, Real* workspace) {
  const std::int64_t vectors = used_vectors<Real>(tile.rows);
  gather_inputs(plan, coupling, tile, workspace + coupling.inputs);
  run_conditioner<Keep>(coupling, values, vectors, workspace);
  Real* parameters = workspace + coupling.linears[coupling.linear_count - 1].result;
  Real* saved = workspace + coupling.saved;
  const Real bound = static_cast<Real>(plan.bound);
  for (std::int64_t m = 0; m < coupling.mapped_count; ++m) {
    Real* column = tile.columns + coupling.mapped[m] * kTileRows;
    for (std::int64_t v = 0; v < vectors; ++v) {
      const std::int64_t r = v * kLanes<Real>;
      const Vec<Real> x = load(column + r);
      const Vec<Real> y =
          plan.is_spline
              ? spline_to_latent<Real>({parameters + r, plan.bins}, bound, x, saved + r,
                                       tile.log_abs_det + r)
              : affine_to_latent(parameters + r, x, saved + r, tile.log_abs_det + r);
      store(column + r, y);
    }
    parameters += plan.parameters_per_column * kTileRows;
    saved += kSaved * kTileRows;
  }
  if (coupling.shift >= 0) {
    normalize(plan, coupling, values, tile, workspace + coupling.normed);
  }
}

/// to += weight * from, of one column of the tile.
template <typename Real>
inline void add_column(Real weight, const Real* from, Real* to) {
  for (std::int64_t r = 0; r < kTileRows; r += kLanes<Real>) {
    store(to + r, load(to + r) + weight * load(from + r));
  }
}

template <typename Real>
inline void scale_column(Real weight, Real* column) {
  for (std::int64_t r = 0; r < kTileRows; r += kLanes<Real>) {
    store(column + r, weight * load(column + r));
  }
}

template <typename Real>
inline void copy_columns(const KernelPlan& plan, const Real* from, Real* to) {
  std::memcpy(to, from,
              static_cast<std::size_t>(plan.dimension * kTileRows) * sizeof(Real));
}

/// The last linear map in place: first U, then L, in orders in which no column is
/// overwritten before it has been read. `saved` gets what each was given; null: nothing
/// is kept.
template <typename Real>
void map_latents(const KernelPlan& plan, const Real* values, const Tile<Real>& tile,
                 Real* saved) {
  const std::int64_t p = plan.dimension;
  const Real* factors = values + plan.latent_map;
  const auto column = [&](std::int64_t c) { return tile.columns + c * kTileRows; };
  if (saved != nullptr) copy_columns(plan, tile.columns, saved);
  Real total = 0;
  for (std::int64_t i = 0; i < p; ++i) {
    total += factors[i * p + i];
    scale_column(std::exp(factors[i * p + i]), column(i));
    for (std::int64_t j = i + 1; j < p; ++j) {
      add_column(factors[i * p + j], column(j), column(i));
    }
  }
  if (saved != nullptr) copy_columns(plan, tile.columns, saved + p * kTileRows);
  for (std::int64_t i = p - 1; i >= 0; --i) {
    for (std::int64_t j = 0; j < i; ++j) {
      add_column(factors[i * p + j], column(j), column(i));
    }
  }
  for (std::int64_t r = 0; r < kTileRows; r += kLanes<Real>) {
    store(tile.log_abs_det + r, load(tile.log_abs_det + r) + total);
  }
}

template <typename Real>
void unmap_latents(const KernelPlan& plan, const Real* values, const Tile<Real>& tile) {
  const std::int64_t p = plan.dimension;
  const Real* factors = values + plan.latent_map;
  const auto column = [&](std::int64_t c) { return tile.columns + c * kTileRows; };
  for (std::int64_t i = 0; i < p; ++i) {
    for (std::int64_t j = 0; j < i; ++j) {
      add_column(-factors[i * p + j], column(j), column(i));
    }
  }
  for (std::int64_t i = p - 1; i >= 0; --i) {
    for (std::int64_t j = i + 1; j < p; ++j) {
      add_column(-factors[i * p + j], column(j), column(i));
    }
    scale_column(std::exp(-factors[i * p + i]), column(i));
  }
}

template <typename Real>
void to_latent(const KernelPlan& plan, const Real* values, Tile<Real> tile,
               Real* workspace, bool keep) {
  for (std::int64_t i = 0; i < plan.coupling_count; ++i) {
    const KernelCoupling& coupling = plan.couplings[i];
    if (keep) {
      coupling_to_latent<true>(plan, coupling, values, tile,
                               workspace + i * plan.workspace);
    } else {
      coupling_to_latent<false>(plan, coupling, values, tile, workspace);
    }
  }
  if (plan.latent_map < 0) return;
  map_latents(plan, values, tile,
              keep ? workspace + plan.coupling_count * plan.workspace : nullptr);
}

template <typename Real>
void from_latent(const KernelPlan& plan, const Real* values, Tile<Real> tile,
                 Real* workspace) {
  const std::int64_t vectors = used_vectors<Real>(tile.rows);
  const Real bound = static_cast<Real>(plan.bound);
  if (plan.latent_map >= 0) unmap_latents(plan, values, tile);
  for (std::int64_t i = plan.coupling_count - 1; i >= 0; --i) {
    const KernelCoupling& coupling = plan.couplings[i];
    if (coupling.shift >= 0) {
      for (std::int64_t c = 0; c < plan.dimension; ++c) {
        const Real scale = std::exp(-values[coupling.log_scale + c]);
        const Real shift = values[coupling.shift + c];
        Real* column = tile.columns + c * kTileRows;
        for (std::int64_t r = 0; r < kTileRows; r += kLanes<Real>) {
          store(column + r, (load(column + r) - shift) * scale);
        }
      }
    }
    gather_inputs(plan, coupling, tile, workspace + coupling.inputs);
    run_conditioner<false>(coupling, values, vectors, workspace);
    Real* parameters = workspace + coupling.linears[coupling.linear_count - 1].result;
    for (std::int64_t m = 0; m < coupling.mapped_count; ++m) {
      Real* column = tile.columns + coupling.mapped[m] * kTileRows;
      for (std::int64_t v = 0; v < vectors; ++v) {
        const std::int64_t r = v * kLanes<Real>;
        const Vec<Real> y = load(column + r);
        store(column + r, plan.is_spline ? spline_from_latent<Real>(
                                               {parameters + r, plan.bins}, bound, y)
                                         : affine_from_latent(parameters + r, y));
      }
      parameters += plan.parameters_per_column * kTileRows;
    }
  }
}

template <typename Real>
Real sum_of(const Vec<Real>& vector) {
  Real numbers[kLanes<Real>];
  store(numbers, vector);
  Real total = 0;
  for (const Real number : numbers) total += number;
  return total;
}

/// Gradients of ActNorm; the tile's columns become the gradient in what it was given.
template <typename Real>
void normalize_gradient(const KernelPlan& plan, const KernelCoupling& coupling,
                        const Real* values, const Tile<Real>& tile, const Real* normed,
                        Real* gradient) {
  Vec<Real> log_slopes = {};
  for (std::int64_t r = 0; r < kTileRows; r += kLanes<Real>) {
    log_slopes += load(tile.log_abs_det + r);
  }
  const Real log_slope = sum_of<Real>(log_slopes);
  for (std::int64_t c = 0; c < plan.dimension; ++c) {
    const Real scale = std::exp(values[coupling.log_scale + c]);
    Vec<Real> shifts = {}, scales = {};
    // Rows that are not in use have gradient 0, but may hold numbers that are not
    // finite.
    for (std::int64_t r = c * kTileRows; r < c * kTileRows + tile.rows;
         r += kLanes<Real>) {
      const Vec<Real> g = load(tile.columns + r);
      shifts += g;
      scales += g * load(normed + r);
      store(tile.columns + r, g * scale);
    }
    gradient[coupling.log_scale + c] += sum_of<Real>(scales) * scale + log_slope;
    gradient[coupling.shift + c] += sum_of<Real>(shifts);
  }
}

/// From the gradient in the parameters of the map, in their place, to the gradients in
/// the conditioner's weights and, added to the tile's columns, in the unchanged
/// columns.
template <typename Real>
void conditioner_gradient(const KernelPlan& plan, const KernelCoupling& coupling,
                          const Real* values, const Tile<Real>& tile, Real* workspace,
                          Real* scratch, Real* gradient) {
  const std::int64_t vectors = used_vectors<Real>(tile.rows);
  const std::int64_t array = plan.widest * kTileRows;
  Real* transposed = scratch;
  Real* slopes = workspace + coupling.linears[coupling.linear_count - 1].result;
  for (std::int64_t k = coupling.linear_count - 1; k >= 0; --k) {
    const KernelLinear& linear = coupling.linears[k];
    const Real* source =
        workspace + (k > 0 ? coupling.linears[k - 1].result : coupling.inputs);
    transpose_tile(slopes, linear.outputs, vectors * kLanes<Real>, transposed);
    add_weight_gradient(linear, source, transposed, tile.rows, gradient,
                        gradient + plan.parameters);
    if (k == 0) break;
    const Real* activation = workspace + coupling.linears[k - 1].slope;
    Real* next = scratch + array * (1 + k % 2);
    input_gradient(linear, values, slopes, linear.inputs, vectors,
                   [&](std::int64_t at, const Vec<Real>& total) {
                     store(next + at, total * load(activation + at));
                   });
    slopes = next;
  }
  if (coupling.unchanged_count == 0) return;
  const Real bound = static_cast<Real>(plan.bound);
  const Real* inputs = workspace + coupling.inputs;
  input_gradient(
      coupling.linears[0], values, slopes, coupling.unchanged_count, vectors,
      [&](std::int64_t at, const Vec<Real>& total) {
        const std::int64_t column = coupling.unchanged[at / kTileRows];
        Real* to = tile.columns + column * kTileRows + at % kTileRows;
        const Vec<Real> x = load(inputs + at);
        const auto inside = is_inside(x, bound);
        store(to, load(to) + (plan.is_spline ? (inside ? total : Vec<Real>{}) : total));
      });
}

/// The sum over the rows in use of the product of two columns; unused rows may hold
/// numbers that are not finite.
template <typename Real>
inline Real product_of(const Real* a, const Real* b, std::int64_t rows) {
  Vec<Real> total = {};
  for (std::int64_t r = 0; r < rows; r += kLanes<Real>) {
    total += load(a + r) * load(b + r);
  }
  return sum_of<Real>(total);
}

/// Gradients of the last linear map; the tile's columns become the gradient in what it
/// was given.
template <typename Real>
void map_gradient(const KernelPlan& plan, const Real* values, const Tile<Real>& tile,
                  const Real* saved, Real* gradient) {
  const std::int64_t p = plan.dimension;
  const Real* factors = values + plan.latent_map;
  Real* slopes = gradient + plan.latent_map;
  const auto column = [&](std::int64_t c) { return tile.columns + c * kTileRows; };
  const Real* between = saved + p * kTileRows;
  for (std::int64_t j = 0; j < p; ++j) {
    for (std::int64_t i = j + 1; i < p; ++i) {
      slopes[i * p + j] += product_of(column(i), between + j * kTileRows, tile.rows);
      add_column(factors[i * p + j], column(i), column(j));
    }
  }
  Vec<Real> log_slopes = {};
  for (std::int64_t r = 0; r < kTileRows; r += kLanes<Real>) {
    log_slopes += load(tile.log_abs_det + r);
  }
  const Real log_slope = sum_of<Real>(log_slopes);
  for (std::int64_t j = p - 1; j >= 0; --j) {
    const Real scale = std::exp(factors[j * p + j]);
    slopes[j * p + j] +=
        scale * product_of(column(j), saved + j * kTileRows, tile.rows) + log_slope;
    for (std::int64_t i = j + 1; i < p; ++i) {
      slopes[j * p + i] += product_of(column(j), saved + i * kTileRows, tile.rows);
    }
    scale_column(scale, column(j));
    for (std::int64_t i = 0; i < j; ++i) {
      add_column(factors[i * p + j], column(i), column(j));
    }
  }
}

template <typename Real>
void backward(const KernelPlan& plan, const Real* values, Tile<Real> tile,
              Real* all_workspace, Real* scratch, Real* gradient) {
  const std::int64_t vectors = used_vectors<Real>(tile.rows);
  const Real bound = static_cast<Real>(plan.bound);
  if (plan.latent_map >= 0) {
    map_gradient(plan, values, tile,
                 all_workspace + plan.coupling_count * plan.workspace, gradient);
  }
  for (std::int64_t i = plan.coupling_count - 1; i >= 0; --i) {
    const KernelCoupling& coupling = plan.couplings[i];
    Real* workspace = all_workspace + i * plan.workspace;
    if (coupling.shift >= 0) {
      normalize_gradient(plan, coupling, values, tile, workspace + coupling.normed,
                         gradient);
    }
    Real* parameters = workspace + coupling.linears[coupling.linear_count - 1].result;
    const Real* saved = workspace + coupling.saved;
    for (std::int64_t m = 0; m < coupling.mapped_count; ++m) {
      Real* column = tile.columns + coupling.mapped[m] * kTileRows;
      for (std::int64_t v = 0; v < vectors; ++v) {
        const std::int64_t r = v * kLanes<Real>;
        const Vec<Real> slope = load(column + r);
        const Vec<Real> log_slope = load(tile.log_abs_det + r);
        store(column + r,
              plan.is_spline
                  ? spline_gradient<Real>({parameters + r, plan.bins}, bound, saved + r,
                                          slope, log_slope)
                  : affine_gradient(parameters + r, saved + r, slope, log_slope));
      }
      parameters += plan.parameters_per_column * kTileRows;
      saved += kSaved * kTileRows;
    }
    conditioner_gradient(plan, coupling, values, tile, workspace, scratch, gradient);
  }
}

/// One step of Adamax on a number or a vector of them, all in place.
template <typename Real, typename Number>
inline void adamax_update(const AdamaxStep<Real>& step, const Number& gradient,
                          const Number& decays, Number& value, Number& moment,
                          Number& norm) {
  const Number slope = gradient + step.weight_decay * decays * value;
  const Number size = larger(slope, Number(-slope)) + Real(kAdamaxEpsilon);
  moment += Real(1 - kAdamaxFirstDecay) * (slope - moment);
  norm = larger(Number(norm * Real(kAdamaxNormDecay)), size);
  value -= step.rate * moment / norm;
}

template <typename Real>
void adamax(const AdamaxStep<Real>& step) {
  std::int64_t i = 0;
  for (; i + kLanes<Real> <= step.count; i += kLanes<Real>) {
    Vec<Real> value = load(step.values + i), moment = load(step.first_moment + i),
              norm = load(step.infinity_norm + i);
    adamax_update(step, load(step.gradient + i), load(step.decays + i), value, moment,
                  norm);
    store(step.values + i, value);
    store(step.first_moment + i, moment);
    store(step.infinity_norm + i, norm);
  }
  for (; i < step.count; ++i) {
    adamax_update(step, step.gradient[i], step.decays[i], step.values[i],
                  step.first_moment[i], step.infinity_norm[i]);
  }
}

template <typename Real>
bool all_finite(const Real* numbers, std::int64_t count) {
  // A number that is not finite makes the sum of the differences not 0.
  Vec<Real> sum = {};
  Real rest = 0;
  std::int64_t i = 0;
  for (; i + kLanes<Real> <= count; i += kLanes<Real>) {
    const Vec<Real> some = load(numbers + i);
    sum += some - some;
  }
  for (; i < count; ++i) rest += numbers[i] - numbers[i];
  return sum_of<Real>(sum) + rest == 0;
}

template <typename Real>
constexpr FlowKernels<Real> kernels(const char* name) {
  return {name,           to_latent<Real>, from_latent<Real>,
          backward<Real>, adamax<Real>,    all_finite<Real>};
}

}  // namespace

#define KINFLOW_TEXT(set) KINFLOW_TEXT_OF(set)
#define KINFLOW_TEXT_OF(set) #set

extern const FlowKernels<float> KINFLOW_TABLE(float_kernels_, KINFLOW_KERNELS);
extern const FlowKernels<double> KINFLOW_TABLE(double_kernels_, KINFLOW_KERNELS);
const FlowKernels<float> KINFLOW_TABLE(float_kernels_, KINFLOW_KERNELS) =
    kernels<float>(KINFLOW_TEXT(KINFLOW_KERNELS));
const FlowKernels<double> KINFLOW_TABLE(double_kernels_, KINFLOW_KERNELS) =
    kernels<double>(KINFLOW_TEXT(KINFLOW_KERNELS));

}  // namespace kinflow
