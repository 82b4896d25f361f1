// Helpers for options that several verbs have.
#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "idle_options.h"
#include "kinflow/core/result_files.h"
#include "kinflow/data/minus_nine.h"
#include "kinflow/engine/names.h"
#include "kinflow/fit/row_relations.h"

namespace kinflow::cli {

/// A check that a value is one of several.
CLI::Validator one_of(std::vector<std::string> known);

/// An option whose value is one of an enumeration's names.
template <typename Enum>
CLI::Option* add_choice(CLI::App& verb, const std::string& name, std::string& value,
                        const Names<Enum>& names, const std::string& help) {
  std::vector<std::string> known;
  for (const auto& [text, ignored] : names) known.push_back(text);
  return verb.add_option(name, value, help)->check(one_of(known));
}

/// The value that a name stands for; the name has been checked.
template <typename Enum>
Enum chosen(const Names<Enum>& names, const std::string& name) {
  for (const auto& [text, value] : names) {
    if (text == name) return value;
  }
  return names.front().second;
}

/// A check that a value is an integer, or a number, from `low` to `high`.
CLI::Validator integer_in(std::int64_t low, std::int64_t high);
CLI::Validator number_in(double low, double high);

/// An option whose values are given as one text with commas: "3,5,1".
template <typename Value>
CLI::Option* add_list(CLI::App& verb, const std::string& name,
                      std::vector<Value>& values, const std::string& help) {
  return verb.add_option(name, values, help)->delimiter(',')->allow_extra_args(false);
}
/// The same for names of columns or files, which may stand in quotes as in CSV:
/// a,"b,c".
CLI::Option* add_names(CLI::App& verb, const std::string& name,
                       std::vector<std::string>& values, const std::string& help);

/// Makes names of columns whole that were split at a comma of their own, where the
/// table leaves no doubt. A table that can be read only once is not looked at.
void find_names(const std::string& table,
                const std::vector<std::vector<std::string>*>& lists);

/// --minus-nine, as typed; nothing where it was not given.
CLI::Option* add_minus_nine(CLI::App& verb, std::optional<MinusNine>& value,
                            const std::string& help);

/// A path that still holds in another folder; empty stays empty.
std::string absolute(const std::string& path);

/// InputError where an output would overwrite one of the files that are read, or one
/// below a folder that is read.
/// @param option  that names the output
void check_not_an_input(const std::string& out, const std::vector<std::string>& inputs,
                        const std::string& option = "--out");
/// InputError where an output would lie among the images of a folder, which would then
/// be read with them. Nothing for an empty path and for what is not a folder.
void check_outside(const std::string& out, const std::string& folder,
                   const std::string& option);

/// The options that say how rows depend on each other, as typed.
struct DependenceGiven {
  DependenceRequest request;
  std::string relationship_scale = "mean-diagonal", solver = "spectral", time_kernel;

  /// True where one of them asks for a dependence.
  bool any() const;
  /// The same, with a column of times, whose kernel a model may know.
  bool any_or_time() const { return any() || !request.time.empty(); }
  /// The request, with absolute paths.
  DependenceRequest resolve() const;
};
void add_dependence_options(CLI::App& verb, DependenceGiven& given);

/// When these options have an effect; ids of rows that are drawn may be copied, so that
/// --id has a rule of its own.
const std::vector<EffectRule<DependenceRequest>>& dependence_rules();
const std::vector<EffectRule<DependenceRequest>>& id_rules();

/// --parameter, in place of what a model learned.
void add_parameter(CLI::App& verb, std::vector<double>& values);

/// --seed, an integer of 64 bits without a sign.
CLI::Option* add_seed(CLI::App& verb, std::uint64_t& seed, const std::string& help);

/// --device, cpu or cuda.
CLI::Option* add_device(CLI::App& verb, std::string& device);

/// --overwrite, for results that stand where new ones are to be written.
CLI::Option* add_overwrite(CLI::App& verb, bool& overwrite);

/// --threads, by default all cores.
CLI::Option* add_threads(CLI::App& verb, std::int64_t& threads);

}  // namespace kinflow::cli
