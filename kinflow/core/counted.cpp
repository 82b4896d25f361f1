// A number and its noun.
#include "kinflow/core/counted.h"

namespace kinflow {

std::string counted(std::int64_t count, std::string_view noun,
                    std::string_view plural) {
  auto text = std::to_string(count) + " ";
  text += count == 1 || plural.empty() ? noun : plural;
  if (count != 1 && plural.empty()) text += 's';
  return text;
}

}  // namespace kinflow
