// A flow number by number, from the names of its parameters and the formulas of
// docs/model.md: its derivatives are exact.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kinflow/array/array.h"
#include "kinflow/flow/coupling_columns.h"
#include "kinflow/flow/flow.h"
#include "kinflow/flow/spline_constants.h"
#include "tests/flow/recorded_number.h"

namespace kinflow::test {

/// One replica of a flow, whose values are recorded first when it is made. One flow
/// lives at a time.
template <typename Real>
class PlainFlow {
 public:
  using Number = Recorded<Real>;
  using Numbers = std::vector<Number>;
  struct Result {
    Numbers latents;
    Number log_abs_det;
  };

  PlainFlow(const Flow& flow, std::int64_t replica) : options_(flow.options()) {
    Number::forget_after(0);
    const auto values = flow.values()[replica].contiguous();
    for (std::int64_t i = 0; i < values.numel(); ++i) {
      values_.push_back(Number::variable(values.template data_ptr<Real>()[i]));
    }
    for (const auto& slot : flow.slots()) {
      places_[slot.name] = static_cast<std::size_t>(slot.offset);
    }
  }
  PlainFlow(const PlainFlow&) = delete;
  PlainFlow& operator=(const PlainFlow&) = delete;

  /// P, the first places of the recording.
  std::size_t parameters() const { return values_.size(); }

  /// Latents and log-determinant of a row.
  Result to_latent(const Numbers& data, const Numbers& context) const {
    Result result{data, 0};
    std::int64_t number = 0;
    for (std::int64_t layer = 0; layer < options_.layers; ++layer) {
      couple(layer, number++, context, result);
      if (options_.kind == FlowKind::affine) normalize(number++, result);
    }
    if (options_.latent_map) map_latents(number, result);
    return result;
  }

 private:
  bool is_spline() const { return options_.kind == FlowKind::spline; }
  std::size_t dimension() const { return static_cast<std::size_t>(options_.dimension); }
  static std::string name_of(std::int64_t layer, const std::string& parameter) {
    return "layer" + std::to_string(layer) + "." + parameter;
  }
  const Number* parameter(std::int64_t layer, const std::string& name) const {
    return &values_[places_.at(name_of(layer, name))];
  }

  void couple(std::int64_t coupling, std::int64_t number, const Numbers& context,
              Result& now) const {
    const auto columns = columns_of_layer(options_, coupling);
    const auto mapped = static_cast<std::size_t>(mapped_columns(columns));
    const std::size_t first_mapped = columns.maps_first_part ? 0 : dimension() - mapped;
    const auto column = [&](std::size_t place) {
      return columns.order.empty() ? place
                                   : static_cast<std::size_t>(columns.order[place]);
    };
    Numbers inputs;
    for (std::size_t i = 0; i < dimension(); ++i) {
      if (i >= first_mapped && i < first_mapped + mapped) continue;
      const auto& steering = now.latents[column(i)];
      const auto bound = static_cast<Real>(options_.bound);
      inputs.push_back(is_spline() ? clamp(steering, -bound, bound) : steering);
    }
    inputs.insert(inputs.end(), context.begin(), context.end());
    const auto outputs = condition(number, inputs);
    const std::size_t each = outputs.size() / mapped;
    for (std::size_t i = 0; i < mapped; ++i) {
      auto& value = now.latents[column(first_mapped + i)];
      const Number* own = &outputs[i * each];
      if (is_spline()) {
        bend(own, value, now.log_abs_det);
      } else {
        const auto scale = sigmoid(own[0]) + Real(0.5);
        value = value * scale + own[1];
        now.log_abs_det += log(scale);
      }
    }
  }

  // The network: x sigmoid(x) between its layers.
  Numbers condition(std::int64_t number, const Numbers& inputs) const {
    auto values = inputs;
    for (std::size_t linear = 0;; ++linear) {
      const auto name = "conditioner.linear" + std::to_string(linear);
      if (!places_.contains(name_of(number, name + ".bias"))) return values;
      if (linear > 0) {
        for (auto& value : values) value = value * sigmoid(value);
      }
      const bool is_last = linear == (inputs.empty() ? 0 : options_.hidden.size());
      const auto outputs = is_last ? outputs_of(number)
                                   : static_cast<std::size_t>(options_.hidden[linear]);
      const Number* bias = parameter(number, name + ".bias");
      const Number* weight =
          inputs.empty() ? nullptr : parameter(number, name + ".weight");
      Numbers next(bias, bias + outputs);
      for (std::size_t i = 0; i < values.size(); ++i) {
        for (std::size_t o = 0; o < outputs; ++o) {
          next[o] += values[i] * weight[i * outputs + o];
        }
      }
      values = std::move(next);
    }
  }
  std::size_t outputs_of(std::int64_t number) const {
    const auto coupling = is_spline() ? number : number / 2;
    const auto mapped = mapped_columns(columns_of_layer(options_, coupling));
    return static_cast<std::size_t>(
        mapped * (is_spline() ? spline_parameter_count(options_.bins) : 2));
  }

  // Shares of 1, of which each is at least kSplineMinimum.
  Numbers sizes(const Number* logits) const {
    const auto bins = static_cast<std::size_t>(options_.bins);
    Real largest = logits[0].value();
    for (std::size_t i = 1; i < bins; ++i) {
      largest = std::max(largest, logits[i].value());
    }
    Numbers shares;
    Number sum;
    for (std::size_t i = 0; i < bins; ++i) {
      shares.push_back(exp(logits[i] - largest));
      sum += shares.back();
    }
    const double free = 1 - kSplineMinimum * static_cast<double>(bins);
    for (auto& share : shares) {
      share = share / sum * static_cast<Real>(free) + static_cast<Real>(kSplineMinimum);
    }
    return shares;
  }

  // The spline. The logarithm of its slope is added to `log_abs_det`.
  void bend(const Number* own, Number& value, Number& log_abs_det) const {
    const auto bound = static_cast<Real>(options_.bound);
    if (!(std::abs(value.value()) < bound)) return;
    const auto bins = static_cast<std::size_t>(options_.bins);
    const auto widths = sizes(own), heights = sizes(own + bins);
    const auto position = (value + bound) / (2 * bound);
    std::size_t bin = 0;
    Number left, bottom;
    while (bin + 1 < bins && position.value() >= (left + widths[bin]).value()) {
      left += widths[bin];
      bottom += heights[bin++];
    }
    // The last edges are 1 exactly.
    const bool is_last = bin + 1 == bins;
    const auto width = is_last ? 1 - left : widths[bin];
    const auto height = is_last ? 1 - bottom : heights[bin];
    const auto slope_at = [&](std::size_t edge) -> Number {
      if (edge == 0 || edge == bins) return 1;
      return softplus(own[2 * bins + edge - 1] + static_cast<Real>(kSlopeOffset)) +
             static_cast<Real>(kSplineMinimum);
    };
    const auto first = slope_at(bin), second = slope_at(bin + 1);
    const auto secant = height / width;
    const auto t = (position - left) / width, rest = 1 - t;
    const auto denominator = secant + (first + second - 2 * secant) * t * rest;
    const auto share = (secant * t * t + first * t * rest) / denominator;
    const auto numerator = second * t * t + 2 * secant * t * rest + first * rest * rest;
    value = (bottom + height * share) * (2 * bound) - bound;
    log_abs_det += 2 * log(secant / denominator) + log(numerator);
  }

  void normalize(std::int64_t number, Result& now) const {
    const Number* log_scale = parameter(number, "log_scale");
    const Number* shift = parameter(number, "shift");
    for (std::size_t i = 0; i < dimension(); ++i) {
      now.latents[i] = now.latents[i] * exp(log_scale[i]) + shift[i];
      now.log_abs_det += log_scale[i];
    }
  }

  // L (U x), both in one square.
  void map_latents(std::int64_t number, Result& now) const {
    const std::size_t p = dimension();
    const Number* factors = parameter(number, "factors");
    Numbers between(p), latents(p);
    for (std::size_t i = 0; i < p; ++i) {
      between[i] = exp(factors[i * p + i]) * now.latents[i];
      now.log_abs_det += factors[i * p + i];
      for (std::size_t j = i + 1; j < p; ++j) {
        between[i] += factors[i * p + j] * now.latents[j];
      }
    }
    for (std::size_t i = 0; i < p; ++i) {
      latents[i] = between[i];
      for (std::size_t j = 0; j < i; ++j) {
        latents[i] += factors[i * p + j] * between[j];
      }
    }
    now.latents = std::move(latents);
  }

  FlowOptions options_;
  std::vector<Number> values_;
  std::map<std::string, std::size_t> places_;
};

/// A row of a matrix as numbers; none of an undefined matrix.
template <typename Real>
std::vector<Recorded<Real>> constants(const Array& rows, std::int64_t row) {
  if (!rows.defined()) return {};
  const auto own = rows[row].contiguous();
  const auto* numbers = own.template data_ptr<Real>();
  return {numbers, numbers + own.numel()};
}
template <typename Real>
std::vector<Recorded<Real>> variables(const Array& rows, std::int64_t row) {
  auto numbers = constants<Real>(rows, row);
  for (auto& number : numbers) number = Recorded<Real>::variable(number.value());
  return numbers;
}

template <typename Real>
Array plain_gradient_as(const Flow& flow, const Array& data, const Array& context,
                        const Array& latent_slopes, double log_abs_det_slope) {
  const auto gradient = nd::zeros_like(flow.values());
  for (std::int64_t r = 0; r < flow.replicas(); ++r) {
    const PlainFlow<Real> plain(flow, r);
    const auto own = gradient[r];
    auto* sums = own.template data_ptr<Real>();
    const auto context_of_replica = context.defined() ? context[r] : context;
    const auto slopes_of_replica = latent_slopes[r];
    for (std::int64_t row = 0; row < data.size(1); ++row) {
      const auto result = plain.to_latent(constants<Real>(data[r], row),
                                          constants<Real>(context_of_replica, row));
      auto sum = static_cast<Real>(log_abs_det_slope) * result.log_abs_det;
      const auto slopes = constants<Real>(slopes_of_replica, row);
      for (std::size_t i = 0; i < slopes.size(); ++i) {
        sum += slopes[i] * result.latents[i];
      }
      const auto of_row = sum.slopes();
      for (std::size_t i = 0; i < plain.parameters(); ++i) sums[i] += of_row[i];
      Recorded<Real>::forget_after(plain.parameters());
    }
  }
  return gradient;
}

/// Gradient [R, P] in the values of a flow of
///     sum of latents * latent_slopes + log_abs_det_slope * sum of log_abs_det
/// of rows [R, b, p], in the type of the flow.
inline Array plain_gradient(const Flow& flow, const Array& data, const Array& context,
                            const Array& latent_slopes, double log_abs_det_slope) {
  return flow.values().scalar_type() == nd::kFloat
             ? plain_gradient_as<float>(flow, data, context, latent_slopes,
                                        log_abs_det_slope)
             : plain_gradient_as<double>(flow, data, context, latent_slopes,
                                         log_abs_det_slope);
}

}  // namespace kinflow::test
