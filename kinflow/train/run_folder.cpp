// Reading and writing the files of a run.
#include "kinflow/train/run_folder.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <filesystem>

#include "kinflow/core/atomic_file.h"
#include "kinflow/core/error.h"
#include "kinflow/core/input_file.h"
#include "kinflow/core/json_reader.h"

namespace kinflow {
namespace {

std::string number(double value) {
  return std::isnan(value) ? "" : fmt::format("{}", value);
}

std::string line_of(const EpochRecord& record) {
  return fmt::format("{},{},{},{},{},{}\n", record.epoch, record.replica,
                     number(record.train_nll_nats), number(record.valid_nll_nats),
                     number(record.learning_rate), number(record.mean_parameter));
}

}  // namespace

RunFolder RunFolder::open(const std::string& directory) {
  RunFolder folder(directory);
  if (!std::filesystem::exists(folder.record_path())) {
    throw InputError(directory + ": expected a run folder, found no run.json in it");
  }
  return folder;
}

void RunFolder::check_free(const std::string& directory) {
  if (std::filesystem::exists(RunFolder(directory).record_path())) {
    throw InputError(directory +
                     ": already holds a run; go on with --resume, or name another --out");
  }
}

RunFolder RunFolder::create(const std::string& directory) {
  check_free(directory);
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) {
    throw InputError(directory + ": cannot make the folder (" + error.message() + ")");
  }
  return RunFolder(directory);
}

nlohmann::json RunFolder::read_record() const {
  return parse_json(read_whole_file(record_path()), record_path());
}

void RunFolder::write_record(const nlohmann::json& record) const {
  write_file_atomically(record_path(), record.dump(2) + "\n");
}

void RunFolder::write_metrics(const std::vector<EpochRecord>& history) const {
  std::string text =
      "epoch,replica,train_nll_nats,valid_nll_nats,learning_rate,mean_parameter\n";
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
  if (!std::filesystem::exists(checkpoint_path())) return {};
  return load_tensors(checkpoint_path()).second;
}

void RunFolder::write_checkpoint(const NamedTensors& state) const {
  save_tensors(checkpoint_path(), {}, state);
}

void RunFolder::remove_checkpoint() const {
  std::error_code ignored;
  std::filesystem::remove(checkpoint_path(), ignored);
}

std::string model_path_of(const std::string& run_or_file) {
  if (!std::filesystem::is_directory(run_or_file)) return run_or_file;
  const auto folder = RunFolder::open(run_or_file);
  if (!std::filesystem::exists(folder.model_path())) {
    throw InputError(run_or_file +
                     ": the run has no model yet; finish it with 'kinflow fit --resume " +
                     run_or_file + "'");
  }
  return folder.model_path();
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
