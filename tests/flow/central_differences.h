// Derivatives from values alone.
#pragma once

namespace kinflow::test {

/// The derivative at 0 of a function of one number, whose values may be arrays, up to
/// the fourth power of the step where the function is smooth.
template <typename Function>
auto central_derivative(const Function& function, double step) {
  const auto secant = [&](double h) { return (function(h) - function(-h)) / (2 * h); };
  return (4.0 * secant(step / 2) - secant(step)) / 3.0;
}

}  // namespace kinflow::test
