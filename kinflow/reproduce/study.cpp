// Sets in turn or at once, their files, and progress.
#include "kinflow/reproduce/study.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <set>

#include "kinflow/core/atomic_file.h"
#include "kinflow/core/device.h"
#include "kinflow/core/device_stream.h"
#include "kinflow/core/error.h"
#include "kinflow/core/folder_lock.h"
#include "kinflow/core/json_reader.h"
#include "kinflow/core/map_in_order.h"
#include "kinflow/core/output_folder.h"
#include "kinflow/core/version.h"

namespace kinflow {
namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::json;

// Sets that share a GPU: one alone has too few replicas to fill it.
constexpr std::int64_t kSetsOnDevice = 10;

json to_json(const Score& score) {
  return {{"method", score.method},
          {"trainings", score.trainings},
          {"seconds", score.seconds},
          {"is_derived", score.is_derived},
          {"valid_nll_nats", score.valid_nll_nats},
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
  return {{"name", set.name}, {"is_finished", set.is_finished}, {"scores", scores}};
}

Score score_from(const JsonReader& reader) {
  constexpr double kLimit = 1e300;
  const auto number = [&](const char* key) {
    return reader.number(key, -kLimit, kLimit);
  };
  return {.method = reader.text("method"),
          .trainings = reader.integer("trainings", 0, INT64_MAX),
          .seconds = number("seconds"),
          .is_derived = reader.boolean("is_derived"),
          .valid_nll_nats = number("valid_nll_nats"),
          .test_nll_nats = number("test_nll_nats"),
          .best_epoch = reader.integer("best_epoch", 0, INT64_MAX),
          .parameter = number("parameter"),
          .learning_rate = number("learning_rate"),
          .weight_decay = number("weight_decay"),
          .learned = reader.numbers("learned", 0, 1)};
}

json read_json(const std::string& path) {
  std::ifstream file(path);
  return parse_json(std::string(std::istreambuf_iterator<char>(file), {}), path);
}

// The folder of a study: study.json says which one it is.
class StudyFolder {
 public:
  StudyFolder(const std::string& directory, const json& description)
      : directory_(directory) {
    std::error_code error;
    const auto path = directory + "/study.json";
    std::filesystem::create_directories(directory, error);
    if (error) {
      throw InputError(
          fmt::format("{}: cannot make the folder ({})", directory, error.message()));
    }
    if (std::filesystem::exists(path, error)) {
      check_same(read_json(path), description);
    } else {
      // But what a call leaves that was killed at its start.
      require_free(directory, [](const std::string& name) {
        return name == ".lock" || name.rfind("study.json", 0) == 0;
      });
    }
    lock_ = FolderLock(directory, "study");
    remove_unfinished_files(directory);
    remove_unfinished_files(directory + "/sets");
    description_ = description;
    write_seconds();
    std::filesystem::create_directories(directory + "/sets", error);
    if (error) {
      throw InputError(fmt::format("{}/sets: cannot make the folder ({})", directory,
                                   error.message()));
    }
  }

  double seconds() const {
    return seconds_before_ +
           std::chrono::duration<double>(Clock::now() - start_).count();
  }
  /// Any thread may call it.
  void write_seconds() const {
    const std::lock_guard lock(mutex_);
    const json record = {{"kinflow_version", version()},
                         {"commit", commit()},
                         {"seconds", seconds()},
                         {"description", description_}};
    write_file_atomically(directory_ + "/study.json", record.dump(2) + "\n");
  }

  // Without scores where there are none yet.
  SetScores find(const std::string& name) const {
    std::error_code ignored;
    if (!std::filesystem::exists(path_of(name), ignored)) return {};
    const auto found = read_json(path_of(name));
    const JsonReader reader(found, path_of(name));
    SetScores set{.name = reader.text("name"),
                  .is_finished = reader.boolean("is_finished"),
                  .scores = {}};
    if (!found.contains("scores") || !found["scores"].is_array()) {
      throw InputError(path_of(name) + ": key 'scores': expected a list");
    }
    for (const auto& score : found["scores"]) {
      set.scores.push_back(score_from(JsonReader(score, path_of(name))));
    }
    return set;
  }
  void keep(const SetScores& set) const {
    write_file_atomically(path_of(set.name), to_json(set).dump(1) + "\n");
  }

 private:
  void check_same(const json& found, const json& description) {
    const auto expect = [&](bool holds, const std::string& what) {
      if (holds) return;
      throw InputError(
          fmt::format("{}: expected a new folder or this study, found one "
                      "{}; see study.json there",
                      directory_, what));
    };
    const auto before = found.value("description", json::object());
    for (const auto& [key, value] : description.items()) {
      const auto other = before.value(key, json());
      expect(other == value, fmt::format("with '{}' {} in place of {}", key,
                                         other.dump(), value.dump()));
    }
    expect(found.value("kinflow_version", "") == version() &&
               found.value("commit", "") == commit(),
           "of another kinflow, whose results would be mixed with new ones");
    seconds_before_ = found.value("seconds", 0.0);
  }
  std::string path_of(const std::string& name) const {
    return directory_ + "/sets/" + name + ".json";
  }

  std::string directory_;
  json description_;
  FolderLock lock_;
  double seconds_before_ = 0;
  Clock::time_point start_ = Clock::now();
  mutable std::mutex mutex_;
};

}  // namespace

StudyResult run_study(const std::vector<PlannedSet>& plan, const StudyPlace& place,
                      Logger& logger) {
  const auto device = find_device(place.device);
  set_threads(place.threads);
  const StudyFolder folder(place.directory, place.description);
  StudyResult result;
  result.sets.resize(plan.size());
  std::vector<std::size_t> missing;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    result.sets[i] = folder.find(plan[i].name);
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
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    logger.progress({.job = "reproduce",
                     .done = total - left,
                     .total = total,
                     .unit = "data set",
                     .status = status,
                     .seconds_left = done == 0 ? -1
                                               : seconds * static_cast<double>(left) /
                                                     static_cast<double>(done)});
  };
  map_in_order(
      device.is_cpu() ? 1 : kSetsOnDevice,
      [&]() -> std::optional<Item> {
        if (next == missing.size()) return {};
        if (place.stop != nullptr && *place.stop)
          throw Interrupted("interrupted; the same command goes on");
        const auto i = missing[next++];
        return Item{i, plan[i].make()};
      },
      [&](Item item) {
        const DeviceStream stream(device);
        const auto keep = [&](const SetScores& known) {
          folder.keep(known);
          folder.write_seconds();
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
