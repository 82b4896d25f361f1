// Results that stand where new ones are to be written: one rule for all verbs.
#pragma once

#include <string>
#include <vector>

namespace kinflow {

/// Files and folders that a result has, or may have. Folders stand behind what is in
/// them.
using ResultFiles = std::vector<std::string>;

/// The rule: an earlier result is refused, with an InputError that names the first file
/// of it, unless it may be overwritten. Folders, pipes and devices are no files of a
/// result.
/// @param option  that names the place
void require_no_result(const ResultFiles& files, bool overwrite,
                       const std::string& option = "--out");

/// Removes an earlier result: its files, and its folders, with what a killed process
/// had not finished in them, where nothing else is there.
void remove_result(const ResultFiles& files);

/// What stands beside `start` under a name that begins with it and ends with `ending`.
ResultFiles paths_between(const std::string& start, const std::string& ending);

/// The page that shows the result of a folder, in it.
inline constexpr const char* kReportName = "report.html";

/// A run folder, whatever the run was and however it ended.
ResultFiles run_folder_files(const std::string& directory);

enum class ImageNames {
  numbers,            ///< 1.png
  people_and_numbers  ///< PERSON_000001.png
};
/// A folder with a folder of PNG files for every person.
ResultFiles people_folder_files(const std::string& directory, ImageNames names);

}  // namespace kinflow
