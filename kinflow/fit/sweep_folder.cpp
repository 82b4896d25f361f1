// Paths, locks and the table of results.
#include "kinflow/fit/sweep_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "kinflow/core/atomic_file.h"
#include "kinflow/core/error.h"
#include "kinflow/core/input_file.h"
#include "kinflow/core/json_reader.h"
#include "kinflow/data/table.h"

namespace kinflow {
namespace {

namespace fs = std::filesystem;

std::string cell(double number) {
  return std::isfinite(number) ? fmt::format("{}", number) : "";
}

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string result = "\"";
  for (const char c : text) {
    result += c;
    if (c == '"') result += c;
  }
  return result + "\"";
}

constexpr ValidScore kScores[] = {ValidScore::rows, ValidScore::weighted,
                                  ValidScore::joint};

}  // namespace

std::string SweepFolder::checkpoint_path(std::size_t group) const {
  return fmt::format("{}/group{}.safetensors", directory_, group + 1);
}

bool SweepFolder::holds_sweep() const {
  std::error_code ignored;
  return fs::exists(record_path(), ignored);
}

ResultFiles SweepFolder::files() const {
  auto files = paths_between(directory_ + "/group", ".safetensors");
  files.push_back(results_path());
  files.push_back(directory_ + "/" + kReportName);
  for (const std::string ending : {"", ".new", ".old"}) {
    const auto of_run = run_folder_files(best_path() + ending);
    files.insert(files.end(), of_run.begin(), of_run.end());
  }
  // The last one, so that a killed process leaves what is still a sweep.
  files.push_back(record_path());
  return files;
}

void SweepFolder::check_free(bool overwrite) const {
  FolderLock::require_free(directory_, "sweep");
  check_content(overwrite);
}

void SweepFolder::check_content(bool overwrite) const {
  std::error_code ignored;
  if (holds_sweep() && overwrite) return;
  if (holds_sweep()) {
    throw InputError(fmt::format(
        "{0}: already holds a sweep; go on with 'kinflow sweep --resume {0}', give "
        "--overwrite to replace it, or another --out",
        directory_));
  }
  for (const auto& path : {results_path(), best_path(), best_path(ValidScore::rows),
                           best_path(ValidScore::weighted),
                           best_path(ValidScore::joint), directory_ + "/run.json"}) {
    if (!fs::exists(path, ignored)) continue;
    throw InputError(path + ": expected nothing in the place of a sweep's results");
  }
}

FolderLock SweepFolder::create(const nlohmann::json& record, bool overwrite) const {
  std::error_code error;
  fs::create_directories(directory_, error);
  if (error) {
    throw InputError(fmt::format("{}: expected a folder that can be made, found: {}",
                                 directory_, error.message()));
  }
  FolderLock lock(directory_, "sweep");
  check_content(overwrite);
  if (holds_sweep()) remove_result(files());
  write_file_atomically(record_path(), record.dump(1) + "\n");
  return lock;
}

nlohmann::json SweepFolder::read_record() const {
  return parse_json(read_whole_file(record_path()), record_path());
}

std::optional<ValidScore> SweepResults::score(std::size_t run) const {
  if (!has(run) || results_[run]->status != RunResult::kFinished) return {};
  return results_[run]->score;
}

void SweepResults::write() const {
  std::vector<ValidScore> scores;  // that there are
  for (const auto score : kScores) {
    for (std::size_t run = 0; run < results_.size(); ++run) {
      if (this->score(run) != score) continue;
      scores.push_back(score);
      break;
    }
  }
  std::string text = "run";
  for (const auto& name : request_.names) text += fmt::format(",{}", quoted(name));
  for (const auto score : scores) text += fmt::format(",{}", valid_score_key(score));
  text += ",best_epoch,epochs_done,typical_parameter,status\n";
  for (std::size_t run = 0; run < results_.size(); ++run) {
    if (!results_[run]) continue;
    const auto& result = *results_[run];
    text += std::to_string(run + 1);
    for (const auto& value : request_.runs[run].values) {
      text += fmt::format(",{}", quoted(value));
    }
    for (const auto score : scores) {
      text += ",";
      if (this->score(run) == score) text += cell(result.valid_nll_nats);
    }
    text += fmt::format(",{},{},{},{}\n", result.best_epoch, result.epochs,
                        cell(result.typical_parameter), quoted(result.status));
  }
  write_file_atomically(path_, text);
}

void SweepResults::read() {
  std::error_code ignored;
  if (!fs::exists(path_, ignored)) return;
  const auto table = read_table(path_);
  const auto status = labels(table, "status");
  const auto runs = labels(table, "run");
  for (std::size_t i = 0; i < runs.size(); ++i) {
    results_[number_of(runs[i])] = RunResult{.status = status[i]};
  }
  for (const auto score : kScores) read_scores(table, score);
}

// Takes over the runs with one of the scores.
void SweepResults::read_scores(const Table& table, ValidScore score) {
  const auto& names = table.names();
  const auto key = valid_score_key(score);
  if (std::find(names.begin(), names.end(), key) == names.end()) return;
  const auto numbers = numeric_matrix(
      table, {"run", key, "best_epoch", "epochs_done", "typical_parameter"},
      {.missing = MissingPolicy::drop, .label_columns = {}});
  const auto runs = labels(table, "run");
  const auto* row = numbers.values.data();
  for (std::int64_t i = 0; i < numbers.rows; ++i, row += numbers.names.size()) {
    auto& result = *results_[number_of(runs[static_cast<std::size_t>(
        numbers.kept_rows[static_cast<std::size_t>(i)])])];
    result.valid_nll_nats = row[1];
    result.score = score;
    result.best_epoch = static_cast<std::int64_t>(row[2]);
    result.epochs = static_cast<std::int64_t>(row[3]);
    result.typical_parameter = row[4];
  }
}

std::optional<std::size_t> SweepResults::best(ValidScore score) const {
  std::optional<std::size_t> found;
  for (std::size_t run = 0; run < results_.size(); ++run) {
    if (this->score(run) != score || !std::isfinite(nll(run))) continue;
    if (!found || nll(run) < nll(*found)) found = run;
  }
  return found;
}

std::int64_t SweepResults::failed() const {
  return std::count_if(results_.begin(), results_.end(), [](const auto& result) {
    return result && result->status != RunResult::kFinished;
  });
}

// Place of a run by its text in the table.
std::size_t SweepResults::number_of(const std::string& run) const {
  const auto number = std::strtoull(run.c_str(), nullptr, 10);
  if (number >= 1 && number <= results_.size()) return number - 1;
  throw InputError(fmt::format("{}: expected runs 1 to {}, found '{}'", path_,
                               results_.size(), run));
}

}  // namespace kinflow
