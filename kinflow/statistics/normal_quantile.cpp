// A rational approximation, brought to the end by Halley's steps.
#include "kinflow/statistics/normal_quantile.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace kinflow {
namespace {

// The distance from 0 of a tail of at most 1/2: formula 26.2.23 of Abramowitz and
// Stegun, wrong by at most 4.5e-4.
double rough_distance(double tail) {
  const double t = std::sqrt(-2 * std::log(tail));
  return t - (2.515517 + t * (0.802853 + t * 0.010328)) /
                 (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
}

}  // namespace

double normal_quantile(double probability) {
  const double tail = std::min(probability, 1 - probability);
  double distance = rough_distance(tail);
  // The error falls as its third power.
  for (int step = 0; step < 2; ++step) {
    const double density =
        std::exp(-0.5 * distance * distance) / std::sqrt(2 * std::numbers::pi);
    const double error =
        (0.5 * std::erfc(distance / std::numbers::sqrt2) - tail) / density;
    distance += error / (1 - 0.5 * distance * error);
  }
  return probability < 0.5 ? -distance : distance;
}

}  // namespace kinflow
