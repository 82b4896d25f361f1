// A run folder's record in plain words.
#include "kinflow/pages/run_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "kinflow/core/error.h"
#include "kinflow/core/json_reader.h"
#include "kinflow/core/version.h"
#include "kinflow/pages/record_lookup.h"
#include "kinflow/pages/repeat_command.h"
#include "kinflow/pages/strength_words.h"

namespace kinflow {
namespace {

constexpr double kFewUnits = 30;
constexpr double kSmallWorth = 50;

const nlohmann::json& request_of(const RunRecord& run) {
  static const nlohmann::json kNone = nlohmann::json::object();
  const auto found = run.record.find("request");
  return found != run.record.end() ? *found : kNone;
}

std::string plural(double count, const std::string& one) {
  return with_commas(count) + " " + one + (count == 1 ? "" : "s");
}

std::vector<std::string> fitted(const RunRecord& run) {
  const auto& request = request_of(run);
  const auto members = found_at(run.record, "/result/members").size();
  const auto columns = texts_at(run.record, "/result/columns");
  const auto asked = texts_at(request, "/data/columns");
  const auto rows = number_at(run.record, "/result/train_rows");
  auto names = columns.empty() ? asked : columns;
  for (auto& name : names) name = name_in_quotes(name);
  const auto folds = number_at(run.record, "/result/cross_validation/folds");
  auto text = fmt::format(
      "The distribution of {}{}, from {} of {}.",
      names.empty()
          ? "the table\u2019s columns"
          : (names.size() == 1 ? "the column " : "the columns ") + listed(names),
      texts_at(request, "/data/context").empty()
          ? ""
          : " given " + listed(texts_at(request, "/data/context")),
      std::isfinite(rows) ? plural(rows, "row") : std::string("the rows"),
      last_name(text_at(request, "/data/table", "the table")));
  std::vector<std::string> lines{text};
  if (const auto bounds = texts_at(request, "/data/bounds"); !bounds.empty()) {
    lines.push_back("Values and draws lie within the bounds " + listed(bounds) + ".");
  }
  if (!run.is_finished()) return lines;
  const auto flows = number_at(request, "/replicas/count", 0);
  std::string how = members > 1
                        ? fmt::format("The model is a mixture of {} flows", members)
                        : std::string("The model is one flow");
  if (std::isfinite(folds)) {
    how += fmt::format(
        ": in each of {:.0f} folds {} trained on the other rows, and those that "
        "described the held-out rows best were kept.",
        folds, flows > 1 ? fmt::format("{:.0f} flows were", flows) : "flows were");
  } else if (flows > 1) {
    how +=
        fmt::format(", the best of {:.0f} by rows that it was not trained on.", flows);
  } else {
    how += ".";
  }
  lines.push_back(how);
  const auto mixture = found_at(run.record, "/result/row_mixture");
  if (number_at(mixture, "/row_flows_of_fold", 0) > 0) {
    lines.push_back(fmt::format(
        "Single rows have the density of another mixture, of {:.0f} of these flows and "
        "{:.0f} of an ordinary fit for each fold, which describes held-out rows "
        "better: "
        "with these flows alone the cross-validated NLL is {:.3f}.",
        number_at(mixture, "/members_of_fold", 0),
        number_at(mixture, "/row_flows_of_fold"),
        number_at(mixture, "/nll_nats_of_members")));
  }
  return lines;
}

void watch_numbers(const RunRecord& run, nlohmann::json& watch) {
  const auto& request = request_of(run);
  const auto validated = found_at(run.record, "/result/cross_validation");
  const double units = number_at(validated, "/units");
  const double worth = number_at(validated, "/worth_of_rows");
  const bool depends = !dependence_in_words(request).empty();
  if (units < kFewUnits) {
    watch.push_back(watch_line(
        "warn",
        fmt::format("The rows fall into only {:.0f} units that are "
                    "independent of each other: the score, its standard error and "
                    "the strength of the dependence are uncertain.",
                    units)));
  }
  if (depends && worth < kSmallWorth) {
    watch.push_back(watch_line(
        "warn",
        fmt::format(
            "For the mean of the population, the rows are worth only {} "
            "independent ones (\u03ba), and its location is known no better than "
            "from these.",
            in_prose(worth))));
  }
  const double best = number_at(run.record, "/result/best_epoch"),
               asked = number_at(request, "/train/epochs"),
               done = number_at(run.record, "/result/epochs");
  if (best == 0) {
    watch.push_back(watch_line(
        "warn", "The best epoch is 0: training brought nothing on held-out rows."));
  } else if (std::isfinite(asked) && done >= asked && best > 0.95 * asked) {
    watch.push_back(watch_line(
        "warn", fmt::format("The best epoch is {:.0f} of {:.0f}: more --epochs may "
                            "give a better flow.",
                            best, asked)));
  }
  const double lost = number_at(run.record, "/result/lost_replicas", 0),
               skipped = number_at(run.record, "/result/skipped_steps", 0);
  if (lost > 0) {
    watch.push_back(watch_line(
        "warn", plural(lost, "flow") + " diverged for good and were left out."));
  }
  if (skipped > 0) {
    watch.push_back(watch_line("warn", plural(skipped, "step") +
                                           " of the training gave no finite number and "
                                           "were skipped."));
  }
  if (const double dropped = number_at(run.record, "/result/dropped_rows", 0);
      dropped > 0) {
    watch.push_back(watch_line(
        "warn", plural(dropped, "row") + " with missing values were left out."));
  }
  if (const auto why = text_at(run.record, "/result/inference/why_no_errors");
      depends && !why.empty()) {
    watch.push_back(watch_line(
        "missing",
        "The strength of the dependence has no standard errors: " + why + "."));
  }
  if (!depends && !run.is_of_images && text_at(request, "/data/fold_by").empty()) {
    watch.push_back(watch_line(
        "missing",
        "Nothing is known of how rows depend. If some belong together, say so by "
        "--group, --relationship or --time, and compare."));
  }
}

void watch_state(const RunRecord& run, nlohmann::json& watch) {
  if (!run.problem.empty()) {
    watch.push_back(watch_line("missing", run.problem));
    return;
  }
  const auto status = text_at(run.record, "/status");
  if (status == "running") {
    watch.push_back(watch_line(
        "warn", "The run is not finished. \u2018kinflow fit --resume " + run.directory +
                    "\u2019 goes on with it, unless a process is at work in it."));
  } else if (status == "failed") {
    watch.push_back(
        watch_line("warn", "The run failed: " + text_at(run.record, "/error", "?")));
  }
}

void add_score(const RunRecord& run, nlohmann::json& facts) {
  const auto result = found_at(run.record, "/result");
  const double nll = number_at(result, "/cross_validation/nll_nats");
  if (std::isfinite(nll)) {
    facts.push_back(fact(
        "cross-validated NLL", fmt::format("{:.3f}", nll),
        fmt::format("nats a row, standard error {}; {} units held out in {:.0f} folds",
                    in_prose(number_at(result, "/cross_validation/standard_error"), 2),
                    with_commas(number_at(result, "/cross_validation/units")),
                    number_at(result, "/cross_validation/folds"))));
    return;
  }
  for (const auto& [key, label] :
       {std::pair{"/valid_nll_nats", "validation NLL"},
        std::pair{"/valid_weighted_nll_nats", "validation NLL, weighted rows"}}) {
    const double value = number_at(result, key);
    if (!std::isfinite(value)) continue;
    const double images = number_at(result, "/valid_images");
    const double rows = number_at(result, "/valid_rows");
    facts.push_back(fact(label, fmt::format("{:.3f}", value),
                         "nats, of " + (std::isfinite(images) ? plural(images, "image")
                                                              : plural(rows, "row"))));
  }
  if (const double bits = number_at(result, "/valid_bits_per_dimension");
      std::isfinite(bits)) {
    facts.push_back(fact("bits per dimension", fmt::format("{:.3f}", bits),
                         "of validation images"));
  }
}

// How images of one person are taken to depend on each other.
std::string people_in_words(const nlohmann::json& request) {
  const auto schedule = text_at(request, "/train/schedule", "joint");
  if (schedule == "baseline") {
    return "Images were taken as independent. People with many images count for as "
           "much "
           "as they have images.";
  }
  const auto correlation = text_at(request, "/train/correlation", "per-block");
  const bool is_shared = schedule == "grid" || correlation == "shared";
  const std::string whose =
      is_shared ? "all people have the same \u03c1"
      : correlation == "per-latent"
          ? "every channel of the flow\u2019s latents has a \u03c1 of its own, the "
            "same "
            "for all people"
          : "each person with several images has a \u03c1 of their own";
  return fmt::format(
      "Images of one person are correlated: {}, so that somebody with many images does "
      "not count for so much more than somebody with one.",
      whose);
}

void add_image_words(const RunRecord& run, nlohmann::json& document) {
  const auto result = found_at(run.record, "/result");
  const auto& request = request_of(run);
  document["words"].push_back(words_under(
      "What was fitted",
      {fmt::format("A flow of images, from {} of {} in {}.",
                   plural(number_at(result, "/train_images"), "image"),
                   with_commas(number_at(result, "/train_people")) + " people",
                   last_name(text_at(request, "/data/path", "the folder")))}));
  document["words"].push_back(
      words_under("How it treats people", {people_in_words(request)}));
  document["facts"].push_back(
      fact("images", with_commas(number_at(result, "/train_images")),
           "of " + with_commas(number_at(result, "/train_people")) + " people"));
}

void add_table_words(const RunRecord& run, nlohmann::json& document) {
  auto& words = document["words"];
  words.push_back(words_under("What was fitted", fitted(run)));
  words.push_back(
      words_under("How strong the dependence is", strength_in_words(run.record)));
  const auto result = found_at(run.record, "/result");
  const double rows = number_at(result, "/train_rows"),
               worth = number_at(result, "/cross_validation/worth_of_rows");
  if (std::isfinite(rows)) {
    document["facts"].push_back(
        fact("rows", with_commas(rows),
             std::isfinite(worth)
                 ? fmt::format("worth {} independent rows (\u03ba)", in_prose(worth))
                 : ""));
  }
}

std::string time_taken(const RunRecord& run) {
  const double seconds = number_at(run.record, "/seconds");
  if (!std::isfinite(seconds)) return "";
  if (seconds < 90) return fmt::format("{:.1f} s", seconds);
  if (seconds < 5400) return fmt::format("{:.1f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

void add_provenance(const RunRecord& run, nlohmann::json& document) {
  auto& rows = document["provenance"];
  const auto add = [&](const std::string& name, const std::string& value) {
    if (!value.empty()) rows.push_back({name, value});
  };
  const auto& record = run.record;
  add("run folder", run.path);
  add("made by", "kinflow " + text_at(record, "/kinflow_version", "?") + " (" +
                     text_at(record, "/commit", "?") + ")");
  add("table", text_at(record, "/request/data/table") +
                   (text_at(record, "/data_hash").empty()
                        ? ""
                        : "  " + text_at(record, "/data_hash")));
  const auto valid = text_at(record, "/request/data/valid_table");
  const auto valid_hash = text_at(record, "/valid_hash");
  add("validation",
      valid + (valid.empty() || valid_hash.empty() ? "" : "  ") + valid_hash);
  const auto hashes = found_at(record, "/dependence_hashes");
  if (hashes.is_object()) {
    for (const auto& [path, hash] : hashes.items()) {
      if (hash.is_string()) add("dependence", path + "  " + hash.get<std::string>());
    }
  }
  const double seed = number_at(record, "/request/train/seed");
  if (std::isfinite(seed)) add("seed", fmt::format("{:.0f}", seed));
  add("time taken", time_taken(run));
  document["options"] = flattened(found_at(record, "/request"));
  if (run.record.contains("request")) {
    document["commands"] = {run.is_of_images
                                ? repeat_image_fit_command(record, run.directory)
                                : repeat_fit_command(record, run.directory)};
  }
}

}  // namespace

std::string RunRecord::model_path() const {
  return path.ends_with(".safetensors") ? path : file("model.safetensors");
}

bool RunRecord::is_finished() const { return text_at(record, "/status") == "finished"; }

RunRecord read_run_record(const std::string& path) {
  RunRecord run{.path = path, .directory = path};
  while (run.directory.size() > 1 && run.directory.back() == '/') {
    run.directory.pop_back();
  }
  if (path.ends_with(".safetensors")) {
    const auto parent = std::filesystem::path(path).parent_path().string();
    run.directory = parent.empty() ? "." : parent;
  }
  const auto text = file_content(run.file("run.json"));
  std::error_code ignored;
  if (text.empty() && !std::filesystem::exists(run.file("run.json"), ignored)) {
    run.problem = "run.json is not there: options, data and scores are not known.";
    return run;
  }
  try {
    auto record = parse_json(text, "run.json");
    if (!record.is_object()) throw InputError("run.json: expected an object");
    run.record = std::move(record);
    run.is_of_images = text_at(run.record, "/kind") == "images";
  } catch (const std::exception& error) {
    run.problem = std::string("run.json cannot be read: ") + error.what();
  }
  return run;
}

nlohmann::json watch_line(const std::string& level, const std::string& text) {
  return {{"level", level}, {"text", text}};
}

nlohmann::json words_under(const std::string& heading,
                           const std::vector<std::string>& lines) {
  return {{"heading", heading}, {"text", lines}};
}

nlohmann::json fact(const std::string& label, const std::string& value,
                    const std::string& note) {
  return {{"label", label}, {"value", value}, {"note", note}};
}

nlohmann::json empty_document(const std::string& kind, const std::string& title) {
  const auto list = nlohmann::json::array();
  return {{"kind", kind},
          {"title", title},
          {"subtitle", ""},
          {"facts", list},
          {"words", list},
          {"watch", list},
          {"sections", list},
          {"commands", list},
          {"provenance", list},
          {"options", list},
          {"footer", fmt::format("Page by kinflow {} ({}). It opens from disk, holds "
                                 "all it shows and reaches for nothing else.",
                                 version(), commit())}};
}

nlohmann::json run_document(const RunRecord& run) {
  auto document = empty_document(
      run.is_of_images ? "kinflow \u00b7 fit of images" : "kinflow \u00b7 fit",
      last_name(run.directory));
  watch_state(run, document["watch"]);
  if (!run.problem.empty()) return document;
  add_score(run, document["facts"]);
  if (run.is_of_images) {
    add_image_words(run, document);
  } else {
    document["subtitle"] =
        fmt::format("{}{}", last_name(text_at(request_of(run), "/data/table", "")),
                    dependence_in_words(request_of(run)).empty()
                        ? ", rows taken as independent"
                        : ", rows that depend on each other through " +
                              dependence_in_words(request_of(run)));
    add_table_words(run, document);
  }
  if (run.is_finished()) watch_numbers(run, document["watch"]);
  add_provenance(run, document);
  return document;
}

}  // namespace kinflow
