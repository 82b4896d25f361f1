// Lists of names taken apart and put together.
#include "kinflow/data/column_names.h"

#include <algorithm>
#include <utility>

#include "kinflow/core/error.h"
#include "kinflow/core/in_quotes.h"
#include "kinflow/data/cells.h"

namespace kinflow {

std::vector<std::string> split_names(std::string_view text, const std::string& option) {
  std::vector<std::string> names;
  CellReader reader(text, 0, ',');
  try {
    do {
      const std::string_view name = reader.next();
      if (!name.empty()) names.emplace_back(name);
    } while (!reader.at_end_of_row());
  } catch (const QuoteError& error) {
    throw InputError(option + ": expected names in whole quotes or without, found " +
                     error.message + " in " + in_quotes(text));
  }
  return names;
}

std::string join_names(std::span<const std::string> names) {
  std::string text;
  for (const auto& name : names) {
    if (!text.empty()) text += ',';
    const bool is_plain = name.find_first_of(",\" ") == name.npos;
    if (is_plain) {
      text += name;
      continue;
    }
    text += '"';
    for (const char c : name)
      text += c == '"' ? std::string("\"\"") : std::string(1, c);
    text += '"';
  }
  return text;
}

std::vector<std::string> with_commas_inside(
    const std::vector<std::string>& parts,
    const std::function<bool(const std::string&)>& is_name) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    names.push_back(parts[i]);
    if (is_name(parts[i])) continue;
    // Blanks after commas were lost, so that there are two ways at each.
    constexpr std::size_t kMostCommas = 7;
    std::vector<std::string> candidates = {parts[i]};
    for (std::size_t k = i + 1; k < parts.size() && k <= i + kMostCommas; ++k) {
      std::vector<std::string> longer;
      for (const auto& start : candidates) {
        longer.push_back(start + "," + parts[k]);
        longer.push_back(start + ", " + parts[k]);
      }
      candidates = std::move(longer);
      const auto found = std::find_if(candidates.begin(), candidates.end(), is_name);
      if (found == candidates.end()) continue;
      names.back() = *found;
      i = k;
      break;
    }
  }
  return names;
}

}  // namespace kinflow
