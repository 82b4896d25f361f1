// Reading and writing the files of a run.
#include "kinflow/fit/run_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <filesystem>

#include "kinflow/core/atomic_file.h"
#include "kinflow/core/error.h"
#include "kinflow/core/hash.h"
#include "kinflow/core/in_quotes.h"
#include "kinflow/core/input_file.h"
#include "kinflow/core/json_reader.h"
#include "kinflow/core/output_folder.h"
#include "kinflow/core/result_files.h"

namespace kinflow {
namespace {

bool exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

std::string line_of(const EpochRecord& record) {
  return fmt::format(
      "{},{},{},{},{},{},{}\n", record.epoch, record.fold + 1, record.replica,
      metrics_number(record.train_nll_nats), metrics_number(record.valid_nll_nats),
      metrics_number(record.learning_rate), metrics_number(record.typical_parameter));
}

// A record that cannot be read tells nothing.
bool has_failed(const RunFolder& folder) {
  try {
    const auto record = folder.read_record();
    return record.value("status", nlohmann::json()) == "failed";
  } catch (const InputError&) {
    return false;
  }
}

bool is_unfinished(const RunFolder& folder) {
  return !has_failed(folder) && !exists(folder.model_path());
}

}  // namespace

RunFolder RunFolder::open(const std::string& directory) {
  RunFolder folder(directory);
  if (!exists(folder.record_path())) {
    throw InputError(directory + ": expected a run folder, found no run.json in it");
  }
  return folder;
}

void RunFolder::check_free(const std::string& directory, bool overwrite) {
  FolderLock::require_free(directory, "fit");
  check_content(directory, overwrite);
}

void RunFolder::check_content(const std::string& directory, bool overwrite) {
  const RunFolder folder(directory);
  if (exists(directory + "/sweep.json")) {
    throw InputError(directory + ": already holds a sweep; name another --out");
  }
  if (exists(folder.record_path())) {
    if (overwrite) return;
    throw InputError(
        fmt::format("{}: already holds a run{}; {}give --overwrite to replace it, or "
                    "another --out",
                    directory, has_failed(folder) ? " that failed" : "",
                    is_unfinished(folder) ? "go on with --resume, " : ""));
  }
  // What a process leaves that was killed before its record was there.
  require_free(directory, [](const std::string& name) {
    return name == ".lock" || name.starts_with("run.json.");
  });
}

RunFolder RunFolder::create(const std::string& directory, const nlohmann::json& record,
                            bool overwrite) {
  check_free(directory, overwrite);
  std::error_code error;
  RunFolder folder(directory);
  folder.is_new_ = std::filesystem::create_directories(directory, error);
  if (error) {
    throw InputError(directory + ": cannot make the folder (" + error.message() + ")");
  }
  try {
    folder.lock();
    check_content(directory, overwrite);
    if (exists(folder.record_path())) remove_result(run_folder_files(directory));
    // A process that was killed before its record was there leaves a part of it.
    remove_unfinished_files(
        directory, std::filesystem::path(folder.record_path()).filename().string());
    folder.write_record(record);
  } catch (const InputError&) {
    folder.lock_ = {};
    if (folder.is_new_) std::filesystem::remove(directory, error);
    throw;
  }
  return folder;
}

void RunFolder::discard_without_checkpoint() {
  if (exists(checkpoint_path())) return;
  std::error_code ignored;
  remove_unfinished_files(directory_);
  for (const auto& path :
       {record_path(), metrics_path(), held_out_path(), best_path(), model_path()}) {
    std::filesystem::remove(path, ignored);
  }
  lock_.release();
  if (is_new_) std::filesystem::remove(directory_, ignored);
}

void RunFolder::lock() { lock_ = FolderLock(directory_, "fit"); }

nlohmann::json RunFolder::read_record() const {
  auto record = parse_json(read_whole_file(record_path()), record_path());
  const JsonReader is_object(record, record_path());
  return record;
}

void RunFolder::write_record(const nlohmann::json& record) const {
  write_file_atomically(record_path(), record.dump(2) + "\n");
}

void RunFolder::write_metrics(const std::vector<EpochRecord>& history,
                              ValidScore score) const {
  auto text = fmt::format(
      "epoch,fold,replica,train_nll_nats,{},learning_rate,typical_parameter\n",
      valid_score_key(score));
  for (const auto& record : history) text += line_of(record);
  write_metrics(text);
}

void RunFolder::append_metrics(const std::vector<EpochRecord>& history,
                               std::size_t first) const {
  std::string text;
  for (std::size_t i = first; i < history.size(); ++i) text += line_of(history[i]);
  append_metrics(text);
}

void RunFolder::write_metrics(const std::string& lines) const {
  write_file_atomically(metrics_path(), lines);
}

void RunFolder::append_metrics(const std::string& lines) const {
  std::FILE* file = std::fopen(metrics_path().c_str(), "a");
  if (file == nullptr) throw InputError(system_message(metrics_path(), "write"));
  const bool written = std::fwrite(lines.data(), 1, lines.size(), file) == lines.size();
  if (std::fclose(file) != 0 || !written) {
    throw InputError(system_message(metrics_path(), "write"));
  }
}

NamedTensors RunFolder::read_checkpoint() const {
  if (!exists(checkpoint_path())) return {};
  return load_tensors(checkpoint_path()).second;
}

void RunFolder::write_checkpoint(const NamedTensors& state) const {
  save_tensors(checkpoint_path(), {}, state);
}

void RunFolder::write_result(nlohmann::json record, const FitResult& result) {
  if (result.cross_validation) {
    write_cross_validation(held_out_path(), *result.cross_validation);
  }
  save_model(model_path(), result.model);
  finish(std::move(record), result.model.record, result.seconds);
}

void RunFolder::finish(nlohmann::json record, nlohmann::json of_model, double seconds) {
  of_model.erase("request");
  record["status"] = "finished";
  record["result"] = std::move(of_model);
  record["seconds"] = seconds;
  write_record(record);
  std::error_code ignored;
  std::filesystem::remove(checkpoint_path(), ignored);
  std::filesystem::remove(best_path(), ignored);
  lock_.release();
}

std::string model_path_of(const std::string& run_or_file) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(run_or_file, ignored)) return run_or_file;
  const auto folder = RunFolder::open(run_or_file);
  if (exists(folder.model_path())) return folder.model_path();
  const auto record = folder.read_record();
  const auto error = record.find("error");
  if (error != record.end() && error->is_string()) {
    throw InputError(run_or_file +
                     ": expected a finished run, found one that failed: " +
                     error->get<std::string>());
  }
  if (FolderLock::is_taken(run_or_file)) {
    throw InputError(run_or_file +
                     ": expected a finished run, found one that another process is "
                     "at work in");
  }
  throw InputError(
      run_or_file +
      ": expected a finished run, found one without a model; finish it with "
      "'kinflow fit --resume " +
      run_or_file + "'");
}

std::string file_hash(const std::string& path) {
  InputFile file(path);
  std::string buffer(1 << 20, '\0');
  ByteHash hash;
  while (const auto count = file.read(buffer.data(), buffer.size())) {
    hash.add(std::string_view(buffer).substr(0, count));
  }
  return hash.text();
}

void expect_same_hash(const nlohmann::json& before, const nlohmann::json& now,
                      const std::string& path) {
  if (before == now) return;
  throw InputError(path +
                   ": expected the file that the run began with, found another "
                   "content; start a new fit");
}

void check_recorded_path(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_fifo(path, ignored)) {
    throw InputError(path + ": expected a file that can be read again, found a pipe");
  }
  if (is_printable_utf8(path)) return;
  throw InputError(in_quotes(path, path.size()) +
                   ": expected a path of UTF-8 text, since the run keeps it");
}

std::string metrics_number(double value) {
  return std::isfinite(value) ? fmt::format("{}", value) : "";
}

}  // namespace kinflow
