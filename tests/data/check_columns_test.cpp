// Columns that a flow cannot learn, and values apart from others.
#include "kinflow/data/check_columns.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>

#include "helpers.h"
#include "kinflow/core/random.h"

namespace kinflow {
namespace {

/// Columns with names, row-major, made cell by cell.
class Columns {
 public:
  Columns(std::vector<std::string> names, std::int64_t rows,
          const std::function<double(std::int64_t row, std::size_t column)>& cell)
      : names_(std::move(names)), rows_(rows) {
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::size_t i = 0; i < names_.size(); ++i) values_.push_back(cell(row, i));
    }
  }
  double& at(std::int64_t row, std::size_t column) {
    return values_[static_cast<std::size_t>(row) * names_.size() + column];
  }
  ColumnsView view() const {
    return {.source = "t.csv",
            .names = names_,
            .rows = rows_,
            .values = values_.data(),
            .row_stride = static_cast<std::int64_t>(names_.size()),
            .column_stride = 1};
  }

 private:
  std::vector<std::string> names_;
  std::int64_t rows_;
  std::vector<double> values_;
};

std::string refusal(const std::function<void()>& check) {
  try {
    check();
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}
std::string tied(const Columns& columns, const TieRule& rule = {}) {
  return refusal([&] { check_ties(columns.view(), rule); });
}
std::string redundant(const Columns& columns) {
  return refusal([&] { check_redundancy(columns.view()); });
}
std::string labelled(const Columns& columns,
                     const std::vector<std::int64_t>& block_of_row = {}) {
  return refusal(
      [&] { check_no_labels(columns.view(), {.block_of_row = block_of_row}); });
}

void expect_mentions(const std::string& text, const std::vector<std::string>& parts) {
  for (const auto& part : parts) {
    EXPECT_NE(text.find(part), std::string::npos)
        << "expected \"" << part << "\" in: \"" << text << "\"";
  }
}

Columns normal_columns(std::vector<std::string> names, std::int64_t rows,
                       std::uint64_t seed = 1) {
  Random random(seed);
  return {std::move(names), rows, [&](auto, auto) { return random.normal(); }};
}

TEST(CheckColumns, TheMostFrequentValueIsCountedWhereverItStands) {
  for (const double tie : {-9.0, 0.0, 9.0}) {
    for (const std::int64_t count : {99, 100, 140, 300}) {
      auto columns = normal_columns({"x", "y"}, 1000);
      for (std::int64_t i = 0; i < count; ++i) columns.at(i * 3, 1) = tie;
      const auto message = tied(columns);
      EXPECT_EQ(message.empty(), count < 100) << tie << ", " << count;
      if (count < 100) continue;
      expect_mentions(message,
                      {"t.csv: ", "'y'", "the value " + std::to_string(int(tie)),
                       std::to_string(count / 10) + ".", "--allow-ties y"});
      EXPECT_EQ(message.find("'x'"), std::string::npos);
    }
  }
}

TEST(CheckColumns, TwoValuedAndRoundedColumnsAreTiedAndFinelyRoundedOnesAreNot) {
  Random random(2);
  const auto rounded = [&](double step) {
    return Columns({"x"}, 2000, [&](auto, auto) {
      return std::round(random.normal() / step) * step;
    });
  };
  EXPECT_NE(tied(rounded(1)), "");
  EXPECT_NE(tied(rounded(0.5)), "");
  EXPECT_EQ(tied(rounded(0.1)), "");
  const Columns binary({"sick"}, 2000, [](auto row, auto) { return row < 25; });
  expect_mentions(tied(binary), {"'sick'", "0 in 98.8%"});
  EXPECT_EQ(tied(binary, {.allowed = {"sick"}}), "");
  const Columns years({"age"}, 2000, [&](auto, auto) {
    return std::floor(18 + 60 * random.uniform());
  });
  EXPECT_EQ(tied(years), "");
  EXPECT_NE(tied(years, {.share = 0.015}), "");
}

TEST(CheckColumns, ColumnsThatAreEqualInSomeRowsAreTied) {
  auto columns = normal_columns({"x", "y", "z"}, 1000);
  for (std::int64_t row = 0; row < 1000; row += 8)
    columns.at(row, 2) = columns.at(row, 0);
  expect_mentions(tied(columns), {"'z' equal to 'x' in 12.5%", "--allow-ties z"});
  EXPECT_EQ(tied(columns, {.allowed = {"z"}}), "");
  EXPECT_EQ(tied(columns, {.share = 0.2}), "");
}

TEST(CheckColumns, ABinaryColumnIsNoMonotoneFunction) {
  auto columns = normal_columns({"x", "y"}, 2000);
  for (std::int64_t row = 0; row < 2000; ++row) columns.at(row, 1) = row % 80 == 7;
  EXPECT_EQ(redundant(columns), "");
}

TEST(CheckColumns, AFewEqualRowsOfASmallTableAreNoTies) {
  const Columns few({"x"}, 9, [](auto row, auto) { return row / 4; });
  EXPECT_EQ(tied(few), "");
}

TEST(CheckColumns, LinearCombinationsAreNamedWithTheirColumns) {
  auto columns = normal_columns({"a", "b", "c", "sum", "d"}, 500);
  for (std::int64_t row = 0; row < 500; ++row) {
    columns.at(row, 3) = 3 * columns.at(row, 0) - 0.1 * columns.at(row, 2) + 7;
  }
  const auto message = redundant(columns);
  expect_mentions(message, {"t.csv: ", "'sum' is a linear combination of 'a', 'c'"});
  for (const auto* other : {"'b'", "'d'"}) {
    EXPECT_EQ(message.find(other), std::string::npos) << message;
  }
}

TEST(CheckColumns, CopiesInOtherUnitsAreFoundAtAnyScale) {
  for (const double scale : {1e-300, 1e-3, 1.0, 1e300}) {
    auto columns = normal_columns({"cm", "inches"}, 300);
    for (std::int64_t row = 0; row < 300; ++row) {
      columns.at(row, 1) = columns.at(row, 0) / 2.54;
      columns.at(row, 0) *= scale;
    }
    expect_mentions(redundant(columns), {"'inches' is a linear function of 'cm'"});
  }
}

TEST(CheckColumns, ColumnsThatKeepAHundredthOfTheirOwnAreNotRefused) {
  Random random(3);
  const auto with_noise = [&](double share) {
    auto columns = normal_columns({"x", "y"}, 1000);
    for (std::int64_t row = 0; row < 1000; ++row) {
      columns.at(row, 1) = columns.at(row, 0) + share * random.normal();
    }
    return columns;
  };
  EXPECT_EQ(redundant(with_noise(0.01)), "");
  EXPECT_NE(redundant(with_noise(0.0001)), "");
}

TEST(CheckColumns, AFarValueInCommonMakesNoTwoColumnsAlike) {
  auto columns = normal_columns({"x", "y"}, 1000);
  columns.at(7, 0) = columns.at(7, 1) = 1e6;
  EXPECT_EQ(redundant(columns), "");
}

TEST(CheckColumns, MonotoneFunctionsAreFoundAndOthersAreNot) {
  const auto with = [](double (*function)(double)) {
    auto columns = normal_columns({"z", "x", "y"}, 3000);
    for (std::int64_t row = 0; row < 3000; ++row) {
      columns.at(row, 2) = function(columns.at(row, 1));
    }
    return columns;
  };
  expect_mentions(redundant(with([](double x) { return std::exp(x); })),
                  {"'y' is a monotone function of 'x'"});
  EXPECT_NE(redundant(with([](double x) { return -x * x * x; })), "");
  // Rounded to so many digits that some rows are tied.
  EXPECT_NE(redundant(with([](double x) { return std::round(1e3 * std::exp(x)); })),
            "");
  EXPECT_EQ(redundant(with([](double x) { return x * x; })), "");
  // Some rows of three thousand are mistaken.
  auto almost = with([](double x) { return std::exp(x); });
  for (std::int64_t row = 0; row < 3000; row += 100) almost.at(row, 2) = 1 + row % 7;
  EXPECT_NE(redundant(almost), "");
  for (std::int64_t row = 0; row < 3000; row += 10) almost.at(row, 2) = 1 + row % 7;
  EXPECT_EQ(redundant(almost), "");
}

TEST(CheckColumns, FewRowsAreNotRedundantByChance) {
  const Columns two({"a", "b"}, 2, [](auto row, auto i) { return 3.0 * row + i * i; });
  EXPECT_EQ(redundant(two), "");
  auto ten = normal_columns({"a", "b"}, 10);
  for (std::int64_t row = 0; row < 10; ++row) ten.at(row, 1) = std::exp(ten.at(row, 0));
  EXPECT_EQ(redundant(ten), "");
}

TEST(CheckColumns, NumbersOfRowsAreLabels) {
  const auto with = [](double (*number)(std::int64_t)) {
    auto columns = normal_columns({"index", "x"}, 101);
    for (std::int64_t row = 0; row < 101; ++row) columns.at(row, 0) = number(row);
    return columns;
  };
  const auto message = labelled(with([](auto row) { return double(row + 1); }));
  expect_mentions(message,
                  {"t.csv: ", "'index' (in the order of the rows)", "--columns x"});
  EXPECT_NE(labelled(with([](auto row) { return 1e9 - row; })), "");
  EXPECT_NE(labelled(with([](auto row) { return std::sqrt(double(row)); })), "");
  expect_mentions(labelled(with([](auto row) { return double(row * 37 % 101); })),
                  {"one integer for each row"});
  EXPECT_EQ(labelled(with([](auto row) { return double(row * 37 % 100); })), "");
}

TEST(CheckColumns, CodesOfBlocksAreLabels) {
  std::vector<std::int64_t> blocks;
  for (std::int64_t row = 0; row < 60; ++row) blocks.push_back(row / 3);
  auto columns = normal_columns({"x", "code"}, 60);
  for (std::int64_t row = 0; row < 60; ++row) {
    columns.at(row, 1) = std::cos(double(row / 3));
  }
  EXPECT_EQ(labelled(columns), "");
  expect_mentions(labelled(columns, blocks), {"'code' (one value in each group)"});
  columns.at(59, 1) += 1;
  EXPECT_EQ(labelled(columns, blocks), "");
}

TEST(CheckColumns, CodesOfMissingValuesLieApart) {
  for (const double code : {9999.0, -999.0, 999.0, -9.0}) {
    for (const std::int64_t rows : {100, 1000}) {
      Random random(5);
      Columns columns({"x", "y"}, rows,
                      [&](auto, auto) { return 2 + random.normal() / 2; });
      columns.at(17, 1) = columns.at(40, 1) = code;
      const auto found = far_values(columns.view());
      ASSERT_EQ(found.size(), 1u) << code << ", " << rows;
      EXPECT_EQ(found[0].column, 1u);
      EXPECT_EQ(found[0].row, 17);
      EXPECT_EQ(found[0].value, code);
      EXPECT_EQ(found[0].count, 2);
    }
  }
}

TEST(CheckColumns, BothEndsOfAColumnAreLookedAt) {
  auto columns = normal_columns({"x"}, 200);
  columns.at(3, 0) = -99;
  columns.at(5, 0) = 99;
  const auto found = far_values(columns.view());
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].value, 99);
  EXPECT_EQ(found[1].value, -99);
  const auto text = describe(found[0], columns.view(), "t.csv:7");
  expect_mentions(text, {"t.csv:7: column 'x': 99 lies far", "missing value"});
}

TEST(CheckColumns, TailsOfRealTablesAreNotFar) {
  Random random(6);
  int alarms = 0;
  for (int repeat = 0; repeat < 100; ++repeat) {
    const Columns skewed({"x", "y"}, 1000,
                         [&](auto, auto) { return std::exp(random.normal()); });
    alarms += far_values(skewed.view()).empty() ? 0 : 1;
  }
  EXPECT_LE(alarms, 5);
}

}  // namespace
}  // namespace kinflow
