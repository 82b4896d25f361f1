// The sequential map as a path through Oklab, and the categorical palette.
#include "kinflow/report/color.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace kinflow {
namespace {

struct Oklab {
  double lightness, green_red, blue_yellow;
};

double encode_srgb(double linear) {
  const double x = std::clamp(linear, 0.0, 1.0);
  return x <= 0.0031308 ? 12.92 * x : 1.055 * std::pow(x, 1 / 2.4) - 0.055;
}

double decode_srgb(std::uint8_t value) {
  const double x = value / 255.0;
  return x <= 0.04045 ? x / 12.92 : std::pow((x + 0.055) / 1.055, 2.4);
}

std::uint8_t to_byte(double linear) {
  return static_cast<std::uint8_t>(std::lround(255 * encode_srgb(linear)));
}

Color from_oklab(const Oklab& c) {
  const auto cube = [](double x) { return x * x * x; };
  const double l =
      cube(c.lightness + 0.3963377774 * c.green_red + 0.2158037573 * c.blue_yellow);
  const double m =
      cube(c.lightness - 0.1055613458 * c.green_red - 0.0638541728 * c.blue_yellow);
  const double s =
      cube(c.lightness - 0.0894841775 * c.green_red - 1.2914855480 * c.blue_yellow);
  return {to_byte(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
          to_byte(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
          to_byte(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s)};
}

// Equal steps of lightness from white to a dark blue; chroma rises and falls between.
constexpr std::array<Oklab, 7> kDensityPath{{{1.000, 0.000, 0.000},
                                             {0.875, -0.052, -0.010},
                                             {0.750, -0.076, -0.040},
                                             {0.625, -0.058, -0.080},
                                             {0.500, -0.026, -0.110},
                                             {0.375, 0.010, -0.110},
                                             {0.250, 0.024, -0.072}}};

constexpr std::array<Color, kCategoryColors> kCategories{{{68, 119, 170},
                                                          {238, 102, 119},
                                                          {34, 136, 51},
                                                          {204, 187, 68},
                                                          {102, 204, 238},
                                                          {170, 51, 119}}};

}  // namespace

Color density_color(double fraction) {
  if (std::isnan(fraction)) return kMissing;
  const double place = std::clamp(fraction, 0.0, 1.0) * (kDensityPath.size() - 1);
  const auto i = std::min(static_cast<std::size_t>(place), kDensityPath.size() - 2);
  const double t = place - static_cast<double>(i);
  const Oklab &a = kDensityPath[i], &b = kDensityPath[i + 1];
  return from_oklab({std::lerp(a.lightness, b.lightness, t),
                     std::lerp(a.green_red, b.green_red, t),
                     std::lerp(a.blue_yellow, b.blue_yellow, t)});
}

Color category_color(std::size_t index) { return kCategories[index % kCategoryColors]; }

double lightness(Color color) {
  const double r = decode_srgb(color.red), g = decode_srgb(color.green),
               b = decode_srgb(color.blue);
  const double l = std::cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const double m = std::cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const double s = std::cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return 0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * s;
}

}  // namespace kinflow
