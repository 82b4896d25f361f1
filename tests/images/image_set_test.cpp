// Sets of images: the three layouts, and everything that is refused.
#include "kinflow/images/image_set.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "kinflow/core/json_reader.h"
#include "kinflow/core/workers.h"
#include "kinflow/images/write_png.h"
#include "tests/data/helpers.h"
#include "tests/images/image_files.h"

namespace kinflow {
namespace {

using Names = std::vector<std::string>;
using Numbers = std::vector<std::int64_t>;

/// Writes files into folders that it makes.
class ImageFolder {
 public:
  std::string path(const std::string& name = "") const { return folder_.path(name); }

  void write(const std::string& name, const std::string& bytes) const {
    std::filesystem::create_directories(
        std::filesystem::path(path(name)).parent_path());
    folder_.write(name, bytes);
  }

  /// A PNG with one value everywhere.
  void add(const std::string& name, int value = 0, std::int64_t width = 4,
           std::int64_t height = 4, std::int64_t channels = 1) const {
    write(name, encode_png(image_by(width, height, channels,
                                    [&](auto, auto, auto) { return value; })));
  }

  ImageRequest request(const std::string& name = "faces") const {
    return {.path = path(name)};
  }

  /// The message without the folder's own path.
  std::string error(const ImageRequest& request) const {
    auto message = input_error_of([&] { read_images(request); });
    const auto prefix = path("");
    for (auto at = message.find(prefix); at != std::string::npos;
         at = message.find(prefix)) {
      message.erase(at, prefix.size() + 1);
    }
    return message;
  }

 private:
  TemporaryFolder folder_;
};

struct ThreePeople : ImageFolder {
  ThreePeople() {
    add("faces/Bo/Bo_0002.png", 2);
    add("faces/Bo/Bo_0001.png", 1);
    add("faces/Ann/x.PNG", 3);
    add("faces/Cy/y.jpeg", 4);
  }
};

std::string npy(const std::string& descr, const std::string& shape,
                const std::string& data, const std::string& fortran = "False") {
  const auto dict = "{'descr': '" + descr + "', 'fortran_order': " + fortran +
                    ", 'shape': " + shape + "}\n";
  std::string bytes("\x93NUMPY\x01\0", 8);
  bytes += static_cast<char>(dict.size() % 256);
  bytes += static_cast<char>(dict.size() / 256);
  return bytes + dict + data;
}

std::string counted_bytes(std::size_t count) {
  std::string bytes;
  for (std::size_t i = 0; i < count; ++i) bytes += static_cast<char>(i);
  return bytes;
}

template <typename Element>
std::string raw(const std::vector<Element>& elements) {
  return {reinterpret_cast<const char*>(elements.data()),
          elements.size() * sizeof(Element)};
}

TEST(ImageSet, FoldersOfPeopleAreReadInTheOrderOfTheirNames) {
  const ThreePeople folder;
  const auto [set, report] = read_images(folder.request());
  EXPECT_EQ(set.files,
            (Names{"Ann/x.PNG", "Bo/Bo_0001.png", "Bo/Bo_0002.png", "Cy/y.jpeg"}));
  EXPECT_EQ(set.person_of_image, (Names{"Ann", "Bo", "Bo", "Cy"}));
  EXPECT_EQ(set.person, (Numbers{0, 1, 1, 2}));
  EXPECT_EQ(set.people(), 3);
  EXPECT_EQ(set.channels, 1);
  EXPECT_EQ(set.width, 4);
  EXPECT_EQ(set.height, 4);
  ASSERT_EQ(set.pixels.size(), 64u);
  for (std::size_t i = 0; i < 64; ++i) {
    EXPECT_EQ(set.pixels[i], (std::vector{3, 1, 2, 4}[i / 16]));
  }
  EXPECT_TRUE(report.notes().empty());
}

TEST(ImageSet, PixelsStandChannelByChannelAndComeBack) {
  const ImageFolder folder;
  const auto image =
      image_by(8, 4, 3, [](auto x, auto y, auto c) { return 100 * c + 8 * y + x; });
  folder.write("faces/a/1.png", encode_png(image));
  folder.add("faces/b/1.png", 5, 8, 4, 3);
  const auto set = read_images(folder.request()).set;
  for (std::size_t i = 0; i < 32; ++i) {
    for (std::size_t c = 0; c < 3; ++c) EXPECT_EQ(set.pixels[c * 32 + i], 100 * c + i);
  }
  EXPECT_EQ(image_of(set, 0), image);
  EXPECT_EQ(image_of(set, 1).pixels, std::vector<std::uint8_t>(96, 5));
}

TEST(ImageSet, ThreadsDoNotChangeWhatIsRead) {
  const ImageFolder folder;
  for (int i = 0; i < 60; ++i) {
    folder.add("faces/p" + std::to_string(i % 7) + "/" + std::to_string(i) + ".png", i);
  }
  const auto alone = read_images(folder.request()).set;
  set_worker_threads(4);
  const auto together = read_images(folder.request()).set;
  // The first damaged file by order is the one that is named.
  folder.write("faces/p3/9.png", "");
  folder.write("faces/p5/0.png", "");
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(folder.error(folder.request()),
              "faces/p3/9.png: expected a PNG or a JPEG image, found an empty file");
  }
  set_worker_threads(1);
  EXPECT_EQ(alone.pixels, together.pixels);
  EXPECT_EQ(alone.person, together.person);
}

TEST(ImageSet, ImagesArePreparedAsAsked) {
  const ImageFolder folder;
  folder.add("faces/a/1.png", 255, 10, 6, 3);
  folder.add("faces/b/1.png", 128, 4, 9, 1);
  auto request = folder.request();
  request.prepare = {.width = 8, .height = 4, .colors = ImageColors::grey, .bits = 5};
  const auto set = read_images(request).set;
  EXPECT_EQ(set.channels, 1);
  EXPECT_EQ(set.width, 8);
  EXPECT_EQ(set.height, 4);
  EXPECT_EQ(set.bits, 5);
  EXPECT_EQ(set.pixels[0], 31);
  EXPECT_EQ(set.pixels[32], 16);
}

TEST(ImageSet, SizesMustBeAlikeAndMultiplesOfFour) {
  const ThreePeople folder;
  folder.add("faces/Cy/z.png", 0, 8, 4);
  EXPECT_EQ(folder.error(folder.request()),
            "faces/Cy/z.png: expected 4 x 4 pixels as in faces/Ann/x.PNG, found 8 x 4; "
            "--size makes them alike");
  auto request = folder.request();
  request.prepare.width = request.prepare.height = 6;
  EXPECT_EQ(folder.error(request),
            "--size: expected sides that are multiples of 4, found 6 x 6");
  request.prepare = {.width = 8};
  EXPECT_EQ(folder.error(request),
            "--size: expected sides that are multiples of 4, found 8 x 0");
  request.prepare = {.crop = 3};
  EXPECT_EQ(
      folder.error(request),
      "faces: expected images whose sides are multiples of 4, found 3 x 3; --size "
      "resizes them");
  request.prepare = {.crop = 8};
  EXPECT_EQ(folder.error(request),
            "faces/Ann/x.PNG: expected at least 8 x 8 pixels to crop, found 4 x 4");
  request.prepare = {.bits = 9};
  EXPECT_EQ(folder.error(request),
            "images: key 'prepare.bits': expected an integer from 1 to 8, found 9");
}

TEST(ImageSet, GreyAndRgbDoNotMixUnlessColoursAreAskedFor) {
  const ThreePeople folder;
  folder.add("faces/Cy/z.png", 9, 4, 4, 3);
  EXPECT_EQ(folder.error(folder.request()),
            "faces/Cy/z.png: expected grey as faces/Ann/x.PNG is, found RGB; --grey or "
            "--rgb makes them alike");
  auto request = folder.request();
  request.prepare.colors = ImageColors::rgb;
  EXPECT_EQ(read_images(request).set.channels, 3);
}

TEST(ImageSet, CorruptFilesAreNamedAndSkippedOnlyOnRequest) {
  const ThreePeople folder;
  folder.write("faces/Ann/a.png", "");
  const auto png = encode_png(blank_image(4, 4, 1));
  folder.write("faces/Bo/Bo_0001.png", png.substr(0, png.size() / 2));
  EXPECT_EQ(folder.error(folder.request()),
            "faces/Ann/a.png: expected a PNG or a JPEG image, found an empty file");
  auto request = folder.request();
  request.skip_corrupt = true;
  const auto [set, report] = read_images(request);
  EXPECT_EQ(set.files, (Names{"Ann/x.PNG", "Bo/Bo_0002.png", "Cy/y.jpeg"}));
  EXPECT_EQ(set.person, (Numbers{0, 1, 2}));
  EXPECT_EQ(set.pixels.size(), 48u);
  EXPECT_EQ(set.pixels[16], 2);
  ASSERT_EQ(report.skipped.size(), 2u);
  EXPECT_EQ(report.skipped[0].file, folder.path("faces/Ann/a.png"));
  EXPECT_EQ(report.skipped[1].file, folder.path("faces/Bo/Bo_0001.png"));
  EXPECT_NE(report.skipped[1].why.find("truncated"), std::string::npos);
  ASSERT_EQ(report.notes().size(), 1u);
  EXPECT_EQ(report.notes()[0].rfind(
                "2 images skipped that cannot be decoded; the first: ", 0),
            0u);
}

TEST(ImageSet, SkippingIsForDamageOnly) {
  const ThreePeople folder;
  folder.add("faces/Cy/z.png", 0, 8, 4);
  auto request = folder.request();
  request.skip_corrupt = true;
  EXPECT_NE(folder.error(request).find("expected 4 x 4 pixels"), std::string::npos);
  const ImageFolder nothing;
  nothing.write("faces/a/1.png", "");
  nothing.write("faces/b/1.png", "");
  request = nothing.request();
  request.skip_corrupt = true;
  EXPECT_EQ(nothing.error(request),
            "faces: expected images, found none that can be decoded; the first: "
            "faces/a/1.png: expected a PNG or a JPEG image, found an empty file");
}

TEST(ImageSet, OnePersonIsRefusedUnlessOneIsEnough) {
  const ImageFolder folder;
  folder.add("faces/a/1.png");
  folder.add("faces/a/2.png");
  EXPECT_EQ(folder.error(folder.request()),
            "faces: expected images of at least 2 people, found 1");
  EXPECT_EQ(read_images(folder.request(), 1).set.images(), 2);
}

TEST(ImageSet, FoldersThatAreNotOfPeopleAreRefused) {
  const ImageFolder folder;
  EXPECT_EQ(folder.error(folder.request("none")),
            "none: expected a folder of images or an .npy array, found nothing there");
  folder.write("text", "");
  EXPECT_EQ(folder.error(folder.request("text")),
            "text: expected a folder of images or an .npy array, found another file");
  std::filesystem::create_directories(folder.path("empty"));
  EXPECT_EQ(folder.error(folder.request("empty")),
            "empty: expected a folder with .png, .jpg or .jpeg files in a folder for "
            "each person, found none of them");
  folder.write("texts/a/notes.txt", "");
  EXPECT_EQ(folder.error(folder.request("texts")),
            "texts: expected a folder with .png, .jpg or .jpeg files in a folder for "
            "each person, found none of them but 'a/notes.txt'");
  folder.add("flat/1.png");
  EXPECT_EQ(folder.error(folder.request("flat")),
            "flat: expected a folder for each person, or a table of ids (--ids), found "
            "1 image and no folders");
  const ThreePeople people;
  people.add("faces/lost.png");
  EXPECT_EQ(people.error(people.request()),
            "faces: expected images in folders of people only, found 1 beside the "
            "folders: 'lost.png'");
  const ThreePeople deep;
  deep.add("faces/Bo/more/1.png");
  EXPECT_EQ(deep.error(deep.request()),
            "faces/Bo: expected images of one person, found folders in it: 'more'");
  const ThreePeople links;
  std::filesystem::create_symlink("nowhere", links.path("faces/Bo/link.png"));
  EXPECT_EQ(links.error(links.request()),
            "faces/Bo/link.png: expected a file with an image, found a device or a "
            "broken link");
  const ThreePeople names;
  names.add("faces/Bo/a\nb.png");
  EXPECT_EQ(names.error(names.request()),
            "faces/Bo: expected printable names in UTF-8, found 'a\\x0ab.png'");
}

TEST(ImageSet, HiddenFilesAndOtherNamesAreIgnoredAndCounted) {
  const ThreePeople folder;
  folder.write("faces/Thumbs.db", "");
  folder.write("faces/.DS_Store", "");
  folder.write("faces/Bo/notes.txt", "");
  folder.write("faces/Bo/._Bo_0001.png", "");
  folder.write("faces/.git/a.png", "");
  std::filesystem::create_directories(folder.path("faces/Di"));
  const auto [set, report] = read_images(folder.request());
  EXPECT_EQ(set.images(), 4);
  EXPECT_EQ(report.notes(),
            (Names{"5 files ignored, not named as images: '.DS_Store', '.git', "
                   "'Thumbs.db', 'Bo/._Bo_0001.png', 'Bo/notes.txt'",
                   "1 folder without images: 'Di'"}));
}

TEST(ImageSet, ATableSaysWhoIsOnTheImagesOfAFolder) {
  const ImageFolder folder;
  folder.add("scans/b.png", 2);
  folder.add("scans/a.png", 1);
  folder.add("scans/more/c.png", 3);
  folder.write("ids.csv", "person,age,file\nz,1,more/c.png\n7,2,b.png\nz,3,a.png\n");
  auto request = folder.request("scans");
  request.ids = folder.path("ids.csv");
  const auto set = read_images(request).set;
  EXPECT_EQ(set.files, (Names{"a.png", "b.png", "more/c.png"}));
  EXPECT_EQ(set.person_of_image, (Names{"z", "7", "z"}));
  EXPECT_EQ(set.person, (Numbers{0, 1, 0}));
  EXPECT_EQ(set.pixels[16], 2);
  folder.write("other.tsv", "name\twho\na.png\tq\nb.png\tr\nmore/c.png\ts\n");
  request.ids = folder.path("other.tsv");
  request.file_column = "name";
  request.person_column = "who";
  EXPECT_EQ(read_images(request).set.person_of_image, (Names{"q", "r", "s"}));
  request.person_column = "nobody";
  EXPECT_NE(folder.error(request).find("'nobody'"), std::string::npos);
}

TEST(ImageSet, ALinkThatLeadsBackIsNotFollowed) {
  const ImageFolder folder;
  folder.add("scans/a.png");
  folder.add("scans/b.png");
  std::filesystem::create_directory_symlink(".", folder.path("scans/loop"));
  folder.write("ids.csv", "file,person\na.png,x\nb.png,y\n");
  auto request = folder.request("scans");
  request.ids = folder.path("ids.csv");
  const auto [set, report] = read_images(request);
  EXPECT_EQ(set.images(), 2);
  EXPECT_EQ(report.ignored, (Names{"loop"}));
}

TEST(ImageSet, ATableThatDoesNotMatchIsRefused) {
  const ImageFolder folder;
  for (int i = 1; i <= 8; ++i) folder.add("scans/" + std::to_string(i) + ".png");
  const auto error = [&](const std::string& table) {
    folder.write("ids.csv", table);
    auto request = folder.request("scans");
    request.ids = folder.path("ids.csv");
    return folder.error(request);
  };
  EXPECT_EQ(error("file,person\n1.png,a\n9.png,a\nx.png,b\n"),
            "ids.csv: expected files below scans in column 'file', found 2 of 3 that "
            "are not there: '9.png', 'x.png'");
  EXPECT_EQ(error("file,person\n1.png,a\n2.png,b\n"),
            "ids.csv: expected a row for every image below scans, found none for 6 of "
            "8: '3.png', '4.png', '5.png', '6.png', '7.png', ...");
  EXPECT_EQ(error("file,person\n1.png,a\n2.png,b\n1.png,c\n"),
            "ids.csv:4: expected every file once, found '1.png' again");
  EXPECT_NE(error("file,person\n1.png,\n").find("ids.csv:2"), std::string::npos);
  std::filesystem::create_directories(folder.path("empty"));
  auto request = folder.request("empty");
  request.ids = folder.path("ids.csv");
  EXPECT_EQ(
      folder.error(request),
      "empty: expected a folder with .png, .jpg or .jpeg files, found none of them");
}

TEST(ImageSet, ArraysOfEveryLayoutGiveTheSamePixels) {
  const ImageFolder folder;
  folder.write("ids.npy", npy("<i4", "(2,)", raw<std::int32_t>({7, -3})));
  const auto read = [&](const std::string& shape, const std::string& data) {
    folder.write("a.npy", npy("|u1", shape, data));
    auto request = folder.request("a.npy");
    request.ids = folder.path("ids.npy");
    return read_images(request).set;
  };
  const auto grey = counted_bytes(2 * 4 * 8);
  for (const std::string shape : {"(2, 4, 8)", "(2, 1, 4, 8)", "(2, 4, 8, 1)"}) {
    const auto set = read(shape, grey);
    EXPECT_EQ(set.channels, 1);
    EXPECT_EQ(set.height, 4);
    EXPECT_EQ(set.width, 8);
    EXPECT_EQ(set.person_of_image, (Names{"7", "-3"}));
    EXPECT_TRUE(set.files.empty());
    EXPECT_EQ(std::string(set.pixels.begin(), set.pixels.end()), grey);
  }
  const auto planes = counted_bytes(2 * 3 * 4 * 8);
  std::string interleaved;
  for (std::size_t image = 0; image < 2; ++image) {
    for (std::size_t i = 0; i < 32; ++i) {
      for (std::size_t c = 0; c < 3; ++c)
        interleaved += planes[96 * image + 32 * c + i];
    }
  }
  for (const auto& set :
       {read("(2, 3, 4, 8)", planes), read("(2, 4, 8, 3)", interleaved)}) {
    EXPECT_EQ(set.channels, 3);
    EXPECT_EQ(std::string(set.pixels.begin(), set.pixels.end()), planes);
  }
}

TEST(ImageSet, IdsOfAnArrayMayBeATable) {
  const ImageFolder folder;
  folder.write("a.npy", npy("|u1", "(3, 4, 4)", counted_bytes(48)));
  folder.write("ids.csv", "row,person\n1,x\n2,y\n3,x\n");
  auto request = folder.request("a.npy");
  request.ids = folder.path("ids.csv");
  EXPECT_EQ(read_images(request).set.person, (Numbers{0, 1, 0}));
  folder.write("long.npy", npy("<i8", "(3,)", raw<std::int64_t>({5, 5, 1LL << 40})));
  request.ids = folder.path("long.npy");
  EXPECT_EQ(read_images(request).set.person_of_image,
            (Names{"5", "5", "1099511627776"}));
}

TEST(ImageSet, ArraysOfOtherTypesAndShapesAreRefused) {
  const ImageFolder folder;
  folder.write("ids.npy", npy("<i4", "(2,)", raw<std::int32_t>({7, 8})));
  const auto error = [&](const std::string& bytes, const std::string& ids = "ids.npy") {
    folder.write("a.npy", bytes);
    auto request = folder.request("a.npy");
    if (!ids.empty()) request.ids = folder.path(ids);
    return folder.error(request);
  };
  const auto image = counted_bytes(32);
  EXPECT_EQ(error(npy("<f4", "(2, 2, 2)", image)),
            "a.npy: expected an array of uint8 (u1), found f4");
  EXPECT_EQ(error(npy("|u1", "(2, 4, 4)", image, "True")),
            "a.npy: expected an array in C order (numpy.ascontiguousarray), found "
            "Fortran order");
  const std::string layouts =
      "a.npy: expected images as [n, H, W], [n, 1 or 3, H, W] or [n, H, W, 1 or 3], "
      "found the shape ";
  EXPECT_EQ(error(npy("|u1", "(2, 16)", image)), layouts + "[2, 16]");
  EXPECT_EQ(error(npy("|u1", "(2, 4, 2, 2)", image)), layouts + "[2, 4, 2, 2]");
  EXPECT_EQ(error(npy("|u1", "(2, 1, 16, 1)", image)),
            layouts + "[2, 1, 16, 1], which can be read both ways");
  EXPECT_EQ(error(npy("|u1", "(0, 4, 4)", "")), "a.npy: expected images, found none");
  EXPECT_EQ(error(npy("|u1", "(2, 0, 4)", "")),
            "a.npy: expected 1 to 67108864 pixels, found 4 x 0");
  EXPECT_EQ(
      error(npy("|u1", "(2, 2, 8)", image)),
      "a.npy: expected images whose sides are multiples of 4, found 8 x 2; --size "
      "resizes them");
  EXPECT_EQ(error(npy("|u1", "(1, 4, 8)", image)),
            "ids.npy: expected 1 ids, one for each image of a.npy, found 2");
  EXPECT_EQ(error(npy("|u1", "(2, 4, 4)", image), ""),
            "a.npy: expected the ids of the people in an array or a table beside it "
            "(--ids), found none");
  folder.write("real.npy", npy("<f4", "(2,)", raw<float>({1, 2})));
  EXPECT_EQ(error(npy("|u1", "(2, 4, 4)", image), "real.npy"),
            "real.npy: expected one integer for each image, found f4 of the shape [2]");
  folder.write("square.npy", npy("<i4", "(2, 1)", raw<std::int32_t>({1, 2})));
  EXPECT_EQ(error(npy("|u1", "(2, 4, 4)", image), "square.npy"),
            "square.npy: expected one integer for each image, found i4 of the shape "
            "[2, 1]");
  folder.write("three.csv", "person\na\nb\nc\n");
  EXPECT_EQ(error(npy("|u1", "(2, 4, 4)", image), "three.csv"),
            "three.csv: expected 2 ids, one for each image of a.npy, found 3");
}

TEST(ImageSet, SelectedImagesHaveTheirPeopleNumberedAnew) {
  const ThreePeople folder;
  const auto set = read_images(folder.request()).set;
  const auto part = select_images(set, {3, 1});
  EXPECT_EQ(part.person_of_image, (Names{"Cy", "Bo"}));
  EXPECT_EQ(part.person, (Numbers{0, 1}));
  EXPECT_EQ(part.files, (Names{"Cy/y.jpeg", "Bo/Bo_0001.png"}));
  EXPECT_EQ(part.pixels[0], 4);
  EXPECT_EQ(part.pixels[16], 1);
  EXPECT_EQ(part.dimension(), 16);
}

TEST(ImageRequest, ComesBackFromJson) {
  const ImageRequest request{.path = "a",
                             .ids = "b",
                             .file_column = "c",
                             .person_column = "d",
                             .prepare = {.crop = 5,
                                         .width = 8,
                                         .height = 4,
                                         .colors = ImageColors::grey,
                                         .bits = 5},
                             .skip_corrupt = true};
  const auto json = to_json(request);
  EXPECT_EQ(to_json(image_request_from(JsonReader(json, "run.json"))), json);
  EXPECT_EQ(json["prepare"]["colors"], "grey");
  for (const auto& [key, value] : json.items()) {
    auto changed = json;
    changed[key] = nlohmann::json::array();
    const auto message =
        input_error_of([&] { image_request_from(JsonReader(changed, "run.json")); });
    const auto start = key == "prepare"
                           ? "run.json: expected a JSON object for 'prepare'"
                           : "run.json: key '" + key + "': expected ";
    EXPECT_EQ(message.rfind(start, 0), 0u) << message;
  }
  for (const auto& [key, value] : json["prepare"].items()) {
    auto changed = json;
    changed["prepare"][key] = nlohmann::json::array();
    const auto message =
        input_error_of([&] { image_request_from(JsonReader(changed, "run.json")); });
    EXPECT_EQ(message.rfind("run.json: key 'prepare." + key + "': expected ", 0), 0u)
        << message;
  }
}

}  // namespace
}  // namespace kinflow
