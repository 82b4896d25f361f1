// Tests that a run has done so far, on the disk, so that a killed run can go on.
#pragma once

#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "kinflow/core/folder_lock.h"
#include "kinflow/core/result_files.h"
#include "kinflow/genetics/association_scan.h"

namespace kinflow {

/// The rows of each set of traits, in the order of the tests, in a folder of text files
/// that are only added to.
class PartialResults {
 public:
  /// Opens the folder and takes what it holds, or begins anew where it is of another
  /// request. InputError where another run works in it.
  /// @param description  all that decides the results
  /// @param lock         on the folder, where the caller has it
  PartialResults(const std::string& directory, const nlohmann::json& description,
                 std::size_t sets, FolderLock lock = {});

  /// InputError where the folder is of another study. Changes nothing.
  /// @param study  all that decides it
  static void require_same(const std::string& directory, const nlohmann::json& study);
  /// Claims the folder for a study, before it has results: locks it and notes what
  /// decides the study. InputError as above, and where another run works in it.
  static FolderLock claim(const std::string& directory, const nlohmann::json& study);
  /// All files that the folder may have, and the folder.
  static ResultFiles files(const std::string& directory);

  /// Variants whose tests are there.
  std::int64_t done() const {
    return static_cast<std::int64_t>(log10_p_.front().size());
  }
  /// Drops all but the first tests, of which there are at least as many.
  void keep_first(std::int64_t rows);
  void append(const ScannedBlock& block);
  /// Keeps a text by its name, in place of an earlier one.
  void keep(const std::string& name, const std::string& text);
  std::string kept(const std::string& name) const;
  /// -log10 of the p-values of a set, in the order of the tests.
  const std::vector<double>& log10_p(std::size_t set) const { return log10_p_[set]; }
  /// Calls take(text) with the rows of a set, piece by piece.
  template <typename Take>
  void visit_rows(std::size_t set, const Take& take) const {
    std::ifstream file(path(set), std::ios::binary);
    std::string piece(1 << 20, '\0');
    while (file.read(piece.data(), static_cast<std::streamsize>(piece.size())) ||
           file.gcount() > 0) {
      take(std::string_view(piece).substr(0, static_cast<std::size_t>(file.gcount())));
    }
    if (!file.eof()) fail_to_read(path(set));
  }
  /// Removes the folder. Call once, last.
  void remove();

 private:
  std::string path(std::size_t set) const;
  [[noreturn]] static void fail_to_read(const std::string& path);
  std::string path_of_kept(const std::string& name) const;
  void take_over();
  void begin(const nlohmann::json& description);
  void open();

  std::string directory_;
  FolderLock lock_;
  std::vector<std::vector<double>> log10_p_;
  std::vector<std::ofstream> files_;
};

}  // namespace kinflow
