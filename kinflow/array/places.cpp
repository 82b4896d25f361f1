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

}  // namespace

Array Array::index_select(std::int64_t axis, const Array& places) const {
  const auto a = nd::axis_of(axis, dim());
  const auto from = checked_places(places, size(a));
  auto sizes = sizes_;
  sizes[static_cast<std::size_t>(a)] = static_cast<std::int64_t>(from.size());
  const auto result = nd::empty(sizes, type_);
  const auto source = contiguous();
  std::int64_t outer = 1, inner = element_size();
  for (std::int64_t i = 0; i < dim(); ++i)
    (i < a ? outer : inner) *= i == a ? 1 : size(i);
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
  const auto to = checked_places(places, size(axis));
  for (std::size_t i = 0; i < to.size(); ++i) {
    select(axis, to[i]).copy_(values.select(axis, static_cast<std::int64_t>(i)));
  }
  return *this;
}

const Array& Array::index_add_(std::int64_t axis, const Array& places,
                               const Array& values) const {
  const auto a = nd::axis_of(axis, dim());
  const auto to = checked_places(places, size(a));
  const auto added = values.to(type_).contiguous();
  auto sizes = sizes_;
  sizes[static_cast<std::size_t>(a)] = static_cast<std::int64_t>(to.size());
  nd::require(added.sizes() == sizes, "values do not fit");
  if (!is_contiguous()) {
    for (std::size_t i = 0; i < to.size(); ++i) {
      select(a, to[i]).add_(added.select(a, static_cast<std::int64_t>(i)));
    }
    return *this;
  }
  std::int64_t outer = 1, inner = 1;
  for (std::int64_t i = 0; i < dim(); ++i)
    (i < a ? outer : inner) *= i == a ? 1 : size(i);
  nd::for_number_type(type_, [&](auto zero) {
    using Number = decltype(zero);
    const auto* in = added.data_ptr<Number>();
    auto* out = data_ptr<Number>();
    for (std::int64_t o = 0; o < outer; ++o, out += size(a) * inner) {
      for (const auto place : to) {
        auto* row = out + place * inner;
        for (std::int64_t i = 0; i < inner; ++i) row[i] += in[i];
        in += inner;
      }
    }
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
  IntArrayRef sizes;
  for (const auto& place : places) sizes = nd::broadcast_sizes(sizes, place.sizes());
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
  const auto source =
      values.to(type_).expand(rest).contiguous().reshape({firsts.numel(), -1});
  for (std::int64_t i = 0; i < firsts.numel(); ++i) {
    ArrayParts::view(*this, firsts.data_ptr<std::int64_t>()[i], tail_sizes,
                     tail_strides)
        .copy_(source[i].view(tail_sizes));
  }
  return *this;
}

const Array& Array::index_put_(const std::vector<Array>& places, Scalar value) const {
  return index_put_(places, nd::full({}, value, type_));
}

namespace {

// Calls with_row(element of the array, place, element of the other) for all places
// along an axis; the other array has the shape of the places.
template <typename Row>
void for_places(const Array& array, std::int64_t axis, const Array& places,
                const Array& other, const Row& row) {
  const auto a = nd::axis_of(axis, array.dim());
  auto sizes = places.sizes(), strides = array.strides();
  strides[static_cast<std::size_t>(a)] = 0;
  const auto beside = ArrayParts::view(array, 0, sizes, strides);
  const auto step = array.stride(a) * array.element_size();
  const auto length = array.size(a);
  nd::for_each_row<3>(
      {places, beside, other}, [&](nd::Places<3> p, nd::Steps<3> s, std::int64_t n) {
        for (std::int64_t i = 0; i < n; ++i) {
          const auto place = *reinterpret_cast<const std::int64_t*>(p[0] + i * s[0]);
          nd::require(place >= 0 && place < length, "expected a place inside the axis");
          row(p[1] + i * s[1] + place * step, p[2] + i * s[2]);
        }
      });
}

}  // namespace

Array Array::gather(std::int64_t axis, const Array& places) const {
  const auto result = nd::empty(places.sizes(), type_);
  const auto bytes = static_cast<std::size_t>(element_size());
  for_places(*this, axis, places, result,
             [&](const char* from, char* to) { std::memcpy(to, from, bytes); });
  return result;
}

const Array& Array::scatter_(std::int64_t axis, const Array& places,
                             const Array& values) const {
  const auto source = values.to(type_).expand(places.sizes());
  const auto bytes = static_cast<std::size_t>(element_size());
  for_places(*this, axis, places, source,
             [&](char* to, const char* from) { std::memcpy(to, from, bytes); });
  return *this;
}

Array Array::take(const Array& places) const {
  return reshape({-1}).index_select(0, places.reshape({-1})).view(places.sizes());
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

Array bincount(const Array& array, const Array& /*weights*/, std::int64_t least) {
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
  const auto above = (below + 1).minimum((counts - 1).clamp_min(0));
  const auto low = sorted.gather(axis, below), high = sorted.gather(axis, above);
  const auto rest = place - below.to(kDouble);
  return (low + (high - low) * rest.to(array.scalar_type())).squeeze(axis);
}

}  // namespace nd
}  // namespace kinflow
