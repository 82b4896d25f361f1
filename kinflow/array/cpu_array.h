// Arrays of numbers with any number of axes, of which the first is often that of the
// replicas: views, broadcasting arithmetic, sums, rows by number.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <vector>

#include "kinflow/array/numbers.h"

namespace kinflow {

/// A handle on numbers in memory: copies of an array, and views such as select() and
/// transpose(), share them, and functions whose names end in _ change them, through a
/// constant handle too. An array that is made by its default constructor holds nothing,
/// and only defined() may be called.
///
/// Axes are counted from 0, or from the end by -1, -2, ... Sizes are int64. Arguments
/// that do not fit together are a std::logic_error: they are never a user's mistake.
class Array {
 public:
  using IntArrayRef = nd::IntArrayRef;
  using Scalar = nd::Scalar;
  using ScalarType = nd::ScalarType;

  Array() = default;
  Array(const Array&) = default;
  Array(Array&&) noexcept = default;
  ~Array() = default;
  /// A named handle takes another array; numbers are copied to what is only there for
  /// the moment, as in rows[i] = row.
  Array& operator=(const Array&) & = default;
  Array& operator=(Array&&) & noexcept = default;
  const Array& operator=(const Array& values) && { return copy_(values); }
  const Array& operator=(Scalar value) && { return fill_(value); }

  bool defined() const { return memory_ != nullptr; }
  std::int64_t dim() const { return static_cast<std::int64_t>(sizes_.size()); }
  std::int64_t size(std::int64_t axis) const;
  const IntArrayRef& sizes() const { return sizes_; }
  std::int64_t stride(std::int64_t axis) const;
  const IntArrayRef& strides() const { return strides_; }
  std::int64_t numel() const;
  std::int64_t element_size() const;
  std::int64_t nbytes() const { return numel() * element_size(); }
  ScalarType scalar_type() const { return type_; }
  ScalarType dtype() const { return type_; }
  bool is_floating_point() const { return nd::isFloatingType(type_); }
  nd::Device device() const { return nd::kCPU; }
  bool is_cpu() const { return true; }
  bool is_cuda() const { return false; }
  nd::TensorOptions options() const { return type_; }
  bool is_contiguous() const;
  bool is_same(const Array& other) const;

  /// The first number. The type must be that of the array.
  template <typename Number>
  Number* data_ptr() const {
    return static_cast<Number*>(
        checked_data(nd::CppTypeToScalarType<std::remove_const_t<Number>>::value));
  }
  void* data_ptr() const { return first_; }
  /// The number of an array that has one.
  template <typename Number>
  Number item() const {
    return item().to<Number>();
  }
  Scalar item() const;

  // Views.
  Array operator[](std::int64_t i) const { return select(0, i); }
  Array select(std::int64_t axis, std::int64_t i) const;
  Array narrow(std::int64_t axis, std::int64_t first, std::int64_t count) const;
  Array slice(std::int64_t axis, std::int64_t first,
              std::optional<std::int64_t> end = {}, std::int64_t step = 1) const;
  Array unsqueeze(std::int64_t axis) const;
  Array squeeze(std::int64_t axis) const;
  Array transpose(std::int64_t a, std::int64_t b) const;
  Array t() const;
  Array mT() const { return transpose(-2, -1); }
  Array permute(const IntArrayRef& axes) const;
  Array expand(const IntArrayRef& sizes) const;
  Array expand_as(const Array& other) const { return expand(other.sizes()); }
  Array view(const IntArrayRef& sizes) const;
  Array view_as(const Array& other) const { return view(other.sizes()); }
  Array reshape(const IntArrayRef& sizes) const;
  Array flatten(std::int64_t first = 0, std::int64_t last = -1) const;
  Array unflatten(std::int64_t axis, const IntArrayRef& sizes) const;
  Array diagonal(std::int64_t offset = 0, std::int64_t a = 0, std::int64_t b = 1) const;
  std::vector<Array> split(std::int64_t length, std::int64_t axis = 0) const;
  std::vector<Array> chunk(std::int64_t count, std::int64_t axis = 0) const;
  Array detach() const { return *this; }

  // Copies.
  Array clone(nd::MemoryFormat format = nd::MemoryFormat::Contiguous) const;
  Array contiguous() const;
  Array to(ScalarType type) const;
  Array to(nd::Device /*device*/) const { return *this; }
  Array to(nd::DeviceType /*device*/) const { return *this; }
  Array to(nd::Device /*device*/, ScalarType type) const { return to(type); }
  Array to(ScalarType type, bool /*non_blocking*/, bool copy) const {
    return copy && type == type_ ? clone() : to(type);
  }
  Array to(const Array& other) const { return to(other.type_); }
  Array to(nd::TensorOptions options) const { return to(options.type()); }
  Array cpu() const { return *this; }
  const Array& copy_(const Array& values) const;
  const Array& fill_(Scalar value) const;
  const Array& zero_() const { return fill_(0); }
  Array repeat(const IntArrayRef& times) const;
  Array repeat_interleave(std::int64_t times, std::int64_t axis) const;
  Array repeat_interleave(std::int64_t times) const {
    return flatten().repeat_interleave(times, 0);
  }
  Array flip(const IntArrayRef& axes) const;
  Array triu(std::int64_t diagonal = 0) const;
  Array tril(std::int64_t diagonal = 0) const;
  Array diag(std::int64_t offset = 0) const;

  // Arithmetic, element by element, with broadcasting.
  Array operator-() const { return neg(); }
  const Array& operator+=(const Array& other) const { return add_(other); }
  const Array& operator-=(const Array& other) const { return sub_(other); }
  const Array& operator*=(const Array& other) const { return mul_(other); }
  const Array& operator/=(const Array& other) const { return div_(other); }
  const Array& operator+=(Scalar other) const { return add_(other); }
  const Array& operator-=(Scalar other) const { return sub_(other); }
  const Array& operator*=(Scalar other) const { return mul_(other); }
  const Array& operator/=(Scalar other) const { return div_(other); }
  Array operator~() const { return logical_not(); }
  Array add(const Array& other, Scalar times = 1) const;
  Array sub(const Array& other) const;
  Array mul(const Array& other) const;
  Array div(const Array& other) const;
  Array add(Scalar other) const;
  Array sub(Scalar other) const;
  Array mul(Scalar other) const;
  Array div(Scalar other) const;
  const Array& add_(const Array& other, Scalar times = 1) const;
  const Array& sub_(const Array& other) const;
  const Array& mul_(const Array& other) const;
  const Array& div_(const Array& other) const;
  const Array& add_(Scalar other) const;
  const Array& sub_(Scalar other) const;
  const Array& mul_(Scalar other) const;
  const Array& div_(Scalar other) const;
  const Array& addcmul_(const Array& a, const Array& b, Scalar times = 1) const;
  Array remainder(Scalar other) const;
  Array floor_divide(Scalar other) const;
  Array pow(Scalar exponent) const;
  Array maximum(const Array& other) const;
  Array minimum(const Array& other) const;
  Array clamp(std::optional<Scalar> low, std::optional<Scalar> high = {}) const;
  Array clamp_min(Scalar low) const { return clamp(low); }
  Array clamp_max(Scalar high) const { return clamp({}, high); }
  Array neg() const;
  Array abs() const;
  Array sign() const;
  Array square() const;
  Array sqrt() const;
  Array rsqrt() const;
  Array reciprocal() const;
  Array exp() const;
  Array log() const;
  Array log1p() const;
  Array sin() const;
  Array cos() const;
  Array sinh() const;
  Array cosh() const;
  Array sigmoid() const;
  Array floor() const;
  Array round() const;
  const Array& exp_() const { return copy_(exp()); }
  /// Infinite numbers become the largest ones where nothing is given for them.
  Array nan_to_num(double nan = 0, std::optional<double> positive = {},
                   std::optional<double> negative = {}) const;

  // Comparisons; the result is of booleans.
  Array eq(const Array& other) const;
  Array ne(const Array& other) const;
  Array lt(const Array& other) const;
  Array le(const Array& other) const;
  Array gt(const Array& other) const;
  Array ge(const Array& other) const;
  Array eq(Scalar other) const;
  Array ne(Scalar other) const;
  Array lt(Scalar other) const;
  Array le(Scalar other) const;
  Array gt(Scalar other) const;
  Array ge(Scalar other) const;
  Array isfinite() const;
  Array isnan() const;
  Array logical_not() const;
  Array logical_and(const Array& other) const;
  Array logical_or(const Array& other) const;
  bool equal(const Array& other) const;

  // Sums and their like. Without axes: of all numbers, an array without axes.
  Array sum() const;
  Array sum(ScalarType type) const;
  Array sum(const IntArrayRef& axes, bool keepdim = false) const;
  Array mean() const;
  Array mean(const IntArrayRef& axes, bool keepdim = false) const;
  Array var(std::int64_t axis, bool unbiased = true) const;
  Array var() const { return flatten().var(0); }
  Array std(std::int64_t axis, bool unbiased = true) const {
    return var(axis, unbiased).sqrt();
  }
  Array std() const { return var().sqrt(); }
  Array norm() const;
  Array norm(int order, std::int64_t axis, bool keepdim = false) const;
  Array trace() const { return diagonal().sum(); }
  Array all() const;
  Array all(std::int64_t axis, bool keepdim = false) const;
  Array any() const;
  Array max() const;
  Array min() const;
  Array amax(std::int64_t axis, bool keepdim = false) const;
  Array amin(std::int64_t axis, bool keepdim = false) const;
  /// Values and their places along an axis.
  std::tuple<Array, Array> max(std::int64_t axis, bool keepdim = false) const;
  std::tuple<Array, Array> min(std::int64_t axis, bool keepdim = false) const;
  Array argmax() const;
  Array argmin() const;
  Array argmax(std::int64_t axis, bool keepdim = false) const;
  Array argmin(std::int64_t axis, bool keepdim = false) const;
  Array logsumexp(std::int64_t axis, bool keepdim = false) const;
  Array log_softmax(std::int64_t axis) const;
  Array cumsum(std::int64_t axis) const;
  Array diff(std::int64_t times = 1, std::int64_t axis = -1) const;
  Array dot(const Array& other) const;

  // Elements by number. Numbers of rows are int64.
  Array index_select(std::int64_t axis, const Array& places) const;
  const Array& index_copy_(std::int64_t axis, const Array& places,
                           const Array& values) const;
  const Array& index_add_(std::int64_t axis, const Array& places,
                          const Array& values) const;
  const Array& index_fill_(std::int64_t axis, const Array& places, Scalar value) const;
  Array index_add(std::int64_t axis, const Array& places, const Array& values) const;
  Array index_copy(std::int64_t axis, const Array& places, const Array& values) const;
  /// self[places[0], places[1], ...] = values; the places are broadcast.
  const Array& index_put_(const std::vector<Array>& places, const Array& values) const;
  const Array& index_put_(const std::vector<Array>& places, Scalar value) const;
  Array gather(std::int64_t axis, const Array& places) const;
  const Array& scatter_(std::int64_t axis, const Array& places,
                        const Array& values) const;
  Array masked_select(const Array& mask) const;
  Array masked_fill(const Array& mask, Scalar value) const;
  const Array& masked_fill_(const Array& mask, Scalar value) const;
  Array nonzero() const;
  Array argsort(std::int64_t axis = -1, bool descending = false) const;
  Array argsort(bool stable, std::int64_t axis, bool descending) const;
  std::tuple<Array, Array> sort(std::int64_t axis = -1, bool descending = false) const;
  std::tuple<Array, Array> topk(std::int64_t count, std::int64_t axis = -1,
                                bool largest = true) const;
  const Array& fill_diagonal_(Scalar value) const;

  // Products.
  Array mm(const Array& other) const;
  Array mv(const Array& vector) const;
  Array bmm(const Array& other) const;
  Array matmul(const Array& other) const;
  const Array& addmm_(const Array& a, const Array& b) const;
  Array inverse() const;

 private:
  friend struct ArrayParts;

  void* checked_data(ScalarType type) const;

  std::shared_ptr<void> memory_;
  void* first_ = nullptr;
  IntArrayRef sizes_, strides_;
  ScalarType type_ = nd::kFloat;
};

std::ostream& operator<<(std::ostream& out, const Array& array);

Array operator+(const Array& a, const Array& b);
Array operator-(const Array& a, const Array& b);
Array operator*(const Array& a, const Array& b);
Array operator/(const Array& a, const Array& b);
Array operator+(const Array& a, nd::Scalar b);
Array operator-(const Array& a, nd::Scalar b);
Array operator*(const Array& a, nd::Scalar b);
Array operator/(const Array& a, nd::Scalar b);
Array operator+(nd::Scalar a, const Array& b);
Array operator-(nd::Scalar a, const Array& b);
Array operator*(nd::Scalar a, const Array& b);
Array operator/(nd::Scalar a, const Array& b);
inline Array operator%(const Array& a, nd::Scalar b) { return a.remainder(b); }
inline Array operator==(const Array& a, const Array& b) { return a.eq(b); }
inline Array operator!=(const Array& a, const Array& b) { return a.ne(b); }
inline Array operator<(const Array& a, const Array& b) { return a.lt(b); }
inline Array operator<=(const Array& a, const Array& b) { return a.le(b); }
inline Array operator>(const Array& a, const Array& b) { return a.gt(b); }
inline Array operator>=(const Array& a, const Array& b) { return a.ge(b); }
inline Array operator==(const Array& a, nd::Scalar b) { return a.eq(b); }
inline Array operator!=(const Array& a, nd::Scalar b) { return a.ne(b); }
inline Array operator<(const Array& a, nd::Scalar b) { return a.lt(b); }
inline Array operator<=(const Array& a, nd::Scalar b) { return a.le(b); }
inline Array operator>(const Array& a, nd::Scalar b) { return a.gt(b); }
inline Array operator>=(const Array& a, nd::Scalar b) { return a.ge(b); }

}  // namespace kinflow
