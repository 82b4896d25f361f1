// Tables of scores: their numbers and their marks.
#include "studies/score_table.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "kinflow/core/error.h"

namespace kinflow {
namespace {

class ScoreTable : public testing::Test {
 protected:
  ScoreTable() {
    const std::vector<double> baseline = {2.0, 2.2, 2.1}, better = {1.5, 1.8, 1.6},
                              alike = {2.0, 2.1, 2.2};
    for (std::size_t i = 0; i < 3; ++i) {
      SetScores set;
      set.name = "set";
      const auto add = [&](const char* method, double nll, std::int64_t trainings) {
        Score score;
        score.method = method;
        score.test_nll_nats = nll;
        score.trainings = trainings;
        set.scores.push_back(score);
      };
      add("baseline", baseline[i], 12);
      add("better", better[i], 8);
      add("alike", alike[i], 1);
      sets_.push_back(set);
    }
    column_ = {.heading = "Abs", .entropy_nats = 1.5, .sets = {}};
    for (const auto& set : sets_) column_.sets.push_back(&set);
  }

  std::vector<SetScores> sets_;
  ScoreColumn column_;
};

TEST_F(ScoreTable, ShowsMeansErrorsExcessAndTrainings) {
  const auto text = score_table(
      {column_}, {{"paper", "", {1.7}}, {"base", "baseline"}, {"ours", "better"}},
      "baseline");
  EXPECT_NE(text.find("| paper | 1.700 | 0.2000 |"), std::string::npos) << text;
  EXPECT_NE(text.find("| base | 2.100 ± 0.058 | 0.6000 | 12 |"), std::string::npos)
      << text;
  EXPECT_NE(text.find("| ours | **1.633** ± 0.088 | 0.1333 | 8 |"), std::string::npos)
      << text;
}

TEST_F(ScoreTable, MarksWhatIsBelowTheBaselineOnly) {
  EXPECT_LT(test_below(column_, "better", "baseline").p_value, 0.01);
  EXPECT_NEAR(test_below(column_, "alike", "baseline").p_value, 0.5, 1e-12);
  const auto text = score_table({column_}, {{"alike", "alike"}}, "baseline");
  EXPECT_EQ(text.find("**"), std::string::npos) << text;
}

TEST_F(ScoreTable, NamesASetThatLacksAMethod) {
  EXPECT_THROW(test_nlls(column_, "missing"), InputError);
}

TEST_F(ScoreTable, ListsEveryScore) {
  const auto text = scores_as_csv(sets_);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1 + 9);
}

}  // namespace
}  // namespace kinflow
