// Loops over arrays of one shape and any strides, whose innermost axis is handed to a
// plain loop.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "kinflow/array/functions.h"

namespace kinflow {

/// What makes an array; its functions are in several files.
struct ArrayParts {
  static Array make(std::shared_ptr<void> memory, void* first, nd::IntArrayRef sizes,
                    nd::IntArrayRef strides, nd::ScalarType type) {
    Array array;
    array.memory_ = std::move(memory);
    array.first_ = first;
    array.sizes_ = sizes;
    array.strides_ = strides;
    array.type_ = type;
    return array;
  }
  /// A view of the same memory.
  static Array view(const Array& array, std::int64_t elements_further,
                    nd::IntArrayRef sizes, nd::IntArrayRef strides) {
    auto* first =
        static_cast<char*>(array.first_) + elements_further * array.element_size();
    return make(array.memory_, first, sizes, strides, array.type_);
  }
};

namespace nd {

[[noreturn]] inline void refuse(const std::string& what) {
  throw std::logic_error("[Array] " + what);
}
inline void require(bool holds, const char* what) {
  if (!holds) refuse(what);
}

std::int64_t item_size(ScalarType type);
/// The axis, counted from 0, of an array of so many axes.
std::int64_t axis_of(std::int64_t axis, std::int64_t axes);
IntArrayRef contiguous_strides(const IntArrayRef& sizes);
IntArrayRef broadcast_sizes(const IntArrayRef& a, const IntArrayRef& b);
/// `read`, or a copy of it where writing element by element would change what is still
/// to be read.
Array apart_from(const Array& written, const Array& read);
ScalarType common_type(const Array& a, const Array& b);
ScalarType common_type(const Array& a, Scalar b);

/// Calls with_type(Number{}) for the type of the array.
template <typename Work>
void for_type(ScalarType type, const Work& work) {
  switch (type) {
    case kBool:
      return work(bool{});
    case kByte:
      return work(std::uint8_t{});
    case kLong:
      return work(std::int64_t{});
    case kFloat:
      return work(float{});
    case kDouble:
      return work(double{});
    default:
      refuse(std::string("no arithmetic with ") + toString(type));
  }
}
/// The same for types with arithmetic of their own.
template <typename Work>
void for_number_type(ScalarType type, const Work& work) {
  switch (type) {
    case kLong:
      return work(std::int64_t{});
    case kFloat:
      return work(float{});
    case kDouble:
      return work(double{});
    default:
      refuse(std::string("no arithmetic with ") + toString(type));
  }
}
template <typename Work>
void for_real_type(ScalarType type, const Work& work) {
  switch (type) {
    case kFloat:
      return work(float{});
    case kDouble:
      return work(double{});
    default:
      refuse(std::string("expected floating-point numbers, received ") +
             toString(type));
  }
}

/// A place in each of N arrays, and the steps of the innermost axis, in bytes.
template <std::size_t N>
using Places = std::array<char*, N>;
template <std::size_t N>
using Steps = std::array<std::int64_t, N>;

/// Calls row(places, steps, count) for every row along the innermost of the common
/// axes, after axes that can be walked as one have been joined.
template <std::size_t N, typename Row>
void for_each_row(const std::array<Array, N>& arrays, const Row& row) {
  const auto& sizes = arrays[0].sizes();
  // Axes from the innermost outwards.
  std::array<std::int64_t, IntArrayRef::kMostAxes> counts{};
  std::array<Steps<N>, IntArrayRef::kMostAxes> steps{};
  std::size_t axes = 0;
  for (std::size_t a = sizes.size(); a-- > 0;) {
    if (sizes[a] == 0) return;
    if (sizes[a] == 1) continue;
    Steps<N> step;
    for (std::size_t i = 0; i < N; ++i) {
      step[i] = arrays[i].strides()[a] * arrays[i].element_size();
    }
    bool joins = axes > 0;
    for (std::size_t i = 0; i < N && joins; ++i) {
      joins = step[i] == steps[axes - 1][i] * counts[axes - 1];
    }
    if (joins) {
      counts[axes - 1] *= sizes[a];
    } else {
      counts[axes] = sizes[a];
      steps[axes++] = step;
    }
  }
  Places<N> places;
  for (std::size_t i = 0; i < N; ++i) {
    require(arrays[i].defined(), "expected an array, received one that holds nothing");
    places[i] = static_cast<char*>(arrays[i].data_ptr());
  }
  if (axes == 0) return row(places, Steps<N>{}, std::int64_t{1});
  std::array<std::int64_t, IntArrayRef::kMostAxes> at{};
  for (;;) {
    row(places, steps[0], counts[0]);
    std::size_t a = 1;
    for (; a < axes; ++a) {
      for (std::size_t i = 0; i < N; ++i) places[i] += steps[a][i];
      if (++at[a] < counts[a]) break;
      for (std::size_t i = 0; i < N; ++i) places[i] -= steps[a][i] * counts[a];
      at[a] = 0;
    }
    if (a == axes) return;
  }
}

/// out = function(a), element by element.
template <typename Out, typename In, typename Function>
void map_into(const Array& out, const Array& in, const Function& function) {
  for_each_row<2>({out, in}, [&](Places<2> p, Steps<2> s, std::int64_t n) {
    if (s[0] == sizeof(Out) && s[1] == sizeof(In)) {
      auto* to = reinterpret_cast<Out*>(p[0]);
      const auto* from = reinterpret_cast<const In*>(p[1]);
      for (std::int64_t i = 0; i < n; ++i) to[i] = static_cast<Out>(function(from[i]));
      return;
    }
    for (std::int64_t i = 0; i < n; ++i) {
      *reinterpret_cast<Out*>(p[0] + i * s[0]) =
          static_cast<Out>(function(*reinterpret_cast<const In*>(p[1] + i * s[1])));
    }
  });
}

/// out = function(a, b), element by element; a and b have the shape of out.
template <typename Out, typename In, typename Function>
void map_into(const Array& out, const Array& a, const Array& b,
              const Function& function) {
  for_each_row<3>({out, a, b}, [&](Places<3> p, Steps<3> s, std::int64_t n) {
    auto* to = reinterpret_cast<Out*>(p[0]);
    const auto* x = reinterpret_cast<const In*>(p[1]);
    const auto* y = reinterpret_cast<const In*>(p[2]);
    constexpr auto kIn = static_cast<std::int64_t>(sizeof(In));
    if (s[0] == static_cast<std::int64_t>(sizeof(Out))) {
      if (s[1] == kIn && s[2] == kIn) {
        for (std::int64_t i = 0; i < n; ++i)
          to[i] = static_cast<Out>(function(x[i], y[i]));
        return;
      }
      if (s[1] == kIn && s[2] == 0) {
        const In other = *y;
        for (std::int64_t i = 0; i < n; ++i)
          to[i] = static_cast<Out>(function(x[i], other));
        return;
      }
      if (s[1] == 0 && s[2] == kIn) {
        const In other = *x;
        for (std::int64_t i = 0; i < n; ++i)
          to[i] = static_cast<Out>(function(other, y[i]));
        return;
      }
    }
    for (std::int64_t i = 0; i < n; ++i) {
      *reinterpret_cast<Out*>(p[0] + i * s[0]) =
          static_cast<Out>(function(*reinterpret_cast<const In*>(p[1] + i * s[1]),
                                    *reinterpret_cast<const In*>(p[2] + i * s[2])));
    }
  });
}

}  // namespace nd
}  // namespace kinflow
