// Sets in turn or at once, their files, and progress.
#include "studies/study.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "kinflow/array/array.h"
#include "kinflow/array/device.h"
#include "kinflow/array/device_stream.h"
#include "kinflow/core/clock.h"
#include "kinflow/core/error.h"
#include "kinflow/core/json_reader.h"
#include "kinflow/core/map_in_order.h"
#include "studies/study_folder.h"

namespace kinflow {
namespace {

using nlohmann::json;

// Sets that share a GPU: one alone has too few replicas to fill it.
constexpr std::int64_t kSetsOnDevice = 10;

// The queue of a thread for all its sets. With a new one for each set, libraries would
// keep memory for every queue that they have seen.
const std::optional<DeviceQueue>& queue_of_thread(nd::Device device) {
  thread_local const auto queue = take_device_stream(device);
  return queue;
}

json to_json(const Score& score) {
  return {{"method", score.method},
          {"trainings", score.trainings},
          {"seconds", score.seconds},
          {"is_derived", score.is_derived},
          {valid_score_key(score.valid_score), score.valid_nll_nats},
          {"test_nll_nats", score.test_nll_nats},
          {"best_epoch", score.best_epoch},
          {"parameter", score.parameter},
          {"learning_rate", score.learning_rate},
          {"weight_decay", score.weight_decay},
          {"learned", score.learned}};
}

json to_json(const SetScores& set) {
  json scores = json::array();
  for (const auto& score : set.scores) scores.push_back(to_json(score));
  return {{"name", set.name},
          {"is_finished", set.is_finished},
          {"scores", scores},
          {"floor_nats", set.floor_nats}};
}

Score score_from(const JsonReader& reader) {
  constexpr double kLimit = 1e300;
  const auto number = [&](const std::string& key) {
    return reader.number(key, -kLimit, kLimit);
  };
  auto valid_score = ValidScore::rows;
  for (const auto& [name, score] : valid_score_names()) {
    if (reader.json().contains(valid_score_key(score))) valid_score = score;
  }
  return {.method = reader.text("method"),
          .trainings = reader.integer("trainings", 0, INT64_MAX),
          .seconds = number("seconds"),
          .is_derived = reader.boolean("is_derived"),
          .valid_nll_nats = number(valid_score_key(valid_score)),
          .valid_score = valid_score,
          .test_nll_nats = number("test_nll_nats"),
          .best_epoch = reader.integer("best_epoch", 0, INT64_MAX),
          .parameter = number("parameter"),
          .learning_rate = number("learning_rate"),
          .weight_decay = number("weight_decay"),
          .learned = reader.numbers("learned", 0, 1)};
}

SetScores scores_from(const json& found, const std::string& source) {
  const JsonReader reader(found, source);
  SetScores set{.name = reader.text("name"),
                .is_finished = reader.boolean("is_finished"),
                .scores = {},
                .floor_nats = reader.number("floor_nats", 0, 1e300)};
  if (!found.contains("scores") || !found["scores"].is_array()) {
    throw InputError(source + ": key 'scores': expected a list");
  }
  for (const auto& score : found["scores"]) {
    set.scores.push_back(score_from(JsonReader(score, source)));
  }
  return set;
}

}  // namespace

StudyResult run_study(const std::vector<PlannedSet>& plan, const StudyPlace& place,
                      Logger& logger) {
  const auto device = find_device(place.device);
  set_threads(place.threads);
  const StudyFolder folder(place.directory, place.description, place.overwrite);
  StudyResult result;
  result.sets.resize(plan.size());
  std::vector<std::size_t> missing;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    if (const auto found = folder.find(plan[i].name)) {
      result.sets[i] = scores_from(*found, folder.path_of(plan[i].name));
    }
    if (!result.sets[i].is_finished) missing.push_back(i);
  }
  const auto total = static_cast<std::int64_t>(plan.size());
  const auto begun = std::count_if(missing.begin(), missing.end(), [&](std::size_t i) {
    return !result.sets[i].scores.empty();
  });
  if (missing.size() < plan.size() || begun > 0) {
    logger.info(fmt::format("{} of {} data sets are finished already, {} in part",
                            plan.size() - missing.size(), plan.size(), begun));
  }

  const auto at_once = device.is_cpu() ? 1 : kSetsOnDevice;
  const auto start = Clock::now();
  std::size_t next = 0;
  std::atomic<std::int64_t> finished = 0;
  struct Item {
    std::size_t place;
    StudySet set;
  };
  const auto say = [&](const std::string& status) {
    const std::int64_t done = finished;
    const auto left = static_cast<std::int64_t>(missing.size()) - done;
    // Before as many are finished as run at once, nothing is known of their pace.
    const bool is_known = done >= at_once;
    logger.progress(
        {.job = "reproduce",
         .done = total - left,
         .total = total,
         .unit = "data set",
         .status = status,
         .seconds_left = is_known ? seconds_since(start) * static_cast<double>(left) /
                                        static_cast<double>(done)
                                  : -1});
  };
  map_in_order(
      at_once,
      [&]() -> std::optional<Item> {
        if (next == missing.size()) return {};
        if (place.stop != nullptr && *place.stop)
          throw Interrupted("interrupted; the same command goes on");
        const auto i = missing[next++];
        return Item{i, plan[i].make()};
      },
      [&](Item item) {
        const DeviceStream stream(queue_of_thread(device));
        const auto keep = [&](const SetScores& known) {
          folder.keep(known.name, to_json(known));
          if (!known.is_finished) say(known.name + ", " + known.scores.back().method);
        };
        auto scores = run_set(item.set, std::move(result.sets[item.place]), keep,
                              place.stop, logger);
        return std::pair(item.place, std::move(scores));
      },
      [&](std::pair<std::size_t, SetScores> done) {
        ++finished;
        say(done.second.name);
        result.sets[done.first] = std::move(done.second);
      });
  folder.write_seconds();
  result.seconds = folder.seconds();
  return result;
}

}  // namespace kinflow
