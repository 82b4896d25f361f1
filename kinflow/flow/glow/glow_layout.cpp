// Laying out the parameters of a Glow flow.
#include "kinflow/flow/glow/glow_layout.h"

#include <fmt/format.h>

#include <algorithm>

namespace kinflow {
namespace {

MatrixSlot take(std::int64_t& end, std::int64_t rows, std::int64_t columns) {
  const MatrixSlot slot{.offset = end, .rows = rows, .columns = columns};
  end += slot.count();
  return slot;
}

void lay_wide(DenseSlots& network, std::int64_t& end) {
  for (std::int64_t layer = 0; layer < network.layers; ++layer) {
    const std::int64_t width = network.width_before(layer);
    network.mixing.push_back(take(end, width, width));
    network.convolution.push_back(take(end, width, 9 * network.growth));
  }
  network.gate = take(end, network.width(), 3 * network.channels);
}

void lay_rest(DenseSlots& network, std::int64_t& end) {
  network.first = take(end, network.inputs, network.channels);
  network.last = take(end, network.channels, network.outputs);
  const std::int64_t start = end;
  network.first_bias = take(end, 1, network.channels);
  for (std::int64_t layer = 0; layer < network.layers; ++layer) {
    network.mixing_bias.push_back(take(end, 1, network.width_before(layer)));
  }
  for (std::int64_t layer = 0; layer < network.layers; ++layer) {
    network.convolution_bias.push_back(take(end, 1, network.growth));
  }
  network.gate_bias = take(end, 1, 3 * network.channels);
  network.last_bias = take(end, 1, network.outputs);
  network.biases = {.offset = start, .rows = 1, .columns = end - start};
}

}  // namespace

GlowLayout::GlowLayout(const GlowOptions& options) : scales(glow_scales(options)) {
  for (const auto& scale : scales) {
    const DenseSlots network{.inputs = scale.channels / 2,
                             .outputs = scale.channels,
                             .channels = options.dense_channels,
                             .layers = options.dense_layers,
                             .growth = options.dense_growth};
    auto& of_scale = networks.emplace_back(options.steps, network);
    for (auto& step : of_scale) lay_wide(step, count);
  }
  wide_count = count;
  for (auto& of_scale : networks) {
    for (auto& step : of_scale) lay_rest(step, count);
  }
  for (const auto& scale : scales) {
    mixing.push_back(take(count, options.steps * scale.channels, scale.channels));
    if (options.activation_norm) {
      activation_norm.push_back(take(count, options.steps, 2 * scale.channels));
    }
  }
}

std::vector<GlowLayout::Named> GlowLayout::named() const {
  std::vector<Named> all;
  for (std::size_t scale = 0; scale < networks.size(); ++scale) {
    for (std::size_t step = 0; step < networks[scale].size(); ++step) {
      const auto& network = networks[scale][step];
      const auto prefix = fmt::format("scale{}.step{}.", scale, step);
      const auto add = [&](const std::string& name, const MatrixSlot& slot) {
        all.push_back({fmt::format("{}{}", prefix, name), slot});
      };
      for (std::size_t layer = 0; layer < network.mixing.size(); ++layer) {
        add(fmt::format("layer{}.mixing", layer), network.mixing[layer]);
        add(fmt::format("layer{}.convolution", layer), network.convolution[layer]);
        add(fmt::format("layer{}.mixing_bias", layer), network.mixing_bias[layer]);
        add(fmt::format("layer{}.convolution_bias", layer),
            network.convolution_bias[layer]);
      }
      add("gate", network.gate);
      add("gate_bias", network.gate_bias);
      add("first", network.first);
      add("first_bias", network.first_bias);
      add("last", network.last);
      add("last_bias", network.last_bias);
    }
    all.push_back({fmt::format("scale{}.channels", scale), mixing[scale]});
    if (!activation_norm.empty()) {
      all.push_back(
          {fmt::format("scale{}.activation_norm", scale), activation_norm[scale]});
    }
  }
  std::sort(all.begin(), all.end(), [](const Named& a, const Named& b) {
    return a.slot.offset < b.slot.offset;
  });
  return all;
}

}  // namespace kinflow
