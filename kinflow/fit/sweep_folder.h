// The files of a sweep: its record, its table of results, and where the rest is.
#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "kinflow/core/folder_lock.h"
#include "kinflow/core/result_files.h"
#include "kinflow/data/table.h"
#include "kinflow/fit/sweep.h"

namespace kinflow {

class SweepFolder {
 public:
  explicit SweepFolder(std::string directory) : directory_(std::move(directory)) {}

  std::string record_path() const { return directory_ + "/sweep.json"; }
  std::string results_path() const { return directory_ + "/results.csv"; }
  /// Of the best run of all that are scored like the first one; of those with the other
  /// score, see BestRun.
  std::string best_path() const { return directory_ + "/best"; }
  std::string best_path(ValidScore other) const {
    return best_path() + "-" + name_of(valid_score_names(), other);
  }
  std::string checkpoint_path(std::size_t group) const;

  /// InputError where there is a sweep that is not overwritten, or something in the
  /// place of its results, and where another process works in the folder.
  void check_free(bool overwrite) const;
  /// Makes the folder and takes the lock before the first file is written. Removes the
  /// files of a sweep that is overwritten.
  FolderLock create(const nlohmann::json& record, bool overwrite) const;
  nlohmann::json read_record() const;

 private:
  /// check_free() but for the lock.
  void check_content(bool overwrite) const;
  bool holds_sweep() const;
  ResultFiles files() const;

  std::string directory_;
};

/// What is known of a finished run.
struct RunResult {
  static constexpr const char* kFinished = "finished";

  std::string status;  ///< kFinished, or "failed: " and why
  double valid_nll_nats = std::numeric_limits<double>::quiet_NaN();
  ValidScore score = ValidScore::rows;  ///< what that is
  std::int64_t best_epoch = 0;
  std::int64_t epochs = 0;
  double typical_parameter = std::numeric_limits<double>::quiet_NaN();
};

/// The results of a sweep, by the number of the run from 0.
class SweepResults {
 public:
  /// `request` must outlive the results.
  SweepResults(const SweepRequest& request, std::string path)
      : request_(request), path_(std::move(path)), results_(request.runs.size()) {}

  bool has(std::size_t run) const { return results_[run].has_value(); }
  void set(std::size_t run, RunResult result) { results_[run] = std::move(result); }
  double nll(std::size_t run) const { return results_[run]->valid_nll_nats; }
  /// Of a finished run; nothing of one that failed.
  std::optional<ValidScore> score(std::size_t run) const;

  /// Writes the table of all known results.
  void write() const;
  /// Takes over what an earlier call has written.
  void read();

  /// The run with the lowest validation NLL of all that have this score, if any has.
  std::optional<std::size_t> best(ValidScore score) const;
  std::int64_t failed() const;

 private:
  std::size_t number_of(const std::string& run) const;
  void read_scores(const Table& table, ValidScore score);

  const SweepRequest& request_;
  std::string path_;
  std::vector<std::optional<RunResult>> results_;
};

}  // namespace kinflow
