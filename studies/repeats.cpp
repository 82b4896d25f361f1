// Real tables of repeat measurements: flows with and without their groups, beside a
// mixed model.
#include <fmt/format.h>

#include <map>

#include "kinflow/array/device.h"
#include "kinflow/core/atomic_file.h"
#include "kinflow/core/json_reader.h"
#include "kinflow/fit/run_folder.h"
#include "studies/experiments.h"
#include "studies/repeat_report.h"
#include "studies/repeat_trial.h"
#include "studies/study_parts.h"

namespace kinflow {
namespace {

using nlohmann::json;

constexpr double kLimit = 1e300;

json to_json(const RepeatTrial& trial) {
  json scores = json::array();
  for (const auto& score : trial.scores) {
    scores.push_back({{"method", score.method},
                      {"rows", score.rows},
                      {"groups", score.groups},
                      {"joint", score.joint},
                      {"given", score.given}});
  }
  return {{"table", trial.table},
          {"seed", trial.seed},
          {"train_groups", trial.train_groups},
          {"train_rows", trial.train_rows},
          {"test_groups", trial.test_groups},
          {"test_rows", trial.test_rows},
          {"next_rows", trial.next_rows},
          {"scores", std::move(scores)},
          {"dependence", trial.dependence},
          {"logarithms_of_next", trial.logarithms_of_next}};
}

RepeatTrial trial_from(const json& found, const std::string& source) {
  const JsonReader reader(found, source);
  const auto count = [&](const char* key) { return reader.integer(key, 0, INT64_MAX); };
  RepeatTrial trial{
      .table = reader.text("table"),
      .seed = reader.seed("seed"),
      .train_groups = count("train_groups"),
      .train_rows = count("train_rows"),
      .test_groups = count("test_groups"),
      .test_rows = count("test_rows"),
      .next_rows = count("next_rows"),
      .scores = {},
      .dependence = reader.text("dependence"),
      .logarithms_of_next = reader.number("logarithms_of_next", -kLimit, kLimit)};
  for (const auto& score : reader.objects("scores")) {
    const auto number = [&](const char* key) {
      return score.number(key, -kLimit, kLimit);
    };
    trial.scores.push_back({.method = score.text("method"),
                            .rows = number("rows"),
                            .groups = number("groups"),
                            .joint = number("joint"),
                            .given = number("given")});
  }
  return trial;
}

const char* const kLegend =
    "\nEvery seed is a split: 30% of the groups are held out, and those of them with "
    "several rows are scored. There is no validation table. Flows are `kinflow fit` "
    "with its defaults, with the groups (`--group`) and without (`--independent`). The "
    "*random-intercept normal* has a full covariance between groups and one within, by "
    "maximum likelihood. *Next rows* of patients (pbcseq) are their last visits, given "
    "all earlier ones; of schools (MathAchieve) a random half of the pupils, given the "
    "other half. Independent flows have nothing to learn from earlier rows. Means over "
    "the splits, ± one standard error; the splits overlap, so that errors between "
    "tables of other people would be larger.\n\n";

const char* const kLeftOut =
    "\nLeft out by --quick: eight of ten splits unless --splits says otherwise; three "
    "of five folds, 12 of 16 flows of each, and 90 of 100 epochs.\n";

}  // namespace

ExperimentReport reproduce_repeats(const ExperimentOptions& options,
                                   const RepeatsSource& source, Logger& logger) {
  const auto tables = chosen_repeat_tables(source.tables);
  std::vector<TableRows> rows;
  json hashes = json::object();
  std::vector<std::string> names;
  for (const auto& table : tables) {
    rows.push_back(read_repeats(table, source.folder));
    for (const auto seed : seeds_of(options)) {
      split_repeats(rows.back(), seed, source.folder + "/" + table.file);
    }
    hashes[table.file] = file_hash(source.folder + "/" + table.file);
    names.push_back(table.name);
  }
  // Parts run beside each other, each in one thread, and nobody could tell whose
  // messages they are.
  set_threads(1);
  Logger silent;
  std::vector<StudyPart> parts;
  for (const auto seed : seeds_of(options)) {
    for (std::size_t i = 0; i < tables.size(); ++i) {
      parts.push_back({fmt::format("{}-{}", tables[i].name, seed), [&, i, seed] {
                         return to_json(run_repeat_trial(options, tables[i], rows[i],
                                                         seed, silent));
                       }});
    }
  }
  const auto place =
      study_place(options, "repeats", {{"tables", names}, {"data", hashes}});
  const StudyFolder folder(place.directory, place.description, place.overwrite);
  const auto results = run_parts(parts, folder, options, logger);
  std::vector<RepeatTrial> trials;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    trials.push_back(trial_from(results[i], folder.path_of(parts[i].name)));
  }
  ExperimentReport report;
  report.markdown = heading("Repeat measurements", options) +
                    provenance(options, "repeats", folder.seconds()) +
                    (options.quick ? kLeftOut : "") + kLegend +
                    repeats_report(tables, trials);
  write_file_atomically(options.directory + "/scores.csv", repeats_as_csv(trials));
  write_report(options, "repeats", report);
  return report;
}

}  // namespace kinflow
