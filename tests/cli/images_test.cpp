// Images through the real binary: fit, evaluate, sample and inspect.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "kinflow/array/array.h"
#include "kinflow/array/array_numbers.h"
#include "kinflow/data/npy.h"
#include "kinflow/data/table.h"
#include "kinflow/evaluate/frechet.h"
#include "kinflow/evaluate/prd.h"
#include "kinflow/images/read_image.h"
#include "small_faces.h"

namespace kinflow::cli {
namespace {

using Json = nlohmann::json;

Image image_at(const std::string& path) { return decode_image(content_of(path), path); }

std::size_t files_below(const std::string& folder, const std::string& extension) {
  std::size_t count = 0;
  for (const auto& [path, content] : content_below(folder)) {
    count += path.ends_with(extension) ? 1 : 0;
  }
  return count;
}

TEST(Images, EvaluateTellsAllImagesAndOneOfEachPerson) {
  const auto& faces = Faces::get();
  const TemporaryFolder folder;
  const auto json = Json::parse(run_well(
      {"evaluate", faces.run, faces.images + "/train", "--json", "--samples", "30",
       "--out", folder.path("scores.csv"), "--prd", folder.path("prd.png")}));
  EXPECT_EQ(json["images"], 80);
  EXPECT_EQ(json["indiv_images"], json["people"]);
  EXPECT_LT(json["people"], 80);
  EXPECT_NEAR(json["bits_per_dimension"].get<double>(),
              json["mean_nll_nats"].get<double>() / (64 * std::log(2.0)), 1e-9);
  EXPECT_GT(json["frechet_distance"].get<double>(), 0);
  EXPECT_EQ(json["drawn_images"], 30);
  const auto scores = content_of(folder.path("scores.csv"));
  EXPECT_EQ(std::count(scores.begin(), scores.end(), '\n'), 81);
  EXPECT_GT(image_at(folder.path("prd.png")).width, 100);
  // The same noise whenever it is computed again.
  const auto again =
      Json::parse(run_well({"evaluate", faces.run, faces.images + "/train", "--json"}));
  EXPECT_EQ(again["mean_nll_nats"], json["mean_nll_nats"]);
  EXPECT_FALSE(again.contains("frechet_distance"));
}

/// What a network of the user's may give: the mean of each row of every image.
template <typename Pixels>
Array row_means(const Pixels& pixels) {
  const std::vector<double> values(pixels.begin(), pixels.end());
  return nd::tensor(values, nd::kDouble).view({-1, 8, 8}).mean(2);
}

void write_features(const std::string& path, const Array& features) {
  write_npy(path, features.sizes().vec(), numbers_of(features));
}

TEST(Images, FeaturesOfTheUsersOwnAreCompared) {
  const auto& faces = Faces::get();
  const TemporaryFolder folder;
  const auto images = faces.images + "/train";
  run_well({"sample", faces.run, "--n", "50", "--out", folder.path("drawn.npy")});
  run_well({"evaluate", faces.run, images, "--out", folder.path("scores.csv")});
  std::string pixels;
  for (const auto& file : labels(read_table(folder.path("scores.csv")), "file")) {
    const auto image = image_at(images + "/" + file);
    pixels.append(image.pixels.begin(), image.pixels.end());
  }
  const std::vector<std::uint8_t> bytes(pixels.begin(), pixels.end());
  const auto test = row_means(bytes);
  const auto drawn = row_means(read_npy(folder.path("drawn.npy")).values);
  write_features(folder.path("test_f.npy"), test);
  write_features(folder.path("drawn_f.npy"), drawn);
  const auto json = Json::parse(run_well(
      {"evaluate", faces.run, images, "--test-features", folder.path("test_f.npy"),
       "--drawn-features", folder.path("drawn_f.npy"), "--prd", folder.path("prd.png"),
       "--json"}));
  EXPECT_EQ(json["features"],
            folder.path("test_f.npy") + " and " + folder.path("drawn_f.npy"));
  EXPECT_EQ(json["images"], 80);
  EXPECT_EQ(json["drawn_images"], 50);
  const double distance = frechet_distance(test, drawn);
  EXPECT_NEAR(json["frechet_distance"].get<double>(), distance, 1e-9 * distance);
  const auto scores = prd_scores(precision_recall(test, drawn));
  EXPECT_NEAR(json["prd_f8"].get<double>(), scores.f_8, 1e-6);
  EXPECT_NEAR(json["prd_f1/4"].get<double>(), scores.f_one_4th, 1e-6);
  EXPECT_GT(image_at(folder.path("prd.png")).width, 100);
}

TEST(Images, SamplesAreImagesThatEvaluateReads) {
  const auto& faces = Faces::get();
  const TemporaryFolder folder;
  run_well({"sample", faces.run, "--n", "6", "--out", folder.path("drawn"), "--sheet",
            folder.path("sheet.png"), "--temperature", "0.7"});
  EXPECT_EQ(files_below(folder.path("drawn"), ".png"), 6u);
  EXPECT_GT(image_at(folder.path("sheet.png")).width, 3 * 8);
  const auto scored =
      Json::parse(run_well({"evaluate", faces.run, folder.path("drawn"), "--json"}));
  EXPECT_EQ(scored["images"], 6);
  EXPECT_EQ(scored["people"], 6);
  run_well({"sample", faces.run, "--n", "6", "--out", folder.path("drawn.npy"),
            "--temperature", "0.7"});
  folder.write("ids.csv", "person\n1\n2\n3\n4\n5\n6\n");
  const auto of_array =
      Json::parse(run_well({"evaluate", faces.run, folder.path("drawn.npy"), "--ids",
                            folder.path("ids.csv"), "--json"}));
  EXPECT_NEAR(of_array["mean_nll_nats"].get<double>(),
              scored["mean_nll_nats"].get<double>(), 1e-6);
}

TEST(Images, MoreImagesOfTheSamePeople) {
  const auto& faces = Faces::get();
  const TemporaryFolder folder;
  run_well({"sample", faces.run, "--given", faces.images + "/train", "--n", "3",
            "--out", folder.path("more"), "--sheet", folder.path("sheet.png")});
  const auto scored =
      Json::parse(run_well({"evaluate", faces.run, faces.images + "/train", "--json"}));
  EXPECT_EQ(files_below(folder.path("more"), ".png"),
            3 * scored["people"].get<std::size_t>());
  for (const auto& person :
       std::filesystem::directory_iterator(faces.images + "/train")) {
    EXPECT_TRUE(std::filesystem::exists(folder.path("more") + "/" +
                                        person.path().filename().string() + "/3.png"));
  }
}

/// Mean distance of one drawn image of each person from one that was given.
double distance_from_given(const std::string& parameter) {
  const auto& faces = Faces::get();
  const TemporaryFolder folder;
  run_well({"sample", faces.run, "--given", faces.images + "/test", "--n", "1",
            "--parameter", parameter, "--out", folder.path("drawn")});
  double sum = 0, values = 0;
  for (const auto& person :
       std::filesystem::directory_iterator(faces.images + "/test")) {
    const auto name = person.path().filename().string();
    const auto given = image_at(person.path().string() + "/" + name + "_000001.png");
    const auto drawn = image_at(folder.path("drawn/" + name + "/1.png"));
    for (std::size_t i = 0; i < given.pixels.size(); ++i) {
      sum += std::abs(given.pixels[i] - drawn.pixels[i]);
      ++values;
    }
  }
  return sum / values;
}

TEST(Images, ACorrelationNearOneGivesTheSameImageAgain) {
  const double near = distance_from_given("0.9999"), far = distance_from_given("0.01");
  EXPECT_LT(near, 0.1 * far) << near << " of " << far;
}

TEST(Images, InspectShowsFlowAndPeople) {
  const auto& faces = Faces::get();
  const auto text = run_well({"inspect", faces.run});
  for (const auto* part : {"1 x 8 x 8 values", "glow", "typical rho", "largest blocks",
                           "bits per dimension"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
  const auto json = Json::parse(run_well({"inspect", faces.run, "--json"}));
  EXPECT_EQ(json["kind"], "images");
  EXPECT_EQ(json["flow"]["steps"], 2);
  EXPECT_EQ(json["history"].size(), 3u);
}

TEST(Images, ACorrelationOfEachLatentIsShownAndDrawnWith) {
  const auto& faces = Faces::get();
  const TemporaryFolder folder;
  const auto out = folder.path("run");
  const auto printed =
      run_well(fit_of(out, {"--valid", faces.images + "/valid", "--epochs", "2",
                            "--correlation", "per-latent"}));
  EXPECT_NE(printed.find("in 16 channels of latents"), std::string::npos) << printed;
  const auto text = run_well({"inspect", out});
  for (const auto* part : {"typical rho", "in 16 channels of latents", "highest rho"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
  EXPECT_EQ(text.find("largest blocks"), std::string::npos) << text;
  const auto json = Json::parse(run_well({"inspect", out, "--json"}));
  ASSERT_EQ(json["dependence"]["scales"].size(), 2u);
  EXPECT_EQ(json["dependence"]["scales"][1]["rho_of_channels"].size(), 8u);
  EXPECT_EQ(json["dependence"]["scales"][0]["positions"], 4);
  run_well({"sample", out, "--given", faces.images + "/test", "--n", "2", "--out",
            folder.path("more")});
  const auto scored =
      Json::parse(run_well({"evaluate", out, folder.path("more"), "--json"}));
  EXPECT_EQ(scored["images"], 60);
  run_well({"report", out, "--out", folder.path("page.html")});
  const auto page = content_of(folder.path("page.html"));
  for (const auto* part : {"each channel of a scale", "the same for all people",
                           "--correlation per-latent"}) {
    EXPECT_NE(page.find(part), std::string::npos) << part;
  }
}

TEST(Images, SimulatedPartsShareNoPeople) {
  const auto& faces = Faces::get();
  const TemporaryFolder folder;
  const auto outcome = run(fit_of(
      folder.path("run"), {"--valid", faces.images + "/valid", "--epochs", "1"}));
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err.find("warning"), std::string::npos) << outcome.err;
}

TEST(Images, DrawnOnesAreRefusedOrReplaced) {
  const TemporaryFolder folder;
  const auto& faces = Faces::get();
  const auto draw = [&](const std::string& count) {
    return Arguments{
        "sample",  faces.run,           "--n", count, "--out", folder.path("drawn"),
        "--sheet", folder.path("s.png")};
  };
  run_well(draw("4"));
  expect_refusal(folder, draw("2"), {folder.path("s.png"), "--overwrite", "--sheet"});
  std::filesystem::remove(folder.path("s.png"));
  expect_refusal(folder, draw("2"), {folder.path("drawn/new1/1.png"), "--overwrite"});
  folder.write("drawn/new1/notes.txt", "mine");
  expect_refusal(folder, draw("2") + kOverwrite, {"notes.txt"});
  std::filesystem::remove(folder.path("drawn/new1/notes.txt"));
  run_well(draw("2") + kOverwrite);
  EXPECT_EQ(content_below(folder.path("drawn")).size(), 4u);  // 2 folders, 2 files
}

TEST(Images, AStudyWithoutFacesSaysThatItSimulatesThem) {
  const TemporaryFolder folder;
  const auto outcome = run({"reproduce", "lfw", "--quick", "--methods", "baseline",
                            "--threads", "1", "--out", folder.path("study")});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err.rfind("Without --data the faces are simulated", 0), 0u);
  EXPECT_NE(outcome.out.find("the faces are simulated"), std::string::npos);
}

TEST(Images, HelpHasTheDefaultsOfImages) {
  const auto help = run_well({"fit", "--help"});
  for (const auto* text :
       {"of images by default 64", "of images by default 0.1", "by default memory"}) {
    EXPECT_NE(help.find(text), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace kinflow::cli
