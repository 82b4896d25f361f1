// The functions of vectors that flows need. Compiled once for each instruction set, so
// everything here has internal linkage.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>

#include "kinflow/core/vector_kernels.h"

#if KINFLOW_VECTOR_BYTES == 64
#include <immintrin.h>
#endif

namespace kinflow {
namespace {

/// Floating-point numbers as whole ones. These have no sign: the bits of what is not a
/// number may go beyond the largest.
template <typename Real>
struct Bits;
template <>
struct Bits<float> {
  using Int = std::uint32_t;
  static constexpr int kMantissa = 23;
  static constexpr Int kExponentBias = 127;
  static constexpr Int kOneOverRootHalf =
      0x4afb0d;                        // bits of 1 less those of sqrt(1/2)
  static constexpr int kExpTerms = 7;  // of the Taylor series on |r| <= ln 2 / 2
  static constexpr int kLogTerms = 5;  // of atanh's series on |s| <= 0.1716
  static constexpr float kLogOfLargest = 88;
  static constexpr float kLogOfSmallest = -87;
  static constexpr float kLn2High = 0.693359375F, kLn2Low = -2.12194440e-4F;
};
template <>
struct Bits<double> {
  using Int = std::uint64_t;
  static constexpr int kMantissa = 52;
  static constexpr Int kExponentBias = 1023;
  static constexpr Int kOneOverRootHalf = 0x95f619980c433;
  static constexpr int kExpTerms = 13;
  static constexpr int kLogTerms = 11;
  static constexpr double kLogOfLargest = 709;
  static constexpr double kLogOfSmallest = -708;
  static constexpr double kLn2High = 6.93147180369123816490e-01,
                          kLn2Low = 1.90821492927058770002e-10;
};

template <typename Real>
using IntVec = typename VectorOf<typename Bits<Real>::Int>::Type;

template <typename Real>
inline Vec<Real> fill(Real value) {
  return Vec<Real>{} + value;
}

template <typename To, typename From>
inline To bit_cast(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

/// The smaller and the larger of two; where a is not a number, a.
template <typename V>
inline V smaller(const V& a, const V& b) {
  return b < a ? b : a;
}

template <typename V>
inline V larger(const V& a, const V& b) {
  return a < b ? b : a;
}

template <typename Real>
inline Vec<Real> square_root(Vec<Real> x) {
  for (int i = 0; i < kLanes<Real>; ++i) x[i] = std::sqrt(x[i]);
  return x;
}

#if KINFLOW_VECTOR_BYTES == 64
// The form without a mask draws false warnings from GCC 12.
inline constexpr unsigned short kAll = 0xffff;

/// x * 2^n for whole n; knows overflow, underflow and what is not a number.
inline Vec<float> scaled_by_power(const Vec<float>& x, const Vec<float>& n) {
  return bit_cast<Vec<float>>(
      _mm512_maskz_scalef_ps(kAll, bit_cast<__m512>(x), bit_cast<__m512>(n)));
}
inline Vec<double> scaled_by_power(const Vec<double>& x, const Vec<double>& n) {
  return bit_cast<Vec<double>>(
      _mm512_maskz_scalef_pd(kAll & 0xff, bit_cast<__m512d>(x), bit_cast<__m512d>(n)));
}
#endif

/// e^x. What is not a number stays so; results beyond the largest or below the smallest
/// normal number are kept at these, or become infinite and 0.
template <typename Real>
inline Vec<Real> exponential(Vec<Real> x) {
  using B = Bits<Real>;
#if KINFLOW_VECTOR_BYTES != 64
  x = smaller(larger(x, fill<Real>(B::kLogOfSmallest)), fill<Real>(B::kLogOfLargest));
#endif
  // Adding this brings the nearest integer into the lowest bits of the mantissa.
  constexpr Real kRound = Real(3) * Real(std::int64_t{1} << (B::kMantissa - 1));
  const Vec<Real> rounded = x * Real(1.4426950408889634) + kRound;
  const Vec<Real> n = rounded - kRound;
  const Vec<Real> r = (x - n * B::kLn2High) - n * B::kLn2Low;
  Real factorial = 1;
  for (int i = 2; i <= B::kExpTerms; ++i) factorial *= Real(i);
  Vec<Real> sum = fill<Real>(1 / factorial);
  for (int i = B::kExpTerms; i > 0; --i) {
    factorial /= Real(i);
    sum = sum * r + 1 / factorial;
  }
#if KINFLOW_VECTOR_BYTES == 64
  return scaled_by_power(sum, n);
#else
  const IntVec<Real> shift = bit_cast<IntVec<Real>>(rounded) << B::kMantissa;
  const Vec<Real> power = bit_cast<Vec<Real>>(bit_cast<IntVec<Real>>(sum) + shift);
  return x == x ? power : x;
#endif
}

/// Natural logarithm of normal positive numbers.
template <typename Real>
inline Vec<Real> logarithm(Vec<Real> x) {
  using B = Bits<Real>;
  // The mantissa is taken in [sqrt(1/2), sqrt(2)).
  const IntVec<Real> bits = bit_cast<IntVec<Real>>(x) + B::kOneOverRootHalf;
  const IntVec<Real> exponent = bits >> B::kMantissa;
  const Vec<Real> m = bit_cast<Vec<Real>>(
      bit_cast<IntVec<Real>>(x) - ((exponent - B::kExponentBias) << B::kMantissa));
  // An integer in the lowest bits of a large number's mantissa is a number again.
  constexpr Real kLarge = Real(std::int64_t{1} << B::kMantissa);
  const IntVec<Real> large = bit_cast<IntVec<Real>>(fill<Real>(kLarge));
  const Vec<Real> n =
      bit_cast<Vec<Real>>(exponent | large) - (kLarge + Real(B::kExponentBias));
  const Vec<Real> s = (m - 1) / (m + 1);
  const Vec<Real> square = s * s;
  Vec<Real> sum = fill<Real>(Real(1) / Real(2 * B::kLogTerms + 1));
  for (int i = B::kLogTerms - 1; i >= 0; --i) {
    sum = sum * square + Real(1) / Real(2 * i + 1);
  }
  const Vec<Real> result = (2 * s * sum + n * B::kLn2Low) + n * B::kLn2High;
  return x == x ? result : x;
}

}  // namespace
}  // namespace kinflow
