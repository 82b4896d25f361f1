// Options that would do nothing beside the others that were given. They are mistakes.
#pragma once

#include <CLI/App.hpp>
#include <functional>
#include <string>
#include <vector>

namespace kinflow::cli {

/// What options need to have an effect.
/// @tparam Choice  what was chosen, as far as it decides
template <typename Choice>
struct EffectRule {
  std::vector<std::string> options;
  std::string needed;  ///< as in "--flow spline"
  /// What was found in its place, as in "--flow affine" or "none"; empty where the
  /// options have an effect.
  std::function<std::string(const Choice&)> found_instead;
};

/// An option that was given and has no effect.
struct IdleOption {
  std::string name;
  std::string message;
};

bool is_given(const CLI::App& verb, const std::string& option);

template <typename Choice>
std::vector<IdleOption> find_idle_options(const CLI::App& verb,
                                          const std::vector<EffectRule<Choice>>& rules,
                                          const Choice& choice) {
  std::vector<IdleOption> idle;
  for (const auto& rule : rules) {
    for (const auto& name : rule.options) {
      if (!is_given(verb, name)) continue;
      const auto found = rule.found_instead(choice);
      if (found.empty()) continue;
      idle.push_back({name, name + ": expected " + rule.needed +
                                " beside it, since it has no effect otherwise, found " +
                                found});
    }
  }
  return idle;
}

/// InputError that names the first.
void refuse_idle_options(const std::vector<IdleOption>& idle);

/// InputError for the first option that was given and has no effect.
template <typename Choice>
void check_effects(const CLI::App& verb, const std::vector<EffectRule<Choice>>& rules,
                   const Choice& choice) {
  refuse_idle_options(find_idle_options(verb, rules, choice));
}

/// Rules that only ask which options were given.
using GivenRule = EffectRule<CLI::App>;

/// The options need one of others.
GivenRule needs_option(std::vector<std::string> options,
                       std::vector<std::string> others);
/// The options have no effect beside another.
GivenRule idle_beside(std::vector<std::string> options, const std::string& other);

/// Names of the options that `declare` adds to a verb.
std::vector<std::string> names_of_added_options(CLI::App& verb,
                                                const std::function<void()>& declare);

}  // namespace kinflow::cli
