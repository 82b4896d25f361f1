// What the parser of options reports, said as all other mistakes are.
#include "usage_errors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <optional>
#include <string_view>
#include <vector>

#include "kinflow/core/error.h"
#include "kinflow/core/in_quotes.h"
#include "kinflow/data/suggest.h"

namespace kinflow::cli {
namespace {

std::string in_capitals(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return std::toupper(c); });
  return text;
}

/// The verb, or the verb below it, at which the parser was.
CLI::App& verb_of(CLI::App& app) {
  auto* verb = &app;
  while (!verb->get_subcommands().empty()) verb = verb->get_subcommands().back();
  return *verb;
}

/// "'kinflow fit'".
std::string command_of(const CLI::App& verb) {
  std::string words = verb.get_name();
  for (const auto* above = verb.get_parent(); above != nullptr;
       above = above->get_parent()) {
    words = above->get_name() + " " + words;
  }
  return "'" + words + "'";
}

std::vector<std::string> names_of_options(const CLI::App& verb) {
  std::vector<std::string> names;
  for (const auto* option : verb.get_options()) {
    for (const auto& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::vector<std::string> names_of_arguments(const CLI::App& verb) {
  std::vector<std::string> names;
  for (const auto* option : verb.get_options()) {
    if (option->get_positional()) names.push_back(in_capitals(option->get_name()));
  }
  return names;
}

/// What is wrong with the first word that nothing takes; nothing where all are taken.
std::optional<std::string> message_on_extras(const CLI::App& verb) {
  const auto extras = verb.remaining();
  if (extras.empty()) return std::nullopt;
  for (const auto& word : extras) {
    if (word.size() < 2 || word.front() != '-') continue;
    const auto name = word.substr(0, word.find('='));
    return fmt::format("{}: expected an option of {}, found none of this name{}", name,
                       command_of(verb), did_you_mean(name, names_of_options(verb)));
  }
  std::vector<std::string> below;
  for (const auto* sub : verb.get_subcommands({})) below.push_back(sub->get_name());
  if (!below.empty()) {
    return fmt::format("{}: expected {}, found '{}'{}", verb.get_name(),
                       fmt::join(below, " or "), extras.front(),
                       did_you_mean(extras.front(), below));
  }
  const auto arguments = names_of_arguments(verb);
  return fmt::format(
      "{}: expected {} beside its options, found {} as well", verb.get_name(),
      arguments.empty() ? "nothing"
                        : fmt::format("{} alone", fmt::join(arguments, " and ")),
      in_quotes(extras.front()));
}

/// The part of a message before a separator.
std::string before(const std::string& text, const std::string& separator) {
  return text.substr(0, text.find(separator));
}

std::string message_on_missing_value(CLI::App& verb, const std::string& name) {
  auto* option = verb.get_option_no_throw(name);
  std::string expected = "expected a value, found none";
  try {
    std::string nothing;
    // The check of the values says what they should be.
    const auto says = (*option->get_validator(0))(nothing);
    const auto end = says.rfind(", found");
    if (end != std::string::npos) expected = says.substr(0, end) + ", found no value";
  } catch (const CLI::OptionNotFound&) {
    // The option takes any text.
  }
  return name + ": " + expected;
}

std::string message_on_count(CLI::App& verb, const std::string& text) {
  const auto name = before(before(text, ": "), " was given");
  if (text.find("disallowed flag override") != std::string::npos) {
    return name + ": expected no value, found one";
  }
  const std::string kReceived = "required but received ";
  const auto at = text.find(kReceived);
  if (at == std::string::npos) return message_on_missing_value(verb, name);
  const auto found = text.substr(at + kReceived.size());
  const std::string kAtLeast = "At least ";
  const auto least = text.find(kAtLeast);
  if (least != std::string::npos) {
    return fmt::format("{}: expected {} or more, found {}", name,
                       before(text.substr(least + kAtLeast.size()), " "), found);
  }
  return fmt::format("{}: expected once, found {} times", name, found);
}

std::string message_on_missing_option(const CLI::App& verb, const std::string& text) {
  const auto name = before(text, " is required");
  if (name == "A subcommand") {
    std::vector<std::string> below;
    for (const auto* sub : verb.get_subcommands({})) below.push_back(sub->get_name());
    return fmt::format("{}: expected {}, found none", verb.get_name(),
                       fmt::join(below, " or "));
  }
  return fmt::format("{}: expected {}, found none", verb.get_name(),
                     name.starts_with('-') ? name : in_capitals(name));
}

/// "Could not convert: --rows = 1,x"
std::string message_on_conversion(const std::string& text) {
  const std::string kStart = "Could not convert: ";
  const auto sign = text.find(" = ");
  if (!text.starts_with(kStart) || sign == std::string::npos) return text;
  return fmt::format("{}: expected another kind of value, found {}",
                     text.substr(kStart.size(), sign - kStart.size()),
                     in_quotes(text.substr(sign + 3)));
}

/// The verb below another one that a word names; else the other one.
CLI::App* verb_below(CLI::App* verb, std::string_view word) {
  for (auto* below : verb->get_subcommands({})) {
    if (below->get_name() == word) return below;
  }
  return verb;
}

}  // namespace

void check_values(CLI::App& app, std::span<char* const> words) {
  auto* verb = &app;
  std::string name_before;  // of an option whose value the next word is
  for (const std::string_view word : words) {
    if (word.empty()) {
      throw InputError(name_before.empty()
                           ? verb->get_name() + ": expected words, found an empty one"
                           : message_on_missing_value(*verb, name_before));
    }
    name_before.clear();
    if (!word.starts_with("--")) {
      verb = verb_below(verb, word);
      continue;
    }
    const auto sign = word.find('=');
    const std::string name(word.substr(0, sign));
    const auto* option = verb->get_option_no_throw(name);
    if (option == nullptr) continue;
    const bool is_flag = option->get_items_expected_max() == 0;
    if (sign == word.npos) {
      if (!is_flag) name_before = name;
      continue;
    }
    const auto value = word.substr(sign + 1);
    if (is_flag) {
      throw InputError(name + ": expected no value, found " + in_quotes(value));
    }
    if (value.empty()) throw InputError(message_on_missing_value(*verb, name));
  }
}

std::string usage_message(CLI::App& app, const CLI::ParseError& error) {
  auto& verb = verb_of(app);
  const std::string text = error.what();
  const auto kind = static_cast<CLI::ExitCodes>(error.get_exit_code());
  const bool lacks_option = kind == CLI::ExitCodes::RequiredError;
  // A name that is mistyped is then also missing.
  if (lacks_option || kind == CLI::ExitCodes::ExtrasError) {
    for (const auto* place : {&app, &verb}) {
      if (const auto extras = message_on_extras(*place)) return *extras;
    }
  }
  if (lacks_option) return message_on_missing_option(verb, text);
  if (kind == CLI::ExitCodes::ArgumentMismatch) return message_on_count(verb, text);
  if (kind == CLI::ExitCodes::ConversionError) return message_on_conversion(text);
  return text;
}

}  // namespace kinflow::cli
