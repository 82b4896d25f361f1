// The files of one run: run.json, metrics.csv, the checkpoint and the model.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "kinflow/core/folder_lock.h"
#include "kinflow/engine/trainer.h"
#include "kinflow/fit/fit.h"

namespace kinflow {

/// Paths and files of a run folder.
class RunFolder {
 public:
  /// Opens a folder that holds a run; InputError where it does not.
  static RunFolder open(const std::string& directory);
  /// InputError where the folder holds anything, but for a run that is overwritten, and
  /// where another process works in it.
  static void check_free(const std::string& directory, bool overwrite = false);
  /// Makes the folder, also its parents, with a first record, and locks it. InputError
  /// where it is not free or cannot be written; then no new folder remains. Removes the
  /// files of a run that is overwritten.
  static RunFolder create(const std::string& directory, const nlohmann::json& record,
                          bool overwrite = false);
  /// Removes all files of a run that create() began unless it has a checkpoint to go on
  /// from, and the folder where it was new.
  void discard_without_checkpoint();

  std::string model_path() const { return directory_ + "/model.safetensors"; }
  std::string checkpoint_path() const { return directory_ + "/checkpoint.safetensors"; }
  /// The best state so far of a training that keeps it on the disk.
  std::string best_path() const { return directory_ + "/best.safetensors"; }
  std::string metrics_path() const { return directory_ + "/metrics.csv"; }
  /// Scores of rows by flows that have not seen them.
  std::string held_out_path() const { return directory_ + "/held_out.csv"; }
  std::string record_path() const { return directory_ + "/run.json"; }

  nlohmann::json read_record() const;
  void write_record(const nlohmann::json& record) const;

  /// Writes all records anew, under the name of their score.
  void write_metrics(const std::vector<EpochRecord>& history, ValidScore score) const;
  /// Adds the records from `first` on.
  void append_metrics(const std::vector<EpochRecord>& history, std::size_t first) const;
  /// The same for lines of any kind.
  void write_metrics(const std::string& lines) const;
  void append_metrics(const std::string& lines) const;

  /// The checkpoint's arrays; empty where there is none.
  NamedTensors read_checkpoint() const;
  void write_checkpoint(const NamedTensors& state) const;
  /// Writes the model and the finished record, and removes the checkpoint and the lock.
  void write_result(nlohmann::json record, const FitResult& result);
  /// The same after the model has been written.
  /// @param of_model  the model's own record
  void finish(nlohmann::json record, nlohmann::json of_model, double seconds);

  /// Keeps other processes from fitting into the folder as long as this object and its
  /// copies live; InputError where another one does.
  void lock();

 private:
  /// check_free() but for the lock.
  static void check_content(const std::string& directory, bool overwrite);

  explicit RunFolder(std::string directory) : directory_(std::move(directory)) {}
  std::string directory_;
  bool is_new_ = false;
  FolderLock lock_;
};

/// The model of a run folder, or of a model file.
std::string model_path_of(const std::string& run_or_file);

/// "fnv1a64:0123456789abcdef" of a file's bytes.
std::string file_hash(const std::string& path);
/// InputError where the hash of an input is not the one that the run began with.
void expect_same_hash(const nlohmann::json& before, const nlohmann::json& now,
                      const std::string& path);
/// InputError for a path that run.json and the model cannot keep, since JSON holds
/// UTF-8 only, and for a pipe, since input is read again for its hash.
void check_recorded_path(const std::string& path);
/// "" for a number that is not finite: a missing value.
std::string metrics_number(double value);

}  // namespace kinflow
