// What the record of a run (run.json) says, as the page tells it: headline numbers,
// words, what to watch, and where all comes from.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace kinflow {

/// A run folder, or a model file by itself.
struct RunRecord {
  std::string path;       ///< as it was given
  std::string directory;  ///< of a model file that in which it stands
  nlohmann::json record = nlohmann::json::object();
  std::string problem = {};  ///< why the record is not there; empty: it is
  bool is_of_images = false;

  std::string file(const std::string& name) const { return directory + "/" + name; }
  bool is_finished() const;
  /// The model in the folder, or the file itself.
  std::string model_path() const;
};

/// Reads run.json. What is missing or broken becomes `problem`; nothing is thrown for
/// it.
RunRecord read_run_record(const std::string& path);

/// An entry of `watch`. @param level  "warn", "missing" or "fine"
nlohmann::json watch_line(const std::string& level, const std::string& text);
/// Text under a heading of `words`.
nlohmann::json words_under(const std::string& heading,
                           const std::vector<std::string>& lines);
/// A headline number.
nlohmann::json fact(const std::string& label, const std::string& value,
                    const std::string& note = "");

/// A document without sections, for page_html().
nlohmann::json run_document(const RunRecord& run);

/// A document of anything: version and date of the page, empty lists.
nlohmann::json empty_document(const std::string& kind, const std::string& title);

}  // namespace kinflow
