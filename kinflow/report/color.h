// Colours of the pictures: one sequential map for densities, one palette for groups.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kinflow {

/// One sRGB colour.
struct Color {
  std::uint8_t red = 0;
  std::uint8_t green = 0;
  std::uint8_t blue = 0;

  bool operator==(const Color&) const = default;
};

inline constexpr Color kWhite{255, 255, 255};
inline constexpr Color kInk{38, 40, 46};          ///< text and axes
inline constexpr Color kFaintInk{104, 108, 116};  ///< subtitles and tick labels
inline constexpr Color kRest{198, 200, 204};      ///< points that are not singled out
inline constexpr Color kMissing{226, 226, 226};   ///< a density that is not a number

/// Number of distinct colours of category_color().
inline constexpr std::size_t kCategoryColors = 6;

/// The sequential map: white at 0, then teal and blue, nearly black at 1. Equal steps
/// are equal steps of perceived lightness (Oklab), so it also reads in grey. Values
/// outside [0, 1] are clamped; NaN gives kMissing.
Color density_color(double fraction);

/// Colour of group `index`, told apart also by colour-blind readers; repeats after
/// kCategoryColors.
Color category_color(std::size_t index);

/// Perceived lightness of a colour in Oklab: 0 is black, 1 is white.
double lightness(Color color);

}  // namespace kinflow
