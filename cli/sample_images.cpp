// kinflow sample from a model of images.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <functional>
#include <system_error>

#include "image_commands.h"
#include "kinflow/array/array.h"
#include "kinflow/array/device.h"
#include "kinflow/core/error.h"
#include "kinflow/core/in_quotes.h"
#include "kinflow/core/output_folder.h"
#include "kinflow/data/npy.h"
#include "kinflow/data/text_lines.h"
#include "kinflow/evaluate/image_draws.h"
#include "kinflow/images/write_png.h"
#include "kinflow/report/sample_sheet.h"

namespace kinflow::cli {
namespace {

// On a sheet of people whose images are known.
constexpr std::size_t kShownPeople = 30;

/// DrawnImages images of people, as many of each.
struct DrawnImages {
  Array pixels;                     // [people x each, C, H, W], of 8 bits
  std::vector<std::string> people;  // their names
  std::int64_t each = 1;
};

bool is_array(const std::string& path) { return lower_case(path).ends_with(".npy"); }

std::vector<std::uint8_t> bytes_of(const Array& pixels) {
  const auto whole = pixels.contiguous();
  const auto* first = whole.data_ptr<std::uint8_t>();
  return {first, first + whole.numel()};
}

SheetImages sheet_of(const Array& pixels) {
  return {.channels = static_cast<int>(pixels.size(1)),
          .height = static_cast<int>(pixels.size(2)),
          .width = static_cast<int>(pixels.size(3)),
          .values = bytes_of(pixels)};
}

// A person's name as that of a folder.
void check_folder_name(const std::string& person) {
  // Hidden folders are not read again.
  const bool is_name = !person.empty() && !person.starts_with('.') &&
                       person.find('/') == std::string::npos;
  if (is_name) return;
  throw InputError(fmt::format(
      "--out: expected an .npy file, since {} cannot be the name of a folder",
      in_quotes(person)));
}

/// What is replaced in the place of a new folder of images.
ResultFiles earlier_images(const std::string& directory, bool overwrite) {
  if (!overwrite) return {};
  return people_folder_files(directory, ImageNames::numbers);
}

void write_folder(const std::string& directory, const DrawnImages& drawn,
                  bool overwrite) {
  const auto write = [&](const std::string& into) {
    for (std::int64_t i = 0; i < drawn.pixels.size(0); ++i) {
      const auto pixels = drawn.pixels[i];
      const auto folder = std::filesystem::path(into) /
                          drawn.people[static_cast<std::size_t>(i / drawn.each)];
      std::error_code error;
      std::filesystem::create_directories(folder, error);
      if (error) {
        throw InputError(fmt::format("{}: cannot make the folder ({})", folder.string(),
                                     error.message()));
      }
      write_png((folder / fmt::format("{}.png", i % drawn.each + 1)).string(),
                {.width = pixels.size(2),
                 .height = pixels.size(1),
                 .channels = pixels.size(0),
                 .pixels = bytes_of(pixels.permute({1, 2, 0}))});
    }
  };
  make_whole_folder(directory, write, earlier_images(directory, overwrite));
}

// A row for each of the first people: one known image, then those drawn.
std::vector<SheetRow> rows_by_person(const DrawnImages& drawn, const ImageSet& set) {
  const auto known = spread_to_eight_bits(rows_of(set).pixels, set.bits);
  std::vector<SheetRow> rows;
  for (std::size_t person = 0; person < std::min(kShownPeople, drawn.people.size());
       ++person) {
    const auto number = static_cast<std::int64_t>(person);
    const auto first =
        std::find(set.person.begin(), set.person.end(), number) - set.person.begin();
    rows.push_back({.label = drawn.people[person],
                    .images = sheet_of(nd::cat(
                        {known.narrow(0, first, 1),
                         drawn.pixels.narrow(0, number * drawn.each, drawn.each)}))});
  }
  return rows;
}

// A name with the ending of a file is a mistake more often than a folder.
void check_folder(const std::string& path, bool overwrite,
                  const std::vector<std::string>& inputs) {
  static constexpr std::array<std::string_view, 5> kFiles = {".png", ".jpg", ".jpeg",
                                                             ".csv", ".tsv"};
  if (std::any_of(kFiles.begin(), kFiles.end(),
                  [&](auto ending) { return lower_case(path).ends_with(ending); })) {
    throw InputError("--out: expected a folder or an .npy file, found " + path);
  }
  check_not_an_input(path, inputs);
  require_no_result(people_folder_files(path, ImageNames::numbers), overwrite);
  require_free(path, earlier_images(path, overwrite));
  require_makeable(path);
}

void check_outputs(const SampleImagesGiven& given) {
  if (given.out.empty() && given.sheet.empty()) {
    throw InputError("sample: expected --out or --sheet, found neither");
  }
  if (!given.count) throw InputError("sample: expected --n N, found none");
  const std::vector<std::string> inputs = {given.model, given.known,
                                           given.images.request.ids};
  check_picture(given.sheet, inputs, "--sheet", given.overwrite);
  check_outside(given.sheet, given.known, "--sheet");
  check_outside(given.out, given.known, "--out");
  if (is_array(given.out)) {
    check_not_an_input(given.out, inputs);
    require_no_result({given.out}, given.overwrite);
    require_writable(given.out);
  } else if (!given.out.empty()) {
    check_folder(given.out, given.overwrite, inputs);
  }
}

std::vector<std::string> new_people(std::int64_t count) {
  std::vector<std::string> names;
  for (std::int64_t i = 1; i <= count; ++i) names.push_back(fmt::format("new{}", i));
  return names;
}

void write_images(const std::string& path, const DrawnImages& drawn, bool overwrite) {
  if (!is_array(path)) {
    write_folder(path, drawn, overwrite);
    return;
  }
  const auto bytes = bytes_of(drawn.pixels);
  write_npy(path, drawn.pixels.sizes().vec(), std::span<const std::uint8_t>(bytes));
}

// A sheet that cannot be drawn fails before anything is written.
void write_all(const SampleImagesGiven& given, const DrawnImages& drawn,
               const std::function<SampleSheet()>& make_sheet) {
  std::optional<Canvas> sheet;
  if (!given.sheet.empty()) sheet = draw_sample_sheet(make_sheet());
  if (!given.out.empty()) write_images(given.out, drawn, given.overwrite);
  if (sheet) sheet->save(given.sheet);
}

void draw_new(const SampleImagesGiven& given, const ImageModel& model,
              const ImageDrawOptions& options) {
  const DrawnImages drawn{
      .pixels = spread_to_eight_bits(draw_images(model, options), model.bits()),
      .people = new_people(options.count),
      .each = 1};
  write_all(given, drawn, [&] {
    const auto columns = std::ceil(std::sqrt(static_cast<double>(options.count)));
    return SampleSheet{
        .rows = sheet_rows(sheet_of(drawn.pixels), static_cast<std::size_t>(columns))};
  });
}

void draw_given(const SampleImagesGiven& given, const ImageModel& model,
                const ImageDrawOptions& options, Console& console) {
  const auto read = read_images(given.images.resolve(given.known, model.prepare), 1);
  for (const auto& note : read.report.notes()) console.info(note);
  const auto& set = read.set;
  check_shape(model, set, given.known);
  DrawnImages drawn{
      .pixels = {}, .people = names_of_people(set), .each = options.count};
  if (!given.out.empty() && !is_array(given.out)) {
    for (const auto& person : drawn.people) check_folder_name(person);
  }
  drawn.pixels = spread_to_eight_bits(
      draw_images_given(model, set, given.parameter, options), model.bits());
  write_all(given, drawn, [&] {
    return SampleSheet{.title = "One given image of each, then those drawn",
                       .rows = rows_by_person(drawn, set)};
  });
  if (!given.sheet.empty() && drawn.people.size() > kShownPeople) {
    console.info(fmt::format("{}: shows the first {} of {} people", given.sheet,
                             kShownPeople, drawn.people.size()));
  }
}

}  // namespace

void add_sample_images_options(CLI::App& verb, SampleImagesGiven& given) {
  const auto add = [](CLI::Option* option) { return option->group(kImageOptions); };
  add_images_options(verb, given.images);
  add(verb.add_option("--sheet", given.sheet, "PNG to draw all images to"));
  add(verb.add_option("--temperature", given.temperature,
                      "Spread of the latents; less than 1 for more typical images"))
      ->check(number_in(0, 100));
  add(add_device(verb, given.device));
}

void check_sample_images_options(const CLI::App& verb, const SampleImagesGiven& given,
                                 const std::string& known) {
  check_effects(
      verb,
      {needs_option({"--ids", "--file-column", "--person-column", "--crop", "--size",
                     "--grey", "--rgb", "--skip-corrupt", "--parameter"},
                    {"--given"})},
      verb);
  check_images_options(verb, given.images, known);
}

void sample_images(const SampleImagesGiven& given, Console& console) {
  check_outputs(given);
  const auto model = load_image_model(given.model, find_device(given.device));
  const ImageDrawOptions options{
      .count = *given.count, .temperature = given.temperature, .seed = given.seed};
  if (given.known.empty()) {
    draw_new(given, model, options);
  } else {
    draw_given(given, model, options, console);
  }
}

}  // namespace kinflow::cli
