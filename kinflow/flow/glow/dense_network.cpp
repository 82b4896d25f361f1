// Forward and backward passes of a gated dense block.
#include "kinflow/flow/glow/dense_network.h"

#include "kinflow/array/array.h"
#include "kinflow/flow/glow/kernels_of.h"

namespace kinflow {
namespace {

Array view(const Array& buffer, const MatrixSlot& slot) {
  return buffer.narrow(0, slot.offset, slot.count()).view({slot.rows, slot.columns});
}

nd::ScalarType bias_type(const Array& like) {
  return like.scalar_type() == nd::kDouble ? nd::kDouble : nd::kFloat;
}

Array sums_of(const DenseWorkspace& workspace, const DenseSlots& slots,
              const MatrixSlot& bias) {
  return workspace.sums.narrow(1, bias.offset - slots.biases.offset, bias.columns);
}

Array first_columns(const Array& matrix, std::int64_t count) {
  return matrix.narrow(1, 0, count);
}

}  // namespace

DenseParameters::DenseParameters(const DenseSlots& shape, const Array& wide,
                                 const Array& all)
    : slots(shape),
      gate(view(wide, shape.gate)),
      first(view(all, shape.first)),
      last(view(all, shape.last)),
      first_bias(view(all, shape.first_bias)[0]),
      gate_bias(view(all, shape.gate_bias)[0]),
      last_bias(view(all, shape.last_bias)[0]),
      biases(view(all, shape.biases)[0]) {
  for (std::size_t layer = 0; layer < shape.mixing.size(); ++layer) {
    mixing.push_back(view(wide, shape.mixing[layer]));
    convolution.push_back(view(wide, shape.convolution[layer]));
    mixing_bias.push_back(view(all, shape.mixing_bias[layer])[0]);
    convolution_bias.push_back(view(all, shape.convolution_bias[layer])[0]);
  }
}

DenseActivations::DenseActivations(const DenseSlots& slots, std::int64_t pixels,
                                   const Array& like, bool keeps_hidden)
    : features(nd::empty({pixels, slots.width()}, like.options())),
      gates(nd::empty({pixels, 3 * slots.channels}, like.options())),
      summary(
          nd::empty({pixels, slots.channels}, like.options().dtype(bias_type(like)))) {
  const std::int64_t widest = slots.width_before(slots.layers - 1);
  Array shared;
  if (!keeps_hidden) shared = nd::empty({pixels * widest}, like.options());
  for (std::int64_t layer = 0; layer < slots.layers; ++layer) {
    const std::int64_t width = slots.width_before(layer);
    hidden.push_back(keeps_hidden
                         ? nd::empty({pixels, width}, like.options())
                         : shared.narrow(0, 0, pixels * width).view({pixels, width}));
  }
}

DenseWorkspace::DenseWorkspace(const DenseSlots& slots, std::int64_t pixels,
                               const Array& like, bool for_backward)
    : taps(nd::empty({pixels, 9 * slots.growth}, like.options())) {
  if (!for_backward) return;
  feature_slopes = nd::empty({pixels, slots.width()}, like.options());
  gate_slopes = nd::empty({pixels, 3 * slots.channels}, like.options());
  hidden_slopes =
      nd::empty({pixels * slots.width_before(slots.layers - 1)}, like.options());
  sums = nd::empty({glow_kernels_of(like.device()).sum_parts(), slots.biases.columns},
                   like.options().dtype(bias_type(like)));
}

Array dense_forward(const DenseParameters& parameters, const PixelGrid& grid,
                    const Array& input, DenseActivations& activations,
                    DenseWorkspace& workspace) {
  const auto& slots = parameters.slots;
  const auto& kernels = glow_kernels_of(input.device());
  const auto& features = activations.features;
  const auto start = first_columns(features, slots.channels);
  start.copy_(nd::addmm(parameters.first_bias, input, parameters.first));
  for (std::int64_t layer = 0; layer < slots.layers; ++layer) {
    auto& hidden = activations.hidden[layer];
    const std::int64_t width = slots.width_before(layer);
    nd::mm_out(hidden, first_columns(features, width), parameters.mixing[layer]);
    kernels.add_bias_and_rectify(view_of(hidden),
                                 view_of(parameters.mixing_bias[layer]));
    nd::mm_out(workspace.taps, hidden, parameters.convolution[layer]);
    kernels.gather_taps(grid, view_of(workspace.taps),
                        view_of(parameters.convolution_bias[layer]),
                        view_of(features.narrow(1, width, slots.growth)));
  }
  nd::mm_out(activations.gates, features, parameters.gate);
  kernels.gate(view_of(start), view_of(activations.gates),
               view_of(parameters.gate_bias), view_of(activations.summary));
  return nd::addmm(parameters.last_bias, activations.summary, parameters.last);
}

Array dense_backward(const DenseParameters& parameters, const PixelGrid& grid,
                     const Array& input, const Array& result_slopes,
                     const DenseActivations& activations, DenseWorkspace& workspace,
                     DenseParameters& gradient) {
  const auto& slots = parameters.slots;
  const auto& kernels = glow_kernels_of(input.device());
  const auto& features = activations.features;
  auto& feature_slopes = workspace.feature_slopes;

  nd::mm_out(gradient.last, activations.summary.t(), result_slopes);
  const auto summary_slopes = nd::mm(result_slopes, parameters.last.t());
  kernels.gate_backward(view_of(summary_slopes), view_of(activations.gates),
                        view_of(workspace.gate_slopes),
                        view_of(sums_of(workspace, slots, slots.gate_bias)));
  nd::mm_out(gradient.gate, features.t(), workspace.gate_slopes);
  nd::mm_out(feature_slopes, workspace.gate_slopes, parameters.gate.t());

  for (std::int64_t layer = slots.layers - 1; layer >= 0; --layer) {
    const std::int64_t width = slots.width_before(layer);
    const auto made = feature_slopes.narrow(1, width, slots.growth);
    kernels.rectify_backward(
        view_of(made), view_of(features.narrow(1, width, slots.growth)),
        view_of(sums_of(workspace, slots, slots.convolution_bias[layer])));
    kernels.spread_taps(grid, view_of(made), view_of(workspace.taps));
    const auto& hidden = activations.hidden[layer];
    nd::mm_out(gradient.convolution[layer], hidden.t(), workspace.taps);
    auto hidden_slopes = workspace.hidden_slopes.narrow(0, 0, grid.pixels() * width)
                             .view({grid.pixels(), width});
    nd::mm_out(hidden_slopes, workspace.taps, parameters.convolution[layer].t());
    kernels.rectify_backward(
        view_of(hidden_slopes), view_of(hidden),
        view_of(sums_of(workspace, slots, slots.mixing_bias[layer])));
    nd::mm_out(gradient.mixing[layer], first_columns(features, width).t(),
               hidden_slopes);
    auto seen = first_columns(feature_slopes, width);
    nd::addmm_out(seen, seen, hidden_slopes, parameters.mixing[layer].t());
  }

  kernels.add_and_sum(view_of(first_columns(feature_slopes, slots.channels)),
                      view_of(summary_slopes),
                      view_of(sums_of(workspace, slots, slots.first_bias)));
  nd::sum_out(gradient.biases, workspace.sums, {0});
  nd::sum_out(gradient.last_bias, result_slopes, {0});
  nd::mm_out(gradient.first, input.t(), summary_slopes);
  return nd::mm(summary_slopes, parameters.first.t());
}

}  // namespace kinflow
