// Training and scoring flows of unbalanced images.
#include "studies/unbalanced_images.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "kinflow/array/array.h"
#include "kinflow/array/array_numbers.h"
#include "kinflow/core/error.h"
#include "kinflow/core/json_reader.h"
#include "kinflow/core/random.h"
#include "kinflow/evaluate/image_draws.h"

namespace kinflow {
namespace {

using nlohmann::json;

constexpr std::int64_t kKeptImages = 32;
// Draws of the balanced law: those that all are compared with, and others.
constexpr std::int64_t kReference = 0, kOthers = 1;

json to_json(const std::vector<UnbalancedEpoch>& epochs) {
  auto written = json::array();
  for (const auto& one : epochs) {
    written.push_back({one.train_nll_nats, one.valid_nll_nats, one.mean_correlation});
  }
  return written;
}

// JSON has no number for what is not finite.
std::vector<UnbalancedEpoch> epochs_from(const json& written,
                                         const std::string& source) {
  const auto number = [&](const json& row, std::size_t i) {
    const bool is_row = row.is_array() && row.size() == 3;
    if (is_row && row[i].is_null()) return std::numeric_limits<double>::quiet_NaN();
    if (is_row && row[i].is_number()) return row[i].get<double>();
    throw InputError(fmt::format("{}: expected rows of three numbers", source));
  };
  std::vector<UnbalancedEpoch> epochs;
  for (const auto& row : written) {
    epochs.push_back(
        {std::ssize(epochs) + 1, number(row, 0), number(row, 1), number(row, 2)});
  }
  return epochs;
}

std::int64_t images_of_largest(const ImageSet& set) {
  const auto each = images_per_person(set);
  return *std::max_element(each.begin(), each.end());
}

/// The best state of one training.
struct Trained {
  GlowFlow flow;
  std::int64_t best_epoch = 0;
  double valid_nll_nats = std::numeric_limits<double>::infinity();
  Array correlations = {};
  std::int64_t skipped_steps = 0;  // of the whole training
  std::vector<UnbalancedEpoch> epochs = {};
};

class Seed {
 public:
  Seed(const UnbalancedSetting& setting, const std::atomic<bool>* stop)
      : setting_(setting),
        stop_(stop),
        simulated_(simulate_images(setting.images)),
        train_(rows_of(simulated_.train)),
        valid_(rows_of(simulated_.valid)),
        test_(rows_of(simulated_.test)),
        reference_(balanced(kReference)) {}

  UnbalancedSeed run() {
    UnbalancedSeed result{.people = simulated_.train.people(),
                          .largest = images_of_largest(simulated_.train)};
    const auto add = [&](const std::string& name, Schedule schedule) {
      const auto trained = train(schedule);
      result.scores.push_back(score(name, trained));
      return trained.epochs;
    };
    result.baseline_epochs = add(unbalanced_method::kBaseline, Schedule::baseline);
    result.adjusted_epochs = add(unbalanced_method::kAdjusted, Schedule::joint);
    result.scores.push_back(score(unbalanced_method::kTraining, random_training()));
    result.scores.push_back(score(unbalanced_method::kTruth, balanced(kOthers)));
    return result;
  }

 private:
  std::uint64_t seed() const { return setting_.train.seed; }

  Array balanced(std::int64_t draw) const {
    return rows_of(balanced_images(setting_.images, setting_.images.test_images, draw))
        .pixels;
  }

  // As many as are drawn of others, in random order.
  Array random_training() const {
    Random random(seed(), stream(Purpose::subsets));
    auto images = random.permutation(train_.pixels.size(0));
    images.resize(
        std::min(images.size(), static_cast<std::size_t>(setting_.images.test_images)));
    return train_.pixels.index_select(0, nd::tensor(images, nd::kLong));
  }

  Trained train(Schedule schedule) const {
    auto options = setting_.train;
    options.schedule = schedule;
    ImageTrainer trainer(train_, setting_.flow, options, nd::kCPU);
    Trained best{.flow = GlowFlow(setting_.flow, seed())};
    while (!trainer.is_finished()) {
      if (stop_ != nullptr && *stop_) {
        throw Interrupted("interrupted; the same command goes on");
      }
      const auto progress = trainer.run(trainer.steps_per_epoch());
      best.skipped_steps = progress.skipped;
      const auto valid = image_nll(trainer.flow(), valid_, seed()).mean();
      best.epochs.push_back({std::ssize(best.epochs) + 1, progress.train_nll_nats,
                             valid.item<double>(), progress.mean_correlation});
      if (valid.item<double>() < best.valid_nll_nats) keep(trainer, best);
    }
    if (best.best_epoch == 0) {
      throw NumericalError(fmt::format(
          "unbalanced images, seed {}: no epoch has a finite validation NLL", seed()));
    }
    return best;
  }

  static void keep(const ImageTrainer& trainer, Trained& best) {
    best.flow.copy_from(trainer.flow());
    best.correlations = trainer.correlations();
    best.best_epoch = best.epochs.back().epoch;
    best.valid_nll_nats = best.epochs.back().valid_nll_nats;
  }

  ImageMethodScore score(const std::string& name, const Trained& trained) const {
    const auto count = setting_.images.test_images;
    const auto latents =
        draw_latents(dimension(setting_.flow), {.count = count, .seed = seed()});
    auto result = score(name, pixels_from_latents(trained.flow, latents, 8));
    result.best_epoch = trained.best_epoch;
    result.valid_nll_nats = trained.valid_nll_nats;
    result.skipped_steps = trained.skipped_steps;
    result.test_nll_nats = numbers_of(image_nll(trained.flow, test_, seed()));
    result.correlations = numbers_of(trained.correlations);
    return result;
  }

  ImageMethodScore score(const std::string& name, const Array& pixels) const {
    return {.method = name,
            .distances = image_distances(built_in_features(reference_, pixels)),
            .samples = sheet_images(
                pixels.narrow(0, 0, std::min(kKeptImages, pixels.size(0))))};
  }

  UnbalancedSetting setting_;
  const std::atomic<bool>* stop_;
  SimulatedImages simulated_;
  ImageRows train_, valid_, test_;
  Array reference_;
};

}  // namespace

UnbalancedSetting unbalanced_setting(std::uint64_t seed, bool quick) {
  UnbalancedSetting setting{
      .images = {.images = 3000,
                 .valid_images = 500,
                 .test_images = 2000,
                 .side = 12,
                 .largest_person = 500,
                 .seed = seed},
      .flow = {.steps = 4, .dense_channels = 16, .dense_layers = 1, .dense_growth = 16},
      .train = {.epochs = 80, .batch_size = 32, .learning_rate = 0.02, .seed = seed}};
  if (quick) {
    setting.images.images = 400;
    setting.images.valid_images = setting.images.test_images = 100;
    setting.images.side = 8;
    setting.images.largest_person = 80;
    setting.flow.steps = 2;
    setting.flow.dense_channels = setting.flow.dense_growth = 8;
    setting.train.epochs = 3;
  }
  setting.flow.channels = 1;
  setting.flow.height = setting.flow.width = setting.images.side;
  return setting;
}

const ImageMethodScore& UnbalancedSeed::score_of(const std::string& method) const {
  const auto found = std::find_if(scores.begin(), scores.end(), [&](const auto& score) {
    return score.method == method;
  });
  if (found == scores.end()) {
    throw InputError(fmt::format("expected scores of '{}', found none", method));
  }
  return *found;
}

json to_json(const UnbalancedSeed& seed) {
  auto scores = json::array();
  for (const auto& score : seed.scores) scores.push_back(to_json(score));
  return {{"people", seed.people},
          {"largest", seed.largest},
          {"scores", scores},
          {"baseline_epochs", to_json(seed.baseline_epochs)},
          {"adjusted_epochs", to_json(seed.adjusted_epochs)}};
}

UnbalancedSeed unbalanced_seed_from(const json& written, const std::string& source) {
  constexpr auto kMany = std::numeric_limits<std::int64_t>::max();
  const JsonReader reader(written, source);
  UnbalancedSeed seed{.people = reader.integer("people", 1, kMany),
                      .largest = reader.integer("largest", 1, kMany)};
  for (const auto& score : written.value("scores", json::array())) {
    seed.scores.push_back(image_method_score_from(score, source));
  }
  const auto epochs = [&](const char* key) {
    return epochs_from(written.value(key, json::array()), source);
  };
  seed.baseline_epochs = epochs("baseline_epochs");
  seed.adjusted_epochs = epochs("adjusted_epochs");
  if (seed.baseline_epochs.size() != seed.adjusted_epochs.size()) {
    throw InputError(
        fmt::format("{}: expected as many epochs of both methods", source));
  }
  return seed;
}

UnbalancedSeed run_unbalanced_seed(const UnbalancedSetting& setting,
                                   const std::atomic<bool>* stop) {
  return Seed(setting, stop).run();
}

}  // namespace kinflow
