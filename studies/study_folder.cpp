// Files of a study.
#include "studies/study_folder.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "kinflow/core/atomic_file.h"
#include "kinflow/core/error.h"
#include "kinflow/core/json_reader.h"
#include "kinflow/core/output_folder.h"
#include "kinflow/core/result_files.h"
#include "kinflow/core/version.h"
#include "studies/repeat_data.h"

namespace kinflow {
namespace {

using nlohmann::json;

constexpr double kLongestSeconds = 1e12;

json read_json(const std::string& path) {
  std::ifstream file(path);
  return parse_json(std::string(std::istreambuf_iterator<char>(file), {}), path);
}

void make_folder(const std::string& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) {
    throw InputError(
        fmt::format("{}: cannot make the folder ({})", directory, error.message()));
  }
}

// All that studies write into their folder.
ResultFiles study_files(const std::string& directory) {
  const auto in = [&](const std::string& name) { return directory + "/" + name; };
  ResultFiles files = paths_between(in("sets/"), ".json");
  const auto add = [&](const ResultFiles& more) {
    files.insert(files.end(), more.begin(), more.end());
  };
  for (const auto& table : repeat_tables()) {
    add(paths_between(in("data/" + table.name + "-"), ".csv"));
  }
  for (const auto* name :
       {"sets", "data/train.csv", "data/valid.csv", "data/test.csv", "data",
        "scores.csv", "strength.png", "rho-recovery.png", "lfw-prd.png",
        "lfw-samples.png", "unbalanced-images-prd.png",
        "unbalanced-images-samples.png"}) {
    files.push_back(in(name));
  }
  for (const auto* report :
       {"table1", "strength", "rho-recovery", "stocks", "biomarkers", "gwas", "repeats",
        "lfw", "unbalanced-images"}) {
    files.push_back(in(std::string(report) + ".md"));
  }
  add(paths_between(in("samples-"), ".png"));
  for (const auto& training : paths_between(in("trainings/"), "")) {
    add(run_folder_files(training));
  }
  files.push_back(in("trainings"));
  files.push_back(in("study.json"));
  return files;
}

}  // namespace

StudyFolder::StudyFolder(const std::string& directory, const json& description,
                         bool overwrite)
    : directory_(directory), description_(description) {
  const auto path = directory + "/study.json";
  make_folder(directory);
  const bool is_study = std::filesystem::exists(path);
  if (is_study && overwrite) {
    const FolderLock lock(directory, "study");
    remove_result(study_files(directory));
  } else if (is_study) {
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
  write_seconds();
  make_folder(directory + "/sets");
}

double StudyFolder::seconds() const {
  return seconds_before_ +
         std::chrono::duration<double>(std::chrono::steady_clock::now() - start_)
             .count();
}

void StudyFolder::write_seconds() const {
  const std::lock_guard lock(mutex_);
  const json record = {{"kinflow_version", version()},
                       {"commit", commit()},
                       {"seconds", seconds()},
                       {"description", description_}};
  write_file_atomically(directory_ + "/study.json", record.dump(2) + "\n");
}

std::optional<json> StudyFolder::find(const std::string& name) const {
  std::error_code ignored;
  if (!std::filesystem::exists(path_of(name), ignored)) return std::nullopt;
  return read_json(path_of(name));
}

void StudyFolder::keep(const std::string& name, const json& result) const {
  write_file_atomically(path_of(name), result.dump(1) + "\n");
  write_seconds();
}

std::string StudyFolder::path_of(const std::string& name) const {
  return directory_ + "/sets/" + name + ".json";
}

void StudyFolder::check_same(const json& found, const json& description) {
  const auto expect = [&](bool holds, const std::string& what) {
    if (holds) return;
    throw InputError(
        fmt::format("{}: expected a new folder or this study, found one "
                    "{}; see study.json there, or give --overwrite to begin anew",
                    directory_, what));
  };
  const JsonReader reader(found, directory_ + "/study.json");
  const auto before = reader.object("description").json();
  for (const auto& [key, value] : description.items()) {
    const auto other = before.value(key, json());
    expect(other == value,
           fmt::format("with '{}' {} in place of {}", key, other.dump(), value.dump()));
  }
  expect(
      reader.text("kinflow_version") == version() && reader.text("commit") == commit(),
      "of another kinflow, whose results would be mixed with new ones");
  seconds_before_ = reader.number("seconds", 0, kLongestSeconds);
}

}  // namespace kinflow
