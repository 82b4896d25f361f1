// Tables through a model piece by piece: the same as all at once, for any pieces and
// threads.
#include "kinflow/evaluate/stream.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kinflow/array/array.h"
#include "kinflow/core/error.h"
#include "kinflow/core/log.h"
#include "kinflow/core/random.h"
#include "kinflow/dependence/independent.h"
#include "kinflow/evaluate/row_law.h"
#include "tests/data/helpers.h"
#include "tests/random_arrays.h"

namespace kinflow {
namespace {

Model some_model(const std::vector<std::string>& context = {}) {
  const auto contexts = static_cast<std::int64_t>(context.size());
  Model model{.columns = {"a", "b"},
              .context_columns = context,
              .parts = {},
              .dependence = {},
              .record = {}};
  model.parts.push_back(
      {.standardization = {nd::tensor({1.0, -2.0}, nd::kDouble),
                           nd::tensor({0.5, 3.0}, nd::kDouble)},
       .context_standardization = {nd::zeros({contexts}, nd::kDouble),
                                   nd::ones({contexts}, nd::kDouble)},
       .flow = std::make_unique<Flow>(
           FlowOptions{.dimension = 2, .context = contexts, .hidden = {8}, .bins = 4},
           std::vector<std::uint64_t>{1}, nd::kDouble)});
  model.parts[0].flow->values() +=
      normal(model.parts[0].flow->values().sizes().vec(), 1) * 0.2;
  return model;
}

/// Rows of a table with names that need quotes, and every seventh cell missing.
std::string some_table(int rows) {
  std::string text = "name,b,a,c\r\n";
  for (int i = 0; i < rows; ++i) {
    text += i % 3 == 0 ? "\"Lee, \"\"Bo\"\"\"" : "Ann" + std::to_string(i);
    text += "," + std::to_string(-2 + 3 * std::sin(i));
    text += "," + (i % 7 == 6 ? "NA" : std::to_string(1 + std::cos(3 * i)));
    text += "," + std::to_string(i % 5) + (i + 1 < rows ? "\r\n" : "");
  }
  return text;
}

class Stream : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.path(name); }

  /// The table of numbers in a file, [rows, columns], but for rows without them.
  Array numbers(const std::string& name,
                const std::vector<std::string>& columns) const {
    return read_rows(path(name), {.columns = columns, .drop_missing = true}).data;
  }
  /// The rows of a file that have a number.
  std::vector<std::int64_t> filled_rows(const std::string& name,
                                        const std::string& column) const {
    return read_rows(path(name), {.columns = {column}, .drop_missing = true}).kept_rows;
  }

  const TemporaryFolder folder_;
  Logger silent_;
};

/// Every way of cutting and sharing the work that is tried.
std::vector<StreamOptions> many_options() {
  std::vector<StreamOptions> all;
  for (const std::int64_t threads : {1, 3}) {
    for (const std::int64_t rows : {0, 1, 5, 64, 1000}) {
      all.push_back({.threads = threads, .rows_at_once = rows});
    }
  }
  return all;
}

TEST_F(Stream, TransformIsThatOfTheWholeTable) {
  const Model model = some_model({"c"});
  const std::string table = folder_.write("t.csv", some_table(200));
  const auto rows =
      read_rows(table, {.columns = {"a", "b"}, .context = {"c"}, .drop_missing = true});
  const auto latents = model.to_latent(rows.data, rows.context).latents;
  const auto names = labels(read_table(table), "name");
  for (const auto& options : many_options()) {
    transform_table(
        model,
        {.table = table, .out = path("u.csv"), .keep = {"name"}, .drop_missing = true},
        options, silent_);
    EXPECT_TRUE(nd::allclose(numbers("u.csv", {"u1", "u2"}), latents, 0, 1e-12));
    EXPECT_EQ(filled_rows("u.csv", "u1"), rows.kept_rows);
    EXPECT_EQ(labels(read_table(path("u.csv")), "name"), names);
    transform_table(model,
                    {.table = path("u.csv"),
                     .out = path("back.tsv"),
                     .inverse = true,
                     .keep = {},
                     .drop_missing = true},
                    options, silent_);
    EXPECT_TRUE(nd::allclose(numbers("back.tsv", {"a", "b"}), rows.data, 0, 1e-9));
    EXPECT_EQ(filled_rows("back.tsv", "a"), rows.kept_rows);
  }
}

TEST_F(Stream, FilesDoNotDependOnTheNumberOfThreads) {
  const Model model = some_model();
  const std::string table = folder_.write("t.csv", some_table(300));
  const auto written = [&](std::int64_t threads) {
    const StreamOptions options{.threads = threads, .rows_at_once = 16};
    transform_table(
        model, {.table = table, .out = path("u.npy"), .keep = {}, .drop_missing = true},
        options, silent_);
    draw_table(model, {.rows = 100, .table = {}, .id = {}, .out = path("s.csv")},
               options, silent_);
    return content_of(path("u.npy")) + content_of(path("s.csv"));
  };
  const std::string one = written(1);
  EXPECT_TRUE(written(2) == one);
  EXPECT_TRUE(written(7) == one);
}

TEST_F(Stream, ScoresAreThoseOfTheWholeTable) {
  const Model model = some_model({"c"});
  const std::string table = folder_.write("t.csv", some_table(200));
  auto columns = columns_for(model, {});
  columns.drop_missing = true;
  const auto whole = evaluate_likelihood(model, read_rows(table, columns));
  for (const auto& options : many_options()) {
    const auto scores = score_table(model,
                                    {.table = table,
                                     .out = path("scores.csv"),
                                     .keep = {"name"},
                                     .columns = columns},
                                    options, silent_);
    EXPECT_EQ(scores.rows, whole.rows);
    EXPECT_EQ(scores.rows_left_out, 200 - whole.rows);
    EXPECT_EQ(filled_rows("scores.csv", "log_density_nats"),
              read_rows(table, columns).kept_rows);
    EXPECT_NEAR(scores.mean_nll_nats, whole.mean_nll_nats, 1e-13);
    EXPECT_NEAR(scores.standard_error_nats, whole.standard_error_nats, 1e-13);
    EXPECT_NEAR(scores.bits_per_dimension, whole.bits_per_dimension, 1e-13);
    EXPECT_TRUE(nd::allclose(numbers("scores.csv", {"log_density_nats"}).select(1, 0),
                             whole.row_log_density_nats, 0, 1e-12));
  }
}

TEST_F(Stream, DrawsAreOneSequenceHoweverItIsCut) {
  const Model model = some_model();
  Random random(5, stream(Purpose::draws));
  const auto latents = Independent(100).sample(nd::empty({0}, nd::kDouble), 2, random);
  const auto expected = model.from_latent(latents, {});
  for (const auto& options : many_options()) {
    draw_table(model,
               {.rows = 100, .table = {}, .id = {}, .out = path("s.npy"), .seed = 5},
               options, silent_);
    EXPECT_TRUE(nd::allclose(numbers("s.npy", {"x1", "x2"}), expected, 0, 1e-12));
  }
}

TEST_F(Stream, MoreDrawsBeginWithTheSameOnes) {
  const Model model = some_model();
  const auto draws = [&](std::int64_t rows) {
    draw_table(model,
               {.rows = rows, .table = {}, .id = {}, .out = path("s.npy"), .seed = 5},
               {.threads = 2, .rows_at_once = 10}, silent_);
    return numbers("s.npy", {"x1", "x2"});
  };
  EXPECT_TRUE(nd::allclose(draws(95).narrow(0, 0, 37), draws(37), 0, 1e-12));
}

TEST_F(Stream, DrawsForATableFollowItsContext) {
  const Model model = some_model({"c"});
  const std::string table = folder_.write("t.csv", some_table(100));
  const auto context = read_rows(table, {.context = {"c"}}).context;
  Random random(5, stream(Purpose::draws));
  const auto latents = Independent(100).sample(nd::empty({0}, nd::kDouble), 2, random);
  const auto expected = model.from_latent(latents, context);
  for (const auto& options : many_options()) {
    draw_table(
        model,
        {.rows = 0, .table = table, .id = {"name"}, .out = path("s.csv"), .seed = 5},
        options, silent_);
    EXPECT_TRUE(nd::allclose(numbers("s.csv", {"a", "b"}), expected, 0, 1e-12));
    EXPECT_TRUE(nd::equal(numbers("s.csv", {"c"}), context));
    EXPECT_EQ(read_table(path("s.csv")).names(),
              (std::vector<std::string>{"a", "b", "name", "c"}));
  }
}

TEST_F(Stream, AMistakeInALaterPieceNamesItsLineAndLeavesNoOutput) {
  const Model model = some_model();
  std::string text = "a,b,name\n";
  std::string more;
  for (int i = 0; i < 25; ++i) text += "1,2,\"x\"\n";
  for (int i = 0; i < 10; ++i) more += "3,4,z\n";
  const std::vector<std::pair<std::string, std::string>> mistakes = {
      {"1,x,y\n", "t.csv:27: column 'b': expected a number, found 'x'"},
      {"1,NA,y\n",
       "t.csv:27: column 'b': expected a number, found a missing value (--drop-missing "
       "leaves such rows out)"},
      {"1,2\n", "t.csv:27: expected 3 cells as in the header, found 2"},
      {"1,2,\n", "t.csv:27: column 'name': expected a label, found a missing value"},
      {"1,2,\"\n", "t.csv:27: expected a table, found a quote that is not closed"}};
  folder_.write("u.csv", "old");
  for (const auto& [row, message] : mistakes) {
    const std::string table = folder_.write("t.csv", text + row + more + "5,z,z\n");
    for (const std::int64_t threads : {1, 4}) {
      const StreamOptions options{.threads = threads, .rows_at_once = 10};
      EXPECT_EQ(input_error_of([&] {
                  transform_table(
                      model, {.table = table, .out = path("u.csv"), .keep = {"name"}},
                      options, silent_);
                }),
                folder_.path() + "/" + message);
      EXPECT_EQ(input_error_of([&] {
                  score_table(model,
                              {.table = table,
                               .out = path("new.csv"),
                               .keep = {"name"},
                               .columns = columns_for(model, {})},
                              options, silent_);
                }),
                folder_.path() + "/" + message);
      EXPECT_EQ(folder_.files().size(), 2u);
      EXPECT_EQ(content_of(path("u.csv")), "old");
    }
  }
}

TEST_F(Stream, RowsThatAreNotFiniteAreNamed) {
  const Model model = some_model();
  std::string text = "a,b\n";
  for (int i = 0; i < 25; ++i) text += "1,2\n";
  const std::string table = folder_.write("t.csv", text + "1e200,2\n1e300,1e300\n");
  const auto message_of = [](const auto& action) -> std::string {
    try {
      action();
    } catch (const NumericalError& error) {
      return error.what();
    }
    return "no error";
  };
  const StreamOptions options{.threads = 2, .rows_at_once = 10};
  EXPECT_EQ(
      message_of([&] {
        score_table(
            model,
            {.table = table, .out = {}, .keep = {}, .columns = columns_for(model, {})},
            options, silent_);
      }),
      "the density of row 26 of the table is not finite: is it far outside the "
      "training data?");
  model.parts[0].flow->values().fill_(NAN);
  EXPECT_EQ(message_of([&] {
              transform_table(model, {.table = table, .out = path("u.csv"), .keep = {}},
                              options, silent_);
            }),
            table +
                ":2: the transformed row is not finite: is it far outside the "
                "training data?");
  EXPECT_EQ(folder_.files().size(), 1u);
}

TEST_F(Stream, PiecesMayLoseAllRowsButATableMayNot) {
  const Model model = some_model();
  const StreamOptions options{.threads = 2, .rows_at_once = 2};
  const auto transform = [&](const std::string& text) {
    transform_table(model,
                    {.table = folder_.write("t.csv", text),
                     .out = path("u.csv"),
                     .keep = {},
                     .drop_missing = true},
                    options, silent_);
  };
  transform("a,b\nNA,1\n,2\n1,2\nNA,3\n,4\n3,4\n");
  EXPECT_EQ(read_table(path("u.csv")).rows(), 6);
  EXPECT_EQ(filled_rows("u.csv", "u1"), (std::vector<std::int64_t>{2, 5}));
  std::filesystem::remove(path("u.csv"));
  EXPECT_EQ(input_error_of([&] { transform("a,b\nNA,1\n,2\n1,\n"); }),
            path("t.csv") + ": every row has a missing value");
  EXPECT_EQ(folder_.files().size(), 1u);
}

TEST_F(Stream, ColumnsToKeepAreCheckedBeforeAnythingIsComputed) {
  const Model model = some_model();
  const std::string table = folder_.write("t.csv", "a,b,u1\n1,2,x\n");
  const auto error_of = [&](const std::string& keep) {
    return input_error_of([&] {
      transform_table(model, {.table = table, .out = path("u.csv"), .keep = {keep}}, {},
                      silent_);
    });
  };
  EXPECT_EQ(error_of("u1"),
            "--keep: expected columns that the output has not, found 'u1'");
  EXPECT_EQ(error_of("z"), table + ": no column 'z'; there are a, b, u1");
  EXPECT_EQ(folder_.files().size(), 1u);
}

TEST_F(Stream, AStopLeavesNoOutput) {
  const Model model = some_model();
  const std::atomic<bool> stop = true;
  const StreamOptions options{.threads = 2, .stop = &stop};
  EXPECT_THROW(
      draw_table(model, {.rows = 10, .table = {}, .id = {}, .out = path("s.csv")},
                 options, silent_),
      Interrupted);
  const std::string table = folder_.write("t.csv", "a,b\n1,2\n");
  EXPECT_THROW(
      transform_table(model, {.table = table, .out = path("u.csv"), .keep = {}},
                      options, silent_),
      Interrupted);
  EXPECT_EQ(folder_.files(), (std::vector<std::string>{"t.csv"}));
}

TEST(RunningMean, KeepsItsDigitsFarFromZero) {
  RunningMean pieces;
  for (int i = 0; i < 1000; ++i) {
    pieces.add(nd::tensor({1e9 + 1, 1e9 - 1, 1e9}, nd::kDouble));
  }
  EXPECT_EQ(pieces.count, 3000);
  EXPECT_NEAR(pieces.mean, 1e9, 1e-6);
  EXPECT_NEAR(pieces.squares, 2000, 1e-3);
  const auto likelihood = likelihood_of(pieces, 2);
  EXPECT_NEAR(likelihood.standard_error_nats, std::sqrt(2000.0 / 2999 / 3000), 1e-9);
}

}  // namespace
}  // namespace kinflow
