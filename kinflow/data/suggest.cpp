// Edit distance.
#include "kinflow/data/suggest.h"

#include <algorithm>
#include <cctype>
#include <vector>

#include "kinflow/core/in_quotes.h"

namespace kinflow {
namespace {

constexpr std::size_t kShortestBeginning = 3;
constexpr std::size_t kLongestShown = 200;

std::string in_lower_case(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return lower;
}

// Insertions, deletions, replacements and exchanges of neighbours.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before, last(b.size() + 1), now(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      now[j] = std::min(
          {last[j] + 1, now[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        now[j] = std::min(now[j], before[j - 2] + 1);
      }
    }
    before = last;
    last = now;
  }
  return last[b.size()];
}

}  // namespace

std::string nearest_name(std::string_view typed, std::span<const std::string> known) {
  const auto wanted = in_lower_case(typed);
  // A third of the letters may be wrong.
  auto smallest = std::max<std::size_t>(1, wanted.size() / 3) + 1;
  std::string nearest;
  for (const auto& name : known) {
    const auto lower = in_lower_case(name);
    const bool is_beginning =
        wanted.size() >= kShortestBeginning &&
        (lower.starts_with(wanted) || wanted.starts_with(lower)) &&
        lower.size() >= kShortestBeginning;
    const auto distance =
        is_beginning && lower != wanted ? std::size_t{1} : edit_distance(wanted, lower);
    if (distance >= smallest || distance >= std::max(wanted.size(), lower.size())) {
      continue;
    }
    smallest = distance;
    nearest = name;
  }
  return nearest;
}

std::string did_you_mean(std::string_view typed, std::span<const std::string> known) {
  const auto name = nearest_name(typed, known);
  return name.empty() ? "" : "; did you mean " + in_quotes(name, kLongestShown) + "?";
}

}  // namespace kinflow
