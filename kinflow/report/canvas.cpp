// Rasterisation by distance to pen strokes.
#include "kinflow/report/canvas.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "kinflow/core/atomic_file.h"
#include "kinflow/core/error.h"
#include "kinflow/images/write_png.h"

namespace kinflow {
namespace {

// Pen width in parts of the text size, and space added after each character in glyph
// units.
struct Weight {
  double pen, spacing;
};

Weight weight_of(const TextStyle& style) {
  return style.bold ? Weight{0.12, 1.0} : Weight{0.082, 0.4};
}

bool is_finite(Point p) { return std::isfinite(p.x) && std::isfinite(p.y); }

// Rounds a coordinate to a pixel border inside [low, high]; NaN gives low.
int to_pixel(double coordinate, int low, int high) {
  if (!(coordinate > low)) return low;
  return coordinate < high ? static_cast<int>(std::lround(coordinate)) : high;
}

// Cuts the segment a-b to the part inside the box; false where there is none.
bool cut_to_box(Point& a, Point& b, const Rectangle& box) {
  double first = 0, last = 1;
  const double dx = b.x - a.x, dy = b.y - a.y;
  if (!std::isfinite(dx) || !std::isfinite(dy)) return false;
  const double direction[] = {-dx, dx, -dy, dy};
  const double room[] = {a.x - box.left, box.right - a.x, a.y - box.top,
                         box.bottom - a.y};
  for (int side = 0; side < 4; ++side) {
    if (direction[side] == 0) {
      if (room[side] < 0) return false;
    } else if (direction[side] < 0) {
      first = std::max(first, room[side] / direction[side]);
    } else {
      last = std::min(last, room[side] / direction[side]);
    }
  }
  if (first > last) return false;
  b = {a.x + last * dx, a.y + last * dy};
  a = {a.x + first * dx, a.y + first * dy};
  return true;
}

double distance_to_segment(Point p, Point a, Point b) {
  const double dx = b.x - a.x, dy = b.y - a.y;
  const double square = dx * dx + dy * dy;
  const double along = (p.x - a.x) * dx + (p.y - a.y) * dy;
  const double t = square > 0 ? std::clamp(along / square, 0.0, 1.0) : 0;
  return std::hypot(p.x - a.x - t * dx, p.y - a.y - t * dy);
}

}  // namespace

Canvas::Canvas(int width, int height, Color background)
    : width_(width), height_(height) {
  if (width < 1 || height < 1 || width > kLargestSide || height > kLargestSide) {
    throw InputError(
        fmt::format("[Canvas] expected sides of 1 to {} pixels, received {} x {}",
                    kLargestSide, width, height));
  }
  pixels_.resize(std::size_t{3} * static_cast<std::size_t>(width) *
                 static_cast<std::size_t>(height));
  unclip();
  fill({0, 0, static_cast<double>(width), static_cast<double>(height)}, background);
}

Color Canvas::pixel(int x, int y) const {
  const auto at = 3 * (static_cast<std::size_t>(y) * static_cast<std::size_t>(width_) +
                       static_cast<std::size_t>(x));
  return {pixels_[at], pixels_[at + 1], pixels_[at + 2]};
}

void Canvas::set_pixel(int x, int y, Color color) {
  if (x < clip_left_ || x >= clip_right_ || y < clip_top_ || y >= clip_bottom_) return;
  blend(x, y, color, 1);
}

void Canvas::blend(int x, int y, Color color, double alpha) {
  const auto at = 3 * (static_cast<std::size_t>(y) * static_cast<std::size_t>(width_) +
                       static_cast<std::size_t>(x));
  const std::uint8_t channels[] = {color.red, color.green, color.blue};
  for (std::size_t c = 0; c < 3; ++c) {
    const double mixed = std::lerp(1.0 * pixels_[at + c], 1.0 * channels[c], alpha);
    pixels_[at + c] = static_cast<std::uint8_t>(std::lround(mixed));
  }
}

void Canvas::clip(const Rectangle& r) {
  clip_left_ = to_pixel(r.left, 0, width_);
  clip_top_ = to_pixel(r.top, 0, height_);
  clip_right_ = to_pixel(r.right, 0, width_);
  clip_bottom_ = to_pixel(r.bottom, 0, height_);
}

void Canvas::unclip() {
  clip_left_ = clip_top_ = 0;
  clip_right_ = width_;
  clip_bottom_ = height_;
}

void Canvas::fill(const Rectangle& r, Color color, double alpha) {
  const int right = to_pixel(r.right, clip_left_, clip_right_);
  const int bottom = to_pixel(r.bottom, clip_top_, clip_bottom_);
  for (int y = to_pixel(r.top, clip_top_, clip_bottom_); y < bottom; ++y) {
    for (int x = to_pixel(r.left, clip_left_, clip_right_); x < right; ++x) {
      blend(x, y, color, alpha);
    }
  }
}

void Canvas::frame(const Rectangle& r, double line_width, Color color) {
  fill({r.left, r.top, r.right, r.top + line_width}, color);
  fill({r.left, r.bottom - line_width, r.right, r.bottom}, color);
  fill({r.left, r.top + line_width, r.left + line_width, r.bottom - line_width}, color);
  fill({r.right - line_width, r.top + line_width, r.right, r.bottom - line_width},
       color);
}

void Canvas::line(const Stroke& points, double line_width, Color color, double alpha) {
  draw_strokes({points}, line_width, color, alpha);
}

void Canvas::disc(Point center, double radius, Color color, double alpha) {
  draw_strokes({{center}}, 2 * radius, color, alpha);
}

void Canvas::text(Point baseline, const std::string& text, const TextStyle& style) {
  const Weight weight = weight_of(style);
  const double unit = style.size / kFontUnitsPerEm;
  double pen = -style.anchor * text_width(text, style);
  std::vector<Stroke> strokes;
  for (const char32_t character : decode_utf8(text)) {
    const Glyph& shape = glyph(character);
    for (Stroke stroke : shape.strokes) {
      for (Point& p : stroke) {
        const double along = pen + unit * p.x, up = unit * p.y;
        p = style.upwards ? Point{baseline.x - up, baseline.y - along}
                          : Point{baseline.x + along, baseline.y - up};
      }
      strokes.push_back(std::move(stroke));
    }
    pen += unit * (shape.advance + weight.spacing);
  }
  draw_strokes(strokes, style.size * weight.pen, style.color, 1);
}

// A pixel is covered by as much as the pen's edge lies beyond its centre. All strokes
// of one call are united before they are blended, so that crossings are not darker.
void Canvas::draw_strokes(const std::vector<Stroke>& strokes, double line_width,
                          Color color, double alpha) {
  const double radius = line_width / 2, reach = radius + 1;
  if (!(radius > 0) || clip_left_ >= clip_right_ || clip_top_ >= clip_bottom_) return;
  const Rectangle box{clip_left_ - reach, clip_top_ - reach, clip_right_ + reach,
                      clip_bottom_ + reach};
  std::vector<std::pair<Point, Point>> segments;
  Rectangle around{box.right, box.bottom, box.left, box.top};
  for (const Stroke& stroke : strokes) {
    for (std::size_t i = 0; i < stroke.size(); ++i) {
      if (!is_finite(stroke[i])) continue;
      const bool joined = i > 0 && is_finite(stroke[i - 1]);
      const bool starts_line = i + 1 < stroke.size() && is_finite(stroke[i + 1]);
      if (!joined && starts_line) continue;
      Point a = joined ? stroke[i - 1] : stroke[i], b = stroke[i];
      if (!cut_to_box(a, b, box)) continue;
      segments.emplace_back(a, b);
      around.left = std::min({around.left, a.x, b.x});
      around.right = std::max({around.right, a.x, b.x});
      around.top = std::min({around.top, a.y, b.y});
      around.bottom = std::max({around.bottom, a.y, b.y});
    }
  }
  if (segments.empty()) return;
  const auto first_x = [&](double x) {
    return to_pixel(x - reach, clip_left_, clip_right_);
  };
  const auto last_x = [&](double x) {
    return to_pixel(x + reach, clip_left_, clip_right_);
  };
  const auto first_y = [&](double y) {
    return to_pixel(y - reach, clip_top_, clip_bottom_);
  };
  const auto last_y = [&](double y) {
    return to_pixel(y + reach, clip_top_, clip_bottom_);
  };
  const int left = first_x(around.left), right = last_x(around.right);
  const int top = first_y(around.top), bottom = last_y(around.bottom);
  const auto row = static_cast<std::size_t>(right - left);
  const auto index = [&](int x, int y) {
    return static_cast<std::size_t>(y - top) * row + static_cast<std::size_t>(x - left);
  };
  mask_.assign(row * static_cast<std::size_t>(bottom - top), 0);
  for (const auto& [a, b] : segments) {
    const int end_x = last_x(std::max(a.x, b.x)), end_y = last_y(std::max(a.y, b.y));
    for (int y = first_y(std::min(a.y, b.y)); y < end_y; ++y) {
      for (int x = first_x(std::min(a.x, b.x)); x < end_x; ++x) {
        const double distance = distance_to_segment({x + 0.5, y + 0.5}, a, b);
        const double inside = std::clamp(radius + 0.5 - distance, 0.0, 1.0);
        const double coverage = std::min(inside, 2 * radius);
        float& covered = mask_[index(x, y)];
        covered = std::max(covered, static_cast<float>(coverage));
      }
    }
  }
  for (int y = top; y < bottom; ++y) {
    for (int x = left; x < right; ++x) {
      const double coverage = mask_[index(x, y)];
      if (coverage > 0) blend(x, y, color, alpha * coverage);
    }
  }
}

std::string Canvas::png() const { return encode_png(width_, height_, 3, pixels_); }

void Canvas::save(const std::string& path) const { write_file_atomically(path, png()); }

double text_width(const std::string& text, const TextStyle& style) {
  double units = 0;
  for (const char32_t character : decode_utf8(text)) {
    units += glyph(character).advance + weight_of(style).spacing;
  }
  return units * style.size / kFontUnitsPerEm;
}

}  // namespace kinflow
