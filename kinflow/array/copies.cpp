// New arrays, copies, and changes of type.
#include <cmath>
#include <cstring>
#include <ostream>

#include "kinflow/array/strided_loops.h"

namespace kinflow {

using nd::IntArrayRef;
using nd::Scalar;

const Array& Array::copy_(const Array& values) const {
  nd::require(values.defined(), "expected an array, received one that holds nothing");
  auto source = values.expand(sizes_);
  if (type_ == values.type_ && is_contiguous() && source.is_contiguous()) {
    std::memmove(first_, source.first_, static_cast<std::size_t>(nbytes()));
    return *this;
  }
  source = nd::apart_from(*this, source);
  nd::for_type(type_, [&](auto to) {
    nd::for_type(values.type_, [&](auto from) {
      nd::map_into<decltype(to), decltype(from)>(*this, source,
                                                 [](auto x) { return x; });
    });
  });
  return *this;
}

const Array& Array::fill_(Scalar value) const {
  nd::for_type(type_, [&](auto zero) {
    using Number = decltype(zero);
    const auto number = value.to<Number>();
    nd::for_each_row<1>({*this}, [&](nd::Places<1> p, nd::Steps<1> s, std::int64_t n) {
      for (std::int64_t i = 0; i < n; ++i) {
        *reinterpret_cast<Number*>(p[0] + i * s[0]) = number;
      }
    });
  });
  return *this;
}

Array Array::clone(nd::MemoryFormat /*format*/) const {
  return nd::empty(sizes_, type_).copy_(*this);
}

Array Array::contiguous() const {
  return !defined() || is_contiguous() ? *this : clone();
}

Array Array::to(ScalarType type) const {
  if (!defined() || type == type_) return *this;
  return nd::empty(sizes_, type).copy_(*this);
}

Scalar Array::item() const {
  nd::require(numel() == 1, "expected one number");
  Scalar result = 0;
  nd::for_type(
      type_, [&](auto zero) { result = *static_cast<const decltype(zero)*>(first_); });
  return result;
}

Array Array::repeat(const IntArrayRef& times) const {
  nd::require(static_cast<std::int64_t>(times.size()) >= dim(),
              "expected a number of times for every axis");
  auto from = *this;
  while (from.dim() < static_cast<std::int64_t>(times.size())) from = from.unsqueeze(0);
  // Every axis becomes two, the repetitions and the axis itself.
  IntArrayRef wanted;
  for (std::size_t a = 0; a < times.size(); ++a) {
    wanted.push_back(times[a] * from.sizes()[a]);
  }
  auto result = nd::empty(wanted, type_);
  auto to = result;
  IntArrayRef sizes, to_strides, from_strides;
  for (std::size_t a = 0; a < times.size(); ++a) {
    if (times[a] != 1) {
      sizes.push_back(times[a]);
      to_strides.push_back(result.strides()[a] * from.sizes()[a]);
      from_strides.push_back(0);
    }
    sizes.push_back(from.sizes()[a]);
    to_strides.push_back(result.strides()[a]);
    from_strides.push_back(from.strides()[a]);
  }
  ArrayParts::view(result, 0, sizes, to_strides)
      .copy_(ArrayParts::view(from, 0, sizes, from_strides));
  return result;
}

Array Array::repeat_interleave(std::int64_t times, std::int64_t axis) const {
  const auto a = nd::axis_of(axis, dim());
  auto sizes = sizes_;
  sizes.insert(static_cast<std::size_t>(a) + 1, times);
  return unsqueeze(a + 1).expand(sizes).clone().flatten(a, a + 1);
}

Array Array::flip(const IntArrayRef& axes) const {
  auto result = *this;
  for (const auto axis : axes) {
    std::vector<std::int64_t> order(static_cast<std::size_t>(size(axis)));
    for (std::size_t i = 0; i < order.size(); ++i)
      order[i] = static_cast<std::int64_t>(order.size() - 1 - i);
    result = result.index_select(axis, nd::tensor(order));
  }
  return result;
}

namespace {

// Zero where keep(row, column) does not hold.
template <typename Keep>
Array with_part(const Array& array, const Keep& keep) {
  auto result = array.clone();
  const auto rows = array.size(-2), columns = array.size(-1);
  const auto item = array.element_size();
  auto* first = static_cast<char*>(result.data_ptr());
  const auto matrices = rows * columns > 0 ? array.numel() / (rows * columns) : 0;
  for (std::int64_t m = 0; m < matrices; ++m) {
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) {
        if (keep(i, j)) continue;
        std::memset(first + ((m * rows + i) * columns + j) * item, 0,
                    static_cast<std::size_t>(item));
      }
    }
  }
  return result;
}

}  // namespace

Array Array::triu(std::int64_t diagonal) const {
  return with_part(*this, [=](auto i, auto j) { return j - i >= diagonal; });
}

Array Array::tril(std::int64_t diagonal) const {
  return with_part(*this, [=](auto i, auto j) { return j - i <= diagonal; });
}

Array Array::diag(std::int64_t offset) const {
  if (dim() == 2) return diagonal(offset).clone();
  const auto n = numel() + std::abs(offset);
  auto result = nd::zeros({n, n}, type_);
  result.diagonal(offset).copy_(*this);
  return result;
}

std::ostream& operator<<(std::ostream& out, const Array& array) {
  if (!array.defined()) return out << "no array";
  out << nd::toString(array.scalar_type()) << ' ' << array.sizes() << " {";
  const auto numbers = array.to(nd::kDouble).contiguous();
  for (std::int64_t i = 0; i < std::min<std::int64_t>(numbers.numel(), 200); ++i) {
    out << (i > 0 ? ", " : "") << numbers.data_ptr<double>()[i];
  }
  return out << (numbers.numel() > 200 ? ", ...}" : "}");
}

namespace nd {

Array zeros(const IntArrayRef& sizes, TensorOptions options) {
  auto result = empty(sizes, options);
  std::memset(result.data_ptr(), 0, static_cast<std::size_t>(result.nbytes()));
  return result;
}

Array ones(const IntArrayRef& sizes, TensorOptions options) {
  return full(sizes, 1, options);
}

Array full(const IntArrayRef& sizes, Scalar value, TensorOptions options) {
  return empty(sizes, options).fill_(value);
}

Array empty_like(const Array& array) { return empty(array.sizes(), array.options()); }
Array zeros_like(const Array& array) { return zeros(array.sizes(), array.options()); }
Array ones_like(const Array& array) { return ones(array.sizes(), array.options()); }
Array full_like(const Array& array, Scalar value) {
  return full(array.sizes(), value, array.options());
}
Array zeros_like(const Array& array, TensorOptions options) {
  return zeros(array.sizes(), options);
}
Array ones_like(const Array& array, TensorOptions options) {
  return ones(array.sizes(), options);
}

Array arange(std::int64_t end, TensorOptions options) {
  return arange(0, end, options);
}

Array arange(std::int64_t first, std::int64_t end, TensorOptions options) {
  auto result = empty({std::max<std::int64_t>(0, end - first)}, kLong);
  for (std::int64_t i = 0; i < result.numel(); ++i) {
    result.data_ptr<std::int64_t>()[i] = first + i;
  }
  return result.to(options.type());
}

Array eye(std::int64_t n, TensorOptions options) {
  auto result = zeros({n, n}, options);
  result.diagonal().fill_(1);
  return result;
}

Array linspace(double first, double last, std::int64_t count, TensorOptions options) {
  const auto step = count > 1 ? (last - first) / static_cast<double>(count - 1) : 0.0;
  auto result = arange(count, kDouble) * step + first;
  if (count > 1) result.select(0, count - 1).fill_(last);
  return result.to(options.type());
}

Array tril_indices(std::int64_t rows, std::int64_t columns) {
  std::vector<std::int64_t> row, column;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j <= std::min(i, columns - 1); ++j) {
      row.push_back(i);
      column.push_back(j);
    }
  }
  return stack({tensor(row), tensor(column)});
}

namespace {

template <typename Number, typename Numbers>
Array copied(const Numbers& numbers, TensorOptions options) {
  auto result = empty({static_cast<std::int64_t>(numbers.size())},
                      CppTypeToScalarType<Number>::value);
  std::copy(numbers.begin(), numbers.end(), result.template data_ptr<Number>());
  return result.to(options.type());
}

}  // namespace

Array tensor(const std::vector<double>& numbers, TensorOptions options) {
  return copied<double>(numbers, options);
}
Array tensor(const std::vector<std::int64_t>& numbers, TensorOptions options) {
  return copied<std::int64_t>(numbers, options);
}
Array tensor(const std::vector<std::uint8_t>& numbers, TensorOptions options) {
  return copied<std::uint8_t>(numbers, options);
}
Array tensor(std::initializer_list<double> numbers, TensorOptions options) {
  return copied<double>(numbers, options);
}

Array cat(const std::vector<Array>& arrays, std::int64_t axis) {
  require(!arrays.empty(), "expected arrays to join");
  // Arrays [0] fit beside all others.
  const auto counts = [](const Array& array) {
    return !(array.dim() == 1 && array.numel() == 0);
  };
  const auto shown = std::find_if(arrays.begin(), arrays.end(), counts);
  if (shown == arrays.end()) return arrays.front().clone();
  auto sizes = shown->sizes();
  const auto a = static_cast<std::size_t>(axis_of(axis, shown->dim()));
  sizes[a] = 0;
  auto type = shown->scalar_type();
  for (const auto& array : arrays) {
    if (!counts(array)) continue;
    sizes[a] += array.size(axis);
    type = std::max(type, array.scalar_type());
  }
  auto result = empty(sizes, type);
  std::int64_t first = 0;
  for (const auto& array : arrays) {
    if (!counts(array)) continue;
    auto wanted = sizes;
    wanted[a] = array.size(axis);
    require(array.sizes() == wanted, "arrays to join differ in another axis");
    result.narrow(axis, first, array.size(axis)).copy_(array);
    first += array.size(axis);
  }
  return result;
}

Array stack(const std::vector<Array>& arrays, std::int64_t axis) {
  std::vector<Array> parts;
  for (const auto& array : arrays) parts.push_back(array.unsqueeze(axis));
  return cat(parts, axis);
}

Array constant_pad_nd(const Array& array, const IntArrayRef& beside, Scalar value) {
  auto sizes = array.sizes();
  const auto axes = beside.size() / 2;
  for (std::size_t i = 0; i < axes; ++i) {
    sizes[sizes.size() - 1 - i] += beside[2 * i] + beside[2 * i + 1];
  }
  auto result = full(sizes, value, array.options());
  auto inside = result;
  for (std::size_t i = 0; i < axes; ++i) {
    const auto axis = array.dim() - 1 - static_cast<std::int64_t>(i);
    inside = inside.narrow(axis, beside[2 * i], array.size(axis));
  }
  inside.copy_(array);
  return result;
}

Array diag(const Array& array) { return array.diag(); }

Array diag_embed(const Array& array) {
  auto sizes = array.sizes();
  sizes.push_back(array.size(-1));
  auto result = zeros(sizes, array.options());
  result.diagonal(0, -2, -1).copy_(array);
  return result;
}

}  // namespace nd
}  // namespace kinflow
