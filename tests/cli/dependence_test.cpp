// Every dependence structure through the real binary: fit, inspect, scores and draws of
// new rows given observed ones.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "kinflow/core/random.h"
#include "kinflow/data/table.h"
#include "run_binary.h"

namespace kinflow::cli {
namespace {

using Json = nlohmann::json;

/// Nuclear families of two parents and four children with non-normal traits, the last
/// children of every family in a table of their own.
class Families : public testing::Test {
 protected:
  static constexpr int kFamilies = 150;
  static constexpr double kLambda = 0.3;

  Families() {
    Random random(11);
    const std::string header = "family,person,house,day,x,y\n";
    std::string observed = header, held_out = header, pedigree, components;
    for (int f = 0; f < kFamilies; ++f) {
      for (const char* parent : {"pa", "ma"}) {
        pedigree += fmt::format("f{} {}{} 0 0 0 -9\n", f, parent, f);
      }
      double common[2] = {random.normal(), random.normal()};
      for (int child = 0; child < 4; ++child) {
        pedigree += fmt::format("f{0} c{0}_{1} pa{0} ma{0} 0 -9\n", f, child);
        components += fmt::format("f{0} c{0}_{1}", f, child);
        for (int k = 0; k < 4; ++k) components += fmt::format(" {}", random.normal());
        components += "\n";
        double u[2];
        for (int j = 0; j < 2; ++j) {
          const double genes = std::sqrt(0.5) * (common[j] + random.normal());
          u[j] = std::sqrt(kLambda) * random.normal() + std::sqrt(1 - kLambda) * genes;
        }
        (child < 3 ? observed : held_out) +=
            fmt::format("f{0},c{0}_{1},h{2},2024-01-{3:02d},{4},{5}\n", f, child, f / 3,
                        1 + f % 30, std::exp(0.5 * u[0]), u[1] + u[0] * u[0]);
      }
    }
    table = folder_.write("observed.csv", observed);
    children = folder_.write("children.csv", held_out);
    fam = folder_.write("cohort.fam", pedigree);
    eigenvec = folder_.write("cohort.eigenvec", components);
  }

  std::string path(const std::string& name) const { return folder_.path(name); }

  /// Fits with options of a dependence, few epochs, and returns what inspect says.
  Json fitted(const std::string& run, const Arguments& dependence,
              const Arguments& more = small_fit()) const {
    run_well(Arguments{"fit", table, "--columns", "x,y", "--out", path(run)} +
             dependence + more);
    return Json::parse(run_well({"inspect", path(run), "--json"}));
  }
  Json evaluated(const std::string& run, const Arguments& more) const {
    return Json::parse(
        run_well(Arguments{"evaluate", path(run), children, "--json"} + more));
  }

  /// Scores and draws of the children given their siblings, with the same options.
  void expect_conditional_work(const std::string& run, const Arguments& dependence) {
    SCOPED_TRACE(run);
    const Json joint = evaluated(run, dependence);
    EXPECT_TRUE(joint["joint_log_density_nats"].is_number());
    const Json given = evaluated(run, dependence + Arguments{"--given", table});
    EXPECT_EQ(given["given_rows"], 3 * kFamilies);
    EXPECT_TRUE(given["mean_nll_given_nats"].is_number());
    EXPECT_TRUE(given["joint_log_density_given_nats"].is_number());
    const auto drawn = path(run + "_drawn.csv");
    run_well(Arguments{"sample", path(run), "--for", children, "--given", table,
                       "--out", drawn} +
             dependence);
    EXPECT_EQ(read_table(drawn).rows(), kFamilies);
    const auto alone = path(run + "_alone.csv");
    run_well(Arguments{"sample", path(run), "--for", children, "--out", alone} +
             dependence);
    EXPECT_EQ(read_table(alone).rows(), kFamilies);
  }

  /// Correlation of the children's trait x in a table with the mean of their siblings'.
  double correlation_with_siblings(const std::string& drawn) const {
    const auto x = numeric_matrix(read_table(drawn), {"x"}).values;
    const auto siblings = numeric_matrix(read_table(table), {"x"}).values;
    double xx = 0, yy = 0, xy = 0, mean_x = 0, mean_y = 0;
    for (std::size_t f = 0; f < x.size(); ++f) mean_x += x[f] / kFamilies;
    for (const double value : siblings) mean_y += value / (3 * kFamilies);
    for (std::size_t f = 0; f < x.size(); ++f) {
      const double a = x[f] - mean_x;
      const double b =
          (siblings[3 * f] + siblings[3 * f + 1] + siblings[3 * f + 2]) / 3 - mean_y;
      xx += a * a;
      yy += b * b;
      xy += a * b;
    }
    return xy / std::sqrt(xx * yy);
  }

  TemporaryFolder folder_;
  std::string table, children, fam, eigenvec;
};

TEST_F(Families, PedigreesGiveLambdaItsErrorAndATest) {
  const Arguments dependence = {"--relationship", fam, "--id", "family,person"};
  const Json run = fitted("run", dependence + Arguments{"--no-share-per-latent"},
                          small_fit({}, "40"));
  EXPECT_EQ(run["dependence"]["kind"], "relationship");
  const Json& inference = run["record"]["inference"];
  const Json& lambda = inference["estimates"][0];
  EXPECT_EQ(lambda["parameter"], "lambda");
  EXPECT_GT(lambda["standard_error"].get<double>(), 0);
  EXPECT_LT(lambda["low"].get<double>(), lambda["estimate"].get<double>());
  const double low = inference["profile_interval"]["low"];
  const double high = inference["profile_interval"]["high"];
  EXPECT_GT(low, 0.02);
  EXPECT_LT(low, kLambda);
  EXPECT_GT(high, kLambda);
  EXPECT_LT(high, 0.7);
  EXPECT_LT(inference["independence_test"]["p_value"].get<double>(), 1e-6);
  const auto text = run_well({"inspect", path("run")});
  for (const auto* part :
       {"standard error", "profile likelihood", "test of independence"}) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }

  // Children are likelier where their siblings are known, one by one and together.
  const auto alone = evaluated("run", dependence);
  const auto given = evaluated("run", dependence + Arguments{"--given", table});
  EXPECT_LT(given["mean_nll_given_nats"].get<double>(),
            alone["mean_nll_nats"].get<double>() - 0.02);
  EXPECT_GT(given["joint_log_density_given_nats"].get<double>(),
            alone["joint_log_density_nats"].get<double>() + 3);
  expect_conditional_work("run", dependence);
  EXPECT_GT(correlation_with_siblings(path("run_drawn.csv")), 0.25);
  EXPECT_LT(correlation_with_siblings(path("run_alone.csv")), 0.25);
}

TEST_F(Families, EveryStructureIsFittedScoredAndDrawn) {
  const std::vector<std::tuple<std::string, std::string, Arguments>> structures = {
      {"groups", "blocks", {"--group", "family"}},
      {"components",
       "relationship",
       {"--relationship-pcs", eigenvec, "--id", "family,person"}},
      {"conjugate",
       "relationship",
       {"--relationship", fam, "--id", "person", "--solver", "iterative"}},
      {"exponential", "time", {"--time", "day", "--time-kernel", "exponential"}},
      {"gaussian", "time", {"--time", "day", "--time-kernel", "gaussian"}},
      {"sparse_sum",
       "sum",
       {"--group", "house", "--relationship", fam, "--id", "person"}},
      {"dense_sum",
       "sum",
       {"--group", "house", "--time", "day", "--time-kernel", "gaussian",
        "--time-decay", "0.1"}}};
  for (const auto& [name, kind, dependence] : structures) {
    const Json run = fitted(name, dependence);
    EXPECT_EQ(run["dependence"]["kind"], kind) << name;
    EXPECT_TRUE(run["record"]["inference"]["log_likelihood_nats"].is_number()) << name;
    expect_conditional_work(name, dependence);
  }
}

TEST_F(Families, EveryLatentHasParametersOfItsOwn) {
  const std::vector<std::pair<std::string, Arguments>> structures = {
      {"per_latent", {"--group", "family", "--correlation", "per-latent"}},
      {"both", {"--group", "family", "--correlation", "per-block-and-latent"}},
      {"related", {"--relationship", fam, "--id", "person", "--share-per-latent"}},
      {"time", {"--time", "day", "--time-kernel", "exponential", "--share-per-latent"}},
      {"sum",
       {"--group", "house", "--relationship", fam, "--id", "person",
        "--share-per-latent"}}};
  for (const auto& [name, dependence] : structures) {
    const Json run = fitted(name, dependence);
    EXPECT_EQ(run["dependence"]["latents"].size(), 2u) << name;
    EXPECT_EQ(run["members"][0]["flow"]["latent_map"], true) << name;
    // What fits alone need is no part of the request for new rows.
    auto for_rows = dependence;
    const auto own = std::find(for_rows.begin(), for_rows.end(), "--correlation");
    for_rows.erase(own, own == for_rows.end() ? own : own + 2);
    std::erase(for_rows, "--share-per-latent");
    expect_conditional_work(name, for_rows);
    const auto text = run_well({"inspect", path(name)});
    EXPECT_NE(text.find("of latent 2"), std::string::npos) << text;
  }
  const Json without = fitted("no_map", {"--group", "family", "--correlation",
                                         "per-latent", "--no-latent-map"});
  EXPECT_FALSE(without["members"][0]["flow"].contains("latent_map"));
  const auto idle =
      run({"fit", table, "--columns", "x,y", "--group", "family", "--correlation",
           "shared", "--no-latent-map", "--out", path("idle")});
  EXPECT_EQ(idle.exit_code, 2);
  expect_one_error_line(idle, {"--latent-map", "--correlation per-latent"});
}

TEST_F(Families, RowsChooseWhetherLatentsShareTheirParameters) {
  const Arguments related = {"--relationship", fam, "--id", "person"};
  const auto choice = [&](const std::string& name, const Arguments& more) {
    return fitted(name, related + more)["record"].value("dependence_choice", Json());
  };
  EXPECT_EQ(choice("open", {})["candidates"].size(), 2u);
  EXPECT_TRUE(choice("own", {"--share-per-latent"}).is_null());
  EXPECT_TRUE(choice("shared", {"--no-share-per-latent"}).is_null());
}

TEST_F(Families, VariantsOfCorrelationsAndDecaysAreFitted) {
  for (const std::string correlation : {"shared", "per-size", "pooled"}) {
    const Json run =
        fitted(correlation, {"--group", "family", "--correlation", correlation});
    EXPECT_EQ(run["dependence"]["blocks"].size() > 50, true) << correlation;
  }
  const Json given = fitted("given", {"--time", "day", "--time-kernel", "exponential",
                                      "--time-decay", "0.5"});
  EXPECT_EQ(given["dependence"]["gamma"], 0.5);
  const Json grid =
      fitted("grid", {"--time", "day", "--time-kernel", "gaussian", "--time-decay",
                      "0.01,1", "--schedule", "grid", "--grid", "0.3,0.9"});
  EXPECT_EQ(grid["history"].back()["replica"], 3);
  const double gamma = grid["dependence"]["gamma"];
  EXPECT_TRUE(gamma == 0.01 || gamma == 1) << gamma;
  fitted("stages", {"--relationship", fam, "--id", "person", "--schedule",
                    "alternating", "--stage-epochs", "1"});
}

TEST_F(Families, AnUnstructuredDependenceBelongsToItsRows) {
  const std::string text = content_of(table);
  std::size_t end = 0;
  for (int line = 0; line <= 60; ++line) end = text.find('\n', end) + 1;
  const auto small = folder_.write("small.csv", text.substr(0, end));
  run_well(Arguments{"fit", small, "--columns", "x,y", "--unstructured", "--valid",
                     children, "--out", path("run")} +
           small_fit());
  const Json all = Json::parse(
      run_well({"evaluate", path("run"), small, "--unstructured", "--json"}));
  EXPECT_TRUE(all["joint_log_density_nats"].is_number());
  end = 0;
  for (int line = 0; line <= 20; ++line) end = text.find('\n', end) + 1;
  const auto first = folder_.write("first.csv", text.substr(0, end));
  run_well({"sample", path("run"), "--unstructured", "--given", first, "--out",
            path("rest.csv")});
  EXPECT_EQ(read_table(path("rest.csv")).rows(), 40);
  expect_refusal(folder_, {"evaluate", path("run"), children, "--unstructured"},
                 {"60 training rows", "150"});
}

TEST_F(Families, MatchesAreCountedAndDecompositionsKept) {
  // A dense matrix by position, large enough to be kept.
  const int rows = 1200;
  std::string text, tall = "x,y\n", other = tall;
  Random random(3);
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < rows; ++j) {
      text += i == j ? "1 " : i / 2 == j / 2 ? "0.5 " : "0 ";
    }
    text += "\n";
    tall += fmt::format("{},{}\n", random.normal(), random.normal());
    if (i < 100) other += fmt::format("{},{}\n", random.normal(), random.normal());
  }
  const auto matrix = folder_.write("dense.txt", text);
  const auto many = folder_.write("tall.csv", tall);
  const auto valid = folder_.write("other.csv", other);
  const auto fit_it = [&](const std::string& run) {
    const auto outcome = kinflow::cli::run(
        Arguments{"fit", many, "--relationship", matrix, "--relationship-by-position",
                  "--valid", valid, "--out", path(run)} +
        small_fit({}, "1"));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_NE(outcome.err.find("rows matched by position"), std::string::npos);
    return outcome.err;
  };
  fit_it("first");
  int kept = 0;
  for (const auto& [name, content] : content_below(folder_.path())) {
    kept += name.find("dense.txt.eigen-") != std::string::npos;
  }
  EXPECT_EQ(kept, 1);
  EXPECT_NE(fit_it("second").find("eigen-"), std::string::npos);
  EXPECT_EQ(content_of(path("first/metrics.csv")),
            content_of(path("second/metrics.csv")));

  // Also where a part of the table is held out.
  const auto outcome =
      kinflow::cli::run(Arguments{"fit", table, "--columns", "x,y", "--relationship",
                                  fam, "--id", "person", "--out", path("split")} +
                        small_fit());
  EXPECT_NE(outcome.err.find("450 rows matched by id, 0 only in the table, 450 only"),
            std::string::npos)
      << outcome.err;
}

TEST_F(Families, SmallEntriesSetToZeroMustLeaveADefiniteMatrix) {
  // Three people of a dense file; without its small entry the rest is not definite.
  const auto people = folder_.write("three.csv", "id,x,y\na,1,2\nb,2,1\nc,0,4\n");
  const auto matrix = folder_.write("three.txt", "1 0.8 0.4\n0.8 1 0.8\n0.4 0.8 1\n");
  folder_.write("three.txt.id", "a\nb\nc\n");
  expect_refusal(folder_,
                 {"fit", people, "--relationship", matrix, "--id", "id", "--sparsify",
                  "0.5", "--valid", people, "--out", path("run")},
                 {"three.txt", "positive semidefinite", "smallest eigenvalue", "'b'"});
}

TEST_F(Families, WrongCombinationsAreRefused) {
  const auto refused = [&](const Arguments& options, const Arguments& mentioned) {
    expect_refusal(
        folder_,
        Arguments{"fit", table, "--columns", "x,y", "--out", path("run")} + options,
        mentioned);
  };
  refused({}, {"expected a dependence", "neither"});
  refused({"--independent", "--group", "family"}, {"both"});
  refused({"--unstructured", "--group", "family"}, {"--unstructured", "group"});
  refused({"--time-kernel", "gaussian"}, {"--time-kernel", "--time COLUMN"});
  refused({"--group", "family", "--time-decay", "1"}, {"--time-kernel"});
  refused({"--time", "x", "--time-kernel", "exponential", "--time-decay", "1,2"},
          {"--time-decay", "grid"});
  refused({"--time", "day", "--time-kernel", "exponential", "--group", "house"},
          {"--time-decay", "one value", "none"});
  refused({"--time", "family", "--time-kernel", "exponential"},
          {"observed.csv:2", "a number or a date", "'f0'"});
  refused({"--group", "family", "--id", "person"}, {"--id", "--relationship"});
  refused({"--relationship-pcs", eigenvec, "--relationship-by-position"},
          {"cohort.eigenvec", "450 rows", "600"});
  refused({"--relationship-pcs", eigenvec},
          {"--relationship-pcs", "--id COLUMN", "--relationship-by-position"});
  refused({"--relationship", fam, "--id", "person", "--relationship-ids", "a,b"},
          {"--relationship-ids", "one file for each"});
  refused({"--relationship", fam, "--id", "person", "--group", "house", "--solver",
           "iterative"},
          {"--solver iterative"});
  refused({"--time", "x", "--time-kernel", "exponential"}, {"'x'", "one role"});
  refused({"--group", "house", "--relationship", fam, "--id", "person", "--correlation",
           "pooled"},
          {"--correlation", "--group alone"});
  refused({"--relationship", fam, "--id", "person", "--cache", path("nowhere")},
          {"--cache", "nowhere"});
  const auto ids_alone = folder_.write("ids.eigenvec", "a\nb\n");
  refused({"--relationship-pcs", ids_alone, "--id", "person"},
          {"ids.eigenvec", "at least 2 principal components"});
  // Scores need what the model learned, or values in its place.
  fitted("run", {"--group", "family"});
  expect_refusal(
      folder_,
      {"evaluate", path("run"), children, "--relationship", fam, "--id", "person"},
      {"--parameter", "relationship", "blocks"});
  expect_refusal(folder_,
                 {"evaluate", path("run"), children, "--relationship", fam, "--id",
                  "person", "--parameter", "1.5"},
                 {"--parameter", "lambda in (0, 1]", "1.5"});
  EXPECT_EQ(run({"evaluate", path("run"), children, "--relationship", fam, "--id",
                 "person", "--parameter", "0.5"})
                .exit_code,
            0);
  const auto two = folder_.write("two.txt", "1 0.5\n0.5 1\n");
  expect_refusal(folder_,
                 {"sample", path("run"), "--rows", "2", "--relationship", two,
                  "--relationship-by-position", "--parameter", "0.5", "--out", two},
                 {"--out", "two.txt"});
  fitted("time", {"--time", "day", "--time-kernel", "exponential"});
  const Arguments evaluate = {"evaluate", path("time"), children, "--time", "day"};
  expect_refusal(folder_, evaluate + Arguments{"--time-kernel", "gaussian"},
                 {"--parameter", "kernel exponential"});
  expect_refusal(
      folder_,
      evaluate + Arguments{"--time-kernel", "exponential", "--time-decay", "5"},
      {"--time-decay", "expected none"});
}

}  // namespace
}  // namespace kinflow::cli
