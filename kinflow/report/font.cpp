// The glyphs of the stroke font, written in a small path language.
#include "kinflow/report/font.h"

#include <charconv>
#include <cmath>
#include <numbers>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace kinflow {
namespace {

struct GlyphSource {
  char32_t character;
  double advance;
  std::string_view path;
};

// M x y: lift the pen and put it down there. L x y: line. C x1 y1 x2 y2 x y: cubic
// Bezier curve. A cx cy rx ry from to: lift the pen and draw an elliptic arc between
// two angles in degrees, counter-clockwise where they rise; a: the same without
// lifting. Baseline 0, small letters 10 high, capitals and digits 14, descenders -4.5.
constexpr GlyphSource kGlyphs[] = {
    {U' ', 5.4, ""},
    {U'!', 4.4, "M2.2 14 L2.2 4.4 M2.2 0.1"},
    {U'"', 6.6, "M2 14 L2 10 M4.6 14 L4.6 10"},
    {U'#', 12, "M4.6 14 L3 0 M9 14 L7.4 0 M1.6 9.4 L10.8 9.4 M1.2 4.6 L10.4 4.6"},
    {U'$', 11.4,
     "M9.4 10.8 C9 12 7.8 12.6 5.8 12.6 C3.6 12.6 2.2 11.6 2.2 9.9 C2.2 7.9 4 7.5 5.8 "
     "7 "
     "C8 6.5 9.7 5.9 9.7 4 C9.7 2.3 8 1.3 5.8 1.3 C3.6 1.3 2 2 1.6 3.6 M5.8 15.4 L5.8 "
     "-1.4"},
    {U'%', 15, "A4 10.8 2.5 3.2 0 360 A11 3.2 2.5 3.2 0 360 M11 14 L4 0"},
    {U'&', 13,
     "M12 0 L4.2 8.6 C3 10 2.9 10.6 2.9 11.2 C2.9 13 4.2 14 5.6 14 C7.2 14 8.3 12.9 "
     "8.3 "
     "11.4 C8.3 9.6 6.8 8.7 5 7.7 C2.9 6.5 1.6 5.4 1.6 3.5 C1.6 1.4 3.2 0 5.4 0 C8.6 0 "
     "10.8 2.9 11 6.4"},
    {U'\'', 4, "M2 14 L2 10"},
    {U'(', 5.6, "M4.4 15.4 C2.6 13 1.8 9.4 1.8 5.9 C1.8 2.4 2.6 -1.2 4.4 -3.6"},
    {U')', 5.6, "M1.2 15.4 C3 13 3.8 9.4 3.8 5.9 C3.8 2.4 3 -1.2 1.2 -3.6"},
    {U'*', 7.6, "M3.8 14 L3.8 8.6 M1.5 12.7 L6.1 9.9 M6.1 12.7 L1.5 9.9"},
    {U'+', 11, "M5.5 2 L5.5 10.6 M1.2 6.3 L9.8 6.3"},
    {U',', 4.4, "M2.4 0.3 L2.4 -0.4 L1.5 -2.6"},
    {U'-', 6.4, "M1.5 5.2 L4.9 5.2"},
    {U'.', 4.4, "M2.2 0.1"},
    {U'/', 7, "M6.2 15 L0.8 -2"},
    {U'0', 11, "A5.5 7 3.9 7 0 360"},
    {U'1', 11, "M2.6 11.3 L6.1 14 L6.1 0"},
    {U'2', 11, "A5.4 10.2 3.6 3.8 165 -36 L1.7 0 L9.3 0"},
    {U'3', 11, "A5.2 10.6 3.3 3.4 150 -90 L4 7.2 M5.2 7.2 a5.2 3.6 3.8 3.6 90 -152"},
    {U'4', 11, "M7.5 0 L7.5 14 L1.3 4 L9.9 4"},
    {U'5', 11, "M8.7 14 L3.1 14 L2.44 7.5 a5.2 4.4 3.9 4.4 135 -150"},
    {U'6', 11,
     "A5.5 4.4 3.9 4.4 0 360 M8.7 12.4 C8.1 13.5 7.1 14 6 14 C3 14 1.6 11 1.6 6 L1.6 "
     "4.4"},
    {U'7', 11, "M1.7 14 L9.4 14 L4.4 0"},
    {U'8', 11, "A5.5 10.6 3.2 3.4 0 360 A5.5 3.6 3.8 3.6 0 360"},
    {U'9', 11,
     "A5.5 9.6 3.9 4.4 0 360 M2.3 1.6 C2.9 0.5 3.9 0 5 0 C8 0 9.4 3 9.4 8 L9.4 9.6"},
    {U':', 4.4, "M2.2 0.1 M2.2 8.4"},
    {U';', 4.4, "M2.4 0.3 L2.4 -0.4 L1.5 -2.6 M2.4 8.4"},
    {U'<', 11, "M9.6 10.4 L1.6 6.3 L9.6 2.2"},
    {U'=', 11, "M1.4 8.4 L9.6 8.4 M1.4 4.2 L9.6 4.2"},
    {U'>', 11, "M1.4 10.4 L9.4 6.3 L1.4 2.2"},
    {U'?', 9.4,
     "A4.6 10.7 3.1 3.3 170 0 C7.7 8.6 6.6 8 5.6 7.1 C4.8 6.4 4.6 5.6 4.6 4.4 M4.6 "
     "0.1"},
    {U'@', 17,
     "A8.4 5.2 2.7 3.1 0 360 M11.1 8.2 L11.1 4.2 C11.1 1.4 15 1.4 15 5.6 C15 10.4 12 "
     "13 "
     "8.6 13 C4.6 13 1.7 9.8 1.7 5.2 C1.7 0.4 4.8 -2.4 8.8 -2.4 C10.4 -2.4 11.8 -2 13 "
     "-1.2"},
    {U'A', 12, "M0.9 0 L6 14 L11.1 0 M2.8 4.8 L9.2 4.8"},
    {U'B', 11.8,
     "M2 0 L2 14 L6.4 14 a6.4 10.7 3.3 3.3 90 -90 L2 7.4 M6.4 7.4 L6.7 7.4 a6.7 3.7 "
     "3.7 "
     "3.7 90 -90 L2 0"},
    {U'C', 12.8, "A7.7 7 6.1 7 47 313"},
    {U'D', 13.2, "M2 0 L2 14 L5.6 14 a5.6 7 6 7 90 -90 L2 0"},
    {U'E', 10.4, "M8.9 14 L2 14 L2 0 L8.9 0 M2 7.3 L8.2 7.3"},
    {U'F', 9.8, "M8.7 14 L2 14 L2 0 M2 7 L8 7"},
    {U'G', 14.4, "A7.7 7 6.1 7 47 357 L8.6 6.6"},
    {U'H', 13, "M2 0 L2 14 M11 0 L11 14 M2 7.2 L11 7.2"},
    {U'I', 4, "M2 0 L2 14"},
    {U'J', 9, "M7 14 L7 3.6 a3.9 3.6 3.1 3.6 0 -155"},
    {U'K', 11.4, "M2 0 L2 14 M10.2 14 L2 5.6 M5 8.7 L10.7 0"},
    {U'L', 9.4, "M2 14 L2 0 L8.6 0"},
    {U'M', 15.6, "M2 0 L2 14 L7.8 3 L13.6 14 L13.6 0"},
    {U'N', 13, "M2 0 L2 14 L11 0 L11 14"},
    {U'O', 15.4, "A7.7 7 6.2 7 0 360"},
    {U'P', 11.2, "M2 0 L2 14 L6.4 14 a6.4 10.3 3.7 3.7 90 -90 L2 6.6"},
    {U'Q', 15.4, "A7.7 7 6.2 7 0 360 M9.2 3.4 L13.2 -0.8"},
    {U'R', 11.8, "M2 0 L2 14 L6.4 14 a6.4 10.3 3.7 3.7 90 -90 L2 6.6 M6.4 6.6 L10.4 0"},
    {U'S', 11.8,
     "M9.9 11.2 C9.4 13 7.9 14 5.9 14 C3.5 14 1.9 12.6 1.9 10.6 C1.9 8.2 4 7.7 6 7.2 "
     "C8.4 "
     "6.6 10.3 5.9 10.3 3.6 C10.3 1.4 8.4 0 5.9 0 C3.6 0 1.9 1.1 1.4 3.1"},
    {U'T', 11.4, "M1 14 L10.4 14 M5.7 14 L5.7 0"},
    {U'U', 12.8, "M2 14 L2 4.6 a6.4 4.6 4.4 4.6 180 360 L10.8 14"},
    {U'V', 12, "M0.9 14 L6 0 L11.1 14"},
    {U'W', 17.2, "M0.9 14 L4.7 0 L8.6 13.6 L12.5 0 L16.3 14"},
    {U'X', 11.6, "M1.2 14 L10.4 0 M10.4 14 L1.2 0"},
    {U'Y', 11.6, "M0.9 14 L5.8 6.8 L10.7 14 M5.8 6.8 L5.8 0"},
    {U'Z', 11.8, "M1.6 14 L10.2 14 L1.4 0 L10.4 0"},
    {U'[', 5.6, "M4.4 15.4 L2 15.4 L2 -3.6 L4.4 -3.6"},
    {U'\\', 7, "M0.8 15 L6.2 -2"},
    {U']', 5.6, "M1.2 15.4 L3.6 15.4 L3.6 -3.6 L1.2 -3.6"},
    {U'^', 10, "M1.6 8.4 L5 14 L8.4 8.4"},
    {U'_', 10, "M0.4 -2.6 L9.6 -2.6"},
    {U'`', 6, "M2 14.4 L4 11.8"},
    {U'a', 9.9,
     "A4.9 6.6 3.1 3.4 152 0 L8 0 M8 5.8 L4.4 5.8 a4.4 2.9 2.8 2.9 90 270 C6.5 0 8 1.4 "
     "8 "
     "3.4"},
    {U'b', 10.6, "M2 0 L2 14 A5.5 5 3.5 5 0 360"},
    {U'c', 9.1, "A5.2 5 3.7 5 50 310"},
    {U'd', 10.6, "M8.6 0 L8.6 14 A5.1 5 3.5 5 0 360"},
    {U'e', 10.3, "M1.6 5.2 L8.9 5.2 a5.2 5 3.7 5 3 318"},
    {U'f', 6.4, "M2.9 0 L2.9 11 a5.6 11 2.7 3 180 90 L6.1 14 M0.8 10 L5.8 10"},
    {U'g', 10.6, "M8.6 10 L8.6 -1.1 a5.1 -1.1 3.5 3.5 0 -150 A5.1 5 3.5 5 0 360"},
    {U'h', 10.2, "M2 0 L2 14 A5.1 6.6 3.1 3.4 180 0 L8.2 0"},
    {U'i', 4, "M2 0 L2 10 M2 13.4 L2 13.7"},
    {U'j', 4.2, "M2.2 10 L2.2 -1.9 a-0.3 -1.9 2.5 2.6 0 -85 M2.2 13.4 L2.2 13.7"},
    {U'k', 9, "M2 0 L2 14 M7.7 10 L2 4.3 M4.1 6.5 L8.2 0"},
    {U'l', 4, "M2 0 L2 14"},
    {U'm', 14.6,
     "M2 0 L2 10 A4.65 6.9 2.65 3.1 180 0 L7.3 0 A9.95 6.9 2.65 3.1 180 0 L12.6 0"},
    {U'n', 10.2, "M2 0 L2 10 A5.1 6.6 3.1 3.4 180 0 L8.2 0"},
    {U'o', 10.4, "A5.2 5 3.7 5 0 360"},
    {U'p', 10.6, "M2 -4.5 L2 10 A5.5 5 3.5 5 0 360"},
    {U'q', 10.6, "M8.6 -4.5 L8.6 10 A5.1 5 3.5 5 0 360"},
    {U'r', 6.9, "M2 0 L2 10 A5.5 6.2 3.5 3.8 180 78"},
    {U's', 9.2,
     "M7.5 8.1 C7.1 9.4 6 10 4.6 10 C2.9 10 1.7 9 1.7 7.6 C1.7 5.9 3.2 5.5 4.7 5.1 "
     "C6.4 4.7 "
     "7.8 4.2 7.8 2.6 C7.8 0.9 6.4 0 4.6 0 C3 0 1.8 0.7 1.3 2"},
    {U't', 6.8, "M2.9 13 L2.9 2.9 a5.4 2.9 2.5 2.9 180 270 L6.2 0 M0.8 10 L6 10"},
    {U'u', 10.2, "M2 10 L2 3.4 a5.1 3.4 3.1 3.4 180 360 M8.2 10 L8.2 0"},
    {U'v', 9.2, "M0.9 10 L4.6 0 L8.3 10"},
    {U'w', 13.8, "M0.9 10 L4 0 L6.9 9.6 L9.8 0 L12.9 10"},
    {U'x', 9, "M1.1 10 L7.9 0 M7.9 10 L1.1 0"},
    {U'y', 9.2, "M0.9 10 L4.7 0 M8.3 10 L4.3 -1.6 C3.5 -3.8 2.8 -4.5 1.2 -4.4"},
    {U'z', 9.2, "M1.5 10 L7.6 10 L1.3 0 L7.8 0"},
    {U'{', 6.4,
     "M5.2 15.4 C3.4 15.4 3 14.6 3 13 L3 8.6 C3 7 2.4 6 1.2 5.9 C2.4 5.8 3 4.8 3 3.2 "
     "L3 -1.2 "
     "C3 -2.8 3.4 -3.6 5.2 -3.6"},
    {U'|', 4, "M2 15.4 L2 -3.6"},
    {U'}', 6.4,
     "M1.2 15.4 C3 15.4 3.4 14.6 3.4 13 L3.4 8.6 C3.4 7 4 6 5.2 5.9 C4 5.8 3.4 4.8 3.4 "
     "3.2 "
     "L3.4 -1.2 C3.4 -2.8 3 -3.6 1.2 -3.6"},
    {U'~', 11, "M1.4 5.2 C2.4 8 4.2 7.6 5.5 6.4 C6.8 5.2 8.6 4.6 9.6 7.4"},
    {U'\u00b1', 11, "M5.5 3.6 L5.5 11.6 M1.4 7.6 L9.6 7.6 M1.4 0.8 L9.6 0.8"},
    {U'\u00b7', 4.4, "M2.2 5.4"},
    {U'\u00d7', 11, "M2.2 9.6 L8.8 3 M8.8 9.6 L2.2 3"},
    {U'\u03b3', 9.6, "M1 9 C3.4 11.4 4.6 5 4.8 0 L4.8 -4.5 M8.6 10 L4.8 0"},
    {U'\u03bb', 9.6, "M1.2 14 C3 14.2 3.6 13.2 4.2 11.4 L8.4 0 M4.8 9.6 L1 0"},
    {U'\u03bc', 10.6, "M2 -4.5 L2 10 M2 3.4 a5.1 3.4 3.1 3.4 180 360 M8.2 10 L8.2 0"},
    {U'\u03c1', 10.6, "M1.9 -4.5 L1.9 5 a5.4 5 3.5 5 180 -180"},
    {U'\u03c3', 10.6, "M9.6 10 L5.2 10 a5.2 5 3.7 5 90 450"},
    {U'\u2013', 10, "M1 5.2 L9 5.2"},
    {U'\u2212', 11, "M1.5 6.3 L9.5 6.3"},
    {U'\u2264', 11, "M9.4 11.4 L1.6 7.6 L9.4 3.8 M1.6 0.6 L9.4 0.6"},
    {U'\u2265', 11, "M1.6 11.4 L9.4 7.6 L1.6 3.8 M1.6 0.6 L9.4 0.6"},
    {U'\ufffd', 11, "M1.8 0 L1.8 14 L9.2 14 L9.2 0 L1.8 0"},
};

// Reads the numbers and commands of one path and flattens its curves.
class PathReader {
 public:
  explicit PathReader(std::string_view path) : rest_(path) {}

  std::vector<Stroke> strokes() {
    while (skip_spaces()) {
      const char command = rest_.front();
      rest_.remove_prefix(1);
      if (command == 'M' || command == 'A') strokes_.emplace_back();
      if (command == 'A' || command == 'a') {
        arc();
      } else if (command == 'C') {
        curve();
      } else {
        strokes_.back().push_back(point());
      }
    }
    return std::move(strokes_);
  }

 private:
  bool skip_spaces() {
    while (!rest_.empty() && rest_.front() == ' ') rest_.remove_prefix(1);
    return !rest_.empty();
  }

  double number() {
    skip_spaces();
    double value = 0;
    const auto end =
        std::from_chars(rest_.data(), rest_.data() + rest_.size(), value).ptr;
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return value;
  }

  Point point() {
    const double x = number();
    return {x, number()};
  }

  void curve() {
    const Point a = strokes_.back().back(), b = point(), c = point(), d = point();
    constexpr int kPieces = 10;
    for (int i = 1; i <= kPieces; ++i) {
      const double t = i / double{kPieces}, s = 1 - t;
      const double wa = s * s * s, wb = 3 * s * s * t, wc = 3 * s * t * t,
                   wd = t * t * t;
      strokes_.back().push_back({wa * a.x + wb * b.x + wc * c.x + wd * d.x,
                                 wa * a.y + wb * b.y + wc * c.y + wd * d.y});
    }
  }

  void arc() {
    const Point center = point(), radius = point(), angles = point();
    const double sweep = angles.y - angles.x;
    const int pieces = 2 + static_cast<int>(std::abs(sweep) / 10);
    for (int i = 0; i <= pieces; ++i) {
      const double angle = (angles.x + sweep * i / pieces) * std::numbers::pi / 180;
      strokes_.back().push_back({center.x + radius.x * std::cos(angle),
                                 center.y + radius.y * std::sin(angle)});
    }
  }

  std::string_view rest_;
  std::vector<Stroke> strokes_;
};

std::unordered_map<char32_t, Glyph> read_glyphs() {
  std::unordered_map<char32_t, Glyph> glyphs;
  for (const auto& source : kGlyphs) {
    glyphs[source.character] = {source.advance, PathReader(source.path).strokes()};
  }
  return glyphs;
}

}  // namespace

const Glyph& glyph(char32_t character) {
  static const auto glyphs = read_glyphs();
  const auto found = glyphs.find(character);
  return found != glyphs.end() ? found->second : glyphs.at(U'\ufffd');
}

std::u32string decode_utf8(const std::string& text) {
  std::u32string characters;
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t length = lead < 0x80             ? 1
                               : (lead & 0xe0) == 0xc0 ? 2
                               : (lead & 0xf0) == 0xe0 ? 3
                               : (lead & 0xf8) == 0xf0 ? 4
                                                       : 0;
    char32_t character = length == 1 ? lead : lead & (0x7fu >> length);
    bool valid = length > 0 && i + length <= text.size();
    for (std::size_t k = 1; valid && k < length; ++k) {
      const auto next = static_cast<unsigned char>(text[i + k]);
      valid = (next & 0xc0) == 0x80;
      character = (character << 6) | (next & 0x3fu);
    }
    characters += valid ? character : U'\ufffd';
    i += valid ? length : 1;
  }
  return characters;
}

}  // namespace kinflow
