// Relationship files and the rows of tables: matched by ids, or by position where that
// is said, and never by chance.
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "kinflow/data/npy.h"
#include "kinflow/data/table.h"
#include "run_binary.h"

namespace kinflow::cli {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

class Matching : public testing::Test {
 protected:
  Matching() {
    fs::copy_file(files_.relatives + "/relationship.npy", plain_);
    fs::copy_file(files_.relatives + "/train.csv", path("train.csv"));
  }

  std::string path(const std::string& name) const { return folder_.path(name); }
  Arguments fit(const Arguments& more, const std::string& out = "run") const {
    return Arguments{"fit",       path("train.csv"),
                     "--valid",   files_.relatives + "/valid.csv",
                     "--columns", "x1,x2",
                     "--out",     path(out)} +
           more + small_fit();
  }
  std::string metrics(const std::string& run) const {
    return content_of(path(run + "/metrics.csv"));
  }
  void refused(const Arguments& arguments, const Arguments& mentioned) const {
    expect_refusal(folder_, arguments, mentioned);
  }
  /// Ids of the rows, each made by `id_of` from its number.
  template <typename Id>
  std::string ids(const std::string& name, const Id& id_of) const {
    std::string lines;
    for (int row = 1; row <= SharedFiles::kRelatives; ++row) lines += id_of(row) + "\n";
    return folder_.write(name, lines);
  }

  const SharedFiles& files_ = SharedFiles::get();
  TemporaryFolder folder_;
  const std::string plain_ = folder_.path("plain.npy");  // without ids
};

TEST_F(Matching, ByPositionIsRefusedUnlessItIsSaid) {
  const Arguments matrix = {"--relationship", plain_};
  const Arguments how = {"--id COLUMN", "--relationship-ids",
                         "--relationship-by-position"};
  refused(fit(matrix), how);
  refused(fit({"--relationship", files_.relatives + "/relationship.npy"}), how);
  refused(Arguments{"evaluate", files_.relatives_run, path("train.csv")} + matrix, how);
  refused(Arguments{"evaluate", files_.relatives_run, path("train.csv"), "--given",
                    files_.relatives + "/valid.csv"} +
              matrix,
          how);
  refused(Arguments{"sample", files_.relatives_run, "--rows", "60", "--out",
                    path("s.csv")} +
              matrix,
          how);
  const auto spec = folder_.write("spec.json", Json{{"fixed",
                                                     {{"table", path("train.csv")},
                                                      {"columns", "x1,x2"},
                                                      {"relationship", plain_}}}}
                                                   .dump());
  refused({"sweep", spec, "--out", path("sweep")}, how);
  const auto components = folder_.write("pcs.csv", "p1,p2\n1,2\n2,1\n0,3\n");
  refused(fit({"--relationship-pcs", components}), how);
  // Ids on one side alone.
  refused(fit({"--relationship", plain_, "--id", "id"}),
          {plain_, "expected ids", "found none", "--relationship-ids FILE",
           "--relationship-by-position"});
  refused(fit({"--relationship-pcs", components, "--id", "id"}),
          {components, "expected a column of ids", "--relationship-by-position"});
}

TEST_F(Matching, ByPositionGivesWhatIdsGiveForTheSameOrder) {
  run_well(fit({"--relationship", plain_, "--relationship-by-position"}));
  EXPECT_EQ(metrics("run"), content_of(files_.relatives_run + "/metrics.csv"));
  const auto record = Json::parse(content_of(path("run/run.json")));
  EXPECT_EQ(record["request"]["dependence"]["relationship_by_position"], true);
  const auto score = [&](const Arguments& more) {
    return Json::parse(run_well(Arguments{"evaluate", path("run"), path("train.csv"),
                                          "--json", "--relationship"} +
                                more))["joint_log_density_nats"]
        .get<double>();
  };
  EXPECT_NEAR(score({plain_, "--relationship-by-position"}),
              score({files_.relatives + "/relationship.npy", "--id", "id"}), 1e-9);
}

TEST_F(Matching, ByPositionExcludesIdsAndNeedsTheSameSize) {
  const Arguments by_position = {"--relationship", plain_,
                                 "--relationship-by-position"};
  refused(fit(by_position + Arguments{"--id", "id"}),
          {"--relationship-by-position", "--id id"});
  refused(fit(by_position + Arguments{"--relationship-ids", path("train.csv")}),
          {"--relationship-by-position", "--relationship-ids"});
  refused(fit({"--independent", "--relationship-by-position"}),
          {"--relationship-by-position", "found neither"});
  const auto fewer = folder_.write("fewer.txt", "1 0\n0 1\n");
  refused(fit({"--relationship", fewer, "--relationship-by-position"}),
          {fewer, "60 x 60", "2 x 2"});
}

TEST_F(Matching, OneMatrixIsNotTakenTwice) {
  const auto matrix = files_.relatives + "/relationship.npy";
  refused(fit({"--relationship", matrix + "," + matrix, "--id", "id"}),
          {"--relationship: expected different files", matrix, "twice"});
}

// Rows are no test of what was learned or is known of them, also where there are more.
TEST_F(Matching, RowsAreNotComparedWithThemselves) {
  const auto all = files_.blocks + "/train.csv";
  std::istringstream lines(content_of(all));
  std::string few;
  for (std::string line; std::ssize(few) < 2000 && std::getline(lines, line);) {
    few += line + "\n";
  }
  const auto part = folder_.write("part.csv", few);
  refused(
      Arguments{"fit", all, "--group", "group", "--valid", part, "--out", path("run")} +
          small_fit(),
      {"--valid: expected other rows", "found all", "rows of " + part});
  refused({"evaluate", files_.blocks_run, part, "--given", all},
          {"--given: expected other rows", "found all", "rows of " + part});
}

TEST_F(Matching, RunsOfEarlierVersionsGoOnByPosition) {
  run_well(fit({"--relationship", plain_, "--relationship-by-position"}, "whole"));
  auto record = Json::parse(content_of(path("whole/run.json")));
  record["status"] = "running";
  record["request"]["dependence"].erase("relationship_by_position");
  fs::create_directory(path("again"));
  folder_.write("again/run.json", record.dump());
  folder_.write("again/metrics.csv", "");
  run_well({"fit", "--resume", path("again")});
  EXPECT_EQ(metrics("again"), metrics("whole"));
}

TEST_F(Matching, AWrongMatrixIsBlamedAndNotTheTable) {
  const auto with_ids = [&](const std::string& ids, const std::string& table,
                            const std::string& columns) {
    return Arguments{"fit", table,  "--relationship", plain_,  "--relationship-ids",
                     ids,   "--id", columns,          "--out", path("run")};
  };
  const auto wrong =
      ids("wrong.id", [](int row) { return "f\tother" + std::to_string(row); });
  refused(with_ids(wrong, path("train.csv"), "id"),
          {"kinflow: " + plain_ + ":", "'r1'", "'f other1'"});
  refused(
      Arguments{"evaluate", files_.relatives_run, path("train.csv"), "--relationship",
                plain_, "--relationship-ids", wrong, "--id", "id"},
      {"kinflow: " + plain_ + ":", "'r1'", "'f other1'"});

  // Families, or ids that are made of them.
  std::string people = "family,id,x1,x2\n";
  for (int row = 1; row <= SharedFiles::kRelatives; ++row) {
    people += "F,r" + std::to_string(row) + "," + std::to_string(std::sin(row)) + "," +
              std::to_string(std::sin(7 * row)) + "\n";
  }
  const auto table = folder_.write("people.csv", people);
  refused(with_ids(ids("g.id", [](int row) { return "G\tr" + std::to_string(row); }),
                   table, "family,id"),
          {"kinflow: " + plain_ + ":", "only the families differ", "'F r1'", "'G r1'"});
  refused(with_ids(ids("j.id", [](int row) { return "F_r" + std::to_string(row); }),
                   table, "family,id"),
          {"kinflow: " + plain_ + ":", "family and individual in one id", "'F_r1'"});
}

}  // namespace
}  // namespace kinflow::cli
