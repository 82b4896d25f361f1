// The kernels of Glow flows on a GPU.
#include <cuda_bf16.h>

#include <algorithm>
#include <cstdint>

#include "kinflow/core/cuda_memory.h"
#include "kinflow/flow/glow/glow_kernels.h"

namespace kinflow {
namespace {

constexpr int kThreads = 256;
// Numbers that a thread loads at once.
constexpr int kWide = 8;
// A block that sums over rows has so many rows beside each other of so many columns.
constexpr int kLanes = 32, kSumColumns = kThreads / kLanes * kWide;
constexpr int kSumParts = 128;

template <typename T>
struct alignas(16) Pack {
  T values[kWide];
};

__device__ float number(float value) { return value; }
__device__ float number(__nv_bfloat16 value) { return __bfloat162float(value); }
template <typename T>
__device__ T rounded(float value);
template <>
__device__ float rounded<float>(float value) {
  return value;
}
template <>
__device__ __nv_bfloat16 rounded<__nv_bfloat16>(float value) {
  return __float2bfloat16_rn(value);
}

// As fmaxf(value, 0), but not a number stays that.
__device__ float rectified(float value) { return value < 0 ? 0 : value; }

template <typename T>
struct Matrix {
  T* data;
  std::int64_t stride;
  int rows, columns;

  __device__ T& at(std::int64_t row, int column) const {
    return data[row * stride + column];
  }
  __device__ Pack<T> load(std::int64_t row, int column) const {
    return *reinterpret_cast<const Pack<T>*>(data + row * stride + column);
  }
  __device__ void store(std::int64_t row, int column, const Pack<T>& pack) const {
    *reinterpret_cast<Pack<T>*>(data + row * stride + column) = pack;
  }
};

template <typename T>
Matrix<T> matrix(const MatrixView& view) {
  return {.data = static_cast<T*>(view.data),
          .stride = view.stride,
          .rows = static_cast<int>(view.rows),
          .columns = static_cast<int>(view.columns)};
}

// The pack of a thread in a matrix of `rows` x `columns`.
struct Place {
  int row, column;
  bool inside;
};
__device__ Place place(int rows, int columns) {
  const std::int64_t index =
      static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const int packs = columns / kWide;
  const auto row = static_cast<int>(index / packs);
  return {row, static_cast<int>(index % packs) * kWide, row < rows};
}
int blocks_for(std::int64_t rows, std::int64_t columns) {
  return static_cast<int>((rows * (columns / kWide) + kThreads - 1) / kThreads);
}

template <typename T>
__global__ void add_bias_and_rectify_kernel(Matrix<T> values, const float* bias) {
  const auto here = place(values.rows, values.columns);
  if (!here.inside) return;
  auto pack = values.load(here.row, here.column);
  for (int i = 0; i < kWide; ++i) {
    pack.values[i] =
        rounded<T>(rectified(number(pack.values[i]) + bias[here.column + i]));
  }
  values.store(here.row, here.column, pack);
}

// Adds up what the threads of a block have of the same columns, in a fixed order.
__device__ void write_part(const float (&sums)[kWide], const Matrix<float>& parts,
                           int column, int columns) {
  __shared__ float shared[kLanes][kSumColumns + 1];
  const int lane = threadIdx.x % kLanes, pack = threadIdx.x / kLanes;
  __syncthreads();
  for (int i = 0; i < kWide; ++i) shared[lane][pack * kWide + i] = sums[i];
  __syncthreads();
  if (threadIdx.x >= kSumColumns) return;
  const int mine = column + static_cast<int>(threadIdx.x);
  if (mine >= columns) return;
  float total = 0;
  for (int l = 0; l < kLanes; ++l) total += shared[l][threadIdx.x];
  parts.at(blockIdx.y, mine) = total;
}

// The rows of the block's part: row(first), row(first + kLanes), ...
struct RowRange {
  int first, end;
};
__device__ RowRange rows_of_part(int rows) {
  const int each = (rows + kSumParts - 1) / kSumParts;
  const int begin = static_cast<int>(blockIdx.y) * each;
  return {begin + static_cast<int>(threadIdx.x) % kLanes, min(begin + each, rows)};
}
__device__ int first_column() { return static_cast<int>(blockIdx.x) * kSumColumns; }
__device__ int my_column() {
  return first_column() + static_cast<int>(threadIdx.x) / kLanes * kWide;
}
dim3 sum_grid(std::int64_t columns) {
  return dim3(static_cast<unsigned>((columns + kSumColumns - 1) / kSumColumns),
              kSumParts);
}

template <typename T>
__global__ void rectify_backward_kernel(Matrix<T> slopes, Matrix<T> values,
                                        Matrix<float> parts) {
  float sums[kWide] = {};
  const int column = my_column();
  const auto range = rows_of_part(slopes.rows);
  if (column < slopes.columns) {
    for (int row = range.first; row < range.end; row += kLanes) {
      auto slope = slopes.load(row, column);
      const auto value = values.load(row, column);
      for (int i = 0; i < kWide; ++i) {
        if (!(number(value.values[i]) > 0)) slope.values[i] = rounded<T>(0);
        sums[i] += number(slope.values[i]);
      }
      slopes.store(row, column, slope);
    }
  }
  write_part(sums, parts, first_column(), slopes.columns);
}

struct Sides {
  int height, width;
};

// Calls work(tap, neighbour) for the neighbours of a pixel that exist.
template <typename Work>
__device__ void for_neighbours(Sides sides, int pixel, const Work& work) {
  const int x = pixel % sides.width, y = pixel / sides.width % sides.height;
#pragma unroll
  for (int tap = 0; tap < 9; ++tap) {
    const int down = tap / 3 - 1, right = tap % 3 - 1;
    const bool exists = y + down >= 0 && y + down < sides.height && x + right >= 0 &&
                        x + right < sides.width;
    work(tap, exists ? pixel + down * sides.width + right : -1);
  }
}

template <typename T>
__global__ void gather_taps_kernel(Sides sides, Matrix<T> taps, const float* bias,
                                   Matrix<T> result) {
  const auto here = place(result.rows, result.columns);
  if (!here.inside) return;
  float sums[kWide];
  for (int i = 0; i < kWide; ++i) sums[i] = bias[here.column + i];
  for_neighbours(sides, here.row, [&](int tap, int neighbour) {
    if (neighbour < 0) return;
    const auto pack = taps.load(neighbour, tap * result.columns + here.column);
    for (int i = 0; i < kWide; ++i) sums[i] += number(pack.values[i]);
  });
  Pack<T> pack;
  for (int i = 0; i < kWide; ++i) pack.values[i] = rounded<T>(rectified(sums[i]));
  result.store(here.row, here.column, pack);
}

template <typename T>
__global__ void spread_taps_kernel(Sides sides, Matrix<T> slopes, Matrix<T> taps) {
  const auto here = place(slopes.rows, slopes.columns);
  if (!here.inside) return;
  for_neighbours(sides, here.row, [&](int opposite, int neighbour) {
    Pack<T> pack;
    if (neighbour >= 0) {
      pack = slopes.load(neighbour, here.column);
    } else {
      for (int i = 0; i < kWide; ++i) pack.values[i] = rounded<T>(0);
    }
    taps.store(here.row, (8 - opposite) * slopes.columns + here.column, pack);
  });
}

__device__ float sigmoid(float value) { return 1 / (1 + expf(-value)); }

template <typename T>
__global__ void gate_kernel(Matrix<T> input, Matrix<T> gates, const float* bias,
                            Matrix<float> result) {
  const auto here = place(result.rows, result.columns);
  if (!here.inside) return;
  const int columns = result.columns;
  const auto before = input.load(here.row, here.column);
  Pack<T> gated[3];
  for (int part = 0; part < 3; ++part) {
    const int column = part * columns + here.column;
    gated[part] = gates.load(here.row, column);
    for (int i = 0; i < kWide; ++i) {
      gated[part].values[i] =
          rounded<T>(number(gated[part].values[i]) + bias[column + i]);
    }
    gates.store(here.row, column, gated[part]);
  }
  Pack<float> sum;
  for (int i = 0; i < kWide; ++i) {
    sum.values[i] = number(before.values[i]) + number(gated[0].values[i]) +
                    number(gated[1].values[i]) * sigmoid(number(gated[2].values[i]));
  }
  result.store(here.row, here.column, sum);
}

template <typename T>
__global__ void gate_backward_kernel(Matrix<float> slopes, Matrix<T> gates,
                                     Matrix<T> gate_slopes, Matrix<float> parts) {
  float sums[3][kWide] = {};
  const int columns = slopes.columns, column = my_column();
  const auto range = rows_of_part(slopes.rows);
  if (column < columns) {
    for (int row = range.first; row < range.end; row += kLanes) {
      const auto slope = slopes.load(row, column);
      const auto scaled = gates.load(row, columns + column);
      const auto opened = gates.load(row, 2 * columns + column);
      Pack<T> result[3];
      for (int i = 0; i < kWide; ++i) {
        const float open = sigmoid(number(opened.values[i]));
        const float values[3] = {
            slope.values[i], slope.values[i] * open,
            slope.values[i] * number(scaled.values[i]) * open * (1 - open)};
        for (int part = 0; part < 3; ++part) {
          result[part].values[i] = rounded<T>(values[part]);
          sums[part][i] += values[part];
        }
      }
      for (int part = 0; part < 3; ++part) {
        gate_slopes.store(row, part * columns + column, result[part]);
      }
    }
  }
  for (int part = 0; part < 3; ++part) {
    const Matrix<float> of_part{.data = parts.data + part * columns,
                                .stride = parts.stride};
    write_part(sums[part], of_part, first_column(), columns);
  }
}

template <typename T>
__global__ void add_and_sum_kernel(Matrix<T> part, Matrix<float> total,
                                   Matrix<float> parts) {
  float sums[kWide] = {};
  const int column = my_column();
  const auto range = rows_of_part(total.rows);
  if (column < total.columns) {
    for (int row = range.first; row < range.end; row += kLanes) {
      const auto add = part.load(row, column);
      auto value = total.load(row, column);
      for (int i = 0; i < kWide; ++i) {
        value.values[i] += number(add.values[i]);
        sums[i] += value.values[i];
      }
      total.store(row, column, value);
    }
  }
  write_part(sums, parts, first_column(), total.columns);
}

__device__ float log_scale(float raw) { return 2 * tanhf(raw / 2); }

// One block for each image.
__global__ void couple_kernel(int pixels, Matrix<float> data, Matrix<float> changes,
                              Matrix<float> result, float* log_abs_det) {
  __shared__ double shared[kThreads];
  const int half = data.columns / 2;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * pixels;
  double total = 0;
  for (int i = static_cast<int>(threadIdx.x); i < pixels * half; i += kThreads) {
    const std::int64_t row = first + i / half;
    const int c = i % half;
    const float log = log_scale(changes.at(row, c));
    result.at(row, c) = data.at(row, c);
    result.at(row, half + c) =
        changes.at(row, half + c) + expf(log) * data.at(row, half + c);
    total += log;
  }
  shared[threadIdx.x] = total;
  __syncthreads();
  for (int step = kThreads / 2; step > 0; step /= 2) {
    if (static_cast<int>(threadIdx.x) < step) {
      shared[threadIdx.x] += shared[threadIdx.x + step];
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) log_abs_det[blockIdx.x] += static_cast<float>(shared[0]);
}

__global__ void couple_backward_kernel(Matrix<float> data, Matrix<float> changes,
                                       Matrix<float> slopes, float log_abs_det_slope,
                                       Matrix<float> data_slopes,
                                       Matrix<float> change_slopes) {
  const std::int64_t index =
      static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const int half = data.columns / 2;
  const std::int64_t row = index / half;
  if (row >= data.rows) return;
  const auto c = static_cast<int>(index % half);
  const float bend = tanhf(changes.at(row, c) / 2), scale = expf(2 * bend);
  const float slope = slopes.at(row, half + c);
  data_slopes.at(row, c) = slopes.at(row, c);
  data_slopes.at(row, half + c) = slope * scale;
  change_slopes.at(row, half + c) = slope;
  change_slopes.at(row, c) =
      (slope * data.at(row, half + c) * scale + log_abs_det_slope) * (1 - bend * bend);
}

__global__ void uncouple_kernel(Matrix<float> values, Matrix<float> changes) {
  const std::int64_t index =
      static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const int half = values.columns / 2;
  const std::int64_t row = index / half;
  if (row >= values.rows) return;
  const auto c = static_cast<int>(index % half);
  values.at(row, half + c) = (values.at(row, half + c) - changes.at(row, half + c)) *
                             expf(-log_scale(changes.at(row, c)));
}

unsigned blocks_of(std::int64_t count) {
  return static_cast<unsigned>((count + kThreads - 1) / kThreads);
}

float* floats(const MatrixView& view) { return static_cast<float*>(view.data); }

class CudaGlowKernels final : public GlowKernels {
 public:
  explicit CudaGlowKernels(void* (*current_stream)())
      : current_stream_(current_stream) {}

  std::int64_t sum_parts() const override { return kSumParts; }

  void add_bias_and_rectify(const MatrixView& values,
                            const MatrixView& bias) const override {
    by_type(values, [&]<typename T>(T) {
      add_bias_and_rectify_kernel<T>
          <<<blocks_for(values.rows, values.columns), kThreads, 0, stream()>>>(
              matrix<T>(values), floats(bias));
    });
  }

  void rectify_backward(const MatrixView& slopes, const MatrixView& values,
                        const MatrixView& sums) const override {
    by_type(values, [&]<typename T>(T) {
      rectify_backward_kernel<T><<<sum_grid(values.columns), kThreads, 0, stream()>>>(
          matrix<T>(slopes), matrix<T>(values), matrix<float>(sums));
    });
  }

  void gather_taps(const PixelGrid& grid, const MatrixView& taps,
                   const MatrixView& bias, const MatrixView& result) const override {
    by_type(taps, [&]<typename T>(T) {
      gather_taps_kernel<T>
          <<<blocks_for(result.rows, result.columns), kThreads, 0, stream()>>>(
              sides(grid), matrix<T>(taps), floats(bias), matrix<T>(result));
    });
  }

  void spread_taps(const PixelGrid& grid, const MatrixView& slopes,
                   const MatrixView& taps) const override {
    by_type(taps, [&]<typename T>(T) {
      spread_taps_kernel<T>
          <<<blocks_for(slopes.rows, slopes.columns), kThreads, 0, stream()>>>(
              sides(grid), matrix<T>(slopes), matrix<T>(taps));
    });
  }

  void gate(const MatrixView& input, const MatrixView& gates, const MatrixView& bias,
            const MatrixView& result) const override {
    by_type(gates, [&]<typename T>(T) {
      gate_kernel<T>
          <<<blocks_for(result.rows, result.columns), kThreads, 0, stream()>>>(
              matrix<T>(input), matrix<T>(gates), floats(bias), matrix<float>(result));
    });
  }

  void gate_backward(const MatrixView& slopes, const MatrixView& gates,
                     const MatrixView& gate_slopes,
                     const MatrixView& sums) const override {
    by_type(gates, [&]<typename T>(T) {
      gate_backward_kernel<T><<<sum_grid(slopes.columns), kThreads, 0, stream()>>>(
          matrix<float>(slopes), matrix<T>(gates), matrix<T>(gate_slopes),
          matrix<float>(sums));
    });
  }

  void add_and_sum(const MatrixView& part, const MatrixView& total,
                   const MatrixView& sums) const override {
    by_type(part, [&]<typename T>(T) {
      add_and_sum_kernel<T><<<sum_grid(total.columns), kThreads, 0, stream()>>>(
          matrix<T>(part), matrix<float>(total), matrix<float>(sums));
    });
  }

  void couple(const PixelGrid& grid, const MatrixView& data, const MatrixView& changes,
              const MatrixView& result, const MatrixView& log_abs_det) const override {
    couple_kernel<<<static_cast<unsigned>(grid.images), kThreads, 0, stream()>>>(
        static_cast<int>(grid.height * grid.width), matrix<float>(data),
        matrix<float>(changes), matrix<float>(result), floats(log_abs_det));
    check_launch();
  }

  void couple_backward(const MatrixView& data, const MatrixView& changes,
                       const MatrixView& slopes, double log_abs_det_slope,
                       const MatrixView& data_slopes,
                       const MatrixView& change_slopes) const override {
    couple_backward_kernel<<<blocks_of(data.rows * data.columns / 2), kThreads, 0,
                             stream()>>>(
        matrix<float>(data), matrix<float>(changes), matrix<float>(slopes),
        static_cast<float>(log_abs_det_slope), matrix<float>(data_slopes),
        matrix<float>(change_slopes));
    check_launch();
  }

  void uncouple(const MatrixView& values, const MatrixView& changes) const override {
    uncouple_kernel<<<blocks_of(values.rows * values.columns / 2), kThreads, 0,
                      stream()>>>(matrix<float>(values), matrix<float>(changes));
    check_launch();
  }

 private:
  cudaStream_t stream() const { return static_cast<cudaStream_t>(current_stream_()); }

  template <typename Launch>
  static void by_type(const MatrixView& view, const Launch& launch) {
    if (view.type == Number::bfloat16) {
      launch(__nv_bfloat16{});
    } else {
      launch(float{});
    }
    check_launch();
  }
  static void check_launch() { check_cuda(cudaGetLastError(), "starting a kernel"); }
  static Sides sides(const PixelGrid& grid) {
    return {static_cast<int>(grid.height), static_cast<int>(grid.width)};
  }

  void* (*current_stream_)();
};

}  // namespace

std::unique_ptr<GlowKernels> make_cuda_glow_kernels(void* (*current_stream)()) {
  return std::make_unique<CudaGlowKernels>(current_stream);
}

}  // namespace kinflow
