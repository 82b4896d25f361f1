// Rules on options that were given.
#include "idle_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <set>

#include "kinflow/core/error.h"

namespace kinflow::cli {

bool is_given(const CLI::App& verb, const std::string& option) {
  const auto* found = verb.get_option_no_throw(option);
  return found != nullptr && found->count() > 0;
}

void refuse_idle_options(const std::vector<IdleOption>& idle) {
  if (!idle.empty()) throw InputError(idle.front().message);
}

GivenRule needs_option(std::vector<std::string> options,
                       std::vector<std::string> others) {
  auto needed = fmt::format("{}", fmt::join(others, " or "));
  return {std::move(options), std::move(needed),
          [others = std::move(others)](const CLI::App& verb) -> std::string {
            const bool is_there =
                std::any_of(others.begin(), others.end(),
                            [&](const auto& name) { return is_given(verb, name); });
            return is_there ? "" : "none";
          }};
}

GivenRule idle_beside(std::vector<std::string> options, const std::string& other) {
  return {std::move(options), "no " + other,
          [other](const CLI::App& verb) -> std::string {
            return is_given(verb, other) ? other : "";
          }};
}

std::vector<std::string> names_of_added_options(CLI::App& verb,
                                                const std::function<void()>& declare) {
  std::set<std::string> before;
  for (const auto* option : verb.get_options()) before.insert(option->get_name());
  declare();
  std::vector<std::string> added;
  for (const auto* option : verb.get_options()) {
    const auto name = option->get_name();
    if (!option->get_positional() && !before.contains(name)) added.push_back(name);
  }
  return added;
}

}  // namespace kinflow::cli
