// Sheets of small images: samples of a model, or images of one person in a row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kinflow/report/canvas.h"

namespace kinflow {

/// Images of one size with 8 bits, [count, channels, height, width] row-major.
struct SheetImages {
  int channels = 3;  ///< 1 (grey) or 3 (red, green, blue)
  int height = 0;
  int width = 0;
  std::vector<std::uint8_t> values{};

  std::size_t count() const;
};

/// One row of a sheet.
struct SheetRow {
  std::string label{};  ///< to the left of the images; or empty
  SheetImages images{};
};

struct SampleSheet {
  std::string title{};  ///< above the rows; or empty
  std::vector<SheetRow> rows{};
  int enlargement = 4;    ///< pixels of the sheet to one of an image, each way; 1 to 64
  int gap = 4;            ///< pixels between images, and around all; 0 to 1,000
  double text_size = 20;  ///< pixels per em
};

/// Images in rows of `columns`, without labels; the last row may be shorter. InputError
/// where `columns` is below 1 or the values do not fill whole images.
std::vector<SheetRow> sheet_rows(const SheetImages& images, std::size_t columns);

/// Draws every pixel of an image as a square, and rows from the top, each from the
/// left; they may differ in number. InputError where there is no image, images differ
/// in size, values do not fill whole images, an option is outside its range, or the
/// picture would be too large.
Canvas draw_sample_sheet(const SampleSheet& sheet);

/// Saves draw_sample_sheet() as PNG; InputError where that fails.
void write_sample_sheet(const std::string& path, const SampleSheet& sheet);

}  // namespace kinflow
