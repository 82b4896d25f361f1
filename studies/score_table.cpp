// Means, errors and tests of scores, and their text.
#include "studies/score_table.h"

#include <fmt/format.h>

#include "kinflow/report/text_table.h"

namespace kinflow {
namespace {

constexpr double kSignificant = 0.05;
constexpr double kClearlySignificant = 0.01;  // where there are many comparisons

bool have_entropies(const std::vector<ScoreColumn>& columns) {
  for (const auto& column : columns) {
    if (!column.entropy_nats) return false;
  }
  return !columns.empty();
}

std::string cell(const ScoreColumn& column, const std::string& method,
                 const std::string& baseline) {
  const auto values = test_nlls(column, method);
  const auto mean = mean_and_standard_error(values);
  auto text = fmt::format("{:.3f}", mean.mean);
  if (values.size() < 2) return text;
  const bool is_below =
      method != baseline && test_below(column, method, baseline).p_value < kSignificant;
  if (is_below) text = "**" + text + "**";
  return fmt::format("{} ± {:.3f}", text, mean.standard_error);
}

}  // namespace

std::string with_error(const std::vector<double>& values, int places) {
  const auto found = mean_and_standard_error(values);
  if (found.count < 2) return fmt::format("{:.{}f}", found.mean, places);
  return fmt::format("{:.{}f} ± {:.{}f}", found.mean, places, found.standard_error,
                     places);
}

std::string p_value_text(double p) {
  return p < 1e-4 ? fmt::format("{:.0e}", p) : fmt::format("{:.4f}", p);
}

std::vector<double> test_nlls(const ScoreColumn& column, const std::string& method) {
  std::vector<double> values;
  for (const auto* set : column.sets) {
    values.push_back(set->score_of(method).test_nll_nats);
  }
  return values;
}

std::int64_t trainings_of(const ScoreColumn& column, const std::string& method) {
  return column.sets.front()->score_of(method).trainings;
}

double mean_excess(const std::vector<ScoreColumn>& columns, const std::string& method) {
  double sum = 0;
  for (const auto& column : columns) {
    sum += mean_and_standard_error(test_nlls(column, method)).mean -
           column.entropy_nats.value();
  }
  return sum / static_cast<double>(columns.size());
}

PairedTest test_below(const ScoreColumn& column, const std::string& method,
                      const std::string& other) {
  return paired_test(test_nlls(column, method), test_nlls(column, other));
}

void NllClaims::add(const std::string& claim, double bar, double measured,
                    double p_value) {
  const auto mark = [](bool holds) { return holds ? "yes" : "**no**"; };
  table_.add_row({claim, fmt::format("{:.{}f}", bar, places_),
                  fmt::format("{:.{}f}", measured, places_), p_value_text(p_value),
                  mark(measured < bar), mark(p_value < 0.05)});
}

void ClaimTable::add(const std::string& claim, const std::string& bar,
                     const std::string& measured, bool is_reached) {
  table_.add_row({claim, bar, measured, is_reached ? "yes" : "no"});
}

std::string score_table(const std::vector<ScoreColumn>& columns,
                        const std::vector<ScoreRow>& rows,
                        const std::string& baseline) {
  std::vector<TableColumn> headings = {{"mean test NLL (nats)", Align::kLeft}};
  const bool with_excess = have_entropies(columns);
  for (const auto& column : columns) headings.push_back({column.heading});
  if (with_excess) headings.push_back({"above entropy"});
  headings.push_back({"trainings"});
  TextTable table(headings);
  if (with_excess) {
    std::vector<std::string> cells = {"entropy (no model can do better)"};
    for (const auto& column : columns) {
      cells.push_back(fmt::format("{:.3f}", *column.entropy_nats));
    }
    table.add_row(cells);
  }
  for (const auto& row : rows) {
    std::vector<std::string> cells = {row.heading};
    double excess = 0;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (row.method.empty()) {
        cells.push_back(fmt::format("{:.3f}", row.published.at(i)));
        excess += row.published[i] - columns[i].entropy_nats.value_or(0);
      } else {
        cells.push_back(cell(columns[i], row.method, baseline));
      }
    }
    if (with_excess) {
      cells.push_back(fmt::format(
          "{:.4f}", row.method.empty() ? excess / static_cast<double>(columns.size())
                                       : mean_excess(columns, row.method)));
    }
    if (!row.method.empty()) {
      cells.push_back(std::to_string(trainings_of(columns.front(), row.method)));
    }
    table.add_row(cells);
  }
  return table.markdown();
}

std::string p_value_table(const std::vector<ScoreColumn>& columns,
                          const std::vector<std::string>& methods,
                          const std::string& against) {
  std::vector<TableColumn> headings = {
      {fmt::format("p, below {}", against), Align::kLeft}};
  for (const auto& column : columns) headings.push_back({column.heading});
  TextTable table(headings);
  for (const auto& method : methods) {
    if (method == against) continue;
    std::vector<std::string> cells = {method};
    for (const auto& column : columns) {
      cells.push_back(p_value_text(test_below(column, method, against).p_value));
    }
    table.add_row(cells);
  }
  return table.markdown();
}

std::string comparison_table(const ScoreColumn& column,
                             const std::vector<Comparison>& comparisons) {
  TextTable table({{"method", Align::kLeft},
                   {"against", Align::kLeft},
                   {"difference (nats)"},
                   {"p"},
                   {"p < 0.01", Align::kLeft}});
  for (const auto& [method, against] : comparisons) {
    const auto test = test_below(column, method, against);
    table.add_row(
        {method, against,
         fmt::format("{:.4f} ± {:.4f}", -test.mean_difference, test.standard_error),
         p_value_text(test.p_value),
         test.p_value < kClearlySignificant ? "yes" : "no"});
  }
  return table.markdown();
}

std::string choice_table(const ScoreColumn& column, const std::vector<ScoreRow>& rows) {
  TextTable table({{"chosen by validation", Align::kLeft},
                   {"validation NLL"},
                   {"epoch"},
                   {"learning rate"},
                   {"rho, lambda or w_0"}});
  for (const auto& row : rows) {
    if (row.method.empty()) continue;
    const auto count = static_cast<double>(column.sets.size());
    double valid = 0, epoch = 0, rate = 0, parameter = 0;
    bool is_joint = false;
    for (const auto* set : column.sets) {
      const auto& score = set->score_of(row.method);
      valid += score.valid_nll_nats / count;
      is_joint |= score.valid_score == ValidScore::joint;
      epoch += static_cast<double>(score.best_epoch) / count;
      rate += score.learning_rate / count;
      parameter += score.parameter / count;
    }
    table.add_row({row.method,
                   fmt::format("{:.3f}{}", valid, is_joint ? " (joint)" : ""),
                   fmt::format("{:.0f}", epoch), fmt::format("{:.3f}", rate),
                   fmt::format("{:.4f}", parameter)});
  }
  return table.markdown();
}

std::string scores_as_csv(const std::vector<SetScores>& sets) {
  std::string text =
      "set,method,trainings,valid_nll_nats,valid_joint_nll_nats_per_row,test_nll_nats,"
      "best_epoch,parameter,"
      "learning_rate,weight_decay,seconds\n";
  for (const auto& set : sets) {
    for (const auto& score : set.scores) {
      const auto valid = [&](ValidScore wanted) {
        return score.valid_score == wanted ? fmt::format("{:.6f}", score.valid_nll_nats)
                                           : std::string();
      };
      text += fmt::format("{},\"{}\",{},{},{},{:.6f},{},{:.6f},{},{},{:.3f}\n",
                          set.name, score.method, score.trainings,
                          valid(ValidScore::rows), valid(ValidScore::joint),
                          score.test_nll_nats, score.best_epoch, score.parameter,
                          score.learning_rate, score.weight_decay, score.seconds);
    }
  }
  return text;
}

}  // namespace kinflow
