// Lays out images in rows and enlarges their pixels.
#include "kinflow/report/sample_sheet.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kinflow/core/error.h"

namespace kinflow {
namespace {

constexpr int kLargestSide = Canvas::kLargestSide;

std::size_t values_per_image(const SheetImages& images) {
  return static_cast<std::size_t>(images.channels) *
         static_cast<std::size_t>(images.height) *
         static_cast<std::size_t>(images.width);
}

void check_images(const SheetImages& images) {
  const bool is_size = (images.channels == 1 || images.channels == 3) &&
                       images.height >= 1 && images.width >= 1 &&
                       images.height <= kLargestSide && images.width <= kLargestSide;
  if (is_size && images.values.size() % values_per_image(images) == 0) return;
  throw InputError(fmt::format(
      "[sample sheet] expected whole images of 1 or 3 channels and sides from 1 to {}, "
      "received {} values for images of {} x {} x {}",
      kLargestSide, images.values.size(), images.channels, images.height,
      images.width));
}

void check(const SampleSheet& sheet) {
  if (sheet.enlargement < 1 || sheet.enlargement > 64 || sheet.gap < 0 ||
      sheet.gap > 1000 || !(sheet.text_size >= 1 && sheet.text_size <= 200)) {
    throw InputError(fmt::format(
        "[sample sheet] expected an enlargement of 1 to 64, a gap of 0 to 1000 pixels "
        "and text of 1 to 200 pixels, received {}, {} and {}",
        sheet.enlargement, sheet.gap, sheet.text_size));
  }
  std::size_t count = 0;
  for (const auto& row : sheet.rows) {
    check_images(row.images);
    count += row.images.count();
    const auto& first = sheet.rows.front().images;
    if (row.images.height != first.height || row.images.width != first.width) {
      throw InputError(fmt::format(
          "[sample sheet] expected images of one size, received {} x {} and {} x {}",
          first.height, first.width, row.images.height, row.images.width));
    }
  }
  if (count == 0) throw InputError("[sample sheet] expected an image, received none");
}

// Where things stand, in pixels.
struct SheetLayout {
  int cell_width, cell_height;  // of an image with the gap after it
  int left, top;                // of the first image
  int width, height;            // of the sheet
};

int checked_side(double side) {
  if (side <= kLargestSide) return static_cast<int>(side);
  throw InputError(
      fmt::format("[sample sheet] expected a sheet of at most {} pixels a side, "
                  "received one of {:.0f}",
                  kLargestSide, side));
}

SheetLayout lay_out(const SampleSheet& sheet) {
  const auto& first = sheet.rows.front().images;
  const TextStyle style{.size = sheet.text_size};
  std::size_t columns = 0;
  double labels = 0;
  for (const auto& row : sheet.rows) {
    columns = std::max(columns, row.images.count());
    if (!row.label.empty()) {
      labels = std::max(labels, std::ceil(text_width(row.label, style)) + sheet.gap);
    }
  }
  const double title = sheet.title.empty() ? 0 : std::ceil(1.2 * sheet.text_size);
  SheetLayout layout{};
  layout.cell_width = checked_side(double(first.width) * sheet.enlargement + sheet.gap);
  layout.cell_height =
      checked_side(double(first.height) * sheet.enlargement + sheet.gap);
  layout.left = checked_side(sheet.gap + labels);
  layout.top = checked_side(sheet.gap + title);
  layout.height = checked_side(layout.top + static_cast<double>(sheet.rows.size()) *
                                                layout.cell_height);
  const double images = layout.left + static_cast<double>(columns) * layout.cell_width;
  const double title_width = 2 * sheet.gap + std::ceil(text_width(sheet.title, style));
  layout.width =
      checked_side(sheet.title.empty() ? images : std::max(images, title_width));
  return layout;
}

Color color_at(const SheetImages& images, std::size_t image, int y, int x) {
  const auto plane =
      static_cast<std::size_t>(images.height) * static_cast<std::size_t>(images.width);
  const auto* value =
      images.values.data() + image * values_per_image(images) +
      static_cast<std::size_t>(y) * static_cast<std::size_t>(images.width) +
      static_cast<std::size_t>(x);
  if (images.channels == 1) return {*value, *value, *value};
  return {value[0], value[plane], value[2 * plane]};
}

void draw_image(Canvas& canvas, const SheetImages& images, std::size_t image,
                const Rectangle& corner, int enlargement) {
  for (int y = 0; y < images.height; ++y) {
    for (int x = 0; x < images.width; ++x) {
      const double left = corner.left + x * enlargement;
      const double top = corner.top + y * enlargement;
      canvas.fill({left, top, left + enlargement, top + enlargement},
                  color_at(images, image, y, x));
    }
  }
}

}  // namespace

std::size_t SheetImages::count() const {
  return values.size() / values_per_image(*this);
}

std::vector<SheetRow> sheet_rows(const SheetImages& images, std::size_t columns) {
  check_images(images);
  if (columns < 1) {
    throw InputError("[sample sheet] expected at least one column, received 0");
  }
  const std::size_t size = values_per_image(images);
  std::vector<SheetRow> rows;
  for (std::size_t first = 0; first < images.count(); first += columns) {
    const std::size_t last = first + std::min(columns, images.count() - first);
    SheetRow row{.images = {images.channels, images.height, images.width}};
    row.images.values.assign(
        images.values.begin() + static_cast<std::ptrdiff_t>(first * size),
        images.values.begin() + static_cast<std::ptrdiff_t>(last * size));
    rows.push_back(std::move(row));
  }
  return rows;
}

Canvas draw_sample_sheet(const SampleSheet& sheet) {
  check(sheet);
  const SheetLayout layout = lay_out(sheet);
  Canvas canvas(layout.width, layout.height);
  const TextStyle style{.size = sheet.text_size};
  const double capital = sheet.text_size * kFontCapHeight / kFontUnitsPerEm;
  const double gap = sheet.gap;
  if (!sheet.title.empty()) {
    canvas.text({gap, gap + capital}, sheet.title, style);
  }
  double top = layout.top;
  for (const auto& row : sheet.rows) {
    const double middle = top + (layout.cell_height - gap) / 2;
    canvas.text({gap, middle + capital / 2}, row.label, style);
    double left = layout.left;
    for (std::size_t i = 0; i < row.images.count(); ++i) {
      draw_image(canvas, row.images, i, {left, top}, sheet.enlargement);
      left += layout.cell_width;
    }
    top += layout.cell_height;
  }
  return canvas;
}

void write_sample_sheet(const std::string& path, const SampleSheet& sheet) {
  draw_sample_sheet(sheet).save(path);
}

}  // namespace kinflow
