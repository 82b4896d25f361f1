// A Glow flow by plain tensor operations with recorded gradients: what the passes by
// hand are compared with.
#pragma once

#include <ATen/ATen.h>

#include <string>
#include <vector>

#include "kinflow/flow/glow/glow_flow.h"

namespace kinflow::test {

inline at::Tensor slot_of(const at::Tensor& values, const MatrixSlot& slot) {
  return values.narrow(0, slot.offset, slot.count()).view({slot.rows, slot.columns});
}

// A convolution of [b, c, h, w] with weights [inputs, taps * outputs].
inline at::Tensor convolve(const at::Tensor& images, const at::Tensor& weight,
                           const at::Tensor& bias, std::int64_t side) {
  const std::int64_t outputs = bias.numel();
  const auto kernel = weight.view({weight.size(0), side, side, outputs})
                          .permute({3, 0, 1, 2})
                          .contiguous();
  return at::conv2d(images, kernel, bias.flatten(), 1, side / 2);
}

inline at::Tensor network_oracle(const at::Tensor& values, const DenseSlots& slots,
                                 const at::Tensor& images) {
  const auto of = [&](const MatrixSlot& slot) { return slot_of(values, slot); };
  const auto start = convolve(images, of(slots.first), of(slots.first_bias), 1);
  auto features = start;
  for (std::size_t layer = 0; layer < slots.mixing.size(); ++layer) {
    const auto hidden = at::relu(
        convolve(features, of(slots.mixing[layer]), of(slots.mixing_bias[layer]), 1));
    const auto made = at::relu(convolve(hidden, of(slots.convolution[layer]),
                                        of(slots.convolution_bias[layer]), 3));
    features = at::cat({features, made}, 1);
  }
  const auto gates =
      convolve(features, of(slots.gate), of(slots.gate_bias), 1).chunk(3, 1);
  return convolve(start + gates[0] + gates[1] * at::sigmoid(gates[2]), of(slots.last),
                  of(slots.last_bias), 1);
}

inline at::Tensor squeeze_oracle(const at::Tensor& images) {
  const auto s = images.sizes();
  return images.view({s[0], s[1], s[2] / 2, 2, s[3] / 2, 2})
      .permute({0, 1, 3, 5, 2, 4})
      .reshape({s[0], 4 * s[1], s[2] / 2, s[3] / 2});
}

/// Latents and log-determinants as GlowFlow::to_latent() gives them, as functions of
/// the images [b, C, H, W] and of the values [P].
inline LatentResult glow_oracle(const GlowFlow& flow, const at::Tensor& values,
                                const at::Tensor& images) {
  const auto& layout = flow.layout();
  const std::int64_t count = images.size(0);
  const auto flat = [&](const at::Tensor& part) {
    return part.permute({0, 2, 3, 1}).reshape({count, -1});
  };
  std::vector<at::Tensor> parts;
  auto now = images;
  auto log_abs_det = at::zeros({count}, values.options());
  for (std::size_t s = 0; s < layout.scales.size(); ++s) {
    const auto& scale = layout.scales[s];
    now = squeeze_oracle(now);
    if (scale.factored > 0) {
      parts.push_back(flat(now.narrow(1, scale.channels, scale.factored)));
      now = now.narrow(1, 0, scale.channels);
    }
    const auto packed = flow.packed_mixing(values, s);
    const auto fixed = flow.mixing()[s].fixed();
    const auto norm = flow.activation_norm(values, s);
    for (std::int64_t step = 0; step < packed.size(0); ++step) {
      if (norm.defined()) {
        const auto halves = norm[step].chunk(2);
        now =
            (now + halves[1].view({1, -1, 1, 1})) * halves[0].exp().view({1, -1, 1, 1});
        log_abs_det = log_abs_det + halves[0].sum() * (scale.height * scale.width);
      }
      const auto square = packed[step];
      const auto lower = square.tril(-1) + at::eye(scale.channels, square.options());
      const auto upper = square.triu(1) + at::diag(fixed[step][scale.channels] *
                                                   square.diagonal().exp());
      const auto matrix =
          at::mm(fixed[step].narrow(0, 0, scale.channels), at::mm(lower, upper));
      now = at::einsum("bchw,cd->bdhw", {now, matrix});
      log_abs_det =
          log_abs_det + std::get<1>(at::slogdet(matrix)) * (scale.height * scale.width);
      const auto halves = now.chunk(2, 1);
      const auto changes =
          network_oracle(values, layout.networks[s][step], halves[0]).chunk(2, 1);
      const auto log = 2 * at::tanh(changes[0] / 2);
      now = at::cat({halves[0], changes[1] + log.exp() * halves[1]}, 1);
      log_abs_det = log_abs_det + log.sum({1, 2, 3});
    }
  }
  parts.push_back(flat(now));
  return {.latents = at::cat(parts, 1), .log_abs_det = log_abs_det};
}

}  // namespace kinflow::test
