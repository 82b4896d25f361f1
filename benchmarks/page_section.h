// Sections of a page of the documentation that programs write, between two marker
// comments. page_section.py does the same.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "kinflow/core/atomic_file.h"
#include "kinflow/core/error.h"

namespace kinflow {

struct SplitPage {
  std::string before, section, after;  ///< the markers stand in `before` and `after`
};

/// The page around the section of that name. Markers that are missing are made at the
/// end of the page.
inline SplitPage split_page(const std::filesystem::path& page,
                            const std::string& name) {
  const std::string begin = "<!-- begin " + name + " -->\n";
  const std::string end = "<!-- end " + name + " -->\n";
  std::ifstream file(page);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  if (text.find(begin) == std::string::npos) {
    if (!text.empty()) text += text.back() == '\n' ? "\n" : "\n\n";
    text += begin + end;
  }
  const std::size_t start = text.find(begin) + begin.size();
  const std::size_t stop = text.find(end, start);
  if (stop == std::string::npos)
    throw InputError(page.string() + ": expected '<!-- end " + name +
                     " -->' after its begin, found none");
  return {text.substr(0, start), text.substr(start, stop - start), text.substr(stop)};
}

inline void replace_section(const std::filesystem::path& page, const std::string& name,
                            const std::string& content) {
  const SplitPage parts = split_page(page, name);
  write_file_atomically(page.string(), parts.before + content + parts.after);
}

}  // namespace kinflow
