// Making a Glow flow, and running it over many images.
#include "kinflow/flow/glow/glow_flow.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "kinflow/array/array.h"
#include "kinflow/flow/glow/glow_pass.h"

namespace kinflow {
namespace {

template <typename Real>
void fill_uniform(const Array& values, const MatrixSlot& slot, double bound,
                  Random& random) {
  Real* numbers = values.data_ptr<Real>() + slot.offset;
  for (std::int64_t i = 0; i < slot.count(); ++i) {
    numbers[i] = static_cast<Real>(random.uniform(-bound, bound));
  }
}

// Weights and biases of a layer uniform on +-1 / sqrt(inputs); those of the last are 0.
template <typename Real>
void initialize_network(const Array& values, const DenseSlots& slots, Random& random) {
  const auto fill = [&](const MatrixSlot& weight, const MatrixSlot& bias,
                        std::int64_t inputs) {
    const double bound = 1 / std::sqrt(static_cast<double>(inputs));
    fill_uniform<Real>(values, weight, bound, random);
    fill_uniform<Real>(values, bias, bound, random);
  };
  fill(slots.first, slots.first_bias, slots.inputs);
  for (std::size_t layer = 0; layer < slots.mixing.size(); ++layer) {
    const std::int64_t width = slots.mixing[layer].rows;
    fill(slots.mixing[layer], slots.mixing_bias[layer], width);
    fill(slots.convolution[layer], slots.convolution_bias[layer], 9 * width);
  }
  fill(slots.gate, slots.gate_bias, slots.width());
}

// Calls work(first, count) for parts of `total` images.
template <typename Work>
void in_chunks(std::int64_t total, std::int64_t most, const Work& work) {
  for (std::int64_t first = 0; first < total; first += most) {
    work(first, std::min(most, total - first));
  }
}

// Passes over chunks of images; the last chunk may need a smaller one.
class Passes {
 public:
  explicit Passes(const GlowFlow& flow) : flow_(flow) {}
  GlowPass& of(std::int64_t images) {
    if (!pass_ || pass_->images() != images) {
      pass_.reset();
      pass_ = std::make_unique<GlowPass>(
          flow_, images,
          GlowPassOptions{.arithmetic = flow_.values().scalar_type(),
                          .keep = GlowPassOptions::Keep::nothing});
    }
    return *pass_;
  }

 private:
  const GlowFlow& flow_;
  std::unique_ptr<GlowPass> pass_;
};

}  // namespace

GlowFlow::GlowFlow(const GlowOptions& options, std::uint64_t seed, nd::ScalarType type,
                   nd::Device device)
    : options_(options), layout_(options) {
  const auto start = nd::zeros({layout_.count}, nd::TensorOptions(type));
  std::int64_t number = 0;
  for (const auto& of_scale : layout_.networks) {
    for (const auto& network : of_scale) {
      Random random(seed, stream(Purpose::weights, number++));
      if (type == nd::kDouble) {
        initialize_network<double>(start, network, random);
      } else {
        initialize_network<float>(start, network, random);
      }
    }
  }
  values_ = start.to(device);
  latent_mean_ = nd::zeros({dimension(options)}, values_.options());
  for (std::size_t scale = 0; scale < layout_.scales.size(); ++scale) {
    mixing_.emplace_back(packed_mixing(values_, scale), seed,
                         static_cast<std::int64_t>(scale));
  }
}

Array GlowFlow::packed_mixing(const Array& buffer, std::size_t scale) const {
  const auto& slot = layout_.mixing[scale];
  return buffer.narrow(0, slot.offset, slot.count())
      .view({options_.steps, slot.columns, slot.columns});
}

Array GlowFlow::activation_norm(const Array& buffer, std::size_t scale) const {
  if (layout_.activation_norm.empty()) return {};
  const auto& slot = layout_.activation_norm[scale];
  return buffer.narrow(0, slot.offset, slot.count()).view({slot.rows, slot.columns});
}

std::vector<Array> GlowFlow::fixed() const {
  std::vector<Array> all;
  for (const auto& mixing : mixing_) all.push_back(mixing.fixed());
  return all;
}

void GlowFlow::set_fixed(const std::vector<Array>& fixed) {
  for (std::size_t scale = 0; scale < mixing_.size(); ++scale) {
    mixing_[scale].set_fixed(fixed[scale]);
  }
}

void GlowFlow::copy_from(const GlowFlow& other) {
  values_.copy_(other.values_);
  latent_mean_.copy_(other.latent_mean_);
  set_fixed(other.fixed());
}

LatentResult GlowFlow::to_latent(const Array& images) const {
  const std::int64_t count = images.size(0);
  const LatentResult all{
      .latents = nd::empty({count, dimension(options_)}, values_.options()),
      .log_abs_det = nd::empty({count}, values_.options())};
  Passes passes(*this);
  in_chunks(
      count, images_at_once(options_), [&](std::int64_t first, std::int64_t part) {
        const auto result = passes.of(part).to_latent(images.narrow(0, first, part));
        all.latents.narrow(0, first, part).copy_(result.latents);
        all.log_abs_det.narrow(0, first, part).copy_(result.log_abs_det);
      });
  return all;
}

Array GlowFlow::from_latent(const Array& latents) const {
  const std::int64_t count = latents.size(0);
  const auto all = nd::empty(
      {count, options_.channels, options_.height, options_.width}, values_.options());
  Passes passes(*this);
  in_chunks(count, images_at_once(options_),
            [&](std::int64_t first, std::int64_t part) {
              all.narrow(0, first, part)
                  .copy_(passes.of(part).from_latent(latents.narrow(0, first, part)));
            });
  return all;
}

void GlowFlow::initialize(const Array& images) {
  if (!options_.activation_norm) return;
  Passes(*this).of(images.size(0)).initialize_activation_norm(images, values_);
}

Array squeeze_pixels(const Array& images) {
  const auto b = images.size(0), h = images.size(1), w = images.size(2),
             c = images.size(3);
  return images.reshape({b, h / 2, 2, w / 2, 2, c})
      .permute({0, 1, 3, 5, 2, 4})
      .reshape({b, h / 2, w / 2, 4 * c});
}

Array unsqueeze_pixels(const Array& images) {
  const auto b = images.size(0), h = images.size(1), w = images.size(2),
             c = images.size(3);
  return images.reshape({b, h, w, c / 4, 2, 2})
      .permute({0, 1, 4, 2, 5, 3})
      .reshape({b, 2 * h, 2 * w, c / 4});
}

}  // namespace kinflow
