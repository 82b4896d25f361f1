// Memory, shapes and views.
#include <cstdlib>
#include <cstring>
#include <new>
#include <ostream>

#include "kinflow/array/strided_loops.h"

namespace kinflow {
namespace nd {
namespace {

// Rows of vector registers begin at multiples of this.
constexpr std::size_t kAlignment = 64;

}  // namespace

const char* toString(ScalarType type) {
  switch (type) {
    case kBool:
      return "Bool";
    case kByte:
      return "Byte";
    case kLong:
      return "Long";
    case kBFloat16:
      return "BFloat16";
    case kFloat:
      return "Float";
    case kDouble:
      return "Double";
  }
  return "?";
}

std::ostream& operator<<(std::ostream& out, ScalarType type) {
  return out << toString(type);
}

IntArrayRef::IntArrayRef(const std::int64_t* numbers, std::size_t count)
    : count_(count) {
  require(count <= kMostAxes, "expected at most 8 axes");
  std::copy_n(numbers, count, numbers_.begin());
}

bool IntArrayRef::operator==(const IntArrayRef& other) const {
  return std::equal(begin(), end(), other.begin(), other.end());
}

void IntArrayRef::push_back(std::int64_t number) { insert(count_, number); }

void IntArrayRef::insert(std::size_t place, std::int64_t number) {
  require(count_ < kMostAxes, "expected at most 8 axes");
  std::copy_backward(begin() + place, end(), end() + 1);
  numbers_[place] = number;
  ++count_;
}

void IntArrayRef::erase(std::size_t place) {
  std::copy(begin() + place + 1, end(), begin() + place);
  --count_;
}

std::ostream& operator<<(std::ostream& out, const IntArrayRef& numbers) {
  out << '[';
  for (std::size_t i = 0; i < numbers.size(); ++i)
    out << (i > 0 ? ", " : "") << numbers[i];
  return out << ']';
}

std::int64_t item_size(ScalarType type) {
  switch (type) {
    case kBool:
    case kByte:
      return 1;
    case kBFloat16:
      return 2;
    case kFloat:
      return 4;
    case kLong:
    case kDouble:
      return 8;
  }
  return 0;
}

std::int64_t axis_of(std::int64_t axis, std::int64_t axes) {
  const auto counted = axis < 0 ? axis + axes : axis;
  if (counted < 0 || counted >= axes) {
    refuse("expected an axis of " + std::to_string(axes) + ", received " +
           std::to_string(axis));
  }
  return counted;
}

IntArrayRef contiguous_strides(const IntArrayRef& sizes) {
  auto strides = sizes;
  // Unsigned: an empty array may have absurd lengths beside its 0.
  std::uint64_t stride = 1;
  for (std::size_t a = sizes.size(); a-- > 0;) {
    strides[a] = static_cast<std::int64_t>(stride);
    stride *= static_cast<std::uint64_t>(std::max<std::int64_t>(sizes[a], 1));
  }
  return strides;
}

IntArrayRef broadcast_sizes(const IntArrayRef& a, const IntArrayRef& b) {
  auto result = a.size() >= b.size() ? a : b;
  const auto& shorter = a.size() >= b.size() ? b : a;
  const auto offset = result.size() - shorter.size();
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    auto& length = result[offset + i];
    if (length == shorter[i] || shorter[i] == 1) continue;
    require(length == 1, "shapes do not fit together");
    length = shorter[i];
  }
  return result;
}

Array empty(const IntArrayRef& sizes, TensorOptions options) {
  const bool is_empty = std::find(sizes.begin(), sizes.end(), 0) != sizes.end();
  std::int64_t bytes = is_empty ? 0 : item_size(options.type());
  for (const auto length : sizes) {
    require(length >= 0, "expected sizes of at least 0");
    if (__builtin_mul_overflow(bytes, length, &bytes)) throw std::bad_alloc();
  }
  const auto whole =
      (static_cast<std::size_t>(bytes) + kAlignment) / kAlignment * kAlignment;
  std::shared_ptr<void> memory(std::aligned_alloc(kAlignment, whole), std::free);
  if (!memory) throw std::bad_alloc();
  auto* first = memory.get();
  return ArrayParts::make(std::move(memory), first, sizes, contiguous_strides(sizes),
                          options.type());
}

Array from_blob(void* numbers, const IntArrayRef& sizes, TensorOptions options) {
  // An empty vector may have no memory, but arrays do.
  if (numbers == nullptr) return empty(sizes, options);
  return ArrayParts::make(std::shared_ptr<void>(numbers, [](void*) {}), numbers, sizes,
                          contiguous_strides(sizes), options.type());
}

namespace {

// Where the numbers of an array that has some begin and end in memory.
std::pair<const char*, const char*> extent(const Array& array) {
  const auto* first = static_cast<const char*>(array.data_ptr());
  std::int64_t last = 1;
  for (std::size_t a = 0; a < array.sizes().size(); ++a) {
    last += (array.sizes()[a] - 1) * array.strides()[a];
  }
  return {first, first + last * array.element_size()};
}

}  // namespace

Array apart_from(const Array& written, const Array& read) {
  if (written.numel() == 0 || read.numel() == 0 || written.is_same(read)) return read;
  const auto [first, end] = extent(written);
  const auto [other_first, other_end] = extent(read);
  return first < other_end && other_first < end ? read.clone() : read;
}

}  // namespace nd

using nd::IntArrayRef;

std::int64_t Array::size(std::int64_t axis) const {
  return sizes_[static_cast<std::size_t>(nd::axis_of(axis, dim()))];
}

std::int64_t Array::stride(std::int64_t axis) const {
  return strides_[static_cast<std::size_t>(nd::axis_of(axis, dim()))];
}

std::int64_t Array::numel() const {
  if (!defined() || std::find(sizes_.begin(), sizes_.end(), 0) != sizes_.end())
    return 0;
  std::int64_t count = 1;
  for (const auto length : sizes_) count *= length;
  return count;
}

std::int64_t Array::element_size() const { return nd::item_size(type_); }

bool Array::is_contiguous() const {
  if (numel() == 0) return true;
  std::int64_t stride = 1;
  for (std::size_t a = sizes_.size(); a-- > 0;) {
    if (sizes_[a] != 1 && strides_[a] != stride) return false;
    stride *= sizes_[a];
  }
  return true;
}

bool Array::is_same(const Array& other) const {
  return first_ == other.first_ && sizes_ == other.sizes_ &&
         strides_ == other.strides_ && type_ == other.type_;
}

void* Array::checked_data(ScalarType type) const {
  if (type != type_) {
    nd::refuse(std::string("expected numbers of type ") + nd::toString(type) +
               ", received " + nd::toString(type_));
  }
  return first_;
}

Array Array::select(std::int64_t axis, std::int64_t i) const {
  nd::require(i >= -size(axis), "expected a place inside the axis");
  return narrow(axis, i, 1).squeeze(axis);
}

Array Array::narrow(std::int64_t axis, std::int64_t first, std::int64_t count) const {
  const auto a = static_cast<std::size_t>(nd::axis_of(axis, dim()));
  if (first < 0) first += sizes_[a];
  nd::require(first >= 0 && count >= 0 && first + count <= sizes_[a],
              "expected a range inside the axis");
  auto sizes = sizes_;
  sizes[a] = count;
  return ArrayParts::view(*this, first * strides_[a], sizes, strides_);
}

Array Array::slice(std::int64_t axis, std::int64_t first,
                   std::optional<std::int64_t> end, std::int64_t step) const {
  nd::require(step > 0, "expected a step of at least 1");
  const auto a = static_cast<std::size_t>(nd::axis_of(axis, dim()));
  const auto length = sizes_[a];
  const auto within = [&](std::int64_t place) {
    return std::clamp<std::int64_t>(place < 0 ? place + length : place, 0, length);
  };
  const auto begin = within(first);
  const auto count = std::max<std::int64_t>(0, within(end.value_or(length)) - begin);
  auto view = narrow(axis, begin, count);
  view.sizes_[a] = (count + step - 1) / step;
  view.strides_[a] *= step;
  return view;
}

Array Array::unsqueeze(std::int64_t axis) const {
  const auto a = static_cast<std::size_t>(nd::axis_of(axis, dim() + 1));
  auto sizes = sizes_, strides = strides_;
  strides.insert(a, a < sizes.size() ? sizes[a] * strides[a] : 1);
  sizes.insert(a, 1);
  return ArrayParts::view(*this, 0, sizes, strides);
}

Array Array::squeeze(std::int64_t axis) const {
  const auto a = static_cast<std::size_t>(nd::axis_of(axis, dim()));
  if (sizes_[a] != 1) return *this;
  auto sizes = sizes_, strides = strides_;
  sizes.erase(a);
  strides.erase(a);
  return ArrayParts::view(*this, 0, sizes, strides);
}

Array Array::transpose(std::int64_t a, std::int64_t b) const {
  auto view = *this;
  const auto first = static_cast<std::size_t>(nd::axis_of(a, dim()));
  const auto second = static_cast<std::size_t>(nd::axis_of(b, dim()));
  std::swap(view.sizes_[first], view.sizes_[second]);
  std::swap(view.strides_[first], view.strides_[second]);
  return view;
}

Array Array::t() const {
  nd::require(dim() <= 2, "expected a matrix");
  return dim() < 2 ? *this : transpose(0, 1);
}

Array Array::permute(const IntArrayRef& axes) const {
  nd::require(static_cast<std::int64_t>(axes.size()) == dim(),
              "expected every axis once");
  auto view = *this;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto a = static_cast<std::size_t>(nd::axis_of(axes[i], dim()));
    view.sizes_[i] = sizes_[a];
    view.strides_[i] = strides_[a];
  }
  return view;
}

Array Array::expand(const IntArrayRef& sizes) const {
  if (sizes == sizes_) return *this;
  nd::require(sizes.size() >= sizes_.size(), "expected no fewer axes");
  auto wanted = sizes, strides = sizes;
  const auto offset = sizes.size() - sizes_.size();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    strides[i] = 0;
    if (i < offset) continue;
    const auto length = sizes_[i - offset];
    if (wanted[i] == -1) wanted[i] = length;
    if (wanted[i] == length) {
      strides[i] = strides_[i - offset];
    } else {
      nd::require(length == 1, "only axes of length 1 can be expanded");
    }
  }
  return ArrayParts::view(*this, 0, wanted, strides);
}

namespace {

// The sizes with -1 replaced by what is left.
IntArrayRef complete_sizes(IntArrayRef sizes, std::int64_t numel) {
  std::int64_t known = 1;
  std::size_t open = sizes.size();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == -1) {
      open = i;
    } else {
      known *= sizes[i];
    }
  }
  if (open < sizes.size()) sizes[open] = known > 0 ? numel / known : 0;
  std::int64_t count = 1;
  for (const auto length : sizes) count *= length;
  nd::require(count == numel, "expected sizes with as many numbers");
  return sizes;
}

// Strides with which the memory of an array has other sizes, where there are any.
std::optional<IntArrayRef> strides_for(const Array& array, const IntArrayRef& sizes) {
  if (array.is_contiguous()) return nd::contiguous_strides(sizes);
  auto strides = sizes;
  const auto& old_sizes = array.sizes();
  const auto& old_strides = array.strides();
  auto next = static_cast<std::int64_t>(sizes.size()) - 1;
  for (auto last = array.dim() - 1; last >= 0;) {
    // Old axes that are one in memory, from the innermost on.
    auto count = old_sizes[static_cast<std::size_t>(last)];
    const auto step = old_strides[static_cast<std::size_t>(last)];
    auto whole = step * count;
    auto first = last - 1;
    while (first >= 0 && (old_sizes[static_cast<std::size_t>(first)] == 1 ||
                          old_strides[static_cast<std::size_t>(first)] == whole)) {
      count *= old_sizes[static_cast<std::size_t>(first)];
      whole *= old_sizes[static_cast<std::size_t>(first)];
      --first;
    }
    // New axes that fill them.
    std::int64_t taken = 1;
    while (next >= 0 && (taken < count || sizes[static_cast<std::size_t>(next)] == 1)) {
      strides[static_cast<std::size_t>(next)] = step * taken;
      taken *= sizes[static_cast<std::size_t>(next)];
      --next;
    }
    if (taken != count) return {};
    last = first;
  }
  for (; next >= 0; --next) strides[static_cast<std::size_t>(next)] = 1;
  return strides;
}

}  // namespace

Array Array::view(const IntArrayRef& sizes) const {
  const auto wanted = complete_sizes(sizes, numel());
  const auto strides = strides_for(*this, wanted);
  nd::require(strides.has_value(), "this view would need a copy");
  return ArrayParts::view(*this, 0, wanted, *strides);
}

Array Array::reshape(const IntArrayRef& sizes) const {
  const auto wanted = complete_sizes(sizes, numel());
  if (const auto strides = strides_for(*this, wanted)) {
    return ArrayParts::view(*this, 0, wanted, *strides);
  }
  return clone().view(wanted);
}

Array Array::flatten(std::int64_t first, std::int64_t last) const {
  if (dim() == 0) return reshape({1});
  const auto from = static_cast<std::size_t>(nd::axis_of(first, dim()));
  const auto to = static_cast<std::size_t>(nd::axis_of(last, dim()));
  IntArrayRef sizes;
  std::int64_t joined = 1;
  for (std::size_t a = 0; a < sizes_.size(); ++a) {
    if (a < from || a > to) {
      sizes.push_back(sizes_[a]);
      continue;
    }
    joined *= sizes_[a];
    if (a == to) sizes.push_back(joined);
  }
  return reshape(sizes);
}

Array Array::unflatten(std::int64_t axis, const IntArrayRef& sizes) const {
  const auto a = static_cast<std::size_t>(nd::axis_of(axis, dim()));
  auto wanted = sizes_;
  const auto parts = complete_sizes(sizes, sizes_[a]);
  wanted.erase(a);
  for (std::size_t i = 0; i < parts.size(); ++i) wanted.insert(a + i, parts[i]);
  return view(wanted);
}

Array Array::diagonal(std::int64_t offset, std::int64_t a, std::int64_t b) const {
  const auto first = nd::axis_of(a, dim()), second = nd::axis_of(b, dim());
  const auto rows = size(first), columns = size(second);
  const auto length =
      std::max<std::int64_t>(0, offset >= 0 ? std::min(rows, columns - offset)
                                            : std::min(rows + offset, columns));
  const auto step = stride(first) + stride(second);
  const auto start = length == 0   ? 0
                     : offset >= 0 ? offset * stride(second)
                                   : -offset * stride(first);
  auto sizes = sizes_, strides = strides_;
  for (const auto axis : {std::max(first, second), std::min(first, second)}) {
    sizes.erase(static_cast<std::size_t>(axis));
    strides.erase(static_cast<std::size_t>(axis));
  }
  sizes.push_back(length);
  strides.push_back(step);
  return ArrayParts::view(*this, start, sizes, strides);
}

std::vector<Array> Array::split(std::int64_t length, std::int64_t axis) const {
  nd::require(length > 0 || size(axis) == 0, "expected parts of at least 1");
  // An empty axis has one empty part.
  std::vector<Array> parts;
  std::int64_t first = 0;
  do {
    parts.push_back(narrow(axis, first, std::min(length, size(axis) - first)));
    first += length;
  } while (first < size(axis));
  return parts;
}

std::vector<Array> Array::chunk(std::int64_t count, std::int64_t axis) const {
  return split((size(axis) + count - 1) / count, axis);
}

}  // namespace kinflow
