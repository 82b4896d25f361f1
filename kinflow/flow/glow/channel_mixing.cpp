// Channel mixing by triangular factors, and its gradient.
#include "kinflow/flow/glow/channel_mixing.h"

#include <vector>

#include "kinflow/array/array.h"
#include "kinflow/array/array_numbers.h"

namespace kinflow {
namespace {

Array random_orthogonal(std::int64_t size, Random& random) {
  return std::get<0>(nd::linalg_qr(normal_numbers({size, size}, random)));
}

Array diagonals(const Array& matrices) { return matrices.diagonal(0, 1, 2); }

}  // namespace

struct ChannelMixing::Factors {
  Array lower, upper;  // [S, c, c]
};

ChannelMixing::ChannelMixing(const Array& packed, std::uint64_t seed,
                             std::int64_t scale) {
  const std::int64_t steps = packed.size(0), channels = packed.size(1);
  std::vector<Array> permutations, signs, learned;
  for (std::int64_t step = 0; step < steps; ++step) {
    Random random(seed, stream(Purpose::columns, scale * steps + step));
    const auto [p, l, u] = nd::linalg_lu(random_orthogonal(channels, random));
    const auto scales = u.diagonal();
    permutations.push_back(p);
    signs.push_back(scales.sign());
    learned.push_back(l.tril(-1) + u.triu(1) + scales.abs().log().diag());
  }
  packed.copy_(nd::stack(learned));
  permutation_ = nd::stack(permutations).to(packed.options());
  signs_ = nd::stack(signs).to(packed.options());
}

ChannelMixing::Factors ChannelMixing::factors(const Array& packed) const {
  return {.lower = packed.tril(-1) + nd::eye(packed.size(1), packed.options()),
          .upper = packed.triu(1) + nd::diag_embed(signs_ * diagonals(packed).exp())};
}

ChannelMaps ChannelMixing::maps(const Array& packed,
                                const Array& activation_norm) const {
  const auto [lower, upper] = factors(packed);
  ChannelMaps maps{.matrix = nd::bmm(permutation_, nd::bmm(lower, upper)),
                   .offset = {},
                   .log_abs_det = diagonals(packed).sum(1)};
  if (!activation_norm.defined()) return maps;
  const auto parts = activation_norm.chunk(2, 1);
  maps.matrix = maps.matrix * parts[0].exp().unsqueeze(2);
  maps.offset = nd::bmm(parts[1].unsqueeze(1), maps.matrix).squeeze(1);
  maps.log_abs_det = maps.log_abs_det + parts[0].sum(1);
  return maps;
}

void ChannelMixing::backward(const Array& packed, const Array& activation_norm,
                             const Array& matrix_slopes, const Array& offset_slopes,
                             double log_abs_det_slope, Array packed_gradient,
                             Array activation_norm_gradient) const {
  auto slopes = matrix_slopes;
  if (activation_norm.defined()) {
    const auto matrix = maps(packed, activation_norm).matrix;
    const auto parts = activation_norm.chunk(2, 1);
    slopes = slopes + parts[1].unsqueeze(2) * offset_slopes.unsqueeze(1);
    const auto of_scales = (slopes * matrix).sum(2) + log_abs_det_slope;
    const auto of_shifts = nd::bmm(matrix, offset_slopes.unsqueeze(2)).squeeze(2);
    activation_norm_gradient.copy_(nd::cat({of_scales, of_shifts}, 1));
    slopes = slopes * parts[0].exp().unsqueeze(2);
  }
  const auto [lower, upper] = factors(packed);
  const auto of_product = nd::bmm(permutation_.transpose(1, 2), slopes);
  const auto of_upper = nd::bmm(lower.transpose(1, 2), of_product);
  const auto of_scales =
      diagonals(of_upper) * signs_ * diagonals(packed).exp() + log_abs_det_slope;
  packed_gradient.copy_(nd::bmm(of_product, upper.transpose(1, 2)).tril(-1) +
                        of_upper.triu(1) + nd::diag_embed(of_scales));
}

Array ChannelMixing::fixed() const {
  return nd::cat({permutation_, signs_.unsqueeze(1)}, 1);
}

void ChannelMixing::set_fixed(const Array& fixed) {
  const std::int64_t channels = fixed.size(2);
  permutation_.copy_(fixed.narrow(1, 0, channels));
  signs_.copy_(fixed.select(1, channels));
}

}  // namespace kinflow
