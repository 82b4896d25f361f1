// What arrays hold and where: types of numbers, lengths of axes, devices.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <string>
#include <type_traits>
#include <vector>

namespace kinflow {

namespace nd {

/// What an array holds. Where two types meet, the later one of this list is the result.
enum class ScalarType : std::int8_t { Bool, Byte, Long, BFloat16, Float, Double };
inline constexpr auto kBool = ScalarType::Bool;
inline constexpr auto kByte = ScalarType::Byte;
inline constexpr auto kLong = ScalarType::Long;
inline constexpr auto kBFloat16 =
    ScalarType::BFloat16;  ///< of graphics processors only
inline constexpr auto kFloat = ScalarType::Float;
inline constexpr auto kDouble = ScalarType::Double;

const char* toString(ScalarType type);
std::ostream& operator<<(std::ostream& out, ScalarType type);
inline bool isFloatingType(ScalarType type) { return type >= kBFloat16; }

template <typename Number>
struct CppTypeToScalarType;
template <>
struct CppTypeToScalarType<bool> : std::integral_constant<ScalarType, kBool> {};
template <>
struct CppTypeToScalarType<std::uint8_t> : std::integral_constant<ScalarType, kByte> {};
template <>
struct CppTypeToScalarType<std::int64_t> : std::integral_constant<ScalarType, kLong> {};
template <>
struct CppTypeToScalarType<float> : std::integral_constant<ScalarType, kFloat> {};
template <>
struct CppTypeToScalarType<double> : std::integral_constant<ScalarType, kDouble> {};

enum class DeviceType : std::int8_t { CPU, CUDA };
inline constexpr auto kCPU = DeviceType::CPU;
inline constexpr auto kCUDA = DeviceType::CUDA;

/// Where an array lies: with this implementation in the memory of the CPU.
class Device {
 public:
  Device(DeviceType type = kCPU, int /*index*/ = 0) : type_(type) {}
  DeviceType type() const { return type_; }
  bool is_cpu() const { return type_ == kCPU; }
  bool is_cuda() const { return type_ == kCUDA; }
  std::string str() const { return is_cpu() ? "cpu" : "cuda"; }
  bool operator==(const Device& other) const = default;

 private:
  DeviceType type_;
};

/// Lengths or strides of axes, at most kMostAxes.
class IntArrayRef {
 public:
  static constexpr std::size_t kMostAxes = 8;

  IntArrayRef() = default;
  IntArrayRef(std::int64_t one) : IntArrayRef(&one, 1) {}
  IntArrayRef(std::initializer_list<std::int64_t> numbers)
      : IntArrayRef(numbers.begin(), numbers.size()) {}
  IntArrayRef(const std::vector<std::int64_t>& numbers)
      : IntArrayRef(numbers.data(), numbers.size()) {}
  IntArrayRef(const std::int64_t* numbers, std::size_t count);

  std::size_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  std::int64_t* begin() { return numbers_.data(); }
  std::int64_t* end() { return numbers_.data() + count_; }
  const std::int64_t* begin() const { return numbers_.data(); }
  const std::int64_t* end() const { return numbers_.data() + count_; }
  std::int64_t& operator[](std::size_t i) { return numbers_[i]; }
  const std::int64_t& operator[](std::size_t i) const { return numbers_[i]; }
  const std::int64_t& front() const { return numbers_[0]; }
  const std::int64_t& back() const { return numbers_[count_ - 1]; }
  IntArrayRef slice(std::size_t first) const {
    return {begin() + first, count_ - first};
  }
  IntArrayRef slice(std::size_t first, std::size_t count) const {
    return {begin() + first, count};
  }
  std::vector<std::int64_t> vec() const { return {begin(), end()}; }
  bool operator==(const IntArrayRef& other) const;

  void push_back(std::int64_t number);
  void insert(std::size_t place, std::int64_t number);
  void erase(std::size_t place);

 private:
  std::array<std::int64_t, kMostAxes> numbers_{};
  std::size_t count_ = 0;
};
std::ostream& operator<<(std::ostream& out, const IntArrayRef& numbers);

/// A single number, whole or not.
class Scalar {
 public:
  template <typename Number, typename = std::enable_if_t<std::is_arithmetic_v<Number>>>
  Scalar(Number number)
      : real_(static_cast<double>(number)),
        whole_(std::is_integral_v<Number> ? static_cast<std::int64_t>(number) : 0),
        is_whole_(std::is_integral_v<Number>) {}

  bool is_whole() const { return is_whole_; }
  template <typename Number>
  Number to() const {
    return is_whole_ ? static_cast<Number>(whole_) : static_cast<Number>(real_);
  }

 private:
  double real_;
  std::int64_t whole_;
  bool is_whole_;
};

/// The type and place of a new array.
class TensorOptions {
 public:
  TensorOptions(ScalarType type = kFloat) : type_(type) {}
  TensorOptions(Device device) : device_(device) {}
  TensorOptions dtype(ScalarType type) const {
    auto changed = *this;
    changed.type_ = type;
    return changed;
  }
  TensorOptions device(Device device) const {
    auto changed = *this;
    changed.device_ = device;
    return changed;
  }
  ScalarType type() const { return type_; }

 private:
  ScalarType type_ = kFloat;
  Device device_;
};

enum class MemoryFormat : std::int8_t { Contiguous };

/// Whether arrays can lie on a GPU.
inline bool hasCUDA() { return false; }

}  // namespace nd
}  // namespace kinflow
