// Whole fits of small images.
#include "kinflow/fit/images/image_fit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>

#include "kinflow/array/array.h"
#include "kinflow/core/error.h"
#include "kinflow/data/table.h"
#include "kinflow/engine/images/image_names.h"
#include "kinflow/fit/images/image_data.h"
#include "kinflow/fit/images/image_run.h"
#include "tests/engine/images/small_images.h"

namespace kinflow {
namespace {

using Json = nlohmann::json;

/// Keeps what it is told.
class Notes final : public Logger {
 public:
  void info(const std::string& message) override { lines.push_back(message); }
  void warning(const std::string& message) override { lines.push_back(message); }
  bool mention(const std::string& text) const {
    return std::any_of(lines.begin(), lines.end(), [&](const std::string& line) {
      return line.find(text) != std::string::npos;
    });
  }
  std::vector<std::string> lines;
};

class ImageFit : public testing::Test {
 protected:
  ImageFit() : faces_(write_small_images(folder_)) {}

  ImageFitResult fit(const ImageFitRequest& request, const std::string& name) {
    return fit_images(request, {.directory = folder_.path(name)}, notes_);
  }
  Json record(const std::string& name) const {
    return Json::parse(content_of(folder_.path(name) + "/run.json"));
  }

  TemporaryFolder folder_;
  const std::string faces_;
  Notes notes_;
};

TEST_F(ImageFit, RequestsComeBackFromJson) {
  auto request = small_image_fit(faces_);
  request.minutes = 2.5;
  request.grid = {0.1, 0.3};
  request.train.recompute = true;
  const auto json = to_json(with_defaults(request));
  EXPECT_EQ(to_json(image_fit_request_from(json, "run.json")), json);
  for (const auto& [key, value] : json.items()) {
    auto changed = json;
    changed[key] = Json::object();
    EXPECT_EQ(input_error_of([&] {
                image_fit_request_from(changed, "run.json");
              }).rfind("run.json: key '" + key, 0),
              0u)
        << key;
  }
}

TEST_F(ImageFit, LeavesAModelWithThePeopleOfItsTraining) {
  const auto result = fit(small_image_fit(faces_), "run");
  const auto& learned = result.model.dependence;
  EXPECT_EQ(learned.kind, DependenceKind::blocks);
  ASSERT_FALSE(learned.labels.empty());
  const auto data = read_fit_images(with_defaults(small_image_fit(faces_)));
  for (std::size_t i = 0; i < learned.labels.size(); ++i) {
    const auto& people = data.train.person_of_image;
    EXPECT_EQ(std::count(people.begin(), people.end(), learned.labels[i]),
              learned.sizes[i]);
    EXPECT_GE(learned.sizes[i], 2);
    EXPECT_NE(learned.parameters[i], 0.1) << "correlations have not moved";
  }
  EXPECT_EQ(record("run")["status"], "finished");
  EXPECT_EQ(record("run")["kind"], "images");
  EXPECT_EQ(record("run")["result"]["train_images"], 80);
  // The model that was saved has the NLL that was printed.
  ASSERT_EQ(result.valid_score, ValidScore::rows);
  const auto model = load_image_model(folder_.path("run/model.safetensors"));
  EXPECT_NEAR(image_nll(*model.flow, rows_of(data.valid), 0).mean().item<double>(),
              result.valid_nll_nats, 1e-6);
  EXPECT_EQ(record("run")["result"]["valid_nll_nats"], result.valid_nll_nats);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path("run")), {}),
            3);
}

TEST_F(ImageFit, HeldOutImagesCountForWhatTheyAreWorthBesideThoseOfTheirPerson) {
  auto request = small_image_fit(faces_);
  request.valid.path = "";
  request.valid_fraction = 0.3;
  const auto result = fit(request, "run");
  ASSERT_EQ(result.valid_score, ValidScore::weighted);
  // m images of a person count as m/(1 + (m - 1) rho) people of one.
  const auto data = read_fit_images(with_defaults(request));
  const auto model = load_image_model(folder_.path("run/model.safetensors"));
  const auto nll = image_nll(*model.flow, rows_of(data.valid), 0);
  const auto& rhos = result.model.dependence.parameters;
  const double rho =
      std::accumulate(rhos.begin(), rhos.end(), 0.0) / static_cast<double>(rhos.size());
  const auto& people = data.valid.person_of_image;
  double sum = 0, worth = 0;
  for (std::int64_t i = 0; i < nll.numel(); ++i) {
    const auto images =
        std::count(people.begin(), people.end(), people[static_cast<std::size_t>(i)]);
    const double weight = 1 / (1 + rho * static_cast<double>(images - 1));
    sum += weight * nll[i].item<double>();
    worth += weight;
  }
  EXPECT_NEAR(sum / worth, result.valid_nll_nats, 1e-6);
  EXPECT_EQ(record("run")["result"]["valid_score"], "weighted");
  EXPECT_EQ(record("run")["result"]["valid_weighted_nll_nats"], result.valid_nll_nats);
}

TEST_F(ImageFit, HeldOutImagesCountForTheMeanOfTheirWorthInAllLatents) {
  auto request = small_image_fit(faces_);
  request.valid.path = "";
  request.valid_fraction = 0.3;
  request.train.correlation = BlockCorrelation::per_latent;
  request.train.epochs = 40;
  request.train.start = 0.5;
  const auto result = fit(request, "run");
  const auto data = read_fit_images(with_defaults(request));
  const auto model = load_image_model(folder_.path("run/model.safetensors"));
  const auto& rhos = model.latent_correlations;
  ASSERT_EQ(rhos.size(), 16u);
  EXPECT_GT(*std::max_element(rhos.begin(), rhos.end()),
            *std::min_element(rhos.begin(), rhos.end()) + 0.05);
  // Channels have the same number of positions, so that they count alike.
  const double mean = std::accumulate(rhos.begin(), rhos.end(), 0.0) / 16;
  for (const double rho : model.dependence.parameters) EXPECT_NEAR(rho, mean, 1e-12);
  const auto nll = image_nll(*model.flow, rows_of(data.valid), 0);
  const auto& people = data.valid.person_of_image;
  double sum = 0, worth = 0;
  for (std::int64_t i = 0; i < nll.numel(); ++i) {
    const auto others = static_cast<double>(
        std::count(people.begin(), people.end(), people[static_cast<std::size_t>(i)]) -
        1);
    double weight = 0;
    for (const double rho : rhos) weight += 1 / (1 + rho * others) / 16;
    sum += weight * nll[i].item<double>();
    worth += weight;
  }
  EXPECT_NEAR(sum / worth, result.valid_nll_nats, 1e-6);
}

TEST_F(ImageFit, ASharedCorrelationIsThatOfEverybody) {
  auto request = small_image_fit(faces_);
  request.train.correlation = BlockCorrelation::shared;
  const auto result = fit(request, "run");
  const auto& rhos = result.model.dependence.parameters;
  ASSERT_GT(rhos.size(), 1u);
  for (const double rho : rhos) EXPECT_EQ(rho, rhos.front());
  EXPECT_NE(rhos.front(), 0.1);
  EXPECT_TRUE(result.model.latent_correlations.empty());
}

TEST_F(ImageFit, ARunOfAnEarlierVersionHasACorrelationOfEachPerson) {
  auto json = to_json(with_defaults(small_image_fit(faces_)));
  ASSERT_EQ(json["train"].erase("correlation"), 1u);
  EXPECT_EQ(image_fit_request_from(json, "run.json").train.correlation,
            BlockCorrelation::per_block);
}

TEST_F(ImageFit, ValidationImprovesOnTheFirstEpoch) {
  auto request = small_image_fit(faces_);
  request.train.epochs = 12;
  request.train.learning_rate = 0.01;
  fit(request, "run");
  const auto table = read_table(folder_.path("run/metrics.csv"));
  const auto numbers = numeric_matrix(table, {"epoch", "valid_nll_nats"},
                                      {.missing = MissingPolicy::drop});
  ASSERT_GE(numbers.rows, 2);
  EXPECT_LT(numbers.values.back(), numbers.values[1] - 1);
}

TEST_F(ImageFit, ABaselineHasNoCorrelations) {
  auto request = small_image_fit(faces_);
  request.train.schedule = Schedule::baseline;
  const auto result = fit(request, "run");
  EXPECT_EQ(result.model.dependence.kind, DependenceKind::independent);
  EXPECT_EQ(result.valid_score, ValidScore::rows);
}

TEST_F(ImageFit, AGridKeepsTheValueThatValidationPrefers) {
  auto request = small_image_fit(faces_);
  request.train.schedule = Schedule::grid;
  request.grid = {0.2, 0.6, 0.05};
  const auto result = fit(request, "run");
  const auto trainings = record("run")["result"]["trainings"];
  ASSERT_EQ(trainings.size(), 3u);
  std::size_t best = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(trainings[i]["rho"], request.grid[i]);
    const auto nll = [&](std::size_t j) { return trainings[j]["valid_nll_nats"]; };
    if (nll(i) < nll(best)) best = i;
  }
  EXPECT_EQ(record("run")["result"]["best_replica"], best);
  for (const double rho : result.model.dependence.parameters) {
    EXPECT_NEAR(rho, request.grid[best], 1e-9);
  }
}

TEST_F(ImageFit, PeopleAreHeldOutWholeWithoutValidationImages) {
  auto request = small_image_fit(faces_);
  request.valid.path = "";
  request.valid_fraction = 0.3;
  const auto data = read_fit_images(with_defaults(request));
  EXPECT_EQ(data.train.images() + data.valid.images(), 80);
  EXPECT_GT(data.valid.images(), 10);
  for (const auto& person : data.valid.person_of_image) {
    const auto& people = data.train.person_of_image;
    EXPECT_EQ(std::count(people.begin(), people.end(), person), 0) << person;
  }
}

TEST_F(ImageFit, SharedPeopleAreToldOf) {
  auto request = small_image_fit(faces_);
  namespace fs = std::filesystem;
  request.valid.path = folder_.path("some_of_them");
  fs::copy(faces_ + "/train", request.valid.path, fs::copy_options::recursive);
  fs::remove_all(*fs::directory_iterator(request.valid.path));
  fit(request, "run");
  EXPECT_TRUE(notes_.mention("also in the training images"));
}

TEST_F(ImageFit, ADivergingTrainingFailsAndSaysSo) {
  auto request = small_image_fit(faces_);
  request.train.learning_rate = 1e6;
  request.train.epochs = 20;
  EXPECT_THROW(fit(request, "run"), NumericalError);
  EXPECT_EQ(record("run")["status"], "failed");
  EXPECT_FALSE(std::filesystem::exists(folder_.path("run/model.safetensors")));
  EXPECT_EQ(input_error_of([&] { fit(request, "run"); }),
            folder_.path("run") +
                ": already holds a run that failed; give --overwrite to replace it, or "
                "another --out");
}

TEST_F(ImageFit, EpochsAreInProportionToTheTimeAndAtMostAsManyAsAskedFor) {
  auto request = small_image_fit(faces_);
  request.train.epochs = 1'000'000'000;
  const auto data = read_fit_images(with_defaults(request));
  const auto epochs_in = [&](double minutes) {
    request.minutes = minutes;
    return static_cast<double>(epochs_in_time(request, data, nd::kCPU));
  };
  const double few = epochs_in(0.1), many = epochs_in(100);
  // The speed is measured twice, on a machine that may do other things meanwhile.
  EXPECT_GT(many, 20 * few);
  EXPECT_LT(many, 50000 * few);
  request.train.epochs = 7;
  EXPECT_EQ(epochs_in(100), 7);
  EXPECT_EQ(epochs_in(kFewestMinutes / 1000), 1);
}

TEST_F(ImageFit, AShortTimeMeansFewerEpochs) {
  auto request = small_image_fit(faces_);
  request.train.epochs = 1'000'000;
  request.minutes = 0.02;
  const auto result = fit(request, "run");
  EXPECT_LT(result.seconds, 60) << "of 1.2 that were asked for";
  EXPECT_EQ(record("run")["request"]["train"]["epochs"], result.epochs);
  EXPECT_EQ(record("run")["result"]["trainings"][0]["epochs"], result.epochs);
}

TEST_F(ImageFit, AStoppedFitGoesOnToTheSameModel) {
  auto request = small_image_fit(faces_);
  request.train.schedule = Schedule::grid;
  request.grid = {0.2, 0.4};
  fit(request, "whole");
  const std::atomic<bool> stop = true;
  FitPlace place{.directory = folder_.path("parts"), .stop = &stop};
  // A call for each epoch, of which there are six.
  for (int epoch = 1; epoch < 6; ++epoch) {
    EXPECT_THROW(fit_images(request, place, notes_), Interrupted);
    place.resume = true;
  }
  fit_images(request, place, notes_);
  for (const auto* file : {"/model.safetensors", "/metrics.csv"}) {
    EXPECT_TRUE(content_of(folder_.path("parts") + file) ==
                content_of(folder_.path("whole") + file))
        << file;
  }
}

TEST_F(ImageFit, AStoppedFitWithCorrelationsOfLatentsGoesOnToTheSameModel) {
  const std::atomic<bool> stop = true;
  for (const auto estimator : {Estimator::memory, Estimator::pairs}) {
    auto request = small_image_fit(faces_);
    request.train.correlation = BlockCorrelation::per_latent;
    request.train.estimator = estimator;
    const auto name = name_of(estimator_names(), estimator);
    fit(request, name + "-whole");
    FitPlace place{.directory = folder_.path(name + "-parts"), .stop = &stop};
    for (int epoch = 1; epoch < 3; ++epoch) {
      EXPECT_THROW(fit_images(request, place, notes_), Interrupted);
      place.resume = true;
    }
    fit_images(request, place, notes_);
    for (const auto* file : {"/model.safetensors", "/metrics.csv"}) {
      EXPECT_TRUE(content_of(folder_.path(name + "-parts") + file) ==
                  content_of(folder_.path(name + "-whole") + file))
          << name << file;
    }
  }
}

TEST_F(ImageFit, ResumingNeedsTheSameImages) {
  const std::atomic<bool> stop = true;
  FitPlace place{.directory = folder_.path("run"), .stop = &stop};
  const auto request = small_image_fit(faces_);
  EXPECT_THROW(fit_images(request, place, notes_), Interrupted);
  place.resume = true;
  auto images = std::filesystem::recursive_directory_iterator(faces_ + "/valid");
  while (!images->is_regular_file()) ++images;
  std::filesystem::remove(images->path());
  const auto message = input_error_of([&] { fit_images(request, place, notes_); });
  EXPECT_EQ(message.rfind(faces_ + "/valid: expected", 0), 0u) << message;
}

TEST_F(ImageFit, WhatCannotBeIsRefusedBeforeAFolderIsMade) {
  const auto expect_refused = [&](const ImageFitRequest& request,
                                  const std::string& mentioned) {
    const auto message = input_error_of([&] { fit(request, "run"); });
    EXPECT_NE(message.find(mentioned), std::string::npos) << message;
    EXPECT_FALSE(std::filesystem::exists(folder_.path("run")));
  };
  auto request = small_image_fit(faces_);
  request.train.batch_size = 81;
  expect_refused(request, "--batch-size");
  request = small_image_fit(faces_);
  request.flow.scales = 4;
  expect_refused(request, "multiples of 16");
  request = small_image_fit(faces_);
  request.train.schedule = Schedule::alternating;
  expect_refused(request, "--schedule");
  request = small_image_fit(faces_);
  request.train.estimator = Estimator::hybrid;
  expect_refused(request, "--estimator");
  request = small_image_fit(faces_);
  request.train.correlation = BlockCorrelation::per_size;
  expect_refused(request,
                 "--correlation: expected shared, per-block or per-latent for images, "
                 "found per-size");
  request = small_image_fit(faces_);
  request.data.prepare.width = request.data.prepare.height = 10;
  expect_refused(request, "--size");
  request = small_image_fit(faces_);
  request.valid.path = faces_ + "/nowhere";
  expect_refused(request, faces_ + "/nowhere");
}

}  // namespace
}  // namespace kinflow
