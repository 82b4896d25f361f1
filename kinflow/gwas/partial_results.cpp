// Text files that are only added to, and cut back to whole rows when a run goes on.
#include "kinflow/gwas/partial_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <limits>
#include <utility>

#include "kinflow/core/atomic_file.h"
#include "kinflow/core/error.h"

namespace kinflow {
namespace {

namespace fs = std::filesystem;

/// LOG10P at the end of a row. Those of a run that went on are the same numbers.
double last_number(std::string_view row) {
  const auto cell = row.substr(row.rfind('\t') + 1);
  double value = std::numeric_limits<double>::quiet_NaN();
  std::from_chars(cell.data(), cell.data() + cell.size(), value);
  return value;
}

void append_log10_p(std::string_view rows, std::vector<double>& log10_p) {
  for (std::size_t start = 0, end = 0; start < rows.size(); start = end + 1) {
    end = rows.find('\n', start);
    log10_p.push_back(last_number(rows.substr(start, end - start)));
  }
}

/// Where the first `most` rows of a text end; as many as there are where it is -1.
struct WholeRows {
  std::int64_t rows = 0;
  std::size_t bytes = 0;
};
WholeRows whole_rows(std::string_view text, std::int64_t most) {
  WholeRows found;
  while (found.rows != most) {
    const auto end = text.find('\n', found.bytes);
    if (end == text.npos) break;
    found.bytes = end + 1;
    ++found.rows;
  }
  return found;
}

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string study_path(const std::string& directory) {
  return directory + "/study.json";
}

void make_folder(const std::string& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (!error) return;
  throw InputError(fmt::format("{}: expected to make this folder, found: {}", directory,
                               error.message()));
}

std::string description_path(const std::string& directory) {
  return directory + "/request.json";
}

}  // namespace

PartialResults::PartialResults(const std::string& directory,
                               const nlohmann::json& description, std::size_t sets,
                               FolderLock lock)
    : directory_(directory), lock_(std::move(lock)), log10_p_(sets) {
  make_folder(directory);
  if (!lock_.is_held()) lock_ = FolderLock(directory, "gwas");
  if (content(description_path(directory)) == description.dump()) {
    take_over();
  } else {
    begin(description);
  }
  open();
}

void PartialResults::require_same(const std::string& directory,
                                  const nlohmann::json& study) {
  if (content(study_path(directory)) == study.dump()) return;
  for (const auto& path : files(directory)) {
    if (!fs::is_regular_file(path) || path.ends_with(".lock")) continue;
    throw InputError(fmt::format(
        "{}: expected no study or an unfinished one of this command, found one of "
        "other files or options; give --overwrite to replace it, or another --out",
        directory));
  }
}

FolderLock PartialResults::claim(const std::string& directory,
                                 const nlohmann::json& study) {
  make_folder(directory);
  FolderLock lock(directory, "gwas");
  require_same(directory, study);
  write_file_atomically(study_path(directory), study.dump());
  return lock;
}

ResultFiles PartialResults::files(const std::string& directory) {
  auto files = paths_between(directory + "/rows", ".tsv");
  const auto kept = paths_between(directory + "/kept_", ".txt");
  files.insert(files.end(), kept.begin(), kept.end());
  files.insert(files.end(), {description_path(directory), study_path(directory),
                             directory + "/.lock", directory});
  return files;
}

void PartialResults::fail_to_read(const std::string& path) {
  throw InputError(system_message(path, "read"));
}

std::string PartialResults::path(std::size_t set) const {
  return fmt::format("{}/rows{}.tsv", directory_, set + 1);
}

void PartialResults::take_over() {
  std::vector<std::string> texts;
  std::int64_t rows = std::numeric_limits<std::int64_t>::max();
  for (std::size_t set = 0; set < log10_p_.size(); ++set) {
    texts.push_back(content(path(set)));
    rows = std::min(rows, whole_rows(texts.back(), -1).rows);
  }
  for (std::size_t set = 0; set < log10_p_.size(); ++set) {
    const auto bytes = whole_rows(texts[set], rows).bytes;
    append_log10_p(std::string_view(texts[set]).substr(0, bytes), log10_p_[set]);
    if (fs::exists(path(set))) fs::resize_file(path(set), bytes);
  }
}

void PartialResults::keep_first(std::int64_t rows) {
  if (rows == done()) return;
  files_.clear();
  for (std::size_t set = 0; set < log10_p_.size(); ++set) {
    fs::resize_file(path(set), whole_rows(content(path(set)), rows).bytes);
    log10_p_[set].resize(static_cast<std::size_t>(rows));
  }
  open();
}

void PartialResults::begin(const nlohmann::json& description) {
  for (std::size_t set = 0; set < log10_p_.size(); ++set) fs::remove(path(set));
  write_file_atomically(description_path(directory_), description.dump());
}

void PartialResults::open() {
  for (std::size_t set = 0; set < log10_p_.size(); ++set) {
    files_.emplace_back(path(set), std::ios::binary | std::ios::app);
  }
}

void PartialResults::append(const ScannedBlock& block) {
  for (std::size_t set = 0; set < log10_p_.size(); ++set) {
    files_[set] << block.lines[set] << std::flush;
    if (!files_[set]) {
      throw InputError(
          fmt::format("{}: expected room for the results, found none", path(set)));
    }
    append_log10_p(block.lines[set], log10_p_[set]);
  }
}

std::string PartialResults::path_of_kept(const std::string& name) const {
  return fmt::format("{}/kept_{}.txt", directory_, name);
}

void PartialResults::keep(const std::string& name, const std::string& text) {
  write_file_atomically(path_of_kept(name), text);
}

std::string PartialResults::kept(const std::string& name) const {
  return content(path_of_kept(name));
}

void PartialResults::remove() {
  files_.clear();
  lock_.release();
  fs::remove_all(directory_);
}

}  // namespace kinflow
