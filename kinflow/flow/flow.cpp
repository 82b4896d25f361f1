// Building a flow from its options, and running its layers.
#include "kinflow/flow/flow.h"

#include "kinflow/array/array.h"
#include "kinflow/core/random.h"
#include "kinflow/flow/activation_norm.h"
#include "kinflow/flow/coupling.h"
#include "kinflow/flow/latent_map.h"
#include "kinflow/flow/rational_quadratic_spline.h"

namespace kinflow {
namespace {

// Sharp bends in the data need networks that bend in more than one place from the
// start.
constexpr double kSplineFirstGain = 2;

}  // namespace

Flow::Flow(const FlowOptions& options, const std::vector<std::uint64_t>& seeds,
           nd::ScalarType type, nd::Device device)
    : options_(options) {
  const auto replicas = static_cast<std::int64_t>(seeds.size());
  for (std::int64_t layer = 0; layer < options.layers; ++layer) {
    auto columns = columns_of_layer(options, layer);
    const bool spline = options.kind == FlowKind::spline;
    const Coupling::Network network{.hidden = options.hidden,
                                    .first_gain = spline ? kSplineFirstGain : 1,
                                    .seeds = seeds,
                                    .stream = stream(Purpose::weights, layer)};
    if (spline) {
      layers_.push_back(std::make_unique<SplineCoupling>(
          std::move(columns), options.bins, options.bound, network));
    } else {
      layers_.push_back(std::make_unique<AffineCoupling>(std::move(columns), network));
      layers_.push_back(std::make_unique<ActivationNorm>(replicas, options.dimension));
    }
  }

  if (options.latent_map) {
    layers_.push_back(std::make_unique<LatentMap>(replicas, options.dimension));
  }

  std::vector<Array> initial, decays;
  std::vector<Array*> owners;
  std::int64_t offset = 0;
  for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
    layers_[layer]->visit_parameters([&](const LayerParameter& parameter) {
      const std::int64_t count = parameter.tensor.numel() / replicas;
      slots_.push_back({.name = "layer" + std::to_string(layer) + "." + parameter.name,
                        .shape = parameter.tensor.sizes().slice(1).vec(),
                        .offset = offset,
                        .count = count});
      offset += count;
      initial.push_back(parameter.tensor.reshape({replicas, count}));
      decays.push_back(nd::full({1, count}, parameter.decays ? 1.0 : 0.0, nd::kDouble));
      owners.push_back(&parameter.tensor);
    });
  }
  values_ = nd::cat(initial, 1).to(device, type).contiguous();
  decay_mask_ = nd::cat(decays, 1).to(device, type);
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    auto shape = slots_[i].shape;
    shape.insert(shape.begin(), replicas);
    views_.push_back(
        values_.narrow(1, slots_[i].offset, slots_[i].count).view(shape).detach());
    *owners[i] = views_.back();
  }
}

void Flow::start_latent_map(const Array& map) {
  const auto& slot = slots_.back();
  values_.narrow(1, slot.offset, slot.count)
      .copy_(latent_map_factors(map)
                 .reshape({1, slot.count})
                 .expand({replicas(), slot.count}));
}

LatentResult Flow::to_latent(const Array& data, const Array& context) const {
  LatentResult result{.latents = data, .log_abs_det = {}};
  for (const auto& layer : layers_) {
    auto next = layer->to_latent(result.latents, context);
    result.latents = std::move(next.latents);
    result.log_abs_det = result.log_abs_det.defined()
                             ? result.log_abs_det + next.log_abs_det
                             : std::move(next.log_abs_det);
  }
  return result;
}

Array Flow::from_latent(const Array& latents, const Array& context) const {
  auto data = latents;
  for (auto layer = layers_.rbegin(); layer != layers_.rend(); ++layer) {
    data = (*layer)->from_latent(data, context);
  }
  return data;
}

}  // namespace kinflow
