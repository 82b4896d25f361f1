// Options that several verbs have.
#include "options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <filesystem>
#include <limits>
#include <optional>
#include <set>
#include <thread>

#include "kinflow/core/error.h"
#include "kinflow/data/in_quotes.h"
#include "kinflow/train/fit.h"

namespace kinflow::cli {
namespace {

// The whole text as a number.
template <typename Number>
std::optional<Number> parse(const std::string& text) {
  Number value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (stop != end || error != std::errc()) return std::nullopt;
  return value;
}

template <typename Number>
CLI::Validator in_range(Number low, Number high, const std::string& noun,
                        const std::string& type) {
  const auto check = [=](std::string& text) -> std::string {
    const auto value = parse<Number>(text);
    if (value && *value >= low && *value <= high) return {};
    return fmt::format("expected {} from {} to {}, found '{}'", noun, low, high, text);
  };
  return {check, fmt::format("{} in [{} - {}]", type, low, high)};
}

}  // namespace

CLI::Validator integer_in(std::int64_t low, std::int64_t high) {
  return in_range(low, high, "an integer", "INT");
}

CLI::Validator number_in(double low, double high) {
  return in_range(low, high, "a number", "FLOAT");
}

void add_relationship_options(CLI::App& verb, CLI::Option* relationship,
                              std::vector<std::string>& id, std::string& ids_file) {
  add_list(verb, "--id", id,
           "Column of ids, or two of family and individual: rows of the matrix are "
           "matched by id (default: by position)")
      ->needs(relationship);
  verb.add_option("--relationship-ids", ids_file,
                  "Ids of the matrix's rows, one a line (default: the file beside it)")
      ->needs(relationship);
}

void add_relationship_scale(CLI::App& verb, CLI::Option* relationship,
                            std::string& scale) {
  add_choice(verb, "--relationship-scale", scale, relationship_scale_names(),
             "Divide the matrix by its mean diagonal, or take it as it is")
      ->needs(relationship);
}

CLI::Option* add_seed(CLI::App& verb, std::uint64_t& seed, const std::string& help) {
  const auto check = in_range(
      std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max(), "an integer", "INT");
  return verb.add_option("--seed", seed, help)->check(check);
}

CLI::Option* add_threads(CLI::App& verb, std::int64_t& threads) {
  threads = std::max(1U, std::thread::hardware_concurrency());
  return verb.add_option("--threads", threads, "Threads of all arithmetic")
      ->check(integer_in(1, 4096));
}

void check_not_an_input(const std::string& out,
                        const std::vector<std::string>& inputs) {
  for (const auto& input : inputs) {
    std::error_code ignored;
    if (!std::filesystem::equivalent(out, input, ignored)) continue;
    throw InputError("--out: expected another file than the input, found " + out);
  }
}

std::vector<TextColumn> kept_columns(const Table& table,
                                     const std::vector<std::string>& names,
                                     const std::vector<std::int64_t>& rows,
                                     const std::vector<std::string>& output_names) {
  std::set<std::string> taken(output_names.begin(), output_names.end());
  std::vector<TextColumn> columns;
  for (const auto& name : names) {
    if (!taken.insert(name).second) {
      throw InputError("--keep: expected columns that the output has not, found " +
                       in_quotes(name));
    }
    columns.push_back({name, labels(table, name, rows)});
  }
  return columns;
}

}  // namespace kinflow::cli
