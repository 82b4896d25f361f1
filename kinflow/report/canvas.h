// An RGB raster with anti-aliased lines, discs and text, saved as PNG.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kinflow/report/color.h"
#include "kinflow/report/font.h"

namespace kinflow {

/// An axis-parallel rectangle in pixels, y downwards.
struct Rectangle {
  double left = 0;
  double top = 0;
  double right = 0;
  double bottom = 0;

  double width() const { return right - left; }
  double height() const { return bottom - top; }
};

/// How text is drawn.
struct TextStyle {
  double size = 20;  ///< pixels per em; a capital is 0.7 of it
  Color color = kInk;
  bool bold = false;
  double anchor = 0;     ///< part of the text left of the point: 0, 0.5 or 1
  bool upwards = false;  ///< turned by 90 degrees, read from bottom to top
};

/// A picture in memory. Coordinates are pixels from the upper left corner; pixel (i, j)
/// covers [i, i+1) x [j, j+1). Whatever lies outside the clipping rectangle is not
/// drawn; points that are not finite are skipped.
class Canvas {
 public:
  static constexpr int kLargestSide = 20'000;

  /// A picture of one colour; each side 1 to kLargestSide pixels, else InputError.
  Canvas(int width, int height, Color background = kWhite);

  int width() const { return width_; }
  int height() const { return height_; }
  /// Colour of a pixel inside the picture.
  Color pixel(int x, int y) const;
  /// Sets one pixel; outside the picture or the clipping rectangle nothing happens.
  void set_pixel(int x, int y, Color color);

  /// Restricts drawing to a rectangle, rounded to whole pixels.
  void clip(const Rectangle& rectangle);
  /// Drawing reaches the whole picture again.
  void unclip();

  /// Fills a rectangle, rounded to whole pixels.
  void fill(const Rectangle& rectangle, Color color, double alpha = 1);
  /// The outline of a rectangle, drawn inside it.
  void frame(const Rectangle& rectangle, double line_width, Color color);
  /// A line through the points with round ends and joins; a point that is not finite
  /// interrupts it.
  void line(const Stroke& points, double line_width, Color color, double alpha = 1);
  /// A filled disc.
  void disc(Point center, double radius, Color color, double alpha = 1);
  /// UTF-8 text whose baseline starts, is centred or ends at a point.
  void text(Point baseline, const std::string& text, const TextStyle& style = {});

  /// The picture as the bytes of a PNG file.
  std::string png() const;
  /// Writes the PNG; InputError where that fails, and then no file is left behind.
  void save(const std::string& path) const;

 private:
  void blend(int x, int y, Color color, double alpha);
  void draw_strokes(const std::vector<Stroke>& strokes, double line_width, Color color,
                    double alpha);

  int width_;
  int height_;
  int clip_left_, clip_top_, clip_right_, clip_bottom_;  // pixels, right ends excluded
  std::vector<std::uint8_t> pixels_;                     // [height, width, 3]
  std::vector<float> mask_;                              // coverage, reused by strokes
};

/// Width of a UTF-8 text in pixels, the space after its last character included.
double text_width(const std::string& text, const TextStyle& style = {});

}  // namespace kinflow
