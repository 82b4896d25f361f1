// The study of unbalanced images, in its smallest form.
#include "studies/unbalanced_images.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "kinflow/core/error.h"
#include "report_rows.h"
#include "studies/experiments.h"
#include "tests/data/helpers.h"

namespace kinflow {
namespace {

using namespace unbalanced_method;

ImageMethodScore score(const std::string& method, double nll, double overlap) {
  ImageMethodScore made{.method = method, .best_epoch = 1};
  made.test_nll_nats = {nll, nll + 1};
  made.distances.features = "f";
  made.distances.frechet = 1 - overlap;
  made.distances.prd_curve = {{0, overlap, overlap}, {overlap, overlap, 0}};
  made.distances.prd = prd_scores(made.distances.prd_curve);
  made.samples = {.channels = 1, .height = 1, .width = 1, .values = {7}};
  return made;
}

// A seed with NLLs and overlaps of the baseline and of the adjusted flow.
UnbalancedSeed made_seed(double baseline, double adjusted, double baseline_overlap,
                         double adjusted_overlap) {
  UnbalancedSeed seed{.people = 9, .largest = 5};
  seed.scores = {score(kBaseline, baseline, baseline_overlap),
                 score(kAdjusted, adjusted, adjusted_overlap), score(kTraining, 0, 0.5),
                 score(kTruth, 0, 0.9)};
  seed.scores[2].test_nll_nats.clear();
  seed.scores[3].test_nll_nats.clear();
  seed.baseline_epochs = seed.adjusted_epochs = {{1, 30, 40, 0.1}};
  return seed;
}

TEST(UnbalancedTables, CountTheSeedsInWhichAClaimHolds) {
  std::vector<UnbalancedSeed> seeds;
  for (int i = 0; i < 10; ++i) {
    // NLL is lower in all, recall higher in eight.
    seeds.push_back(made_seed(50 + i, 45 + 0.9 * i, 0.6, i < 8 ? 0.8 : 0.5));
  }
  const auto tables = unbalanced_tables(seeds, unbalanced_setting(1, true));
  const auto nll = row_of(tables, "adjusted: lower test NLL (nats) than baseline");
  EXPECT_NE(nll.find("9 of 10 | 10 of 10 | -5.450 ± "), std::string::npos) << nll;
  EXPECT_NE(nll.find("| yes |"), std::string::npos) << nll;
  const auto recall = row_of(tables, "adjusted: higher F8 than baseline");
  EXPECT_NE(recall.find("| 8 of 10 |"), std::string::npos) << recall;
  EXPECT_NE(recall.find("**no**"), std::string::npos) << recall;
  const auto mean = row_of(tables, "baseline |");
  EXPECT_NE(mean.find("55.00 ± "), std::string::npos) << mean;
}

TEST(UnbalancedSeed, ComesBackFromItsJson) {
  auto seed = made_seed(3, 2, 0.1, 0.2);
  // As an epoch leaves it in which the training diverges.
  seed.adjusted_epochs[0].valid_nll_nats = std::numeric_limits<double>::quiet_NaN();
  const auto written = nlohmann::json::parse(to_json(seed).dump());
  EXPECT_EQ(to_json(unbalanced_seed_from(written, "file")).dump(), written.dump());
  auto shorter = written;
  shorter["baseline_epochs"].clear();
  EXPECT_THROW(unbalanced_seed_from(shorter, "file"), InputError);
}

TEST(UnbalancedImages, TrainBothMethodsWithTheSameSteps) {
  const auto setting = unbalanced_setting(3, true);
  const auto seed = run_unbalanced_seed(setting, nullptr);
  EXPECT_EQ(std::ssize(seed.baseline_epochs), setting.train.epochs);
  EXPECT_EQ(std::ssize(seed.adjusted_epochs), setting.train.epochs);
  EXPECT_LT(seed.people, setting.images.images / 5);
  const auto& baseline = seed.score_of(kBaseline);
  const auto& adjusted = seed.score_of(kAdjusted);
  EXPECT_TRUE(baseline.correlations.empty());
  EXPECT_FALSE(adjusted.correlations.empty());
  EXPECT_NE(baseline.test_nll_nats, adjusted.test_nll_nats);
  // Further images of the law are nearer than those of a short training.
  EXPECT_LT(seed.score_of(kTruth).distances.frechet, baseline.distances.frechet);
  EXPECT_EQ(to_json(run_unbalanced_seed(setting, nullptr)), to_json(seed));
}

TEST(UnbalancedImages, AStudyThatWasStoppedGoesOn) {
  const TemporaryFolder folder;
  Logger silent;
  ExperimentOptions options{
      .directory = folder.path("study"), .seeds = 2, .threads = 2, .quick = true};
  const std::atomic<bool> stop = true;
  options.stop = &stop;
  EXPECT_THROW(reproduce_unbalanced_images(options, silent), Interrupted);
  options.stop = nullptr;
  const auto report = reproduce_unbalanced_images(options, silent);
  for (const auto* text : {"## Images with unbalanced repeats", "2 seeds from 4000",
                           "| adjusted |", "| balanced images |", "mean rho"}) {
    EXPECT_NE(report.markdown.find(text), std::string::npos) << text;
  }
  EXPECT_NE(content_of(folder.path("study/unbalanced-images.md")).find(report.markdown),
            std::string::npos);
  const auto scores = content_of(folder.path("study/scores.csv"));
  EXPECT_NE(scores.find("\n4001,"), std::string::npos) << scores;
  for (const auto& picture : report.pictures) {
    EXPECT_GT(std::filesystem::file_size(picture), 1000U) << picture;
  }
}

}  // namespace
}  // namespace kinflow
