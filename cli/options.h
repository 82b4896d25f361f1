// Helpers for options that several verbs have.
#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <string>

#include "kinflow/train/names.h"

namespace kinflow::cli {

/// An option whose value is one of an enumeration's names.
template <typename Enum>
CLI::Option* add_choice(CLI::App& verb, const std::string& name, std::string& value,
                        const Names<Enum>& names, const std::string& help) {
  std::vector<std::string> known;
  for (const auto& [text, ignored] : names) known.push_back(text);
  return verb.add_option(name, value, help)->check(CLI::IsMember(known));
}

/// The value that a name stands for; the name has been checked.
template <typename Enum>
Enum chosen(const Names<Enum>& names, const std::string& name) {
  for (const auto& [text, value] : names) {
    if (text == name) return value;
  }
  return names.front().second;
}

/// --threads, by default all cores.
CLI::Option* add_threads(CLI::App& verb, std::int64_t& threads);

}  // namespace kinflow::cli
