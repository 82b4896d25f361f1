// Sums, means, extremes, and what is cumulated along an axis.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kinflow/array/strided_loops.h"

namespace kinflow {
namespace nd {
namespace {

// What sums of numbers are taken in.
template <typename Number>
using Total =
    std::conditional_t<std::is_floating_point_v<Number>, double, std::int64_t>;

// A sum in eight lanes.
template <typename Number>
Total<Number> sum_of(const char* first, std::int64_t step, std::int64_t count) {
  const auto number = [&](std::int64_t i) {
    return static_cast<Total<Number>>(
        *reinterpret_cast<const Number*>(first + i * step));
  };
  Total<Number> lanes[8] = {};
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    for (int lane = 0; lane < 8; ++lane) lanes[lane] += number(i + lane);
  }
  for (; i < count; ++i) lanes[0] += number(i);
  return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) +
         ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
}

// The axes to be summed, marked.
std::array<bool, IntArrayRef::kMostAxes> marked(const Array& array,
                                                const IntArrayRef& axes) {
  std::array<bool, IntArrayRef::kMostAxes> result{};
  for (const auto axis : axes) {
    result[static_cast<std::size_t>(axis_of(axis, array.dim()))] = true;
  }
  if (axes.empty()) result.fill(true);
  return result;
}

// The array with the axes to be summed last, and how many stay.
std::pair<Array, std::int64_t> summed_last(const Array& array,
                                           const IntArrayRef& axes) {
  const auto is_summed = marked(array, axes);
  IntArrayRef order;
  for (const bool last : {false, true}) {
    for (std::int64_t a = 0; a < array.dim(); ++a) {
      if (is_summed[static_cast<std::size_t>(a)] == last) order.push_back(a);
    }
  }
  std::int64_t kept = 0;
  for (std::int64_t a = 0; a < array.dim(); ++a) {
    kept += is_summed[static_cast<std::size_t>(a)] ? 0 : 1;
  }
  return {array.permute(order), kept};
}

IntArrayRef reduced_sizes(const Array& array, const IntArrayRef& axes, bool keepdim) {
  const auto is_reduced = marked(array, axes);
  IntArrayRef sizes;
  for (std::size_t a = 0; a < array.sizes().size(); ++a) {
    if (!is_reduced[a]) {
      sizes.push_back(array.sizes()[a]);
    } else if (keepdim) {
      sizes.push_back(1);
    }
  }
  return sizes;
}

// Sums of all axes that are not among the first `kept`. Long ones are halved, so that
// rounding errors do not add up.
template <typename Number>
Array summed(const Array& array, std::int64_t kept) {
  using Sum = Total<Number>;
  constexpr std::int64_t kPiece = 512;
  for (auto a = kept; a < array.dim(); ++a) {
    const auto count = array.size(a), half = count / 2;
    if (count <= kPiece) continue;
    const auto rest = summed<Number>(array.narrow(a, half, count - half), kept);
    return summed<Number>(array.narrow(a, 0, half), kept).add_(rest);
  }
  auto total = zeros(array.sizes().slice(0, static_cast<std::size_t>(kept)),
                     CppTypeToScalarType<Sum>::value);
  auto to = total;
  for (auto a = kept; a < array.dim(); ++a) to = to.unsqueeze(-1);
  to = to.expand(array.sizes());
  // The axis with the smallest step is walked innermost.
  IntArrayRef order;
  for (std::int64_t a = 0; a < array.dim(); ++a) order.push_back(a);
  std::stable_sort(order.begin(), order.end(),
                   [&](auto a, auto b) { return array.stride(a) > array.stride(b); });
  for_each_row<2>({to.permute(order), array.permute(order)}, [](Places<2> p, Steps<2> s,
                                                                std::int64_t n) {
    auto* sum = reinterpret_cast<Sum*>(p[0]);
    if (s[0] == 0) {
      *sum += sum_of<Number>(p[1], s[1], n);
    } else if (s[0] == sizeof(Sum) && s[1] == sizeof(Number)) {
      const auto* number = reinterpret_cast<const Number*>(p[1]);
      for (std::int64_t i = 0; i < n; ++i) sum[i] += static_cast<Sum>(number[i]);
    } else {
      for (std::int64_t i = 0; i < n; ++i) {
        *reinterpret_cast<Sum*>(p[0] + i * s[0]) +=
            static_cast<Sum>(*reinterpret_cast<const Number*>(p[1] + i * s[1]));
      }
    }
  });
  return total;
}

// result[...] = of_row(first, step, count) along one axis.
template <typename Out, typename Function>
Array along_axis(const Array& array, std::int64_t axis, bool keepdim, ScalarType type,
                 const Function& of_row) {
  const auto a = axis_of(axis, array.dim());
  const auto out = empty(reduced_sizes(array, {a}, true), type);
  const auto first = array.narrow(a, 0, std::min<std::int64_t>(1, array.size(a)));
  const auto step = array.stride(a) * array.element_size();
  const auto count = array.size(a);
  require(count > 0 || out.numel() == 0, "expected numbers along the axis");
  for_each_row<2>({out, first}, [&](Places<2> p, Steps<2> s, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) {
      *reinterpret_cast<Out*>(p[0] + i * s[0]) =
          static_cast<Out>(of_row(p[1] + i * s[1], step, count));
    }
  });
  return keepdim ? out : out.squeeze(a);
}

// The place of the number that is better than all others, NaN best of all.
template <typename Number, typename Better>
std::int64_t best_place(const char* first, std::int64_t step, std::int64_t count,
                        const Better& better) {
  const auto number = [&](std::int64_t i) {
    return *reinterpret_cast<const Number*>(first + i * step);
  };
  std::int64_t best = 0;
  for (std::int64_t i = 1; i < count; ++i) {
    if (number(best) != number(best)) break;
    if (number(i) != number(i) || better(number(i), number(best))) best = i;
  }
  return best;
}

template <typename Better>
Array best_places(const Array& array, std::int64_t axis, bool keepdim,
                  const Better& better) {
  Array result;
  for_type(array.scalar_type(), [&](auto zero) {
    using Number = decltype(zero);
    result = along_axis<std::int64_t>(
        array, axis, keepdim, kLong,
        [&](const char* first, std::int64_t step, std::int64_t count) {
          return best_place<Number>(first, step, count, better);
        });
  });
  return result;
}

constexpr auto kLarger = [](auto x, auto y) { return x > y; };
constexpr auto kSmaller = [](auto x, auto y) { return x < y; };

template <typename Better>
std::tuple<Array, Array> best_along(const Array& array, std::int64_t axis, bool keepdim,
                                    const Better& better) {
  const auto places = best_places(array, axis, true, better);
  const auto values = array.gather(axis, places);
  const auto a = axis_of(axis, array.dim());
  return {keepdim ? values : values.squeeze(a), keepdim ? places : places.squeeze(a)};
}

}  // namespace

void sum_out(const Array& out, const Array& array, const IntArrayRef& axes) {
  out.copy_(array.sum(axes));
}

}  // namespace nd

using nd::IntArrayRef;

Array Array::sum(const IntArrayRef& axes, bool keepdim) const {
  const auto [array, kept] = nd::summed_last(*this, axes);
  const auto type = is_floating_point() ? type_ : nd::kLong;
  Array total;
  nd::for_type(type_, [&, &array = array, kept = kept](auto zero) {
    total = nd::summed<decltype(zero)>(array, kept);
  });
  return total.to(type).view(nd::reduced_sizes(*this, axes, keepdim));
}
Array Array::sum() const { return sum(IntArrayRef{}); }
Array Array::sum(ScalarType type) const { return to(type).sum(); }

Array Array::mean(const IntArrayRef& axes, bool keepdim) const {
  nd::require(is_floating_point(), "expected floating-point numbers");
  auto total = sum(axes, keepdim);
  const auto count = total.numel() > 0 ? numel() / total.numel() : 0;
  return total.div(static_cast<double>(count));
}
Array Array::mean() const { return mean(IntArrayRef{}); }

Array Array::var(std::int64_t axis, bool unbiased) const {
  const auto count = static_cast<double>(size(axis));
  return (*this - mean(axis, true)).square().sum(axis) / (count - (unbiased ? 1 : 0));
}

Array Array::norm() const { return square().sum().sqrt(); }
Array Array::norm(int order, std::int64_t axis, bool keepdim) const {
  nd::require(order == 2, "expected the Euclidean norm");
  return square().sum(axis, keepdim).sqrt();
}

Array Array::any() const { return to(nd::kBool).sum().gt(0); }
Array Array::all(std::int64_t axis, bool keepdim) const {
  return logical_not().sum(axis, keepdim).eq(0);
}
Array Array::all() const { return logical_not().sum().eq(0); }

std::tuple<Array, Array> Array::max(std::int64_t axis, bool keepdim) const {
  return nd::best_along(*this, axis, keepdim, nd::kLarger);
}
std::tuple<Array, Array> Array::min(std::int64_t axis, bool keepdim) const {
  return nd::best_along(*this, axis, keepdim, nd::kSmaller);
}
Array Array::amax(std::int64_t axis, bool keepdim) const {
  return std::get<0>(max(axis, keepdim));
}
Array Array::amin(std::int64_t axis, bool keepdim) const {
  return std::get<0>(min(axis, keepdim));
}
Array Array::max() const { return reshape({-1}).amax(0); }
Array Array::min() const { return reshape({-1}).amin(0); }
Array Array::argmax(std::int64_t axis, bool keepdim) const {
  return nd::best_places(*this, axis, keepdim, nd::kLarger);
}
Array Array::argmin(std::int64_t axis, bool keepdim) const {
  return nd::best_places(*this, axis, keepdim, nd::kSmaller);
}
Array Array::argmax() const { return reshape({-1}).argmax(0); }
Array Array::argmin() const { return reshape({-1}).argmin(0); }

Array Array::logsumexp(std::int64_t axis, bool keepdim) const {
  const auto largest = amax(axis, true).nan_to_num(NAN, 0, 0);
  const auto result = (*this - largest).exp().sum(axis, true).log() + largest;
  return keepdim ? result : result.squeeze(axis);
}
Array Array::log_softmax(std::int64_t axis) const {
  return *this - logsumexp(axis, true);
}

Array Array::cumsum(std::int64_t axis) const {
  const auto a = nd::axis_of(axis, dim());
  auto result = to(is_floating_point() ? type_ : nd::kLong).clone();
  const auto length = size(a);
  if (result.numel() == 0) return result;
  const auto inner = result.stride(a);
  nd::for_number_type(result.type_, [&](auto zero) {
    using Number = decltype(zero);
    auto* block = result.data_ptr<Number>();
    const auto* end = block + result.numel();
    for (; block < end; block += length * inner) {
      for (auto i = inner; i < length * inner; ++i) block[i] += block[i - inner];
    }
  });
  return result;
}
Array Array::diff(std::int64_t times, std::int64_t axis) const {
  auto result = *this;
  for (std::int64_t i = 0; i < times; ++i) {
    const auto count = result.size(axis) - 1;
    result = result.narrow(axis, 1, count) - result.narrow(axis, 0, count);
  }
  return result;
}

}  // namespace kinflow
