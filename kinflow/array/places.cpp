// Elements and rows by their numbers, sorting, and distinct values.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "kinflow/array/strided_loops.h"

namespace kinflow {

using nd::IntArrayRef;
using nd::Scalar;

namespace {

// The numbers of rows, each in 0 .. length - 1.
std::vector<std::int64_t> checked_places(const Array& places, std::int64_t length) {
  nd::require(places.scalar_type() == nd::kLong && places.dim() <= 1,
              "expected places [n] int64");
  const auto all = places.contiguous();
  const auto* first = all.data_ptr<std::int64_t>();
  std::vector<std::int64_t> result(first, first + all.numel());
  for (const auto place : result) {
    if (place < 0 || place >= length) {
      nd::refuse("expected a place below " + std::to_string(length) + ", received " +
                 std::to_string(place));
    }
  }
  return result;
}

// How many blocks of a contiguous array have the whole axis, and how many numbers there
// are at each place of the axis in a block.
std::pair<std::int64_t, std::int64_t> blocks_of(const Array& array, std::int64_t axis) {
  std::int64_t blocks = 1, inner = 1;
  for (std::int64_t i = 0; i < array.dim(); ++i) {
    if (i != axis) (i < axis ? blocks : inner) *= array.size(i);
  }
  return {blocks, inner};
}

// Calls with_row(row of the array, row of the values, length) for every place, of which
// the values have one each.
template <typename Number, typename Row>
void for_rows_at(const Array& array, std::int64_t axis,
                 const std::vector<std::int64_t>& places, const Array& values,
                 const Row& with_row) {
  const auto [blocks, inner] = blocks_of(array, axis);
  const auto* from = values.data_ptr<Number>();
  auto* to = array.data_ptr<Number>();
  for (std::int64_t block = 0; block < blocks; ++block) {
    for (const auto place : places) {
      with_row(to + place * inner, from, inner);
      from += inner;
    }
    to += array.size(axis) * inner;
  }
}

// `read`, or a copy of it where both share numbers, for what is not read in the order
// in which it is written.
Array outside_of(const Array& written, const Array& read) {
  return read.is_same(written) ? read.clone() : nd::apart_from(written, read);
}

// Numbers in an array's type, apart from its memory, one row for each place.
Array checked_values(const Array& array, std::int64_t axis,
                     const std::vector<std::int64_t>& places, const Array& values) {
  auto sizes = array.sizes();
  sizes[static_cast<std::size_t>(axis)] = static_cast<std::int64_t>(places.size());
  nd::require(values.sizes() == sizes, "values do not fit");
  return outside_of(array, values.to(array.scalar_type()).contiguous());
}

}  // namespace

Array Array::index_select(std::int64_t axis, const Array& places) const {
  const auto a = nd::axis_of(axis, dim());
  const auto from = checked_places(places, size(a));
  const auto count = static_cast<std::int64_t>(from.size());
  auto sizes = sizes_;
  sizes[static_cast<std::size_t>(a)] = count;
  const auto result = nd::empty(sizes, type_);
  // A few rows are not worth a copy of all.
  if (!is_contiguous() && count < size(a) / 8) {
    for (std::int64_t i = 0; i < count; ++i) {
      result.select(a, i).copy_(select(a, from[static_cast<std::size_t>(i)]));
    }
    return result;
  }
  const auto source = contiguous();
  const auto [outer, beside] = blocks_of(*this, a);
  const auto inner = beside * element_size();
  const auto* in = static_cast<const char*>(source.first_);
  auto* out = static_cast<char*>(result.first_);
  const auto bytes = static_cast<std::size_t>(inner);
  for (std::int64_t o = 0; o < outer; ++o, in += size(a) * inner) {
    if (inner == 8) {
      for (const auto place : from) {
        std::memcpy(out, in + place * 8, 8);
        out += 8;
      }
      continue;
    }
    for (const auto place : from) {
      std::memcpy(out, in + place * inner, bytes);
      out += inner;
    }
  }
  return result;
}

const Array& Array::index_copy_(std::int64_t axis, const Array& places,
                                const Array& values) const {
  const auto a = nd::axis_of(axis, dim());
  const auto to = checked_places(places, size(a));
  const auto rows = checked_values(*this, a, to, values);
  if (!is_contiguous()) {
    for (std::size_t i = 0; i < to.size(); ++i) {
      select(a, to[i]).copy_(rows.select(a, static_cast<std::int64_t>(i)));
    }
    return *this;
  }
  nd::for_type(type_, [&](auto zero) {
    using Number = decltype(zero);
    for_rows_at<Number>(*this, a, to, rows,
                        [](Number* row, const Number* from, std::int64_t length) {
                          std::copy_n(from, length, row);
                        });
  });
  return *this;
}

const Array& Array::index_add_(std::int64_t axis, const Array& places,
                               const Array& values) const {
  const auto a = nd::axis_of(axis, dim());
  const auto to = checked_places(places, size(a));
  const auto added = checked_values(*this, a, to, values);
  if (!is_contiguous()) {
    for (std::size_t i = 0; i < to.size(); ++i) {
      select(a, to[i]).add_(added.select(a, static_cast<std::int64_t>(i)));
    }
    return *this;
  }
  nd::for_number_type(type_, [&](auto zero) {
    using Number = decltype(zero);
    for_rows_at<Number>(*this, a, to, added,
                        [](Number* row, const Number* from, std::int64_t length) {
                          for (std::int64_t i = 0; i < length; ++i) row[i] += from[i];
                        });
  });
  return *this;
}

const Array& Array::index_fill_(std::int64_t axis, const Array& places,
                                Scalar value) const {
  for (const auto place : checked_places(places, size(axis))) {
    select(axis, place).fill_(value);
  }
  return *this;
}

Array Array::index_add(std::int64_t axis, const Array& places,
                       const Array& values) const {
  return clone().index_add_(axis, places, values);
}
Array Array::index_copy(std::int64_t axis, const Array& places,
                        const Array& values) const {
  return clone().index_copy_(axis, places, values);
}

const Array& Array::index_put_(const std::vector<Array>& places,
                               const Array& values) const {
  nd::require(static_cast<std::int64_t>(places.size()) <= dim(),
              "expected places in no more axes than there are");
  IntArrayRef sizes;
  for (std::size_t i = 0; i < places.size(); ++i) {
    checked_places(places[i].reshape({-1}), sizes_[i]);
    sizes = nd::broadcast_sizes(sizes, places[i].sizes());
  }
  // The element that each combination of places names.
  auto first = nd::zeros(sizes, nd::kLong);
  for (std::size_t i = 0; i < places.size(); ++i) first += places[i] * strides_[i];
  const auto firsts = first.contiguous();
  auto rest = sizes;
  IntArrayRef tail_sizes, tail_strides;
  for (std::size_t a = places.size(); a < sizes_.size(); ++a) {
    rest.push_back(sizes_[a]);
    tail_sizes.push_back(sizes_[a]);
    tail_strides.push_back(strides_[a]);
  }
  const auto source = outside_of(*this, values.to(type_)).expand(rest).contiguous();
  std::int64_t inner = 1;
  for (const auto length : tail_sizes) inner *= length;
  const auto rows = source.view({firsts.numel(), inner});
  for (std::int64_t i = 0; i < firsts.numel(); ++i) {
    ArrayParts::view(*this, firsts.data_ptr<std::int64_t>()[i], tail_sizes,
                     tail_strides)
        .copy_(rows[i].view(tail_sizes));
  }
  return *this;
}

const Array& Array::index_put_(const std::vector<Array>& places, Scalar value) const {
  return index_put_(places, nd::full({}, value, type_));
}

namespace {

// Calls at(element of the array, element of the other) for all places along an axis;
// the other array has the shape of the places.
template <typename Number, typename At>
void for_places(const Array& array, std::int64_t axis, const Array& places,
                const Array& other, const At& at) {
  const auto a = nd::axis_of(axis, array.dim());
  nd::require(places.scalar_type() == nd::kLong && places.dim() == array.dim(),
              "expected places int64 with as many axes");
  auto sizes = places.sizes(), strides = array.strides();
  for (std::int64_t i = 0; i < array.dim(); ++i) {
    nd::require(i == a || places.size(i) <= array.size(i),
                "expected places inside the other axes");
  }
  strides[static_cast<std::size_t>(a)] = 0;
  const auto beside = ArrayParts::view(array, 0, sizes, strides);
  const auto step = array.stride(a) * array.element_size();
  const auto length = array.size(a);
  nd::for_each_row<3>(
      {places, beside, other}, [&](nd::Places<3> p, nd::Steps<3> s, std::int64_t n) {
        for (std::int64_t i = 0; i < n; ++i) {
          const auto place = *reinterpret_cast<const std::int64_t*>(p[0] + i * s[0]);
          nd::require(place >= 0 && place < length, "expected a place inside the axis");
          at(reinterpret_cast<Number*>(p[1] + i * s[1] + place * step),
             reinterpret_cast<Number*>(p[2] + i * s[2]));
        }
      });
}

}  // namespace

Array Array::gather(std::int64_t axis, const Array& places) const {
  const auto result = nd::empty(places.sizes(), type_);
  nd::for_type(type_, [&](auto zero) {
    using Number = decltype(zero);
    for_places<Number>(*this, axis, places, result,
                       [](const Number* from, Number* to) { *to = *from; });
  });
  return result;
}

const Array& Array::scatter_(std::int64_t axis, const Array& places,
                             const Array& values) const {
  const auto source = outside_of(*this, values.to(type_)).expand(places.sizes());
  nd::for_type(type_, [&](auto zero) {
    using Number = decltype(zero);
    for_places<Number>(*this, axis, places, source,
                       [](Number* to, const Number* from) { *to = *from; });
  });
  return *this;
}

Array Array::masked_select(const Array& mask) const {
  const auto sizes = nd::broadcast_sizes(sizes_, mask.sizes());
  return expand(sizes).reshape({-1}).index_select(
      0, mask.expand(sizes).reshape({-1}).nonzero().squeeze(1));
}
const Array& Array::masked_fill_(const Array& mask, Scalar value) const {
  nd::where_out(*this, mask, nd::full({}, value, type_), *this);
  return *this;
}
Array Array::masked_fill(const Array& mask, Scalar value) const {
  return nd::where(mask, nd::full({}, value, type_), *this);
}

Array Array::nonzero() const {
  const auto is_set = to(nd::kBool).contiguous();
  const auto* set = is_set.data_ptr<bool>();
  std::vector<std::int64_t> found;
  for (std::int64_t i = 0; i < numel(); ++i) {
    if (!set[i]) continue;
    auto rest = i;
    const auto first = found.size();
    found.resize(first + sizes_.size());
    for (std::size_t a = sizes_.size(); a-- > 0;) {
      found[first + a] = rest % sizes_[a];
      rest /= sizes_[a];
    }
  }
  const auto count = sizes_.empty() ? (numel() > 0 && set[0] ? 1 : 0)
                                    : static_cast<std::int64_t>(found.size()) / dim();
  return nd::tensor(found).view({count, dim()});
}

Array Array::argsort(std::int64_t axis, bool descending) const {
  const auto a = nd::axis_of(axis, dim());
  const auto rows = transpose(a, -1).contiguous();
  auto order = nd::empty(rows.sizes(), nd::kLong);
  const auto length = rows.size(-1);
  nd::for_type(type_, [&](auto zero) {
    using Number = decltype(zero);
    const auto* row = rows.data_ptr<Number>();
    auto* out = order.data_ptr<std::int64_t>();
    for (std::int64_t r = 0; r < (length > 0 ? rows.numel() / length : 0); ++r) {
      std::iota(out, out + length, std::int64_t{0});
      // NaN is the largest.
      std::stable_sort(out, out + length, [&](std::int64_t i, std::int64_t j) {
        const auto x = row[descending ? j : i], y = row[descending ? i : j];
        return x < y || (y != y && x == x);
      });
      row += length;
      out += length;
    }
  });
  return order.transpose(a, -1).contiguous();
}
Array Array::argsort(bool /*stable*/, std::int64_t axis, bool descending) const {
  return argsort(axis, descending);
}
std::tuple<Array, Array> Array::sort(std::int64_t axis, bool descending) const {
  const auto order = argsort(axis, descending);
  return {gather(axis, order), order};
}
std::tuple<Array, Array> Array::topk(std::int64_t count, std::int64_t axis,
                                     bool largest) const {
  const auto order = argsort(axis, largest).narrow(axis, 0, count);
  return {gather(axis, order), order};
}

const Array& Array::fill_diagonal_(Scalar value) const {
  diagonal().fill_(value);
  return *this;
}

namespace nd {

std::tuple<Array, Array, Array> _unique2(const Array& array, bool /*sorted*/,
                                         bool /*return_inverse*/,
                                         bool /*return_counts*/) {
  const auto all = array.reshape({-1});
  const auto order = all.argsort().contiguous();
  const auto* at = order.data_ptr<std::int64_t>();
  const auto sorted = all.index_select(0, order);
  const auto n = all.numel();
  const auto is_new = n > 1 ? sorted.narrow(0, 1, n - 1).ne(sorted.narrow(0, 0, n - 1))
                            : zeros({0}, kBool);
  std::vector<std::int64_t> firsts, counts, place_of(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) {
    if (i == 0 || is_new.data_ptr<bool>()[i - 1]) {
      firsts.push_back(i);
      counts.push_back(0);
    }
    ++counts.back();
    place_of[static_cast<std::size_t>(at[i])] =
        static_cast<std::int64_t>(firsts.size()) - 1;
  }
  return {sorted.index_select(0, tensor(firsts)), tensor(place_of).view(array.sizes()),
          tensor(counts)};
}

Array bincount(const Array& array, const Array& weights, std::int64_t least) {
  require(!weights.defined(), "expected no weights");
  const auto length =
      std::max(least, array.numel() > 0 ? array.max().item<std::int64_t>() + 1 : 0);
  return zeros({length}, kLong).index_add_(0, array, ones({array.numel()}, kLong));
}

Array take_along_dim(const Array& array, const Array& places, std::int64_t axis) {
  const auto a = static_cast<std::size_t>(axis_of(axis, array.dim()));
  auto of_array = array.sizes(), of_places = places.sizes();
  of_array[a] = of_places[a] = 1;
  auto sizes = broadcast_sizes(of_array, of_places);
  const auto shared = sizes;
  sizes[a] = array.sizes()[a];
  const auto from = array.expand(sizes);
  sizes = shared;
  sizes[a] = places.sizes()[a];
  return from.gather(axis, places.expand(sizes));
}

Array nanquantile(const Array& array, double share, std::int64_t axis) {
  // NaN comes last, so the numbers are the first ones.
  const auto sorted = std::get<0>(array.sort(axis));
  const auto counts = array.isnan().logical_not().sum(axis, true);
  const auto place = (counts - 1).to(kDouble) * share;
  const auto below = place.floor().clamp_min(0).to(kLong);
  const auto rest = place - below.to(kDouble);
  const auto is_between = rest.gt(0);
  const auto above = below + is_between.to(kLong);
  const auto low = sorted.gather(axis, below), high = sorted.gather(axis, above);
  // Infinite numbers have no difference.
  return where(is_between, low + (high - low) * rest.to(array.scalar_type()), low)
      .squeeze(axis);
}

}  // namespace nd
}  // namespace kinflow
