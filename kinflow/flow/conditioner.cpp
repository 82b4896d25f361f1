// Initialisation and evaluation of the conditioner network.
#include "kinflow/flow/conditioner.h"

#include <cmath>

#include "kinflow/array/array.h"
#include "kinflow/core/random.h"

namespace kinflow {
namespace {

Array uniform(nd::IntArrayRef shape, double limit, std::vector<Random>& random) {
  auto values = nd::empty(shape, nd::kDouble);
  const std::int64_t per_replica = values.numel() / shape[0];
  auto* out = values.data_ptr<double>();
  for (auto& replica : random) {
    for (std::int64_t i = 0; i < per_replica; ++i) {
      *out++ = replica.uniform(-limit, limit);
    }
  }
  return values;
}

}  // namespace

Conditioner::Conditioner(std::int64_t inputs, const std::vector<std::int64_t>& hidden,
                         std::int64_t outputs, double first_gain,
                         const std::vector<std::uint64_t>& seeds,
                         std::uint64_t stream) {
  const auto replicas = static_cast<std::int64_t>(seeds.size());
  std::vector<Random> random;
  for (const auto seed : seeds) random.emplace_back(seed, stream);
  if (inputs == 0) {
    biases_.push_back(nd::zeros({replicas, 1, outputs}, nd::kDouble));
    return;
  }
  std::int64_t width = inputs;
  for (std::size_t layer = 0; layer <= hidden.size(); ++layer) {
    const bool last = layer == hidden.size();
    const std::int64_t next = last ? outputs : hidden[layer];
    const double gain = last ? 0 : (layer == 0 ? first_gain : 1);
    const double limit = gain / std::sqrt(static_cast<double>(width));
    weights_.push_back(uniform({replicas, width, next}, limit, random));
    biases_.push_back(uniform({replicas, 1, next}, limit, random));
    width = next;
  }
}

Array Conditioner::operator()(const Array& inputs) const {
  if (weights_.empty()) return biases_.front();
  auto values = inputs;
  for (std::size_t layer = 0; layer < weights_.size(); ++layer) {
    if (layer > 0) values = nd::silu(values);
    values = nd::baddbmm(biases_[layer], values, weights_[layer]);
  }
  return values;
}

void Conditioner::visit_parameters(const std::string& prefix,
                                   const ParameterVisitor& visit) {
  for (std::size_t layer = 0; layer < biases_.size(); ++layer) {
    const auto name = prefix + ".linear" + std::to_string(layer);
    const bool decays = layer > 0 || biases_.size() == 1;
    if (!weights_.empty()) {
      visit({.name = name + ".weight", .tensor = weights_[layer], .decays = decays});
    }
    visit({.name = name + ".bias", .tensor = biases_[layer], .decays = decays});
  }
}

}  // namespace kinflow
