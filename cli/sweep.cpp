// kinflow sweep: many fits at once, from a file that says what varies.
#include "kinflow/fit/sweep.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "commands.h"
#include "fit_options.h"
#include "kinflow/core/counted.h"
#include "kinflow/core/error.h"
#include "kinflow/core/input_file.h"
#include "kinflow/core/json_reader.h"
#include "kinflow/data/column_names.h"
#include "kinflow/data/suggest.h"
#include "kinflow/pages/sweep_page.h"
#include "usage_errors.h"
#include "write_report.h"

namespace kinflow::cli {
namespace {

using nlohmann::json;

const std::vector<std::string> kKeys = {"fixed", "cases", "grid"};
constexpr std::size_t kMostRuns = 1'000'000;

struct SweepGiven {
  std::string specification, out, resume, device = "cpu";
  std::int64_t threads = 1, most_replicas = 0;
  double checkpoint_seconds = SweepPlace{}.checkpoint_seconds;
  bool overwrite = false, no_report = false;
};

// Options of a run by name, in the order in which they are said.
using Options = std::vector<std::pair<std::string, json>>;

// One axis of the product of runs: each element says some options.
using Axis = std::vector<Options>;

std::string text_of(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return value.dump();
  std::vector<std::string> parts;
  for (const auto& part : value) parts.push_back(text_of(part));
  return join_names(parts);
}

// The words of a command line that say the options.
std::vector<std::string> words_of(const Options& options) {
  std::vector<std::string> words;
  for (const auto& [name, value] : options) {
    if (name == "table") {
      words.push_back(text_of(value));
    } else if (value.is_boolean()) {
      if (value.get<bool>()) words.push_back("--" + name);
    } else {
      words.push_back("--" + name);
      words.push_back(text_of(value));
    }
  }
  return words;
}

std::vector<std::string> names_without_dashes(const CLI::App& parser) {
  std::vector<std::string> names = {"table"};
  for (const auto* option : parser.get_options()) {
    for (const auto& name : option->get_lnames()) names.push_back(name);
  }
  return names;
}

// InputError for an option that a fit does not have, and for a value of the wrong kind.
void check_options(const CLI::App& parser, const Options& options) {
  for (const auto& [name, value] : options) {
    const auto* option =
        parser.get_option_no_throw(name == "table" ? name : "--" + name);
    if (option == nullptr) {
      throw InputError(fmt::format(
          "option '{}': expected one of 'kinflow fit' that decides its result, without "
          "dashes, found none of this name{}",
          name, did_you_mean(name, names_without_dashes(parser))));
    }
    const bool is_flag = option->get_items_expected_max() == 0;
    const bool is_empty = !value.is_boolean() && text_of(value).empty();
    if (is_flag == value.is_boolean() && !is_empty) continue;
    throw InputError(fmt::format("option '{}': expected {}, found {}", name,
                                 is_flag ? "true or false" : "a value", value.dump()));
  }
}

// A request from options, as `kinflow fit` would make it.
// @param idle  gets the options that have no effect in it
FitRequest request_from(const Options& options, std::vector<IdleOption>& idle) {
  CLI::App parser;
  parser.option_defaults()->always_capture_default();
  parser.set_help_flag();
  FitGiven given;
  add_fit_options(parser, given);
  check_options(parser, options);
  auto words = words_of(options);
  std::reverse(words.begin(), words.end());
  try {
    parser.parse(words);
  } catch (const CLI::ParseError& error) {
    throw InputError(usage_message(parser, error));
  }
  if (given.request.replicas.count == 0) given.request.replicas.count = 1;
  if (given.request.data.table.empty()) {
    throw InputError("expected a table, found none");
  }
  const auto request = given.resolve();
  idle = find_idle_fit_options(parser, {given, request});
  return request;
}

// Options are for all runs of a sweep: one that does nothing in some is no mistake, one
// that does nothing in any run is.
class EffectCounts {
 public:
  void add(const Options& options, const std::vector<IdleOption>& idle) {
    for (const auto& [name, ignored] : options) ++uses_["--" + name].runs;
    std::set<std::string> names;
    for (const auto& option : idle) {
      if (!names.insert(option.name).second) continue;
      auto& use = uses_[option.name];
      ++use.idle_runs;
      use.message = option.message;
    }
  }

  void check(const std::string& source) const {
    for (const auto& [name, use] : uses_) {
      if (use.idle_runs == 0 || use.idle_runs < use.runs) continue;
      throw InputError(fmt::format("{}: {}{}", source, use.message,
                                   use.runs > 1 ? " in all runs" : ""));
    }
  }

 private:
  struct Use {
    std::size_t runs = 0, idle_runs = 0;
    std::string message = {};
  };
  std::map<std::string, Use> uses_;
};

// InputError for an option that is fixed and yet set by every element of an axis.
void check_fixed(const Options& fixed, const std::vector<Axis>& axes,
                 const std::string& source) {
  for (const auto& option_of_all : fixed) {
    const auto& name = option_of_all.first;
    for (const auto& axis : axes) {
      const bool is_set =
          std::all_of(axis.begin(), axis.end(), [&](const Options& one) {
            return std::any_of(one.begin(), one.end(), [&](const auto& option) {
              return option.first == name;
            });
          });
      if (!is_set) continue;
      throw InputError(fmt::format(
          "{}: option '{}': expected in fixed, in the cases or in the grid, found in "
          "fixed and in {}, which has the last word in every run",
          source, name,
          axis.front().size() == 1 && axis.front().front().first == name
              ? "the grid"
              : "all cases"));
    }
  }
}

[[noreturn]] void fail(const std::string& source, const std::string& key,
                       const std::string& expected, const std::string& found) {
  throw InputError(
      fmt::format("{}: key '{}': expected {}, found {}", source, key, expected, found));
}

// The options of an object; `source` and `key` stand for its place in messages.
Options options_of(const json& from, const std::string& source,
                   const std::string& key) {
  if (!from.is_object()) fail(source, key, "an object of options", from.type_name());
  Options options;
  for (const auto& [name, value] : from.items()) {
    const bool is_plain = value.is_string() || value.is_number() || value.is_boolean();
    if (!is_plain && !value.is_array()) {
      fail(source, key + "." + name, "a text, a number, true, false or a list",
           value.type_name());
    }
    options.emplace_back(name, value);
  }
  return options;
}

void set(Options& options, const std::string& name, const json& value) {
  for (auto& [known, old] : options) {
    if (known != name) continue;
    old = value;
    return;
  }
  options.emplace_back(name, value);
}

std::vector<Axis> axes_of(const json& from, const std::string& source) {
  std::vector<Axis> axes;
  if (from.contains("cases")) {
    const auto& cases = from["cases"];
    if (!cases.is_array() || cases.empty()) {
      fail(source, "cases", "a list of objects", cases.dump().substr(0, 40));
    }
    auto& axis = axes.emplace_back();
    for (std::size_t i = 0; i < cases.size(); ++i) {
      axis.push_back(options_of(cases[i], source, fmt::format("cases[{}]", i)));
    }
  }
  if (from.contains("grid")) {
    for (const auto& [name, values] : options_of(from["grid"], source, "grid")) {
      if (!values.is_array() || values.empty()) {
        fail(source, "grid." + name, "a list of values", values.dump().substr(0, 40));
      }
      auto& axis = axes.emplace_back();
      for (const auto& value : values) axis.push_back({{name, value}});
    }
  }
  return axes;
}

// All runs of a specification: the product of its cases and its grid.
SweepRequest request_of(const json& from, const std::string& source) {
  if (!from.is_object()) {
    throw InputError(source + ": expected an object, found " + from.type_name());
  }
  for (const auto& [key, ignored] : from.items()) {
    if (std::find(kKeys.begin(), kKeys.end(), key) == kKeys.end()) {
      throw InputError(
          fmt::format("{}: expected the keys fixed, cases and grid, found '{}'{}",
                      source, key, did_you_mean(key, kKeys)));
    }
  }
  const auto fixed =
      from.contains("fixed") ? options_of(from["fixed"], source, "fixed") : Options();
  const auto axes = axes_of(from, source);
  SweepRequest request;
  std::map<std::string, const Axis*> axis_of_name;
  std::size_t count = 1;
  for (const auto& axis : axes) {
    count *= axis.size();
    if (count > kMostRuns) {
      throw InputError(
          fmt::format("{}: expected at most {} runs, found more", source, kMostRuns));
    }
    for (const auto& options : axis) {
      for (const auto& [name, ignored] : options) {
        const auto [place, is_new] = axis_of_name.emplace(name, &axis);
        if (is_new) request.names.push_back(name);
        if (place->second == &axis) continue;
        throw InputError(fmt::format(
            "{}: option '{}': expected in the cases or once in the grid, found in both",
            source, name));
      }
    }
  }
  check_fixed(fixed, axes, source);
  EffectCounts effects;
  for (std::size_t run = 0; run < count; ++run) {
    auto options = fixed;
    // The last axis varies fastest.
    for (std::size_t i = axes.size(), rest = run; i-- > 0; rest /= axes[i].size()) {
      for (const auto& [name, value] : axes[i][rest % axes[i].size()]) {
        set(options, name, value);
      }
    }
    SweepRun made;
    for (const auto& name : request.names) {
      std::string text;
      for (const auto& [known, value] : options) {
        if (known == name) text = text_of(value);
      }
      made.values.push_back(text);
    }
    try {
      std::vector<IdleOption> idle;
      made.request = request_from(options, idle);
      effects.add(options, idle);
    } catch (const InputError& error) {
      throw InputError(fmt::format("{}: run {}: {}", source, run + 1, error.what()));
    }
    request.runs.push_back(std::move(made));
  }
  effects.check(source);
  return request;
}

// What a sweep folder keeps, so that it can be resumed from anywhere.
json kept_specification(const json& runs, const std::string& device) {
  return {{"runs", runs},
          {"device", device},
          {"folder", std::filesystem::current_path().string()}};
}

void run(SweepGiven given, bool resume, bool has_device, Console& console) {
  if (resume != given.specification.empty() || resume != given.out.empty()) {
    throw InputError(
        "sweep: expected SPEC.json and --out DIR, or --resume DIR alone (see --help)");
  }
  if (resume && given.overwrite) {
    throw InputError("--overwrite: expected --out beside it, found --resume");
  }
  std::string source = given.specification, directory = given.out;
  json specification;
  if (resume) {
    directory = absolute(given.resume);
    source = directory + "/sweep.json";
    specification = read_sweep_specification(directory);
    const JsonReader reader(specification, source, "specification");
    if (!has_device) given.device = reader.text("device");
    std::error_code error;
    std::filesystem::current_path(reader.text("folder"), error);
    if (error) {
      throw InputError(
          fmt::format("{}: expected the folder that the sweep began in, "
                      "found: {}",
                      reader.text("folder"), error.message()));
    }
    reader.object("runs");
  } else {
    specification = kept_specification(
        parse_json(read_whole_file(given.specification), given.specification),
        given.device);
  }
  auto request = request_of(specification["runs"], source);
  request.specification = specification;
  request.most_replicas = given.most_replicas;
  for (auto& made : request.runs) {
    made.request.threads = given.threads;
    made.request.device = given.device;
  }
  const auto result = sweep(request,
                            {.directory = directory,
                             .resume = resume,
                             .overwrite = given.overwrite,
                             .checkpoint_seconds = given.checkpoint_seconds,
                             .stop = &stop_requested(kStopsAfterEpoch)},
                            console);
  if (result.best.empty()) {
    throw NumericalError(directory + ": all runs failed; results.csv says why");
  }
  std::vector<std::string> best;
  for (const auto& one : result.best) {
    best.push_back(fmt::format("best run {} with {} {:.4f} nats in {}", one.run + 1,
                               valid_score_label(one.score), one.valid_nll_nats,
                               one.directory));
  }
  fmt::print("{}: {}{}, {}, {:.1f} s\n", directory, counted(result.runs, "run"),
             result.failed > 0 ? fmt::format(" ({} failed)", result.failed) : "",
             fmt::join(best, "; "), result.seconds);
  if (given.no_report) return;
  write_report(
      report_in(directory), [&] { return sweep_page(directory); }, console);
}

}  // namespace

void add_sweep(CLI::App& app, Console& console) {
  auto given = std::make_shared<SweepGiven>();
  auto* verb = app.add_subcommand("sweep", "Train many flows at once");
  verb->add_option("spec", given->specification,
                   "JSON file: what is fixed, and what varies (docs/cli.md)");
  verb->add_option("--out", given->out, "Folder to make");
  add_overwrite(*verb, given->overwrite);
  add_no_report(*verb, given->no_report);
  auto* resume = verb->add_option("--resume", given->resume,
                                  "Go on with a sweep that was interrupted");
  auto* device = verb->add_option("--device", given->device,
                                  "Where to compute (resumed: as before)");
  device->check(one_of({"cpu", "cuda"}));
  add_threads(*verb, given->threads);
  verb->add_option("--replicas", given->most_replicas,
                   "Most flows trained side by side; 0: as memory allows")
      ->check(integer_in(0, 1'000'000));
  verb->add_option("--checkpoint-seconds", given->checkpoint_seconds,
                   "Time between two checkpoints; 0: after every epoch")
      ->check(number_in(0, 1e9));
  verb->callback([given, verb, resume, device, &console] {
    // What is trained side by side was settled when the sweep began.
    check_effects(*verb, {idle_beside({"--replicas"}, "--resume")}, *verb);
    run(*given, resume->count() > 0, device->count() > 0, console);
  });
}

}  // namespace kinflow::cli
