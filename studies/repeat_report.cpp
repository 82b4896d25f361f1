// Means over splits, and the bars of what is claimed.
#include "studies/repeat_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "kinflow/report/paired_test.h"
#include "kinflow/report/text_table.h"
#include "studies/score_table.h"

namespace kinflow {
namespace {

using namespace repeat_method;

constexpr int kPlaces = 4;
// Bars of the adjusted flow, in nats.
constexpr double kMostAboveOfTable = 0.02, kMostAboveOfAll = 0.005;
constexpr double kMostOfNextLogs = 0.15;

using Measure = double RepeatScore::*;

// The splits of one table.
struct TableTrials {
  const RepeatTable* table = nullptr;
  std::vector<const RepeatTrial*> splits;

  std::vector<double> values(const char* method, Measure measure) const {
    std::vector<double> found;
    for (const auto* split : splits) found.push_back(split->score_of(method).*measure);
    return found;
  }
  // The adjusted flow less the other one, split by split.
  std::vector<double> above_independent(Measure measure) const {
    auto found = values(kGroup, measure);
    const auto other = values(kIndependent, measure);
    for (std::size_t i = 0; i < found.size(); ++i) found[i] -= other[i];
    return found;
  }
  double mean(std::int64_t RepeatTrial::*count) const {
    double sum = 0;
    for (const auto* split : splits) sum += static_cast<double>(split->*count);
    return sum / static_cast<double>(splits.size());
  }
};

std::vector<TableTrials> by_table(const std::vector<RepeatTable>& tables,
                                  const std::vector<RepeatTrial>& trials) {
  std::vector<TableTrials> all;
  for (const auto& table : tables) {
    all.push_back({.table = &table, .splits = {}});
    for (const auto& trial : trials) {
      if (trial.table == table.name) all.back().splits.push_back(&trial);
    }
  }
  return all;
}

std::string data_table(const std::vector<TableTrials>& all) {
  TextTable table({{"table", Align::kLeft},
                   {"groups to train"},
                   {"rows"},
                   {"groups held out"},
                   {"rows"},
                   {"next rows"},
                   {"columns", Align::kLeft}});
  for (const auto& one : all) {
    const auto count = [&](std::int64_t RepeatTrial::*which) {
      return fmt::format("{:.6g}", one.mean(which));
    };
    table.add_row({one.table->title, count(&RepeatTrial::train_groups),
                   count(&RepeatTrial::train_rows), count(&RepeatTrial::test_groups),
                   count(&RepeatTrial::test_rows), count(&RepeatTrial::next_rows),
                   fmt::format("{}", fmt::join(one.table->columns, ", "))});
  }
  return table.markdown();
}

std::string nll_table(const std::vector<TableTrials>& all) {
  TextTable table({{"table", Align::kLeft},
                   {"method, mean test NLL (nats)", Align::kLeft},
                   {"rows"},
                   {"rows, groups equal"},
                   {"a group together, of a row"},
                   {"next rows given earlier ones"}});
  for (const auto& one : all) {
    for (const auto& method : repeat_methods()) {
      const auto cell = [&](Measure measure) {
        return with_error(one.values(method.c_str(), measure), kPlaces);
      };
      table.add_row({one.table->title, method, cell(&RepeatScore::rows),
                     cell(&RepeatScore::groups), cell(&RepeatScore::joint),
                     cell(&RepeatScore::given)});
    }
  }
  return table.markdown();
}

std::vector<double> mean_over_tables(const std::vector<TableTrials>& all,
                                     Measure measure) {
  std::vector<double> means(all.front().splits.size(), 0);
  for (const auto& one : all) {
    const auto found = one.above_independent(measure);
    for (std::size_t i = 0; i < means.size(); ++i) {
      means[i] += found[i] / static_cast<double>(all.size());
    }
  }
  return means;
}

std::string difference_table(const std::vector<TableTrials>& all) {
  TextTable table({{"`--group` minus `--independent` (nats)", Align::kLeft},
                   {"every row equally"},
                   {"every group equally"},
                   {"next rows given earlier ones"}});
  for (const auto& one : all) {
    const auto cell = [&](Measure measure) {
      return with_error(one.above_independent(measure), kPlaces);
    };
    table.add_row({one.table->title, cell(&RepeatScore::rows),
                   cell(&RepeatScore::groups), cell(&RepeatScore::given)});
  }
  if (all.size() == 1) return table.markdown();
  const auto mean = [&](Measure measure) {
    return with_error(mean_over_tables(all, measure), kPlaces);
  };
  table.add_row({"mean over the tables", mean(&RepeatScore::rows),
                 mean(&RepeatScore::groups), mean(&RepeatScore::given)});
  return table.markdown();
}

std::string choice_table_of(const std::vector<TableTrials>& all) {
  TextTable table(
      {{"table", Align::kLeft}, {"chosen by the rows", Align::kLeft}, {"splits"}});
  for (const auto& one : all) {
    std::map<std::string, int> splits;
    for (const auto* split : one.splits) ++splits[split->dependence];
    for (const auto& [chosen, count] : splits) {
      table.add_row({one.table->title, chosen, std::to_string(count)});
    }
  }
  return table.markdown();
}

std::string claims_of(const std::vector<TableTrials>& all) {
  ClaimTable claims;
  const auto add_above = [&](const std::string& where, double bar,
                             const std::vector<double>& found) {
    claims.add("rows, every group equally, `--group` above `--independent`: " + where,
               fmt::format("at most {}", bar), with_error(found, kPlaces),
               mean_of(found) <= bar);
  };
  for (const auto& one : all) {
    add_above(one.table->title, kMostAboveOfTable,
              one.above_independent(&RepeatScore::groups));
  }
  add_above("mean over the tables", kMostAboveOfAll,
            mean_over_tables(all, &RepeatScore::groups));
  for (const auto& one : all) {
    const auto found = one.values(kGroup, &RepeatScore::given);
    const auto normal = one.values(kNormal, &RepeatScore::given);
    const auto test = paired_test(found, normal);
    claims.add("next rows below the random-intercept normal: " + one.table->title,
               fmt::format("below {:.4f}", mean_of(normal)),
               fmt::format("{}, p = {}", with_error(found, kPlaces),
                           p_value_text(test.p_value)),
               test.mean_difference > 0);
  }
  for (const auto& one : all) {
    auto found = one.values(kGroup, &RepeatScore::given);
    for (std::size_t i = 0; i < found.size(); ++i) {
      found[i] -= one.splits[i]->logarithms_of_next;
    }
    const bool has_logarithms =
        one.table->takes_logarithms ||
        std::all_of(one.splits.begin(), one.splits.end(),
                    [](const auto* split) { return split->logarithms_of_next != 0; });
    if (!has_logarithms) continue;
    claims.add("next rows, density of the logarithms: " + one.table->title,
               fmt::format("at most {}", kMostOfNextLogs), with_error(found, kPlaces),
               mean_of(found) <= kMostOfNextLogs);
  }
  return claims.markdown();
}

}  // namespace

std::string repeats_report(const std::vector<RepeatTable>& tables,
                           const std::vector<RepeatTrial>& trials) {
  const auto all = by_table(tables, trials);
  auto text = fmt::format("{}\n{}\n{}\n", data_table(all), nll_table(all),
                          difference_table(all));
  if (all.front().splits.size() > 1) text += claims_of(all) + "\n";
  return text + choice_table_of(all);
}

std::string repeats_as_csv(const std::vector<RepeatTrial>& trials) {
  std::string lines =
      "set,method,test_nll_nats,test_nll_groups_nats,joint_nll_nats_per_row,"
      "given_nll_nats\n";
  for (const auto& trial : trials) {
    for (const auto& score : trial.scores) {
      lines += fmt::format("{}-{},\"{}\",{:.6f},{:.6f},{:.6f},{:.6f}\n", trial.table,
                           trial.seed, score.method, score.rows, score.groups,
                           score.joint, score.given);
    }
  }
  return lines;
}

}  // namespace kinflow
