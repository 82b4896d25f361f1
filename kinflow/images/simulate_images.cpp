// Drawing and writing images with a known law.
#include "kinflow/images/simulate_images.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>

#include "kinflow/core/atomic_file.h"
#include "kinflow/core/error.h"
#include "kinflow/core/output_folder.h"
#include "kinflow/core/random.h"
#include "kinflow/data/simulate.h"
#include "kinflow/images/write_png.h"

namespace kinflow {
namespace {

/// Independent streams of random numbers for one seed; draws follow.
enum Stream : std::int64_t { kSizes, kTrain, kValid, kTest, kFirstDraw };

void check(bool valid, const std::string& expected) {
  if (!valid) throw InputError("[simulate_images] expected " + expected);
}

void check_options(const SimulateImagesOptions& options) {
  check(options.images >= 2,
        fmt::format("at least 2 images, received {}", options.images));
  check(options.valid_images >= 1 && options.test_images >= 1,
        fmt::format("at least 1 validation and 1 test image, received {} and {}",
                    options.valid_images, options.test_images));
  check(options.side % kSideMultiple == 0 && options.side >= 8 && options.side <= 64,
        fmt::format("a side that is a multiple of {} from 8 to 64, received {}",
                    kSideMultiple, options.side));
  check(options.identity_share >= 0 && options.identity_share <= 1,
        fmt::format("an identity share between 0 and 1, received {}",
                    options.identity_share));
  check(options.largest_person >= 1,
        fmt::format("at least 1 image of the largest person, received {}",
                    options.largest_person));
}

std::int64_t channels_of(const SimulateImagesOptions& options) {
  return options.rgb ? 3 : 1;
}

/// The standard normal numbers behind an image, in the order in which they are drawn.
struct Factors {
  double x, y, size, form, slope_x, slope_y, light;
  double tone[3], ground[3];
  std::span<const double> grain;  // [side][side][channels]

  Factors(std::span<const double> numbers, std::size_t channels) {
    std::size_t used = 0;
    for (double* factor : {&x, &y, &size, &form, &slope_x, &slope_y, &light}) {
      *factor = numbers[used++];
    }
    for (std::size_t c = 0; c < 3; ++c) {
      tone[c] = numbers[used + c % channels];
      ground[c] = numbers[used + channels + c % channels];
    }
    grain = numbers.subspan(used + 2 * channels);
  }

  static std::size_t count(std::size_t side, std::size_t channels) {
    return 7 + 2 * channels + side * side * channels;
  }
};

/// How much of a pixel the shape covers, with a soft edge. Lengths are in sides of the
/// image, from its centre.
double coverage(double x, double y, const Factors& factors) {
  constexpr double kPlace = 0.1, kSize = 0.25, kSizeSpread = 0.2, kSoftness = 0.04;
  const double power = std::clamp(2 * std::exp(0.5 * factors.form), 0.7, 8.0);
  const double across = std::abs(x - kPlace * factors.x);
  const double down = std::abs(y - kPlace * factors.y);
  const double distance =
      std::pow(std::pow(across, power) + std::pow(down, power), 1 / power);
  const double radius = kSize * std::exp(kSizeSpread * factors.size);
  return 1 / (1 + std::exp((distance - radius) / kSoftness));
}

/// Tones are in parts of the brightest; few values leave 0 to 1.
Image render(std::span<const double> numbers, const SimulateImagesOptions& options) {
  constexpr double kGround = 0.3, kGroundSpread = 0.05, kSlope = 0.1;
  constexpr double kContrast = 0.28, kContrastSpread = 0.07;
  constexpr double kLight = 0.05, kGrain = 0.025;
  const auto channels = static_cast<std::size_t>(channels_of(options));
  const auto side = static_cast<std::size_t>(options.side);
  const Factors factors(numbers, channels);
  auto image = blank_image(options.side, options.side, channels_of(options));
  for (std::size_t i = 0; i < image.pixels.size(); ++i) {
    const auto place = [&](std::size_t number) {
      return (static_cast<double>(number) + 0.5) / static_cast<double>(side) - 0.5;
    };
    const std::size_t c = i % channels;
    const double x = place(i / channels % side), y = place(i / channels / side);
    const double ground = kGround + kGroundSpread * factors.ground[c] +
                          kSlope * (factors.slope_x * x + factors.slope_y * y);
    const double contrast = kContrast + kContrastSpread * factors.tone[c];
    const double lit = (ground + contrast * coverage(x, y, factors)) *
                       std::exp(kLight * factors.light);
    const double value = 255 * (lit + kGrain * factors.grain[i]);
    image.pixels[i] =
        static_cast<std::uint8_t>(std::lround(std::clamp(value, 0.0, 255.0)));
  }
  return image;
}

/// Parts of one seed have no people in common, and no ids.
std::string person_id(std::int64_t stream_number, std::int64_t number) {
  const auto part = stream_number == kTrain   ? std::string("p")
                    : stream_number == kValid ? std::string("v")
                    : stream_number == kTest
                        ? std::string("t")
                        : fmt::format("d{}_", stream_number - kFirstDraw + 1);
  return fmt::format("{}{:06}", part, number + 1);
}

ImageSet blank_set(const SimulateImagesOptions& options,
                   const std::vector<std::int64_t>& images_of_person,
                   std::int64_t stream_number) {
  ImageSet set{.channels = channels_of(options),
               .height = options.side,
               .width = options.side,
               .bits = 8};
  for (std::int64_t p = 0; p < std::ssize(images_of_person); ++p) {
    const auto id = person_id(stream_number, p);
    const auto images = images_of_person[static_cast<std::size_t>(p)];
    for (std::int64_t i = 0; i < images; ++i) {
      set.person.push_back(p);
      set.person_of_image.push_back(id);
      set.files.push_back(fmt::format("{}/{}_{:06}.png", id, id, i + 1));
    }
  }
  set.pixels.resize(static_cast<std::size_t>(set.images() * set.dimension()));
  return set;
}

ImageSet draw_images(const SimulateImagesOptions& options,
                     const std::vector<std::int64_t>& images_of_person,
                     std::int64_t stream_number) {
  auto set = blank_set(options, images_of_person, stream_number);
  Random random(options.seed, stream(Purpose::images, stream_number));
  const auto count = Factors::count(static_cast<std::size_t>(options.side),
                                    static_cast<std::size_t>(set.channels));
  const double of_person = std::sqrt(options.identity_share);
  const double of_image = std::sqrt(1 - options.identity_share);
  std::vector<double> shared(count), numbers(count);
  for (std::int64_t i = 0; i < set.images(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    const bool is_new = i == 0 || set.person[at] != set.person[at - 1];
    if (is_new)
      std::generate(shared.begin(), shared.end(), [&] { return random.normal(); });
    for (std::size_t k = 0; k < count; ++k) {
      numbers[k] = of_person * shared[k] + of_image * random.normal();
    }
    put_image(set, i, render(numbers, options));
  }
  return set;
}

std::vector<std::int64_t> one_each(std::int64_t people) {
  return std::vector<std::int64_t>(static_cast<std::size_t>(people), 1);
}

/// Without a sync for each of thousands of files.
void write_quickly(const std::string& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary);
  file << bytes;
  file.close();
  if (!file) throw InputError(system_message(path, "write"));
}

void write_set(const std::string& directory, const ImageSet& set) {
  for (std::int64_t i = 0; i < set.images(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    std::filesystem::create_directories(directory + "/" + set.person_of_image[at]);
    write_quickly(directory + "/" + set.files[at], encode_png(image_of(set, i)));
  }
}

std::string truth_of(const SimulatedImages& simulation) {
  const auto& options = simulation.options;
  const auto& train = simulation.train;
  const nlohmann::ordered_json truth = {{"images", options.images},
                                        {"valid_images", options.valid_images},
                                        {"test_images", options.test_images},
                                        {"side", options.side},
                                        {"rgb", options.rgb},
                                        {"identity_share", options.identity_share},
                                        {"largest_person", options.largest_person},
                                        {"seed", options.seed},
                                        {"people", train.people()},
                                        {"images_of_people", images_per_person(train)}};
  return truth.dump(2) + "\n";
}

}  // namespace

SimulatedImages simulate_images(const SimulateImagesOptions& options) {
  check_options(options);
  Random random(options.seed, stream(Purpose::images, kSizes));
  const auto largest = std::min(options.largest_person, options.images - 1);
  const auto sizes = draw_block_sizes(options.images, largest, random);
  return {.options = options,
          .train = draw_images(options, sizes, kTrain),
          .valid = draw_images(options, one_each(options.valid_images), kValid),
          .test = draw_images(options, one_each(options.test_images), kTest)};
}

ImageSet balanced_images(const SimulateImagesOptions& options, std::int64_t images,
                         std::int64_t draw) {
  check_options(options);
  check(images >= 1 && draw >= 0,
        fmt::format("at least 1 image of a draw from 0, received {} of {}", images,
                    draw));
  return draw_images(options, one_each(images), kFirstDraw + draw);
}

void write_simulated_images(const std::string& directory,
                            const SimulatedImages& simulation,
                            const ResultFiles& replaced) {
  const auto write = [&](const std::string& into) {
    try {
      write_set(into + "/train", simulation.train);
      write_set(into + "/valid", simulation.valid);
      write_set(into + "/test", simulation.test);
    } catch (const std::filesystem::filesystem_error& error) {
      throw InputError(fmt::format("{}: cannot make a folder in it ({})", directory,
                                   error.code().message()));
    }
    write_file_atomically(into + "/truth.json", truth_of(simulation));
  };
  make_whole_folder(directory, write, replaced);
}

ResultFiles simulated_image_files(const std::string& directory) {
  const std::filesystem::path folder(directory);
  ResultFiles files;
  for (const char* part : {"train", "valid", "test"}) {
    const auto found =
        people_folder_files((folder / part).string(), ImageNames::people_and_numbers);
    files.insert(files.end(), found.begin(), found.end());
  }
  files.push_back((folder / "truth.json").string());
  return files;
}

}  // namespace kinflow
