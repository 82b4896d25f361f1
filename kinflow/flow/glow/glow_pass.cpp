// Forward, backward and inverse passes of a Glow flow.
#include "kinflow/flow/glow/glow_pass.h"

#include <stdexcept>

#include "kinflow/array/array.h"
#include "kinflow/flow/glow/kernels_of.h"

namespace kinflow {
namespace {

Array as_rows(const Array& images) { return images.reshape({-1, images.size(3)}); }

Array mix(const ChannelMaps& maps, std::int64_t step, const Array& input) {
  const auto matrix = maps.matrix.select(0, step);
  return maps.offset.defined() ? nd::addmm(maps.offset.select(0, step), input, matrix)
                               : nd::mm(input, matrix);
}

Array first_half(const Array& matrix) {
  return matrix.narrow(1, 0, matrix.size(1) / 2);
}

std::int64_t index(std::size_t step) { return static_cast<std::int64_t>(step); }

}  // namespace

GlowPass::GlowPass(const GlowFlow& flow, std::int64_t images, GlowPassOptions options)
    : flow_(flow), images_(images), options_(options) {
  const auto& layout = flow.layout();
  const auto& values = flow.values();
  const bool same_type = options.arithmetic == values.scalar_type();
  if (values.is_cpu() ? !same_type : values.scalar_type() != nd::kFloat) {
    throw std::logic_error("[GlowPass] expected weights in the type of the arithmetic");
  }
  wide_ = values.narrow(0, 0, layout.wide_count);
  if (!same_type) wide_ = wide_.to(options.arithmetic);
  if (keeps()) {
    gradient_ = nd::zeros_like(values);
    wide_gradient_ =
        same_type ? gradient_.narrow(0, 0, layout.wide_count) : nd::zeros_like(wide_);
  }
  log_abs_det_ = nd::empty({1, images}, values.options());

  for (std::size_t s = 0; s < layout.scales.size(); ++s) {
    const auto& shape = layout.scales[s];
    Scale scale{
        .grid = {.images = images, .height = shape.height, .width = shape.width}};
    const auto& networks = layout.networks[s];
    for (const auto& network : networks) {
      scale.networks.emplace_back(network, wide_, values);
      if (keeps()) scale.gradients.emplace_back(network, wide_gradient_, gradient_);
    }
    const bool all = options.keep == GlowPassOptions::Keep::activations;
    for (std::size_t step = 0; step < (all ? networks.size() : 1); ++step) {
      scale.activations.emplace_back(networks[step], scale.grid.pixels(), wide_,
                                     keeps());
    }
    scale.workspace = std::make_unique<DenseWorkspace>(
        networks.front(), scale.grid.pixels(), wide_, keeps());
    scale.steps.resize(networks.size());
    scales_.push_back(std::move(scale));
  }
}

GlowPass::~GlowPass() = default;

void GlowPass::refresh_wide() {
  if (options_.arithmetic != flow_.values().scalar_type()) {
    wide_.copy_(flow_.values().narrow(0, 0, flow_.layout().wide_count));
  }
}

Array GlowPass::enter_scale(std::size_t scale, const Array& images,
                            std::vector<Array>& parts) const {
  const auto& shape = flow_.layout().scales[scale];
  auto squeezed = squeeze_pixels(images);
  if (shape.factored == 0) return squeezed;
  parts.push_back(
      squeezed.narrow(3, shape.channels, shape.factored).reshape({images_, -1}));
  return squeezed.narrow(3, 0, shape.channels);
}

std::vector<Array> GlowPass::split_latents(const Array& latents) const {
  std::vector<Array> parts;
  std::int64_t begin = 0;
  for (const auto& scale : flow_.layout().scales) {
    const std::int64_t count = scale.factored * scale.height * scale.width;
    parts.push_back(latents.narrow(1, begin, count)
                        .reshape({images_, scale.height, scale.width, scale.factored}));
    begin += count;
  }
  const auto& last = flow_.layout().scales.back();
  parts.push_back(latents.narrow(1, begin, latents.size(1) - begin)
                      .reshape({images_, last.height, last.width, last.channels}));
  return parts;
}

Array GlowPass::forward_step(Scale& scale, std::size_t step, const Array& input) {
  const auto mixed = mix(scale.maps, index(step), input);
  const auto changes =
      dense_forward(scale.networks[step], scale.grid, first_half(mixed),
                    scale.activations_of(step), *scale.workspace);
  const auto result = nd::empty_like(mixed);
  glow_kernels_of(mixed.device())
      .couple(scale.grid, view_of(mixed), view_of(changes), view_of(result),
              view_of(log_abs_det_));
  if (keeps()) {
    scale.steps[step] = {.input = input, .mixed = mixed, .changes = changes};
  }
  return result;
}

LatentResult GlowPass::to_latent(const Array& images) {
  refresh_wide();
  log_abs_det_.zero_();
  std::vector<Array> parts;
  auto now = images.to(flow_.values()).permute({0, 2, 3, 1});
  for (std::size_t s = 0; s < scales_.size(); ++s) {
    auto& scale = scales_[s];
    scale.maps = flow_.mixing()[s].maps(flow_.packed_mixing(flow_.values(), s),
                                        flow_.activation_norm(flow_.values(), s));
    const auto entered = enter_scale(s, now, parts);
    auto rows = as_rows(entered);
    for (std::size_t step = 0; step < scale.networks.size(); ++step) {
      rows = forward_step(scale, step, rows);
    }
    log_abs_det_.add_(scale.maps.log_abs_det.sum(),
                      scale.grid.height * scale.grid.width);
    now = rows.view(entered.sizes());
  }
  parts.push_back(now.reshape({images_, -1}));
  return {.latents = nd::cat(parts, 1) - flow_.latent_mean(),
          .log_abs_det = log_abs_det_[0].clone()};
}

Array GlowPass::backward_step(Scale& scale, std::size_t step, const Array& slopes,
                              double log_abs_det_slope) {
  const auto& kept = scale.steps[step];
  auto& activations = scale.activations_of(step);
  const auto seen = first_half(kept.mixed);
  if (options_.keep == GlowPassOptions::Keep::inputs) {
    dense_forward(scale.networks[step], scale.grid, seen, activations,
                  *scale.workspace);
  }
  const auto mixed_slopes = nd::empty_like(slopes),
             change_slopes = nd::empty_like(slopes);
  glow_kernels_of(slopes.device())
      .couple_backward(view_of(kept.mixed), view_of(kept.changes), view_of(slopes),
                       log_abs_det_slope, view_of(mixed_slopes),
                       view_of(change_slopes));
  first_half(mixed_slopes)
      .add_(dense_backward(scale.networks[step], scale.grid, seen, change_slopes,
                           activations, *scale.workspace, scale.gradients[step]));
  return mixed_slopes;
}

const Array& GlowPass::backward(const Array& latent_slopes, double log_abs_det_slope) {
  auto parts = split_latents(latent_slopes.to(flow_.values()));
  auto slopes = as_rows(parts.back());
  for (std::size_t s = scales_.size(); s-- > 0;) {
    auto& scale = scales_[s];
    std::vector<Array> matrix_slopes(scale.steps.size()),
        offset_slopes(scale.steps.size());
    for (std::size_t step = scale.steps.size(); step-- > 0;) {
      const auto mixed_slopes = backward_step(scale, step, slopes, log_abs_det_slope);
      matrix_slopes[step] = nd::mm(scale.steps[step].input.t(), mixed_slopes);
      if (scale.maps.offset.defined()) offset_slopes[step] = mixed_slopes.sum(0);
      slopes = nd::mm(mixed_slopes, scale.maps.matrix.select(0, index(step)).t());
    }
    const auto norm = flow_.activation_norm(flow_.values(), s);
    const double pixels =
        static_cast<double>(scale.grid.pixels());  // each image counts every pixel
    flow_.mixing()[s].backward(
        flow_.packed_mixing(flow_.values(), s), norm, nd::stack(matrix_slopes),
        norm.defined() ? nd::stack(offset_slopes) : Array(), log_abs_det_slope * pixels,
        flow_.packed_mixing(gradient_, s), flow_.activation_norm(gradient_, s));
    if (s == 0) break;
    const auto& shape = flow_.layout().scales[s];
    slopes = slopes.view({images_, shape.height, shape.width, shape.channels});
    slopes = as_rows(unsqueeze_pixels(nd::cat({slopes, parts[s]}, 3)));
  }
  if (options_.arithmetic != flow_.values().scalar_type()) {
    gradient_.narrow(0, 0, flow_.layout().wide_count).copy_(wide_gradient_);
  }
  return gradient_;
}

Array GlowPass::from_latent(const Array& latents) {
  refresh_wide();
  const auto parts = split_latents(latents.to(flow_.values()) + flow_.latent_mean());
  auto now = parts.back();
  for (std::size_t s = scales_.size(); s-- > 0;) {
    auto& scale = scales_[s];
    scale.maps = flow_.mixing()[s].maps(flow_.packed_mixing(flow_.values(), s),
                                        flow_.activation_norm(flow_.values(), s));
    const auto inverses =
        nd::linalg_inv(scale.maps.matrix.to(nd::kDouble)).to(now.scalar_type());
    auto rows = as_rows(now).clone(nd::MemoryFormat::Contiguous);
    for (std::size_t step = scale.networks.size(); step-- > 0;) {
      const auto changes =
          dense_forward(scale.networks[step], scale.grid, first_half(rows),
                        scale.activations_of(step), *scale.workspace);
      glow_kernels_of(rows.device()).uncouple(view_of(rows), view_of(changes));
      if (scale.maps.offset.defined()) {
        rows = rows - scale.maps.offset.select(0, index(step));
      }
      rows = nd::mm(rows, inverses.select(0, index(step)));
    }
    now = rows.view(now.sizes());
    if (parts[s].size(3) > 0) now = nd::cat({now, parts[s]}, 3);
    now = unsqueeze_pixels(now);
  }
  return now.permute({0, 3, 1, 2});
}

void GlowPass::initialize_activation_norm(const Array& images, Array& values) {
  refresh_wide();
  log_abs_det_.zero_();
  std::vector<Array> parts;
  auto now = images.to(values).permute({0, 2, 3, 1});
  for (std::size_t s = 0; s < scales_.size(); ++s) {
    auto& scale = scales_[s];
    const auto norm = flow_.activation_norm(values, s);
    const auto entered = enter_scale(s, now, parts);
    auto rows = as_rows(entered);
    for (std::size_t step = 0; step < scale.networks.size(); ++step) {
      const auto deviations = rows.std(0).clamp_min(1e-6);
      norm.select(0, index(step)).copy_(nd::cat({-deviations.log(), -rows.mean(0)}));
      scale.maps = flow_.mixing()[s].maps(flow_.packed_mixing(values, s), norm);
      rows = forward_step(scale, step, rows);
    }
    now = rows.view(entered.sizes());
  }
}

}  // namespace kinflow
