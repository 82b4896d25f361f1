// Scores over repeated data sets as tables: means, errors, tests.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kinflow/report/paired_test.h"
#include "kinflow/report/text_table.h"
#include "studies/study.h"

namespace kinflow {

/// Data sets that differ in their seed only.
struct ScoreColumn {
  std::string heading;
  std::optional<double> entropy_nats;  ///< the least NLL possible, where it is known
  std::vector<const SetScores*> sets;
};

/// A line of a table: a method that was run, or published values.
struct ScoreRow {
  std::string heading;
  std::string method;                  ///< empty: published
  std::vector<double> published = {};  ///< one for each column
};

/// Test NLLs of a method on the sets of a column, in their order. InputError where a
/// set has no such method.
std::vector<double> test_nlls(const ScoreColumn& column, const std::string& method);

/// Trainings that the method took on each set.
std::int64_t trainings_of(const ScoreColumn& column, const std::string& method);

/// Mean over the columns of the mean NLL above the entropy.
double mean_excess(const std::vector<ScoreColumn>& columns, const std::string& method);

/// Test that a method has a smaller NLL than another.
PairedTest test_below(const ScoreColumn& column, const std::string& method,
                      const std::string& other);

/// "1.23 ± 0.04", the mean and its standard error; of one value the value.
std::string with_error(const std::vector<double>& values, int places);

/// A p-value with four places, or its power of ten.
std::string p_value_text(double p);

/// Claims that a mean NLL is below a bar, and whether they hold.
class NllClaims {
 public:
  /// @param places  of the NLLs
  explicit NllClaims(int places) : places_(places) {}

  void add(const std::string& claim, double bar, double measured, double p_value);
  std::string markdown() const { return table_.markdown(); }

 private:
  int places_;
  TextTable table_{{{"claim", Align::kLeft},
                    {"bar"},
                    {"measured"},
                    {"p"},
                    {"holds", Align::kLeft},
                    {"p < 0.05", Align::kLeft}}};
};

/// Claims of any kind beside their bars, and whether what was measured reaches them.
class ClaimTable {
 public:
  void add(const std::string& claim, const std::string& bar,
           const std::string& measured, bool is_reached);
  std::string markdown() const { return table_.markdown(); }

 private:
  TextTable table_{
      {{"claim", Align::kLeft}, {"bar"}, {"measured"}, {"reached", Align::kLeft}}};
};

/// A Markdown table: mean and standard error of each cell, bold where it is below the
/// baseline with p < 0.05; the mean excess over the entropy, where all columns have
/// one; the number of trainings for a data set.
std::string score_table(const std::vector<ScoreColumn>& columns,
                        const std::vector<ScoreRow>& rows, const std::string& baseline);

/// A Markdown table of the p-values of tests against a method.
std::string p_value_table(const std::vector<ScoreColumn>& columns,
                          const std::vector<std::string>& methods,
                          const std::string& against);

/// A method beside the one that it is tested against.
struct Comparison {
  std::string method;
  std::string against;
};

/// A Markdown table of the differences in mean test NLL, with their errors and p-values
/// of the one-sided paired t-test.
std::string comparison_table(const ScoreColumn& column,
                             const std::vector<Comparison>& comparisons);

/// A Markdown table of what validation chose in each method, as means over the sets.
std::string choice_table(const ScoreColumn& column, const std::vector<ScoreRow>& rows);

/// All scores, one line each, as comma-separated values.
std::string scores_as_csv(const std::vector<SetScores>& sets);

}  // namespace kinflow
