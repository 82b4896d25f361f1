// Matrix products of one warp on the tensor cores, nearly as exact as float32
// arithmetic.
//
// Tensor cores take float32 numbers with 10 bits after the leading one. Each factor is
// the sum of such a number and of a rest, and three of the four products are taken; the
// fourth is below 2^-20 of the result. Tensor cores cut their sums off where float32
// arithmetic rounds them. Sums outside of them would cost an eighth of the speed
// (docs/research.md, "Accuracy of the CUDA kernels").
//
// A tile is 16 rows by 8 columns. Lane 4 g + t of a warp holds the elements
// (g, 2t), (g, 2t + 1), (g + 8, 2t), (g + 8, 2t + 1) of it. A product's result can so
// be the left factor of the next product, without a word between lanes: the instruction
// wants columns t and t + 4 there, and the sum over columns does not mind that it gets
// 2t and 2t + 1, if the right factor's rows are taken in the same order.
#pragma once

#include <cstdint>

namespace kinflow {

/// A place in a warp.
struct Lane {
  int index, g, t;
  __device__ Lane() : index(threadIdx.x & 31), g(index >> 2), t(index & 3) {}
};

namespace tensor_products {

struct Split {
  std::uint32_t high, rest;
};

__device__ __forceinline__ Split split(float x) {
  const std::uint32_t high = __float_as_uint(x) & 0xffffe000u;
  return {high, __float_as_uint(x - __uint_as_float(high))};
}

/// The nearest number and a rest of either sign. It is enough to take one factor so:
/// what is left out has no preferred sign then.
__device__ __forceinline__ Split split_rounded(float x) {
  const std::uint32_t high = (__float_as_uint(x) + 0x1000u) & 0xffffe000u;
  return {high, __float_as_uint(x - __uint_as_float(high))};
}

__device__ __forceinline__ void multiply_add(float (&c)[4], const std::uint32_t (&a)[4],
                                             std::uint32_t b0, std::uint32_t b1) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
      "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/// The left factor of a step over 8 columns.
struct Left {
  std::uint32_t high[4], rest[4];
  /// From a tile in the order of results.
  __device__ __forceinline__ void take_tile(const float (&a)[4]) {
    take(0, a[0]);
    take(1, a[2]);
    take(2, a[1]);
    take(3, a[3]);
  }
  __device__ __forceinline__ void take(int i, float x) {
    const Split parts = split_rounded(x);
    high[i] = parts.high;
    rest[i] = parts.rest;
  }
};

// Right factors of this many tiles are loaded together, so that the instructions which
// follow do not wait for each other.
constexpr int kTilesAtOnce = 4;

/// c[j] += left * b(j) for j in first .. first + kTilesAtOnce - 1, where j < count.
/// @param load  load(j, b0, b1) gives the right factor's two elements
template <int N, typename Load>
__device__ __forceinline__ void step(float (&c)[N][4], const Left& left, int first,
                                     int count, const Load& load) {
  Split b[kTilesAtOnce][2];
#pragma unroll
  for (int i = 0; i < kTilesAtOnce; ++i) {
    if (first + i < N && first + i < count) {
      float b0, b1;
      load(first + i, b0, b1);
      b[i][0] = split(b0);
      b[i][1] = split(b1);
    }
  }
#pragma unroll
  for (int i = 0; i < kTilesAtOnce; ++i) {
    if (first + i < N && first + i < count)
      multiply_add(c[first + i], left.rest, b[i][0].high, b[i][1].high);
  }
#pragma unroll
  for (int i = 0; i < kTilesAtOnce; ++i) {
    if (first + i < N && first + i < count)
      multiply_add(c[first + i], left.high, b[i][0].rest, b[i][1].rest);
  }
#pragma unroll
  for (int i = 0; i < kTilesAtOnce; ++i) {
    if (first + i < N && first + i < count)
      multiply_add(c[first + i], left.high, b[i][0].high, b[i][1].high);
  }
}

}  // namespace tensor_products

/// c += a * w for tiles a [16, 8 k_tiles] and c [16, 8 n_tiles].
/// @param weights  [.., stride], at swizzled() places; stride is 8 or 24 above a
/// multiple of 32
template <int K, int N>
__device__ __forceinline__ void multiply(const float (&a)[K][4], int k_tiles,
                                         const float* weights, int stride, int n_tiles,
                                         float (&c)[N][4], const Lane& lane) {
  const float* from = weights + 2 * lane.t * stride + lane.g;
  const int turn = (lane.t & 2) << 2;
#pragma unroll
  for (int k = 0; k < K; ++k) {
    if (k < k_tiles) {
      tensor_products::Left left;
      left.take_tile(a[k]);
      const float* even = from + k * 8 * stride + turn;
      const float* odd = from + k * 8 * stride - turn;
#pragma unroll
      for (int first = 0; first < N; first += tensor_products::kTilesAtOnce) {
        if (first < n_tiles) {
          tensor_products::step(c, left, first, n_tiles,
                                [&](int j, float& b0, float& b1) {
                                  const float* p = (j & 1 ? odd : even) + 8 * j;
                                  b0 = p[0];
                                  b1 = p[stride];
                                });
        }
      }
    }
  }
}

/// c += a * w' for tiles a [16, 8 k_tiles] and c [16, 8 n_tiles]; w as in multiply().
template <int K, int N>
__device__ __forceinline__ void multiply_transposed(const float (&a)[K][4], int k_tiles,
                                                    const float* weights, int stride,
                                                    int n_tiles, float (&c)[N][4],
                                                    const Lane& lane) {
  const float* from = weights + lane.g * stride + 2 * lane.t;
  const int turn = (lane.g & 4) << 1;
#pragma unroll
  for (int k = 0; k < K; ++k) {
    if (k < k_tiles) {
      tensor_products::Left left;
      left.take_tile(a[k]);
      const float* p = from + 8 * k + (k & 1 ? -turn : turn);
#pragma unroll
      for (int first = 0; first < N; first += tensor_products::kTilesAtOnce) {
        if (first < n_tiles) {
          tensor_products::step(
              c, left, first, n_tiles, [&](int j, float& b0, float& b1) {
                const auto pair = *reinterpret_cast<const float2*>(p + 8 * j * stride);
                b0 = pair.x;
                b1 = pair.y;
              });
        }
      }
    }
  }
}

}  // namespace kinflow
