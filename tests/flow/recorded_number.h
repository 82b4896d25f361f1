// Exact derivatives of plain computations: every operation on recorded numbers notes
// its slopes in its operands, and the slopes of a result in all numbers before it
// follow backwards. What kernels that derive by hand are compared with.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

namespace kinflow::test {

/// A number and its place in the recording of the thread, or a constant.
template <typename Real>
class Recorded {
 public:
  /// A constant.
  Recorded(Real value = 0) : value_(value) {}
  static Recorded variable(Real value) { return {value, {{kNone, kNone}, {0, 0}}}; }

  Real value() const { return value_; }
  std::int32_t place() const { return place_; }

  /// How much is recorded, and going back to an earlier state.
  static std::size_t recorded() { return steps().size(); }
  static void forget_after(std::size_t count) { steps().resize(count); }

  /// Slopes of this number in all that is recorded, by place.
  std::vector<Real> slopes() const {
    std::vector<Real> all(steps().size(), 0);
    if (place_ == kNone) return all;
    all[static_cast<std::size_t>(place_)] = 1;
    for (std::size_t i = static_cast<std::size_t>(place_) + 1; i-- > 0;) {
      if (all[i] == 0) continue;
      const auto& step = steps()[i];
      for (std::size_t k = 0; k < 2; ++k) {
        if (step.operands[k] == kNone) continue;
        all[static_cast<std::size_t>(step.operands[k])] += all[i] * step.slopes[k];
      }
    }
    return all;
  }

  Recorded operator-() const { return of_one(-value_, *this, -1); }
  friend Recorded operator+(const Recorded& a, const Recorded& b) {
    return of_two(a.value_ + b.value_, a, 1, b, 1);
  }
  friend Recorded operator-(const Recorded& a, const Recorded& b) {
    return of_two(a.value_ - b.value_, a, 1, b, -1);
  }
  friend Recorded operator*(const Recorded& a, const Recorded& b) {
    return of_two(a.value_ * b.value_, a, b.value_, b, a.value_);
  }
  friend Recorded operator/(const Recorded& a, const Recorded& b) {
    const Real ratio = a.value_ / b.value_;
    return of_two(ratio, a, 1 / b.value_, b, -ratio / b.value_);
  }
  Recorded& operator+=(const Recorded& other) { return *this = *this + other; }
  friend Recorded exp(const Recorded& a) {
    const Real value = std::exp(a.value_);
    return of_one(value, a, value);
  }
  friend Recorded log(const Recorded& a) {
    return of_one(std::log(a.value_), a, 1 / a.value_);
  }
  friend Recorded tanh(const Recorded& a) {
    const Real value = std::tanh(a.value_);
    return of_one(value, a, 1 - value * value);
  }
  friend Recorded sigmoid(const Recorded& a) {
    const Real value = 1 / (1 + std::exp(-a.value_));
    return of_one(value, a, value * (1 - value));
  }
  /// log(1 + exp(a)).
  friend Recorded softplus(const Recorded& a) {
    const Real value =
        std::max<Real>(a.value_, 0) + std::log1p(std::exp(-std::abs(a.value_)));
    return of_one(value, a, 1 / (1 + std::exp(-a.value_)));
  }
  /// The nearest number of [low, high].
  friend Recorded clamp(const Recorded& a, Real low, Real high) {
    const bool is_inside = a.value_ >= low && a.value_ <= high;
    return is_inside ? a : Recorded(a.value_ < low ? low : high);
  }

 private:
  static constexpr std::int32_t kNone = -1;
  struct Step {
    std::array<std::int32_t, 2> operands;
    std::array<Real, 2> slopes;
  };
  static std::vector<Step>& steps() {
    thread_local std::vector<Step> all;
    return all;
  }

  Recorded(Real value, const Step& step)
      : value_(value), place_(static_cast<std::int32_t>(steps().size())) {
    steps().push_back(step);
  }
  static Recorded of_one(Real value, const Recorded& a, Real slope) {
    if (a.place_ == kNone) return value;
    return {value, {{a.place_, kNone}, {slope, 0}}};
  }
  static Recorded of_two(Real value, const Recorded& a, Real slope_in_a,
                         const Recorded& b, Real slope_in_b) {
    if (a.place_ == kNone && b.place_ == kNone) return value;
    return {value, {{a.place_, b.place_}, {slope_in_a, slope_in_b}}};
  }

  Real value_;
  std::int32_t place_ = kNone;
};

}  // namespace kinflow::test
