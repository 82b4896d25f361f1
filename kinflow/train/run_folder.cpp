// Reading and writing the files of a run.
#include "kinflow/train/run_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <filesystem>

#include "kinflow/core/atomic_file.h"
#include "kinflow/core/error.h"
#include "kinflow/core/input_file.h"
#include "kinflow/core/json_reader.h"

namespace kinflow {
namespace {

bool exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

// A number that is not finite is a missing value.
std::string number(double value) {
  return std::isfinite(value) ? fmt::format("{}", value) : "";
}

std::string line_of(const EpochRecord& record) {
  return fmt::format("{},{},{},{},{},{}\n", record.epoch, record.replica,
                     number(record.train_nll_nats), number(record.valid_nll_nats),
                     number(record.learning_rate), number(record.typical_parameter));
}

}  // namespace

RunFolder RunFolder::open(const std::string& directory) {
  RunFolder folder(directory);
  if (!exists(folder.record_path())) {
    throw InputError(directory + ": expected a run folder, found no run.json in it");
  }
  return folder;
}

void RunFolder::check_free(const std::string& directory) {
  if (exists(RunFolder(directory).record_path())) {
    throw InputError(
        directory +
        ": already holds a run; go on with --resume, or name another --out");
  }
  if (exists(directory + "/sweep.json")) {
    throw InputError(directory + ": already holds a sweep; name another --out");
  }
}

RunFolder RunFolder::create(const std::string& directory,
                            const nlohmann::json& record) {
  check_free(directory);
  std::error_code error;
  const bool is_new = std::filesystem::create_directories(directory, error);
  if (error) {
    throw InputError(directory + ": cannot make the folder (" + error.message() + ")");
  }
  RunFolder folder(directory);
  try {
    folder.lock();
    check_free(directory);
    // A process that was killed before its record was there leaves a part of it.
    remove_unfinished_files(
        directory, std::filesystem::path(folder.record_path()).filename().string());
    folder.write_record(record);
  } catch (const InputError&) {
    folder.lock_ = {};
    if (is_new) std::filesystem::remove(directory, error);
    throw;
  }
  return folder;
}

void RunFolder::lock() { lock_ = FolderLock(directory_, "fit"); }

nlohmann::json RunFolder::read_record() const {
  return parse_json(read_whole_file(record_path()), record_path());
}

void RunFolder::write_record(const nlohmann::json& record) const {
  write_file_atomically(record_path(), record.dump(2) + "\n");
}

void RunFolder::write_metrics(const std::vector<EpochRecord>& history) const {
  std::string text =
      "epoch,replica,train_nll_nats,valid_nll_nats,learning_rate,typical_parameter\n";
  for (const auto& record : history) text += line_of(record);
  write_file_atomically(metrics_path(), text);
}

void RunFolder::append_metrics(const std::vector<EpochRecord>& history,
                               std::size_t first) const {
  std::string text;
  for (std::size_t i = first; i < history.size(); ++i) text += line_of(history[i]);
  std::FILE* file = std::fopen(metrics_path().c_str(), "a");
  if (file == nullptr) throw InputError(system_message(metrics_path(), "write"));
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
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
  save_model(model_path(), result.model);
  record["status"] = "finished";
  record["result"] = result.model.record;
  record["result"].erase("request");
  record["seconds"] = result.seconds;
  write_record(record);
  std::error_code ignored;
  std::filesystem::remove(checkpoint_path(), ignored);
  lock_.release();
}

std::string model_path_of(const std::string& run_or_file) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(run_or_file, ignored)) return run_or_file;
  const auto folder = RunFolder::open(run_or_file);
  if (exists(folder.model_path())) return folder.model_path();
  const auto record = folder.read_record();
  const auto error = record.find("error");
  if (record.is_object() && error != record.end() && error->is_string()) {
    throw InputError(run_or_file +
                     ": expected a finished run, found one that failed: " +
                     error->get<std::string>());
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
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  while (const auto count = file.read(buffer.data(), buffer.size())) {
    for (std::size_t i = 0; i < count; ++i) {
      hash = (hash ^ static_cast<unsigned char>(buffer[i])) * 0x100000001b3ULL;
    }
  }
  return fmt::format("fnv1a64:{:016x}", hash);
}

}  // namespace kinflow
