// A stroke font: every glyph is a set of pen strokes, so that text is sharp at any
// size.
#pragma once

#include <string>
#include <vector>

namespace kinflow {

/// A point of a picture or of a glyph.
struct Point {
  double x = 0;
  double y = 0;
};

/// A pen stroke through its points; one point alone is a dot.
using Stroke = std::vector<Point>;

/// Height of the line box of the font in glyph units; the text size in pixels is this.
inline constexpr double kFontUnitsPerEm = 20;
/// Height of a capital letter in glyph units.
inline constexpr double kFontCapHeight = 14;

/// The pen strokes of one character, y upwards from the baseline, and the way to the
/// next character, both in glyph units.
struct Glyph {
  double advance = 0;
  std::vector<Stroke> strokes;
};

/// The glyph of a Unicode character: printable ASCII and a few letters and signs that
/// statistics needs. A hollow box stands for any other.
const Glyph& glyph(char32_t character);

/// The characters of a UTF-8 text. Malformed bytes become U+FFFD one by one.
std::u32string decode_utf8(const std::string& text);

}  // namespace kinflow
