// Scores in place of latents, held-out blocks, and the likelihood of all rows.
#include "kinflow/fit/choose_dependence.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "kinflow/array/array.h"
#include "kinflow/array/device.h"
#include "kinflow/core/error.h"
#include "kinflow/core/random.h"
#include "kinflow/data/folds.h"
#include "kinflow/data/table.h"
#include "kinflow/dependence/blocks.h"
#include "kinflow/dependence/correlation_distribution.h"
#include "kinflow/dependence/per_latent.h"
#include "kinflow/dependence/placement.h"
#include "kinflow/engine/latent_map_start.h"
#include "kinflow/fit/training_group.h"

namespace kinflow {
namespace {

constexpr std::int64_t kFolds = 5;
// With fewer blocks of two rows and more, how they differ cannot be seen.
constexpr std::int64_t kFewestBlocks = 10;
// More do not change the choice and take time.
constexpr std::int64_t kMostBlocksTimesColumns = 3000;
// In nats a row: what a richer structure must gain at least.
constexpr double kSmallestGain = 0.001;
// More rows of one block say little of how blocks differ.
constexpr std::int64_t kMostRowsOfBlock = 30;

struct BlockCandidate {
  BlockCorrelation correlation;
  CorrelationDifferences has;
};

// The simpler first.
std::vector<BlockCandidate> block_candidates(std::int64_t columns) {
  std::vector<BlockCandidate> all = {{BlockCorrelation::shared, {}}};
  const auto add = [&](BlockCorrelation correlation, bool latents, bool blocks) {
    if (latents && columns == 1) return;
    all.push_back(
        {correlation, {.between_latents = latents, .between_blocks = blocks}});
  };
  add(BlockCorrelation::per_latent, true, false);
  add(BlockCorrelation::per_block, false, true);
  add(BlockCorrelation::per_block_and_latent, true, true);
  return all;
}

// Columns as a flow's latents would be if each column by itself were all there is.
Array scores_of(const FitRequest& request, const TableRows& rows,
                const Dependence& law) {
  const auto worth = usual_worth(request, law);
  auto by = Standardization::from(rows.data, worth, rows.bounds);
  by = by.with_scores(rows.data, worth, worth.sum().item<double>()).value_or(by);
  return by.apply(rows.data);
}

// Some rows of some of the blocks that have several.
struct SomeBlocks {
  Array rows;                               // int64, of the table
  std::vector<std::int64_t> block_of_row;   // of these rows, 0 .. blocks - 1
  std::vector<std::int64_t> rows_of_block;  // at least 2
};

SomeBlocks take_some(const std::vector<std::string>& labels, std::int64_t most_blocks,
                     Random random) {
  const auto numbers = number_blocks(labels);
  std::vector<std::int64_t> blocks;
  for (std::size_t b = 0; b < numbers.size_of_block.size(); ++b) {
    if (numbers.size_of_block[b] > 1) blocks.push_back(static_cast<std::int64_t>(b));
  }
  auto order = random.permutation(std::ssize(blocks));
  if (std::ssize(order) > most_blocks) {
    order.resize(static_cast<std::size_t>(most_blocks));
  }
  std::vector<std::int64_t> place(numbers.size_of_block.size(), -1);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto block = blocks[static_cast<std::size_t>(order[i])];
    place[static_cast<std::size_t>(block)] = static_cast<std::int64_t>(i);
  }
  SomeBlocks some{.rows = {},
                  .block_of_row = {},
                  .rows_of_block = std::vector<std::int64_t>(order.size(), 0)};
  std::vector<std::int64_t> chosen, seen(order.size(), 0);
  for (std::size_t row = 0; row < labels.size(); ++row) {
    const auto of_table = static_cast<std::size_t>(numbers.block_of_row[row]);
    if (place[of_table] < 0) continue;
    const auto b = static_cast<std::size_t>(place[of_table]);
    // Of a large block rows that lie equally far apart.
    const auto size = numbers.size_of_block[of_table], turn = seen[b]++;
    const auto wanted = std::min(size, kMostRowsOfBlock);
    if (turn > 0 && turn * wanted / size == (turn - 1) * wanted / size) continue;
    chosen.push_back(static_cast<std::int64_t>(row));
    some.block_of_row.push_back(place[of_table]);
    ++some.rows_of_block[b];
  }
  some.rows = nd::tensor(chosen, nd::kLong);
  return some;
}

// Held-out log-densities of the blocks under every candidate, [candidates][blocks].
std::vector<std::vector<double>> score_blocks(
    const Array& scores, const SomeBlocks& some,
    const std::vector<BlockCandidate>& candidates, std::uint64_t seed) {
  std::vector<double> worth;
  for (const auto size : some.rows_of_block) {
    worth.push_back(usual_worth_of_unit(size));
  }
  const auto fold_of_block = deal_units(worth, kFolds, seed);
  std::vector<std::vector<double>> result(candidates.size(),
                                          std::vector<double>(worth.size(), 0));
  const auto columns = scores.size(1);
  for (std::int64_t fold = 0; fold < kFolds; ++fold) {
    auto train_blocks = some.block_of_row, held_out = some.block_of_row;
    std::vector<std::int64_t> train_rows;
    for (std::size_t i = 0; i < some.block_of_row.size(); ++i) {
      const bool is_out =
          fold_of_block[static_cast<std::size_t>(some.block_of_row[i])] == fold;
      (is_out ? train_blocks : held_out)[i] = -1;
      if (!is_out) train_rows.push_back(static_cast<std::int64_t>(i));
    }
    const auto train = nd::tensor(train_rows, nd::kLong);
    const Blocks law(nd::tensor(some.block_of_row, nd::kLong).index_select(0, train));
    const auto map =
        latent_map_start(law, scores.index_select(0, train),
                         law.row_worth(law.default_parameters().unsqueeze(0))[0]);
    const auto latents = nd::mm(scores, map.t()).contiguous();
    const auto learned =
        sum_by_block(latents.data_ptr<double>(), columns, train_blocks);
    const auto judged = sum_by_block(latents.data_ptr<double>(), columns, held_out);
    for (std::size_t c = 0; c < candidates.size(); ++c) {
      const auto densities =
          log_densities(judged, most_likely_distribution(learned, candidates[c].has));
      std::size_t next = 0;
      for (std::size_t b = 0; b < worth.size(); ++b) {
        if (fold_of_block[b] == fold) result[c][b] = densities[next++];
      }
    }
  }
  return result;
}

bool trains_dependence(const FitRequest& request) {
  return request.train.schedule == Schedule::joint ||
         request.train.schedule == Schedule::alternating;
}

// Whether it is open if latents share the parameters, which are cheap to find.
bool leaves_latents_open(const FitRequest& request, const FittedDependence& shared) {
  const auto& dependence = request.data.dependence;
  const auto kind = kind_of(dependence);
  return trains_dependence(request) && !dependence.per_latent &&
         (kind == DependenceKind::relationship || kind == DependenceKind::time) &&
         shared.law->parameter_count() > 0 && can_be_placed(*shared.law);
}

void settle(std::vector<FitRequest>& runs, const DependenceChoice& choice) {
  for (auto& run : runs) {
    run.data.dependence = choice.request;
    run = with_defaults(run);
  }
}

}  // namespace

std::string DependenceChoice::line() const {
  if (chosen.empty()) return {};
  if (candidates.empty()) return chosen + ", since " + judged_by;
  std::vector<std::string> all;
  bool has_errors = false;
  for (const auto& one : candidates) {
    const bool has_error = one.standard_error > 0;
    has_errors = has_errors || has_error;
    all.push_back(fmt::format("{} {:.4f}", one.name, one.difference) +
                  (has_error ? fmt::format(" ({:.4f})", one.standard_error) : ""));
  }
  return fmt::format("{}, chosen by {}; nats a row above the lowest{}: {}", chosen,
                     judged_by, has_errors ? " (standard error)" : "",
                     fmt::join(all, ", "));
}

nlohmann::json to_json(const DependenceChoice& choice) {
  auto candidates = nlohmann::json::array();
  for (const auto& one : choice.candidates) {
    candidates.push_back({{"name", one.name},
                          {"nll_nats", one.nll_nats},
                          {"difference", one.difference},
                          {"standard_error", one.standard_error},
                          {"is_chosen", candidates.size() == choice.place}});
  }
  return {{"chosen", choice.chosen},
          {"judged_by", choice.judged_by},
          {"candidates", std::move(candidates)}};
}

bool leaves_blocks_open(const FitRequest& request) {
  const auto& dependence = request.data.dependence;
  return trains_dependence(request) && kind_of(dependence) == DependenceKind::blocks &&
         !dependence.correlation;
}

DependenceChoice choose_correlation(const FitRequest& request, const TableRows& rows) {
  DependenceChoice choice{.request = request.data.dependence,
                          .judged_by = "held-out blocks"};
  const auto columns = rows.data.size(1);
  const auto candidates = block_candidates(columns);
  const auto seed = request.train.seed;
  const auto some =
      take_some(rows.labels, std::max(kFewestBlocks, kMostBlocksTimesColumns / columns),
                Random(seed, stream(Purpose::folds, 0)));
  choice.request.correlation = candidates.front().correlation;
  if (std::ssize(some.rows_of_block) < kFewestBlocks) {
    choice.chosen =
        "correlation " + name_of(block_correlation_names(), choice.request.correlation);
    choice.judged_by =
        fmt::format("there are fewer than {} blocks of several rows", kFewestBlocks);
    return choice;
  }
  const Blocks law(nd::tensor(number_blocks(rows.labels).block_of_row, nd::kLong));
  const auto scores = scores_of(request, rows, law).index_select(0, some.rows);
  const auto densities = score_blocks(scores, some, candidates, seed);
  std::size_t best = 0;
  std::vector<double> sums;
  for (const auto& of_blocks : densities) {
    double sum = 0;
    for (const double density : of_blocks) sum += density;
    sums.push_back(sum);
    if (sum > sums[best]) best = sums.size() - 1;
  }
  const auto row_count = static_cast<double>(some.block_of_row.size());
  std::optional<std::size_t> simplest;
  for (std::size_t c = 0; c < candidates.size(); ++c) {
    const auto blocks = densities[c].size();
    const double difference = sums[best] - sums[c];
    double squares = 0;
    for (std::size_t b = 0; b < blocks; ++b) {
      const double rest = densities[best][b] - densities[c][b] -
                          difference / static_cast<double>(blocks);
      squares += rest * rest;
    }
    const double error = std::sqrt(squares);
    choice.candidates.push_back(
        {.name = name_of(block_correlation_names(),
                         std::optional(candidates[c].correlation)),
         .nll_nats = -sums[c] / row_count,
         .difference = difference / row_count,
         .standard_error = error / row_count});
    const double margin = std::max(2 * error, kSmallestGain * row_count);
    if (!simplest && difference <= margin) simplest = c;
  }
  choice.place = simplest.value_or(best);
  choice.request.correlation = candidates[choice.place].correlation;
  choice.chosen =
      "correlation " + name_of(block_correlation_names(), choice.request.correlation);
  return choice;
}

DependenceChoice choose_for_latents(const FitRequest& request, const TableRows& rows,
                                    const FittedDependence& shared) {
  DependenceChoice choice{.request = request.data.dependence,
                          .judged_by = "the likelihood less the number of parameters"};
  choice.request.per_latent = false;
  const auto columns = rows.data.size(1);
  if (columns == 1) return choice;
  const auto start = shared.law->default_parameters();
  const auto scores = scores_of(request, rows, *shared.law)
                          .unsqueeze(0)
                          .to(find_device(request.device));
  const auto count = static_cast<double>(rows.data.size(0));
  const auto nll_of = [&](const Dependence& law, const Array& from) {
    const auto likely = most_likely_placed(
        law, scores, from.unsqueeze(0).to(scores.device()), request.train.prior);
    const auto placement = place(law, likely, scores);
    const double objective =
        law.objective(likely, standardized(scores, placement)).item<double>();
    return (objective + static_cast<double>(law.parameter_count())) / count +
           placement.deviation.log().sum().item<double>();
  };
  const PerLatent own(shared.law, columns);
  try {
    const double of_all = nll_of(*shared.law, start);
    const double of_each = nll_of(own, start.repeat({columns}));
    const double lowest = std::min(of_all, of_each);
    choice.request.per_latent = of_each < of_all;
    choice.candidates = {
        {.name = "shared", .nll_nats = of_all, .difference = of_all - lowest},
        {.name = "per latent", .nll_nats = of_each, .difference = of_each - lowest}};
    choice.place = of_each < of_all ? 1 : 0;
    choice.chosen = of_each < of_all ? "parameters for each latent"
                                     : "parameters that all latents share";
  } catch (const NumericalError&) {
    // Scores that are as likely under any parameters do not ask for more of them.
  }
  return choice;
}

ChosenDependence choose_dependence(
    std::vector<FitRequest>& runs, const TableRows& rows,
    const std::function<FittedDependence(const DependenceRequest&)>& make) {
  const auto& first = runs.at(0);
  DependenceChoice choice;
  if (leaves_blocks_open(first)) {
    choice = choose_correlation(first, rows);
    settle(runs, choice);
  }
  ChosenDependence chosen{.dependence = make(first.data.dependence),
                          .choice = std::move(choice)};
  auto& dependence = chosen.dependence;
  if (leaves_latents_open(first, dependence)) {
    chosen.choice = choose_for_latents(first, rows, dependence);
    settle(runs, chosen.choice);
    if (*first.data.dependence.per_latent) {
      dependence = dependence.for_each_latent(rows.data.size(1));
    }
  }
  return chosen;
}

}  // namespace kinflow
