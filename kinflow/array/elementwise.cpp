// Arithmetic and comparisons, element by element.
#include <cmath>
#include <limits>

#include "kinflow/array/strided_loops.h"

namespace kinflow {
namespace nd {

ScalarType common_type(const Array& a, const Array& b) {
  const auto first = a.scalar_type(), second = b.scalar_type();
  // A number without axes does not widen those of its kind.
  if (isFloatingType(first) == isFloatingType(second) &&
      (first > kByte) == (second > kByte)) {
    if (a.dim() == 0 && b.dim() > 0) return second;
    if (b.dim() == 0 && a.dim() > 0) return first;
  }
  return std::max(first, second);
}

ScalarType common_type(const Array& a, Scalar b) {
  const auto type = a.scalar_type();
  if (isFloatingType(type)) return type;
  return b.is_whole() ? std::max(type, kLong) : kDouble;
}

namespace {

ScalarType real_type(ScalarType type) { return isFloatingType(type) ? type : kDouble; }

// An array of one number, of the type given.
Array number_of(Scalar value, ScalarType type) {
  require(value.is_whole() || isFloatingType(type),
          "whole numbers cannot take the result");
  return full({}, value, type);
}

template <typename Function>
Array map_reals(const Array& array, const Function& function) {
  const auto in = array.to(real_type(array.scalar_type()));
  const auto out = empty_like(in);
  for_real_type(in.scalar_type(), [&](auto zero) {
    map_into<decltype(zero), decltype(zero)>(out, in, function);
  });
  return out;
}

template <typename Function>
Array map_numbers(const Array& array, const Function& function) {
  const auto out = empty_like(array);
  for_number_type(array.scalar_type(), [&](auto zero) {
    map_into<decltype(zero), decltype(zero)>(out, array, function);
  });
  return out;
}

// function(a, b) of numbers of one type, which the result has too.
template <typename Function>
Array map_pairs(const Array& a, const Array& b, ScalarType type,
                const Function& function) {
  const auto sizes = broadcast_sizes(a.sizes(), b.sizes());
  const auto out = empty(sizes, type);
  for_number_type(type, [&](auto zero) {
    map_into<decltype(zero), decltype(zero)>(out, a.to(type).expand(sizes),
                                             b.to(type).expand(sizes), function);
  });
  return out;
}

template <typename Function>
Array compare(const Array& a, const Array& b, ScalarType type,
              const Function& function) {
  const auto sizes = broadcast_sizes(a.sizes(), b.sizes());
  const auto out = empty(sizes, kBool);
  for_type(type, [&](auto zero) {
    map_into<bool, decltype(zero)>(out, a.to(type).expand(sizes),
                                   b.to(type).expand(sizes), function);
  });
  return out;
}

ScalarType sum_type(ScalarType type) {
  return type == kBool || type == kByte ? kLong : type;
}

// array = function(array, other), in the array's own type.
template <typename Function>
void change(const Array& array, const Array& other, const Function& function) {
  require(array.is_floating_point() || !other.is_floating_point(),
          "whole numbers cannot take the result");
  const auto right =
      apart_from(array, other.to(array.scalar_type()).expand(array.sizes()));
  for_number_type(array.scalar_type(), [&](auto zero) {
    map_into<decltype(zero), decltype(zero)>(array, array, right, function);
  });
}

constexpr auto kAdd = [](auto x, auto y) { return x + y; };
constexpr auto kSub = [](auto x, auto y) { return x - y; };
constexpr auto kMul = [](auto x, auto y) { return x * y; };
constexpr auto kDiv = [](auto x, auto y) { return x / y; };

template <typename Number>
Number remainder_of(Number x, Number y) {
  if constexpr (std::is_floating_point_v<Number>) {
    const auto rest = std::fmod(x, y);
    return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
  } else {
    const auto rest = x % y;
    return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
  }
}

// NaN where one of both is.
template <typename Number>
Number larger(Number x, Number y) {
  return x > y || x != x ? x : y;
}
template <typename Number>
Number smaller(Number x, Number y) {
  return x < y || x != x ? x : y;
}

}  // namespace
}  // namespace nd

using nd::Scalar;

Array Array::add(const Array& other, Scalar times) const {
  const auto right = times.to<double>() == 1 ? other : other.mul(times);
  return nd::map_pairs(*this, right, nd::sum_type(nd::common_type(*this, right)),
                       nd::kAdd);
}
Array Array::sub(const Array& other) const {
  return nd::map_pairs(*this, other, nd::sum_type(nd::common_type(*this, other)),
                       nd::kSub);
}
Array Array::mul(const Array& other) const {
  const auto type = nd::common_type(*this, other);
  if (type == nd::kBool) return logical_and(other);
  return nd::map_pairs(*this, other, nd::sum_type(type), nd::kMul);
}
Array Array::div(const Array& other) const {
  return nd::map_pairs(*this, other, nd::real_type(nd::common_type(*this, other)),
                       nd::kDiv);
}
Array Array::add(Scalar other) const {
  return add(nd::number_of(other, nd::common_type(*this, other)));
}
Array Array::sub(Scalar other) const {
  return sub(nd::number_of(other, nd::common_type(*this, other)));
}
Array Array::mul(Scalar other) const {
  return mul(nd::number_of(other, nd::common_type(*this, other)));
}
Array Array::div(Scalar other) const {
  return div(nd::number_of(other, nd::real_type(nd::common_type(*this, other))));
}

const Array& Array::add_(const Array& other, Scalar times) const {
  nd::change(*this, times.to<double>() == 1 ? other : other.mul(times), nd::kAdd);
  return *this;
}
const Array& Array::sub_(const Array& other) const {
  nd::change(*this, other, nd::kSub);
  return *this;
}
const Array& Array::mul_(const Array& other) const {
  nd::change(*this, other, nd::kMul);
  return *this;
}
const Array& Array::div_(const Array& other) const {
  nd::require(is_floating_point(), "expected floating-point numbers");
  nd::change(*this, other, nd::kDiv);
  return *this;
}
const Array& Array::add_(Scalar other) const {
  return add_(nd::number_of(other, type_));
}
const Array& Array::sub_(Scalar other) const {
  return sub_(nd::number_of(other, type_));
}
const Array& Array::mul_(Scalar other) const {
  return mul_(nd::number_of(other, type_));
}
const Array& Array::div_(Scalar other) const {
  return div_(nd::number_of(other, type_));
}
const Array& Array::addcmul_(const Array& a, const Array& b, Scalar times) const {
  return add_(a * b, times);
}

Array operator+(const Array& a, const Array& b) { return a.add(b); }
Array operator-(const Array& a, const Array& b) { return a.sub(b); }
Array operator*(const Array& a, const Array& b) { return a.mul(b); }
Array operator/(const Array& a, const Array& b) { return a.div(b); }
Array operator+(const Array& a, Scalar b) { return a.add(b); }
Array operator-(const Array& a, Scalar b) { return a.sub(b); }
Array operator*(const Array& a, Scalar b) { return a.mul(b); }
Array operator/(const Array& a, Scalar b) { return a.div(b); }
Array operator+(Scalar a, const Array& b) { return b.add(a); }
Array operator-(Scalar a, const Array& b) {
  return nd::number_of(a, nd::common_type(b, a)).sub(b);
}
Array operator*(Scalar a, const Array& b) { return b.mul(a); }
Array operator/(Scalar a, const Array& b) {
  return nd::number_of(a, nd::real_type(nd::common_type(b, a))).div(b);
}

Array Array::remainder(Scalar other) const {
  const auto type = nd::common_type(*this, other);
  return nd::map_pairs(*this, nd::number_of(other, type), type,
                       [](auto x, auto y) { return nd::remainder_of(x, y); });
}
Array Array::floor_divide(Scalar other) const {
  const auto type = nd::common_type(*this, other);
  return nd::map_pairs(*this, nd::number_of(other, type), type,
                       [](auto x, auto y) { return (x - nd::remainder_of(x, y)) / y; });
}
Array Array::pow(Scalar exponent) const {
  const auto power = exponent.to<double>();
  if (power == 2) return square();
  return nd::map_reals(*this, [power](auto x) {
    return static_cast<decltype(x)>(std::pow(x, static_cast<decltype(x)>(power)));
  });
}
Array Array::maximum(const Array& other) const {
  return nd::map_pairs(*this, other, nd::common_type(*this, other),
                       [](auto x, auto y) { return nd::larger(x, y); });
}
Array Array::minimum(const Array& other) const {
  return nd::map_pairs(*this, other, nd::common_type(*this, other),
                       [](auto x, auto y) { return nd::smaller(x, y); });
}
Array Array::clamp(std::optional<Scalar> low, std::optional<Scalar> high) const {
  const auto out = nd::empty_like(*this);
  nd::for_number_type(type_, [&](auto zero) {
    using Number = decltype(zero);
    using Limits = std::numeric_limits<Number>;
    const auto least =
        low ? low->to<Number>()
            : (Limits::has_infinity ? -Limits::infinity() : Limits::min());
    const auto most = high
                          ? high->to<Number>()
                          : (Limits::has_infinity ? Limits::infinity() : Limits::max());
    nd::map_into<Number, Number>(out, *this, [=](Number x) {
      const auto raised = x < least ? least : x;
      return raised > most ? most : raised;
    });
  });
  return out;
}

Array Array::neg() const {
  return nd::map_numbers(*this, [](auto x) { return -x; });
}
Array Array::abs() const {
  return nd::map_numbers(*this, [](auto x) { return std::abs(x); });
}
Array Array::sign() const {
  return nd::map_numbers(
      *this, [](auto x) { return static_cast<decltype(x)>((x > 0) - (x < 0)); });
}
Array Array::square() const {
  return nd::map_numbers(*this, [](auto x) { return x * x; });
}
Array Array::sqrt() const {
  return nd::map_reals(*this, [](auto x) { return std::sqrt(x); });
}
Array Array::rsqrt() const {
  return nd::map_reals(*this, [](auto x) { return 1 / std::sqrt(x); });
}
Array Array::reciprocal() const {
  return nd::map_reals(*this, [](auto x) { return 1 / x; });
}
Array Array::exp() const {
  // Below this the result is 0, which std::exp() finds by a slow way.
  return nd::map_reals(*this, [](auto x) {
    constexpr decltype(x) kLeast = sizeof(x) == sizeof(double) ? -746 : -104;
    return x < kLeast ? decltype(x){0} : std::exp(x);
  });
}
Array Array::log() const {
  return nd::map_reals(*this, [](auto x) { return std::log(x); });
}
Array Array::log1p() const {
  return nd::map_reals(*this, [](auto x) { return std::log1p(x); });
}
Array Array::sin() const {
  return nd::map_reals(*this, [](auto x) { return std::sin(x); });
}
Array Array::cos() const {
  return nd::map_reals(*this, [](auto x) { return std::cos(x); });
}
Array Array::sinh() const {
  return nd::map_reals(*this, [](auto x) { return std::sinh(x); });
}
Array Array::cosh() const {
  return nd::map_reals(*this, [](auto x) { return std::cosh(x); });
}
Array Array::sigmoid() const {
  return nd::map_reals(*this, [](auto x) { return 1 / (1 + std::exp(-x)); });
}
Array Array::floor() const {
  return nd::map_reals(*this, [](auto x) { return std::floor(x); });
}
Array Array::round() const {
  return nd::map_reals(*this, [](auto x) { return std::nearbyint(x); });
}
Array Array::nan_to_num(double nan, std::optional<double> positive,
                        std::optional<double> negative) const {
  return nd::map_reals(*this, [=](auto x) -> decltype(x) {
    using Number = decltype(x);
    if (x != x) return static_cast<Number>(nan);
    if (!std::isinf(x)) return x;
    const auto given = x > 0 ? positive : negative;
    if (given) return static_cast<Number>(*given);
    return x > 0 ? std::numeric_limits<Number>::max()
                 : std::numeric_limits<Number>::lowest();
  });
}

#define KINFLOW_COMPARISON(name, sign)                             \
  Array Array::name(const Array& other) const {                    \
    return nd::compare(*this, other, std::max(type_, other.type_), \
                       [](auto x, auto y) { return x sign y; });   \
  }                                                                \
  Array Array::name(Scalar other) const {                          \
    const auto type = nd::common_type(*this, other);               \
    return nd::compare(*this, nd::number_of(other, type), type,    \
                       [](auto x, auto y) { return x sign y; });   \
  }
KINFLOW_COMPARISON(eq, ==)
KINFLOW_COMPARISON(ne, !=)
KINFLOW_COMPARISON(lt, <)
KINFLOW_COMPARISON(le, <=)
KINFLOW_COMPARISON(gt, >)
KINFLOW_COMPARISON(ge, >=)
#undef KINFLOW_COMPARISON

Array Array::isfinite() const {
  const auto out = nd::empty(sizes_, nd::kBool);
  if (!is_floating_point()) return out.fill_(true);
  nd::for_real_type(type_, [&](auto zero) {
    nd::map_into<bool, decltype(zero)>(out, *this,
                                       [](auto x) { return std::isfinite(x); });
  });
  return out;
}
Array Array::isnan() const { return ne(*this); }
Array Array::logical_not() const {
  const auto out = nd::empty(sizes_, nd::kBool);
  nd::for_type(type_, [&](auto zero) {
    nd::map_into<bool, decltype(zero)>(out, *this, [](auto x) { return x == 0; });
  });
  return out;
}
Array Array::logical_and(const Array& other) const {
  return nd::compare(*this, other, nd::kBool, [](bool x, bool y) { return x && y; });
}
Array Array::logical_or(const Array& other) const {
  return nd::compare(*this, other, nd::kBool, [](bool x, bool y) { return x || y; });
}
bool Array::equal(const Array& other) const {
  return sizes_ == other.sizes_ && eq(other).all().item<bool>();
}

namespace nd {

Array where(const Array& condition, const Array& a, const Array& b) {
  const auto type = common_type(a, b);
  const auto sizes =
      broadcast_sizes(condition.sizes(), broadcast_sizes(a.sizes(), b.sizes()));
  auto out = empty(sizes, type);
  where_out(out, condition, a.to(type), b.to(type));
  return out;
}
Array where(const Array& condition, const Array& a, Scalar b) {
  return where(condition, a, number_of(b, common_type(a, b)));
}
Array where(const Array& condition, Scalar a, const Array& b) {
  return where(condition, number_of(a, common_type(b, a)), b);
}

void where_out(const Array& out, const Array& condition, const Array& a,
               const Array& b) {
  const auto operand = [&](const Array& array, ScalarType type) {
    return apart_from(out, array.to(type).expand(out.sizes()));
  };
  const auto type = out.scalar_type();
  for_type(type, [&](auto zero) {
    using Number = decltype(zero);
    for_each_row<4>(
        {out, operand(condition, kBool), operand(a, type), operand(b, type)},
        [&](Places<4> p, Steps<4> s, std::int64_t n) {
          for (std::int64_t i = 0; i < n; ++i) {
            const bool first = *reinterpret_cast<const bool*>(p[1] + i * s[1]);
            *reinterpret_cast<Number*>(p[0] + i * s[0]) =
                *reinterpret_cast<const Number*>(first ? p[2] + i * s[2]
                                                       : p[3] + i * s[3]);
          }
        });
  });
}

Array lerp(const Array& a, const Array& b, Scalar share) { return a + (b - a) * share; }
Array lerp(const Array& a, const Array& b, const Array& share) {
  return a + (b - a) * share;
}
Array addcmul(const Array& array, const Array& a, const Array& b) {
  return array + a * b;
}
Array pow(const Array& base, const Array& exponent) {
  return map_pairs(base, exponent, real_type(common_type(base, exponent)),
                   [](auto x, auto y) {
                     return static_cast<decltype(x)>(
                         std::pow(static_cast<double>(x), static_cast<double>(y)));
                   });
}
Array logit(const Array& array, std::optional<double> smallest) {
  const auto kept = smallest ? array.clamp(*smallest, 1 - *smallest) : array;
  return map_reals(kept, [](auto x) { return std::log(x / (1 - x)); });
}
Array softmax(const Array& array, std::int64_t axis) {
  const auto raised = (array - array.amax(axis, true)).exp();
  return raised / raised.sum(axis, true);
}
Array softplus(const Array& array) {
  return map_reals(array, [](auto x) {
    return x > 20 ? x : static_cast<decltype(x)>(std::log1p(std::exp(x)));
  });
}
Array silu(const Array& array) {
  return map_reals(array, [](auto x) { return x / (1 + std::exp(-x)); });
}

bool allclose(const Array& a, const Array& b, double relative, double absolute) {
  const auto x = a.to(kDouble), y = b.to(kDouble);
  const auto difference = (x - y).abs();
  const auto is_close =
      difference.isfinite().logical_and(difference.le(y.abs() * relative + absolute));
  return x.eq(y).logical_or(is_close).all().item<bool>();
}

}  // namespace nd
}  // namespace kinflow
