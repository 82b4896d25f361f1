// The scalar Kalman filter of a stationary Markov process observed with noise, with or
// without derivatives.
#pragma once

#include <cmath>

namespace kinflow {

/// A number with its derivatives in lambda (the noise's share of variance) and in gamma
/// (the rate of decay).
struct Sensitive {
  double value = 0;
  double by_share = 0;
  double by_rate = 0;

  Sensitive() = default;
  Sensitive(double constant) : value(constant) {}
  Sensitive(double number, double share_slope, double rate_slope)
      : value(number), by_share(share_slope), by_rate(rate_slope) {}

  Sensitive& operator+=(const Sensitive& other) {
    value += other.value;
    by_share += other.by_share;
    by_rate += other.by_rate;
    return *this;
  }
};

inline Sensitive operator+(Sensitive a, const Sensitive& b) { return a += b; }
inline Sensitive operator-(const Sensitive& a, const Sensitive& b) {
  return {a.value - b.value, a.by_share - b.by_share, a.by_rate - b.by_rate};
}
inline Sensitive operator*(const Sensitive& a, const Sensitive& b) {
  return {a.value * b.value, a.by_share * b.value + a.value * b.by_share,
          a.by_rate * b.value + a.value * b.by_rate};
}
inline Sensitive operator/(const Sensitive& a, const Sensitive& b) {
  const double inverse = 1 / b.value;
  const double ratio = a.value * inverse;
  return {ratio, (a.by_share - ratio * b.by_share) * inverse,
          (a.by_rate - ratio * b.by_rate) * inverse};
}

/// What the filter knows at one row. `Number` is double or Sensitive.
template <typename Number>
struct FilterStep {
  Number variance;    ///< F, of the row's latent given the rows before
  Number gain;        ///< k, the share of a surprise that belongs to the state
  Number transition;  ///< phi, correlation of the state with that at the next row
  Number carry;       ///< K = phi k: from a surprise to the next prediction
  Number decay;       ///< L = phi (1 - k): from one prediction to the next
};

/// Steps through rows in order of time: u_i = s_i + e_i with var e = lambda, and s a
/// process of variance 1 - lambda and correlation exp(-gamma gap).
template <typename Number>
class KalmanFilter {
 public:
  KalmanFilter(double own_share, double decay_rate);

  /// The next row. @param gap time from it to the row after
  FilterStep<Number> step(double gap) {
    FilterStep<Number> result;
    result.variance = predicted_ + own_share_;
    result.gain = predicted_ / result.variance;
    const Number remaining = own_share_ / result.variance;  // 1 - gain
    Number innovation;                                      // 1 - phi^2
    move(gap, result.transition, innovation);
    result.carry = result.transition * result.gain;
    result.decay = result.transition * remaining;
    predicted_ = result.transition * result.decay * predicted_ +
                 (Number(1) - own_share_) * innovation;
    return result;
  }
  /// Moves past a row that is not observed. @param gap as in step()
  void skip(double gap) {
    Number transition, innovation;
    move(gap, transition, innovation);
    predicted_ =
        transition * transition * predicted_ + (Number(1) - own_share_) * innovation;
  }
  /// Variance of the next row's state given the observed rows before.
  const Number& predicted() const { return predicted_; }

 private:
  void move(double gap, Number& transition, Number& innovation) const;

  double decay_rate_;
  Number own_share_;
  Number predicted_;
};

template <>
inline KalmanFilter<double>::KalmanFilter(double own_share, double decay_rate)
    : decay_rate_(decay_rate), own_share_(own_share), predicted_(1 - own_share) {}

template <>
inline KalmanFilter<Sensitive>::KalmanFilter(double own_share, double decay_rate)
    : decay_rate_(decay_rate),
      own_share_(own_share, 1, 0),
      predicted_(1 - own_share, -1, 0) {}

template <>
inline void KalmanFilter<double>::move(double gap, double& transition,
                                       double& innovation) const {
  const double lost = std::expm1(-decay_rate_ * gap);
  transition = 1 + lost;
  innovation = -lost * (2 + lost);
}

template <>
inline void KalmanFilter<Sensitive>::move(double gap, Sensitive& transition,
                                          Sensitive& innovation) const {
  const double lost = std::expm1(-decay_rate_ * gap);
  const double kept = 1 + lost;
  transition = {kept, 0, -gap * kept};
  innovation = {-lost * (2 + lost), 0, 2 * gap * kept * kept};
}

}  // namespace kinflow
