// A Glow flow number by number, whose derivatives are exact: what the passes by hand
// are compared with.
#pragma once

#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "kinflow/array/array.h"
#include "kinflow/flow/glow/glow_flow.h"
#include "tests/flow/recorded_number.h"

namespace kinflow::test {

using Number = Recorded<double>;

/// The channels of one image, [c, h, w].
struct Channels {
  std::size_t count = 0, height = 0, width = 0;
  std::vector<Number> numbers = {};

  Channels(std::size_t channels, std::size_t rows, std::size_t columns)
      : count(channels),
        height(rows),
        width(columns),
        numbers(channels * rows * columns) {}
  Number& at(std::size_t c, std::size_t y, std::size_t x) {
    return numbers[(c * height + y) * width + x];
  }
  const Number& at(std::size_t c, std::size_t y, std::size_t x) const {
    return numbers[(c * height + y) * width + x];
  }
  /// Some of the channels.
  Channels part(std::size_t first, std::size_t channels) const {
    Channels taken(channels, height, width);
    const auto begin =
        numbers.begin() + static_cast<std::ptrdiff_t>(first * height * width);
    taken.numbers.assign(
        begin, begin + static_cast<std::ptrdiff_t>(channels * height * width));
    return taken;
  }
  void append(const Channels& more) {
    count += more.count;
    numbers.insert(numbers.end(), more.numbers.begin(), more.numbers.end());
  }
};

struct GlowNumbers {
  std::vector<Number> latents = {};
  Number log_abs_det = 0;
};

/// GlowFlow::to_latent() of single images. The flow's values are recorded first when
/// it is made. One lives at a time.
class GlowOracle {
 public:
  explicit GlowOracle(const GlowFlow& flow) : flow_(flow) {
    Number::forget_after(0);
    const auto* values = flow.values().data_ptr<double>();
    for (std::int64_t i = 0; i < flow.values().numel(); ++i) {
      values_.push_back(Number::variable(values[i]));
    }
  }

  /// P, the first places of the recording.
  std::size_t parameters() const { return values_.size(); }

  /// Latents in the order of a GlowFlow, and the log-determinant.
  GlowNumbers to_latent(Channels now) const {
    const auto& layout = flow_.layout();
    GlowNumbers result;
    for (std::size_t s = 0; s < layout.scales.size(); ++s) {
      const auto& scale = layout.scales[s];
      const auto channels = static_cast<std::size_t>(scale.channels);
      now = squeeze(now);
      if (scale.factored > 0) {
        append_pixels(now.part(channels, static_cast<std::size_t>(scale.factored)),
                      result.latents);
        now = now.part(0, channels);
      }
      for (std::size_t step = 0; step < layout.networks[s].size(); ++step) {
        normalize(s, step, now, result.log_abs_det);
        mix(s, step, now, result.log_abs_det);
        couple(layout.networks[s][step], now, result.log_abs_det);
      }
    }
    append_pixels(now, result.latents);
    return result;
  }

 private:
  // Pixel by pixel.
  static void append_pixels(const Channels& image, std::vector<Number>& latents) {
    for (std::size_t y = 0; y < image.height; ++y) {
      for (std::size_t x = 0; x < image.width; ++x) {
        for (std::size_t c = 0; c < image.count; ++c) {
          latents.push_back(image.at(c, y, x));
        }
      }
    }
  }

  static Channels squeeze(const Channels& image) {
    Channels result(4 * image.count, image.height / 2, image.width / 2);
    for (std::size_t c = 0; c < image.count; ++c) {
      for (std::size_t y = 0; y < image.height; ++y) {
        for (std::size_t x = 0; x < image.width; ++x) {
          result.at(4 * c + 2 * (y % 2) + x % 2, y / 2, x / 2) = image.at(c, y, x);
        }
      }
    }
    return result;
  }

  const Number* at(std::int64_t offset) const {
    return &values_[static_cast<std::size_t>(offset)];
  }

  // exp(a) (x + b), channel by channel.
  void normalize(std::size_t scale, std::size_t step, Channels& now,
                 Number& log_abs_det) const {
    const auto& layout = flow_.layout();
    if (layout.activation_norm.empty()) return;
    const std::size_t pixels = now.height * now.width;
    const Number* log_scale =
        at(layout.activation_norm[scale].offset) + step * 2 * now.count;
    const Number* shift = log_scale + now.count;
    for (std::size_t c = 0; c < now.count; ++c) {
      for (std::size_t i = 0; i < pixels; ++i) {
        auto& number = now.numbers[c * pixels + i];
        number = (number + shift[c]) * exp(log_scale[c]);
      }
      log_abs_det += static_cast<double>(pixels) * log_scale[c];
    }
  }

  // Row vectors of channels times P L (U + diag(sign exp(s))).
  void mix(std::size_t scale, std::size_t step, Channels& now,
           Number& log_abs_det) const {
    const std::size_t n = now.count, pixels = now.height * now.width;
    const Number* packed = at(flow_.layout().mixing[scale].offset) + step * n * n;
    const auto fixed = flow_.mixing()[scale]
                           .fixed()[static_cast<std::int64_t>(step)]
                           .contiguous();  // P, then the signs
    const auto* permutation = fixed.data_ptr<double>();
    const auto* sign = permutation + n * n;
    std::vector<Number> product(n * n), matrix(n * n);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        for (std::size_t k = 0; k <= std::min(i, j); ++k) {
          const auto lower = k == i ? Number(1) : packed[i * n + k];
          const auto upper =
              k == j ? sign[k] * exp(packed[k * n + k]) : packed[k * n + j];
          product[i * n + j] += lower * upper;
        }
      }
    }
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t k = 0; k < n; ++k) {
        if (permutation[i * n + k] == 0) continue;
        for (std::size_t j = 0; j < n; ++j) {
          matrix[i * n + j] += permutation[i * n + k] * product[k * n + j];
        }
      }
    }
    Channels mixed(n, now.height, now.width);
    for (std::size_t i = 0; i < pixels; ++i) {
      for (std::size_t c = 0; c < n; ++c) {
        for (std::size_t d = 0; d < n; ++d) {
          mixed.numbers[d * pixels + i] +=
              now.numbers[c * pixels + i] * matrix[c * n + d];
        }
      }
    }
    now = std::move(mixed);
    log_abs_det += static_cast<double>(pixels) * log_of_determinant(matrix, n);
  }

  // By elimination with the largest pivot of each column.
  static Number log_of_determinant(std::vector<Number> matrix, std::size_t n) {
    Number sum;
    for (std::size_t k = 0; k < n; ++k) {
      std::size_t pivot = k;
      for (std::size_t i = k + 1; i < n; ++i) {
        if (std::abs(matrix[i * n + k].value()) >
            std::abs(matrix[pivot * n + k].value())) {
          pivot = i;
        }
      }
      for (std::size_t j = 0; j < n; ++j) {
        std::swap(matrix[k * n + j], matrix[pivot * n + j]);
      }
      const auto& head = matrix[k * n + k];
      sum += log(head.value() < 0 ? -head : head);
      for (std::size_t i = k + 1; i < n; ++i) {
        const auto share = matrix[i * n + k] / head;
        for (std::size_t j = k + 1; j < n; ++j) {
          matrix[i * n + j] = matrix[i * n + j] - share * matrix[k * n + j];
        }
      }
    }
    return sum;
  }

  // The first half of the channels steers the second.
  void couple(const DenseSlots& slots, Channels& now, Number& log_abs_det) const {
    const std::size_t half = now.count / 2;
    const auto steering = now.part(0, half);
    const auto changes = network(slots, steering);
    for (std::size_t c = 0; c < half; ++c) {
      for (std::size_t y = 0; y < now.height; ++y) {
        for (std::size_t x = 0; x < now.width; ++x) {
          const auto log_scale = 2 * tanh(changes.at(c, y, x) / 2);
          auto& number = now.at(half + c, y, x);
          number = changes.at(half + c, y, x) + exp(log_scale) * number;
          log_abs_det += log_scale;
        }
      }
    }
  }

  Channels network(const DenseSlots& slots, const Channels& image) const {
    const auto start = convolve(image, slots.first, slots.first_bias, 1);
    auto features = start;
    for (std::size_t layer = 0; layer < slots.mixing.size(); ++layer) {
      const auto hidden = rectified(
          convolve(features, slots.mixing[layer], slots.mixing_bias[layer], 1));
      features.append(rectified(convolve(hidden, slots.convolution[layer],
                                         slots.convolution_bias[layer], 3)));
    }
    const auto gates = convolve(features, slots.gate, slots.gate_bias, 1);
    auto gated = start;
    const std::size_t count = start.numbers.size();
    for (std::size_t i = 0; i < count; ++i) {
      gated.numbers[i] += gates.numbers[i] + gates.numbers[count + i] *
                                                 sigmoid(gates.numbers[2 * count + i]);
    }
    return convolve(gated, slots.last, slots.last_bias, 1);
  }

  static Channels rectified(Channels image) {
    for (auto& number : image.numbers) {
      if (number.value() <= 0) number = 0;
    }
    return image;
  }

  // Weights are [inputs, taps * outputs] with side x side taps, 0 is beyond the border.
  Channels convolve(const Channels& image, const MatrixSlot& weight_slot,
                    const MatrixSlot& bias_slot, std::size_t side) const {
    const auto outputs = static_cast<std::size_t>(bias_slot.count());
    const Number* weight = at(weight_slot.offset);
    const Number* bias = at(bias_slot.offset);
    Channels result(outputs, image.height, image.width);
    for (std::size_t y = 0; y < image.height; ++y) {
      for (std::size_t x = 0; x < image.width; ++x) {
        for (std::size_t o = 0; o < outputs; ++o) result.at(o, y, x) = bias[o];
        for (std::size_t tap = 0; tap < side * side; ++tap) {
          // Sizes below 0 become large.
          const std::size_t from_y = y + tap / side - side / 2,
                            from_x = x + tap % side - side / 2;
          if (from_y >= image.height || from_x >= image.width) continue;
          for (std::size_t i = 0; i < image.count; ++i) {
            const auto& input = image.at(i, from_y, from_x);
            const Number* row = weight + (i * side * side + tap) * outputs;
            for (std::size_t o = 0; o < outputs; ++o) {
              result.at(o, y, x) += input * row[o];
            }
          }
        }
      }
    }
    return result;
  }

  const GlowFlow& flow_;
  std::vector<Number> values_;
};

/// An image of [b, C, H, W] float64 as numbers.
inline Channels channels_of(const Array& images, std::int64_t image) {
  Channels channels(static_cast<std::size_t>(images.size(1)),
                    static_cast<std::size_t>(images.size(2)),
                    static_cast<std::size_t>(images.size(3)));
  const auto own = images[image].contiguous();
  const auto* numbers = own.data_ptr<double>();
  channels.numbers.assign(numbers, numbers + own.numel());
  return channels;
}

}  // namespace kinflow::test
