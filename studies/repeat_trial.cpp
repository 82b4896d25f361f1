// Fits through run folders, and scores as `kinflow evaluate` has them.
#include "studies/repeat_trial.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>

#include "kinflow/array/array.h"
#include "kinflow/array/array_numbers.h"
#include "kinflow/core/error.h"
#include "kinflow/core/size.h"
#include "kinflow/data/write_table.h"
#include "kinflow/evaluate/likelihood.h"
#include "kinflow/fit/fit.h"
#include "kinflow/fit/run_folder.h"
#include "studies/methods.h"
#include "studies/random_intercept.h"

namespace kinflow {
namespace {

using namespace repeat_method;

constexpr double kCheckpointSeconds = 60;
// What --quick has of a fit.
constexpr std::int64_t kQuickFolds = 2, kQuickReplicas = 4, kQuickEpochs = 10;

// The held-out rows, by what is asked of them.
struct TestRows {
  TableRows all, given, next;
};

double mean_nll(const Array& log_densities) {
  return -log_densities.mean().item<double>();
}

RepeatScore score_of_rows(const std::string& method, const Array& log_densities,
                          const TestRows& test) {
  return {.method = method,
          .rows = mean_nll(log_densities),
          .groups = -mean_over_groups(numbers_of(log_densities), test.all.labels)};
}

FitRequest request_for(const ExperimentOptions& options, const RepeatTable& table,
                       const std::string& path, bool is_adjusted, std::uint64_t seed) {
  MethodSettings settings;
  settings.seed = seed;
  settings.device = options.device;
  if (is_adjusted) settings.dependence.group = table.group;
  auto request =
      (is_adjusted ? cross_fit(settings) : ordinary_fit(settings)).runs.front();
  request.data.table = std::filesystem::absolute(path);
  request.data.columns = table.columns;
  if (options.quick) {
    request.data.folds = kQuickFolds;
    request.replicas.count = kQuickReplicas;
    request.train.epochs = kQuickEpochs;
  }
  return request;
}

Model fitted(const FitRequest& request, const std::string& directory,
             const std::atomic<bool>* stop, Logger& logger) {
  const bool is_there = std::filesystem::exists(directory + "/run.json");
  if (!is_there || !run_is_finished(directory)) {
    fit(request,
        {.directory = directory,
         .resume = is_there,
         .checkpoint_seconds = kCheckpointSeconds,
         .stop = stop},
        logger);
  }
  return load_model(model_path_of(directory), nd::kCPU, nd::kDouble);
}

// How rows depend by groups, as a model completes it.
struct GroupedRows {
  DependenceRequest request;
  RowRelations relations;
};

GroupedRows by_group(const Model& model, const TableRows& rows) {
  DependenceRequest wanted;
  wanted.group = model.dependence.column;
  GroupedRows grouped{.request = model.dependence.request_for_new_rows(wanted, {}),
                      .relations = {}};
  grouped.relations = read_relations(grouped.request, rows, "held-out groups");
  return grouped;
}

RepeatScore score_adjusted(const Model& model, const TestRows& test, Logger& logger) {
  auto all = by_group(model, test.all);
  const auto laws =
      make_row_laws(model, all.request, std::move(all.relations), {}, logger);
  const auto likelihood = evaluate_likelihood(model, test.all, &laws);
  auto score = score_of_rows(kGroup, likelihood.row_log_density_nats, test);
  score.joint =
      -*likelihood.joint_log_density_nats / static_cast<double>(test.all.data.size(0));
  auto both = by_group(model, append_rows(test.given, test.next));
  const auto observed_laws = make_first_row_laws(model, both.request, both.relations,
                                                 test.given.data.size(0), {}, logger);
  const auto both_laws =
      make_row_laws(model, both.request, std::move(both.relations), {}, logger);
  score.given = evaluate_given(model, test.given, test.next, both_laws,
                               observed_laws ? &*observed_laws : nullptr)
                    .mean_nll_nats;
  return score;
}

RepeatScore score_independent(const Model& model, const TestRows& test) {
  auto score =
      score_of_rows(kIndependent, model.row_log_density(test.all.data, {}), test);
  score.joint = score.rows;
  score.given = mean_nll(model.row_log_density(test.next.data, {}));
  return score;
}

RepeatScore score_normal(const TableRows& train, const TestRows& test) {
  const auto groups_of = [](const std::vector<std::string>& labels) {
    return number_blocks(labels).block_of_row;
  };
  const auto model = most_likely_random_intercept(train.data, groups_of(train.labels));
  auto score = score_of_rows(kNormal, row_log_density(model, test.all.data), test);
  score.joint = -joint_log_density(model, test.all.data, groups_of(test.all.labels)) /
                static_cast<double>(test.all.data.size(0));
  const auto both = groups_of(append_rows(test.given, test.next).labels);
  const auto first_next = both.begin() + test.given.data.size(0);
  score.given =
      mean_nll(row_log_density_given(model, test.given.data, {both.begin(), first_next},
                                     test.next.data, {first_next, both.end()}));
  return score;
}

void check_finite(const RepeatTrial& trial) {
  for (const auto& score : trial.scores) {
    if (std::isfinite(score.rows + score.groups + score.joint + score.given)) continue;
    throw NumericalError(fmt::format("{}, seed {}: an NLL of '{}' is not finite",
                                     trial.table, trial.seed, score.method));
  }
}

// Where the rows have left a choice open.
std::string chosen_dependence(const Model& model) {
  const nlohmann::json::json_pointer chosen("/dependence_choice/chosen");
  return model.record.contains(chosen)
             ? model.record.at(chosen).get<std::string>()
             : "correlation " + name_of(block_correlation_names(),
                                        std::optional(BlockCorrelation::shared));
}

}  // namespace

std::vector<std::string> repeat_methods() { return {kGroup, kIndependent, kNormal}; }

const RepeatScore& RepeatTrial::score_of(const std::string& method) const {
  for (const auto& score : scores) {
    if (score.method == method) return score;
  }
  throw InputError(fmt::format(
      "{}, seed {}: expected scores of '{}', found none; remove the folder and start "
      "anew",
      table, seed, method));
}

double mean_over_groups(const std::vector<double>& of_rows,
                        const std::vector<std::string>& labels) {
  const auto groups = number_blocks(labels);
  double sum = 0;
  for (std::size_t row = 0; row < of_rows.size(); ++row) {
    sum += of_rows[row] /
           static_cast<double>(groups.size_of_block[to_size(groups.block_of_row[row])]);
  }
  return sum / static_cast<double>(groups.size_of_block.size());
}

RepeatTrial run_repeat_trial(const ExperimentOptions& options, const RepeatTable& table,
                             const TableRows& rows, std::uint64_t seed,
                             Logger& logger) {
  const auto split = split_repeats(rows, seed, table.file);
  const auto train = select_rows(rows, split.train);
  const TestRows test{.all = select_rows(rows, split.test),
                      .given = select_rows(rows, split.given),
                      .next = select_rows(rows, split.next)};
  const auto groups = [](const TableRows& some) {
    return std::ssize(number_blocks(some.labels).size_of_block);
  };
  RepeatTrial trial{.table = table.name,
                    .seed = seed,
                    .train_groups = groups(train),
                    .train_rows = train.data.size(0),
                    .test_groups = groups(test.all),
                    .test_rows = test.all.data.size(0),
                    .next_rows = test.next.data.size(0)};
  const auto name = fmt::format("{}-{}", table.name, seed);
  const auto data = options.directory + "/data";
  std::filesystem::create_directories(data);
  const auto path = fmt::format("{}/{}.csv", data, name);
  write_table(path, table.columns, numbers_of(train.data),
              {{table.group, train.labels}});
  const auto fit_one = [&](const char* ending, bool is_adjusted) {
    return fitted(request_for(options, table, path, is_adjusted, seed),
                  fmt::format("{}/trainings/{}-{}", options.directory, name, ending),
                  options.stop, logger);
  };
  const auto adjusted = fit_one("group", true);
  trial.dependence = chosen_dependence(adjusted);
  trial.scores.push_back(score_adjusted(adjusted, test, logger));
  trial.scores.push_back(score_independent(fit_one("independent", false), test));
  trial.scores.push_back(score_normal(train, test));
  if (!table.takes_logarithms && test.next.data.gt(0).all().item<bool>()) {
    trial.logarithms_of_next = test.next.data.log().sum(1).mean().item<double>();
  }
  check_finite(trial);
  return trial;
}

}  // namespace kinflow
