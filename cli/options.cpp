// Options that several verbs have.
#include "options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <limits>
#include <optional>
#include <span>
#include <thread>

#include "kinflow/core/error.h"
#include "kinflow/core/in_quotes.h"
#include "kinflow/data/column_names.h"
#include "kinflow/data/suggest.h"
#include "kinflow/data/table_reader.h"

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
    return fmt::format("expected {} from {} to {}, found {}", noun, low, high,
                       in_quotes(text));
  };
  return {check, fmt::format("{} in [{} - {}]", type, low, high)};
}

namespace fs = std::filesystem;

bool is_same(const std::string& path, const std::string& other) {
  std::error_code ignored;
  return fs::equivalent(path, other, ignored);
}

bool is_below(const std::string& path, const std::string& folder) {
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) return false;
  const auto is_inside = [](const fs::path& relative) {
    return !relative.empty() && *relative.begin() != "..";
  };
  // By its name, also where links lead out of the folder, and by its place.
  return is_inside(fs::path(absolute(path)).lexically_relative(absolute(folder))) ||
         is_inside(fs::relative(path, folder, ignored));
}

}  // namespace

CLI::Validator integer_in(std::int64_t low, std::int64_t high) {
  return in_range(low, high, "an integer", "INT");
}

CLI::Validator number_in(double low, double high) {
  return in_range(low, high, "a number", "FLOAT");
}

CLI::Validator one_of(std::vector<std::string> known) {
  const auto names = fmt::format("{{{}}}", fmt::join(known, ","));
  const auto check = [known = std::move(known)](std::string& text) -> std::string {
    if (std::find(known.begin(), known.end(), text) != known.end()) return {};
    const auto most = std::span(known).first(known.size() - 1);
    return fmt::format("expected {}{}{}, found {}{}", fmt::join(most, ", "),
                       most.empty() ? "" : " or ", known.back(), in_quotes(text),
                       did_you_mean(text, known));
  };
  return {check, names};
}

CLI::Option* add_names(CLI::App& verb, const std::string& name,
                       std::vector<std::string>& values, const std::string& help) {
  const auto take = [&values, name](const std::vector<std::string>& texts) {
    values.clear();
    for (const auto& text : texts) {
      const auto parts = split_names(text, name);
      values.insert(values.end(), parts.begin(), parts.end());
    }
  };
  return verb.add_option_function<std::vector<std::string>>(name, take, help)
      ->allow_extra_args(false);
}

void find_names(const std::string& table,
                const std::vector<std::vector<std::string>*>& lists) {
  const bool is_empty = std::all_of(lists.begin(), lists.end(),
                                    [](const auto* list) { return list->empty(); });
  std::error_code ignored;
  if (is_empty || !fs::is_regular_file(table, ignored)) return;
  const TableReader reader(table);
  const auto& names = reader.header().names();
  for (auto* list : lists) {
    *list = with_commas_inside(*list, [&](const std::string& text) {
      const auto is_there = [&](const std::string& name) {
        return std::find(names.begin(), names.end(), name) != names.end();
      };
      // As in --bounds COLUMN=LOW:HIGH.
      const auto equal = text.rfind('=');
      return is_there(text) || (equal != text.npos && is_there(text.substr(0, equal)));
    });
  }
}

CLI::Option* add_minus_nine(CLI::App& verb, std::optional<MinusNine>& value,
                            const std::string& help) {
  std::vector<std::string> known;
  for (const auto& [name, ignored] : minus_nine_names()) known.push_back(name);
  return verb
      .add_option_function<std::string>(
          "--minus-nine",
          [&value](const std::string& name) {
            value = chosen(minus_nine_names(), name);
          },
          help)
      ->check(one_of(known));
}

std::string absolute(const std::string& path) {
  return path.empty() ? path
                      : std::filesystem::absolute(path).lexically_normal().string();
}

bool DependenceGiven::any() const {
  return request.unstructured || !request.group.empty() ||
         !request.relationships.empty() || !request.components.empty() ||
         !time_kernel.empty();
}

DependenceRequest DependenceGiven::resolve() const {
  auto result = request;
  for (auto* paths : {&result.relationships, &result.relationship_ids}) {
    for (auto& path : *paths) path = absolute(path);
  }
  result.components = absolute(result.components);
  if (result.cache != "none") result.cache = absolute(result.cache);
  result.relationship_scale = chosen(relationship_scale_names(), relationship_scale);
  result.solver = chosen(relationship_solver_names(), solver);
  if (!time_kernel.empty()) {
    result.time_kernel = chosen(time_kernel_names(), time_kernel);
  }
  return result;
}

void add_dependence_options(CLI::App& verb, DependenceGiven& given) {
  auto& request = given.request;
  verb.add_option("--group", request.group,
                  "Column of block labels: repeats of one thing");
  add_names(verb, "--relationship", request.relationships,
            "Relationship matrix of the rows, in any format of docs/formats.md; "
            "several, comma-separated, add up");
  verb.add_option("--relationship-pcs", request.components,
                  "Table of principal components, whose correlation between rows "
                  "is a relationship: .csv, .tsv, .npy or .eigenvec");
  add_names(verb, "--id", request.id,
            "Column of ids, or two of family and individual: rows of the files are "
            "found by them");
  verb.add_flag("--relationship-by-position", request.relationship_by_position,
                "In place of ids: row i of the matrix or of the components is row i of "
                "the table");
  add_names(verb, "--relationship-ids", request.relationship_ids,
            "Ids of the matrix's rows, one a line; one file for each matrix (default: "
            "the file beside it)");
  add_choice(verb, "--relationship-scale", given.relationship_scale,
             relationship_scale_names(),
             "Divide the matrix by its mean diagonal, or take it as it is");
  verb.add_option("--sparsify", request.sparsify,
                  "Set entries of the matrix below this, in absolute value and after "
                  "scaling, to "
                  "0: rows fall into families")
      ->check(number_in(0, kLargestThreshold));
  add_choice(verb, "--solver", given.solver, relationship_solver_names(),
             "How a relationship is solved: exactly by one decomposition, or by "
             "conjugate gradients where it is too large for that");
  verb.add_option("--cache", request.cache,
                  "Folder that keeps decompositions, or none (default: beside the "
                  "matrix)");
  verb.add_option("--time", request.time,
                  "Column of times: numbers or dates such as 2024-03-31");
  add_choice(verb, "--time-kernel", given.time_kernel, time_kernel_names(),
             "Rows near in time depend: exp(-gamma |t|) or exp(-gamma t^2)");
  add_list(verb, "--time-decay", request.time_decay,
           "gamma of the kernel; several values for --schedule grid (default: learned)")
      ->check(number_in(kSmallestDecay, kLargestDecay));
  verb.add_flag("--unstructured", request.unstructured,
                "Every pair of rows has its own correlation (up to 500 rows)");
}

const std::vector<EffectRule<DependenceRequest>>& dependence_rules() {
  using Request = DependenceRequest;
  static const std::vector<EffectRule<Request>> rules = {
      {{"--relationship-ids", "--relationship-scale", "--sparsify", "--solver",
        "--cache"},
       "--relationship FILE",
       [](const Request& r) { return r.relationships.empty() ? "none" : ""; }},
      {{"--relationship-ids"},
       "--id COLUMN",
       [](const Request& r) { return r.id.empty() ? "none" : ""; }},
      {{"--cache"},
       "a single dense relationship that is decomposed",
       [](const Request& r) -> std::string {
         if (parts_of(r).size() > 1) return "other dependences";
         if (r.solver == RelationshipSolver::iterative) return "--solver iterative";
         if (r.sparsify) return "--sparsify";
         return has_few_relatives(r) ? "a sparse one" : "";
       }},
      {{"--time-kernel", "--time-decay"}, "--time COLUMN", [](const Request& r) {
         return r.time.empty() ? "none" : "";
       }}};
  return rules;
}

const std::vector<EffectRule<DependenceRequest>>& id_rules() {
  static const std::vector<EffectRule<DependenceRequest>> rules = {
      {{"--id"},
       "--relationship FILE or --relationship-pcs FILE",
       [](const DependenceRequest& r) {
         return r.relationships.empty() && r.components.empty() ? "neither" : "";
       }}};
  return rules;
}

void add_parameter(CLI::App& verb, std::vector<double>& values) {
  add_list(verb, "--parameter", values,
           "Instead of the learned ones: rho, lambda, lambda and gamma, or the weights "
           "of a sum, comma-separated")
      ->check(number_in(0, kLargestDecay));
}

CLI::Option* add_seed(CLI::App& verb, std::uint64_t& seed, const std::string& help) {
  const auto check = in_range(
      std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max(), "an integer", "INT");
  return verb.add_option("--seed", seed, help)->check(check);
}

CLI::Option* add_device(CLI::App& verb, std::string& device) {
  return verb.add_option("--device", device, "Where to compute")
      ->check(one_of({"cpu", "cuda"}));
}

CLI::Option* add_overwrite(CLI::App& verb, bool& overwrite) {
  return verb.add_flag("--overwrite", overwrite,
                       "Replace an earlier result in the same place, all of it");
}

CLI::Option* add_threads(CLI::App& verb, std::int64_t& threads) {
  threads = std::max(1U, std::thread::hardware_concurrency());
  return verb.add_option("--threads", threads, "Threads of all arithmetic")
      ->check(integer_in(1, 4096));
}

void check_not_an_input(const std::string& out, const std::vector<std::string>& inputs,
                        const std::string& option) {
  for (const auto& input : inputs) {
    if (is_same(out, input)) {
      throw InputError(option + ": expected another file than the input, found " + out);
    }
    std::error_code ignored;
    if (fs::is_regular_file(out, ignored) && is_below(out, input)) {
      throw InputError(fmt::format("{}: expected no file of the input {}, found {}",
                                   option, input, out));
    }
  }
}

void check_outside(const std::string& out, const std::string& folder,
                   const std::string& option) {
  if (out.empty() || folder.empty() || !is_below(out, folder)) return;
  throw InputError(fmt::format(
      "{}: expected a place outside of the images {}, found {}", option, folder, out));
}

}  // namespace kinflow::cli
