// The first few names of a list.
#include "kinflow/images/list_names.h"

#include "kinflow/core/in_quotes.h"

namespace kinflow {
namespace {

constexpr std::size_t kNamed = 5;

}  // namespace

std::string first_names(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < kNamed; ++i) {
    if (i > 0) text += ", ";
    text += in_quotes(names[i], 80);
  }
  if (names.size() > kNamed) text += ", ...";
  return text;
}

}  // namespace kinflow
