// The study of faces, on simulated ones.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "kinflow/core/error.h"
#include "kinflow/data/npy.h"
#include "kinflow/images/simulate_images.h"
#include "studies/experiments.h"
#include "studies/face_study.h"
#include "tests/data/helpers.h"

namespace kinflow {
namespace {

// A folder of two arrays: images [n, 3, 8, 8] and people.
std::string write_faces(const TemporaryFolder& folder) {
  const auto directory = folder.path("faces");
  std::filesystem::create_directory(directory);
  const auto set = simulate_images({.images = 300,
                                    .valid_images = 1,
                                    .test_images = 1,
                                    .side = 8,
                                    .rgb = true,
                                    .largest_person = 12,
                                    .seed = 7})
                       .train;
  write_npy(directory + "/faces.npy", {set.images(), 3, 8, 8},
            std::span<const std::uint8_t>(set.pixels));
  std::vector<std::uint8_t> people(set.person.begin(), set.person.end());
  write_npy(directory + "/person_id.npy", {set.images()},
            std::span<const std::uint8_t>(people));
  return directory;
}

void expect_input_error(const std::function<void()>& action,
                        const std::vector<std::string>& parts) {
  const auto message = input_error_of(action);
  for (const auto& part : parts) {
    EXPECT_NE(message.find(part), std::string::npos) << part << " in " << message;
  }
}

std::set<std::string> people_of(const ImageSet& set) {
  return {set.person_of_image.begin(), set.person_of_image.end()};
}

TEST(FaceData, HoldsOutWholePeopleOfAFolderOfArrays) {
  const TemporaryFolder folder;
  const auto data = split_faces(read_faces(write_faces(folder)).set, 1);
  EXPECT_EQ(data.fit.train.images() + data.fit.valid.images() + data.test.images(),
            300);
  EXPECT_NEAR(static_cast<double>(data.fit.train.images()), 216, 15);
  EXPECT_NEAR(static_cast<double>(data.test.images()), 42, 15);
  auto all = people_of(data.fit.train);
  const auto train = all.size(), valid = people_of(data.fit.valid).size(),
             test = people_of(data.test).size();
  all.merge(people_of(data.fit.valid));
  all.merge(people_of(data.test));
  EXPECT_EQ(all.size(), train + valid + test);
  EXPECT_GT(valid, 0U);
  EXPECT_GT(test, 0U);
}

TEST(FaceData, TakesWholePeopleUpToANumberOfImages) {
  const TemporaryFolder folder;
  const auto data = split_faces(read_faces(write_faces(folder), 100).set, 1);
  const auto images =
      data.fit.train.images() + data.fit.valid.images() + data.test.images();
  EXPECT_LE(images, 100);
  EXPECT_GT(images, 100 - 12);
}

TEST(FaceData, FoldersOfPeopleAreCutAndScaledAndArraysAreNot) {
  const TemporaryFolder folder;
  const auto arrays = find_faces(write_faces(folder));
  EXPECT_TRUE(arrays.path.ends_with("/faces.npy")) << arrays.path;
  EXPECT_TRUE(arrays.ids.ends_with("/person_id.npy")) << arrays.ids;
  EXPECT_EQ(arrays.prepare.crop, 0);
  std::filesystem::create_directories(folder.path("lfw/Ann_Doe"));
  const auto folders = find_faces(folder.path("lfw"));
  EXPECT_EQ(folders.path, folder.path("lfw"));
  EXPECT_TRUE(folders.ids.empty());
  EXPECT_EQ(folders.prepare.crop, 128);
  EXPECT_EQ(folders.prepare.width, 32);
}

TEST(FaceData, RefusesFoldersThatAreNotClear) {
  const TemporaryFolder folder;
  const auto faces = write_faces(folder);
  expect_input_error([&] { find_faces(folder.path("none")); }, {"none", "folder"});
  std::filesystem::copy(faces + "/faces.npy", faces + "/more.npy");
  expect_input_error([&] { find_faces(faces); }, {faces, "two .npy", "more.npy"});
  std::filesystem::remove(faces + "/more.npy");
  std::filesystem::remove(faces + "/person_id.npy");
  expect_input_error([&] { find_faces(faces); }, {faces, "'id'", "faces.npy"});
}

TEST(FaceMethods, AreNamedByTheirScheduleAndValue) {
  const auto methods = face_methods({"joint", "grid-0.25", "baseline"});
  ASSERT_EQ(methods.size(), 3U);
  EXPECT_EQ(methods[0].schedule, Schedule::joint);
  EXPECT_EQ(methods[1].schedule, Schedule::grid);
  EXPECT_EQ(methods[1].start, 0.25);
  EXPECT_EQ(methods[1].title(), "grid, rho 0.25");
  EXPECT_EQ(methods[2].schedule, Schedule::baseline);
  EXPECT_EQ(face_methods({}).size(), 6U);
  const auto own = face_methods({"joint-per-latent"}).front();
  EXPECT_EQ(own.schedule, Schedule::joint);
  EXPECT_EQ(own.correlation, BlockCorrelation::per_latent);
  EXPECT_EQ(own.title(), "joint, per latent");
  for (const auto* name :
       {"grid", "grid-", "grid-1", "grid-0.1x", "grid--0.1", "all", "per-latent"}) {
    expect_input_error([&] { face_methods({name}); }, {"--methods", name});
  }
}

ExperimentOptions quick(const std::string& directory) {
  return {.directory = directory, .seeds = 1, .quick = true};
}

FaceSource two_methods(const std::string& folder) {
  return {.folder = folder, .methods = {"baseline", "joint"}};
}

// Asks for a stop as soon as a training has begun.
class StopsATraining : public Logger {
 public:
  explicit StopsATraining(std::atomic<bool>& stop) : stop_(stop) {}
  void progress(const Progress& /*progress*/) override { stop_ = true; }

 private:
  std::atomic<bool>& stop_;
};

TEST(ReproduceLfw, AStoppedStudyEndsInTheScoresOfAnUndisturbedOne) {
  const TemporaryFolder folder;
  const auto source = two_methods(write_faces(folder));
  Logger silent;
  const auto undisturbed =
      reproduce_lfw(quick(folder.path("whole")), source, silent).markdown;
  std::atomic<bool> stop = false;
  StopsATraining stopping(stop);
  auto stopped = quick(folder.path("parts"));
  stopped.stop = &stop;
  EXPECT_THROW(reproduce_lfw(stopped, source, stopping), Interrupted);
  // Neither does a study begin a training that is told to stop before.
  EXPECT_THROW(reproduce_lfw(stopped, source, stopping), Interrupted);
  EXPECT_TRUE(std::filesystem::exists(
      folder.path("parts/trainings/baseline-4000/checkpoint.safetensors")));
  EXPECT_FALSE(std::filesystem::exists(folder.path("parts/sets/baseline-4000.json")));
  const auto resumed =
      reproduce_lfw(quick(folder.path("parts")), source, silent).markdown;
  for (const auto* method : {"baseline", "joint"}) {
    const auto file = fmt::format("/sets/{}-4000.json", method);
    EXPECT_EQ(content_of(folder.path("parts" + file)),
              content_of(folder.path("whole" + file)));
  }
  const auto tables = [](const std::string& report) {
    return report.substr(report.find("| part"));
  };
  EXPECT_EQ(tables(resumed), tables(undisturbed));
}

TEST(ReproduceLfw, ReportsEveryFinishedMethodAndKeepsToOneStudy) {
  const TemporaryFolder folder;
  const auto faces = write_faces(folder);
  Logger silent;
  const auto options = quick(folder.path("study"));
  reproduce_lfw(options, two_methods(faces), silent);
  auto more = two_methods(faces);
  more.methods = {"grid-0.3", "joint-per-latent"};
  const auto report = reproduce_lfw(options, more, silent);
  for (const auto* text :
       {"| ours: baseline |", "| ours: grid, rho 0.3 |", "| ours: joint |",
        "| ours: joint, per latent |", "Per latent they are",
        "the channels of the latents", "joint, per latent below baseline, all images",
        "same for all its positions", "Validation chooses rho 0.3",
        "people with several images", "joint below baseline, one image of each person",
        "kinflow-features-1", "](lfw-prd.png)", "](lfw-samples.png)"}) {
    EXPECT_NE(report.markdown.find(text), std::string::npos) << text;
  }
  EXPECT_NE(content_of(folder.path("study/lfw.md")).find(report.markdown),
            std::string::npos);
  for (const auto& picture : report.pictures) {
    EXPECT_GT(std::filesystem::file_size(picture), 1000U) << picture;
  }
  EXPECT_TRUE(std::filesystem::exists(folder.path("study/samples-grid-0.3.png")));
  auto other = two_methods("");
  expect_input_error([&] { reproduce_lfw(options, other, silent); },
                     {"study", "data_hash"});
}

TEST(ReproduceLfw, SeedsAreAddedToAStudyAndComparedOverSeeds) {
  const TemporaryFolder folder;
  const auto source = two_methods(write_faces(folder));
  Logger silent;
  auto options = quick(folder.path("study"));
  const auto one = reproduce_lfw(options, source, silent).markdown;
  EXPECT_NE(one.find("say nothing of how another training"), std::string::npos);
  const auto kept = content_of(folder.path("study/sets/joint-4000.json"));
  options.seeds = 2;
  const auto two = reproduce_lfw(options, source, silent).markdown;
  EXPECT_EQ(content_of(folder.path("study/sets/joint-4000.json")), kept);
  EXPECT_NE(content_of(folder.path("study/sets/joint-4001.json")), kept);
  EXPECT_NE(two.find("Means over 2 seeds"), std::string::npos);
  // The line of differences ends in those of both seeds, whose mean it begins with.
  const auto at = two.find("| joint | ");
  ASSERT_NE(at, std::string::npos) << two;
  double mean = 0, error = 0, first = 0, second = 0;
  const auto line = two.substr(at, two.find('\n', at) - at);
  ASSERT_EQ(std::sscanf(line.c_str(), "| joint | %lf ± %lf", &mean, &error), 2) << line;
  const auto last = line.rfind(" | ", line.size() - 3) + 3;
  ASSERT_EQ(std::sscanf(line.c_str() + last, "%lf, %lf", &first, &second), 2) << line;
  EXPECT_NEAR(mean, (first + second) / 2, 0.06);
  EXPECT_NEAR(error, std::abs(first - second) / 2, 0.06);
}

TEST(ReproduceLfw, AsksForFacesAndTime) {
  const TemporaryFolder folder;
  Logger silent;
  const ExperimentOptions options{.directory = folder.path("study"), .seeds = 1};
  expect_input_error([&] { reproduce_lfw(options, {}, silent); }, {"--data"});
  expect_input_error(
      [&] { reproduce_lfw(options, two_methods(write_faces(folder)), silent); },
      {"--minutes"});
  EXPECT_FALSE(std::filesystem::exists(folder.path("study")));
}

TEST(ImageMethodScore, ComesBackFromItsJson) {
  ImageMethodScore score{
      .method = "joint",
      .best_epoch = 3,
      .valid_nll_nats = 12.5,
      .skipped_steps = 1,
      .correlations = {0.25, 0.5},
      .typical_correlation = 0.4,
      .test_nll_nats = {1.0 / 3, 2},
      .distances = {.features = "f",
                    .real_images = 4,
                    .generated_images = 5,
                    .frechet = 0.1,
                    .prd_curve = {{0, 0.5, 1}, {1, 0.5, 0}},
                    .prd = {}},
      .samples = {.channels = 1, .height = 1, .width = 2, .values = {0, 255}}};
  const auto written = to_json(score);
  const auto read = image_method_score_from(written, "file");
  EXPECT_EQ(to_json(read), written);
  EXPECT_FALSE(read.indiv_distances.has_value());
  EXPECT_EQ(read.test_nll_nats, score.test_nll_nats);
  EXPECT_EQ(read.samples.values, score.samples.values);
  EXPECT_GT(read.distances.prd.f_8, 0);
  score.indiv_distances = score.distances;
  EXPECT_TRUE(image_method_score_from(to_json(score), "file").indiv_distances);
}

TEST(MeanCurve, IsTheMeanOfEveryPoint) {
  const auto mean = mean_curve({{{0, 1}, {1, 0}}, {{0, 0.5}, {0.5, 0}}});
  EXPECT_EQ(mean.precision, (std::vector<double>{0, 0.75}));
  EXPECT_EQ(mean.recall, (std::vector<double>{0.75, 0}));
}

}  // namespace
}  // namespace kinflow
