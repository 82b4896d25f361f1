// Relationship matrices with ids through the real binary: fits, checks, conversions.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "kinflow/data/npy.h"
#include "kinflow/data/read_relationship.h"
#include "kinflow/data/table.h"
#include "kinflow/data/write_relationship.h"
#include "run_binary.h"

namespace kinflow::cli {
namespace {

using Json = nlohmann::json;

/// The simulated relatives with names: the table in its order, the matrix in reverse,
/// with one person more.
class Relatives : public testing::Test {
 protected:
  Relatives() {
    const auto& files = SharedFiles::get();
    const std::size_t n = SharedFiles::kRelatives;
    const Table table = read_table(files.relatives + "/train.csv");
    const auto first = labels(table, "x1"), second = labels(table, "x2");
    std::string text = "family,person,x1,x2\n";
    for (std::size_t i = 0; i < n; ++i) {
      const std::string cells = first[i] + "," + second[i] + "\n";
      text += fmt::format("f{},p{},{}", i / 3, i, cells);
    }
    named = folder_.write("named.csv", text);

    const auto given = read_npy(files.relatives + "/relationship.npy").values;
    RelationshipFile matrix{.source = "matrix",
                            .ids = {},
                            .rows = static_cast<std::int64_t>(n) + 1,
                            .dense = std::vector<double>((n + 1) * (n + 1)),
                            .sparse = {}};
    for (std::size_t i = 0; i < n; ++i) {
      const auto row = n - 1 - i;
      matrix.ids.push_back({fmt::format("f{}", row / 3), fmt::format("p{}", row)});
      for (std::size_t j = 0; j < n; ++j) {
        matrix.dense[i * (n + 1) + j] = given[row * n + (n - 1 - j)];
      }
    }
    matrix.ids.push_back({"g", "stranger"});
    matrix.dense.back() = 1;
    reversed = folder_.path("reversed.rel.bin");
    write_relationship(reversed, matrix);
  }

  std::string path(const std::string& name) const { return folder_.path(name); }

  Arguments fit(const std::string& table, const Arguments& more) const {
    return Arguments{"fit", table, "--valid",
                     SharedFiles::get().relatives + "/valid.csv"} +
           more + small_fit();
  }

  /// The matrix in the order of the table, without a word on whose rows they are.
  std::string without_ids() const {
    const auto copy = path("plain.npy");
    std::filesystem::copy_file(SharedFiles::get().relatives + "/relationship.npy", copy,
                               std::filesystem::copy_options::overwrite_existing);
    return copy;
  }

  static Json record_of(const std::string& run_folder) {
    return Json::parse(content_of(run_folder + "/run.json"));
  }

  TemporaryFolder folder_;
  std::string named, reversed;
};

TEST_F(Relatives, FittedByIdAreFittedAsByPosition) {
  const auto& files = SharedFiles::get();
  const std::string by_id = path("by_id");
  const auto outcome = run(fit(
      named, {"--relationship", reversed, "--id", "family,person", "--out", by_id}));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find(
                "60 rows matched by id, 0 only in the table, 1 only in the file"),
            std::string::npos)
      << outcome.err;
  EXPECT_EQ(content_of(by_id + "/metrics.csv"),
            content_of(files.relatives_run + "/metrics.csv"));
  const Json data = record_of(by_id)["request"]["dependence"];
  EXPECT_EQ(data["id"], (Arguments{"family", "person"}));
  EXPECT_EQ(data["relationship_scale"], "mean-diagonal");
  EXPECT_EQ(record_of(by_id)["result"]["train_rows"], 60);

  // One column is enough, and any format will do.
  run_well({"relationship", "convert", reversed, "--out", path("g.cXX.txt")});
  std::filesystem::rename(path("g.cXX.txt.id"), path("people.txt"));
  const std::string again = path("again");
  run_well(fit(named, {"--relationship", path("g.cXX.txt"), "--relationship-ids",
                       path("people.txt"), "--id", "person", "--columns", "x1,x2",
                       "--out", again}));
  EXPECT_EQ(content_of(again + "/metrics.csv"), content_of(by_id + "/metrics.csv"));
}

TEST_F(Relatives, EvaluatedByIdAreEvaluatedAsByPosition) {
  const auto& files = SharedFiles::get();
  const auto joint = [&](const std::string& table, const Arguments& more) {
    return Json::parse(
               run_well(Arguments{"evaluate", files.relatives_run, table, "--json"} +
                        more))["joint_log_density_nats"]
        .get<double>();
  };
  const double by_position =
      joint(files.relatives + "/train.csv",
            {"--relationship", files.relatives + "/relationship.npy",
             "--relationship-by-position"});
  EXPECT_NEAR(joint(named, {"--relationship", reversed, "--id", "person"}), by_position,
              1e-7);
}

TEST_F(Relatives, AResumedRunKeepsItsIdsAndNoticesChanges) {
  const std::string whole = path("whole"), again = path("again");
  const Arguments by_id = {"--relationship", reversed, "--id", "family,person"};
  run_well(fit(named, by_id + Arguments{"--out", whole}));
  // A run that has begun and done nothing: its record, and metrics without lines.
  std::filesystem::create_directory(again);
  Json record = record_of(whole);
  record["status"] = "running";
  record.erase("result");
  record.erase("seconds");
  std::ofstream(again + "/run.json") << record.dump();
  std::ofstream(again + "/metrics.csv");
  run_well({"fit", "--resume", again});
  EXPECT_EQ(content_of(again + "/metrics.csv"), content_of(whole + "/metrics.csv"));
  EXPECT_TRUE(content_of(again + "/model.safetensors") ==
              content_of(whole + "/model.safetensors"));

  std::filesystem::remove(again + "/model.safetensors");
  std::ofstream(again + "/run.json") << record.dump();
  std::ofstream(path("reversed.rel.id"), std::ios::app) << "\n";
  expect_refusal(folder_, {"fit", "--resume", again},
                 {"reversed.rel.id", "expected the file that the run began with"});
}

TEST_F(Relatives, IdsThatDoNotFitAreRefused) {
  const auto refused = [&](const std::string& table, const Arguments& more,
                           const Arguments& mentioned) {
    expect_refusal(folder_, fit(table, more + Arguments{"--out", path("run")}),
                   mentioned);
  };
  const auto write = [&](const std::string& people) {
    return folder_.write("t.csv", "person,x1,x2\n" + people);
  };
  const Arguments by_id = {"--relationship", reversed, "--id", "person"};
  refused(write("p1,1,2\nnobody,2,1\np3,4,7\n"), by_id,
          {"t.csv", "found 1 of 3 that it has not: 'nobody'"});
  refused(write("p1,1,2\np2,2,1\np1,4,7\n"), by_id,
          {"t.csv", "expected different ids, found 'p1' in rows 1 and 3"});
  refused(
      named,
      {"--relationship", reversed, "--columns", "x1,x2", "--relationship-by-position"},
      {"expected a 60 x 60 matrix", "found 61 x 61", "--id COLUMN"});
  refused(named, {"--relationship", without_ids(), "--id", "family,person"},
          {"expected ids", "--relationship-ids FILE", "--relationship-by-position"});
  refused(named, {"--relationship", reversed, "--id", "who"}, {"'who'"});
  refused(named, {"--independent", "--id", "person"}, {"--id", "--relationship"});
  refused(named, {"--relationship", reversed, "--id", "family,person,x1"},
          {"--id", "expected one column, or two"});
  refused(named, by_id + Arguments{"--columns", "x1,person"},
          {"'person'", "both in --id and in --columns"});
}

TEST_F(Relatives, ChecksTellWhatIsWrong) {
  const Json good =
      Json::parse(run_well({"relationship", "check", reversed, "--json"}));
  EXPECT_EQ(good["rows"], 61);
  EXPECT_EQ(good["ids"], true);
  EXPECT_EQ(good["symmetric"], true);
  EXPECT_EQ(good["components"], 2);
  EXPECT_TRUE(good["errors"].empty());
  EXPECT_NE(run_well({"relationship", "check", reversed}).find("61, dense, with ids"),
            std::string::npos);

  const auto bad = [&](const std::string& name, const std::string& bytes) {
    return run({"relationship", "check", folder_.write(name, bytes), "--json"});
  };
  const auto asymmetric = bad("a.txt", "a 1 .5\nb .1 1\n");
  EXPECT_EQ(asymmetric.exit_code, 2);
  EXPECT_EQ(Json::parse(asymmetric.out)["symmetric"], false);
  expect_one_error_line(asymmetric, {"a.txt", "row 2 ('b'), column 1"});
  const auto indefinite = bad("i.txt", "x 1 .9 -.9\ny .9 1 .9\nz -.9 .9 1\n");
  EXPECT_EQ(indefinite.exit_code, 2);
  EXPECT_EQ(Json::parse(indefinite.out)["indefinite_rows"], (Arguments{"x", "y", "z"}));
  const auto twins = bad("t.txt", "x 1 .99\ny .99 1\n");
  EXPECT_EQ(twins.exit_code, 0);
  EXPECT_EQ(Json::parse(twins.out)["twins"][0]["second"], "y");
  for (const auto& [name, bytes, mentioned] :
       {std::tuple{"c.fam", "f a b 0\nf b a 0\n", "found a circle of 2 people"},
        {"o.fam", "f a a 0\n", "'f a' as its own parent"},
        {"s.grm.bin", "12345", "found 5 bytes"}}) {
    expect_refusal(folder_, {"relationship", "check", folder_.write(name, bytes)},
                   {name, mentioned});
  }
}

TEST_F(Relatives, ConversionsScaleAndThin) {
  const std::string pedigree =
      folder_.write("p.fam", "f a 0 0\nf b 0 0\nf c a b\nf d c 0\n");
  run_well({"relationship", "convert", pedigree, "--out", path("p.grm.sp")});
  EXPECT_EQ(content_of(path("p.grm.id")), "f\ta\nf\tb\nf\tc\nf\td\n");
  EXPECT_EQ(content_of(path("p.grm.sp")),
            "0\t0\t1\n1\t1\t1\n2\t0\t0.5\n2\t1\t0.5\n2\t2\t1\n3\t0\t0.25\n3\t1\t0.25\n"
            "3\t2\t0.5\n3\t3\t1\n");
  run_well({"relationship", "convert", path("p.grm.sp"), "--sparsify", "0.3", "--out",
            path("q.mtx")});
  EXPECT_EQ(
      to_dense(read_relationship(path("q.mtx"))),
      (std::vector<double>{1, 0, .5, 0, 0, 1, .5, 0, .5, .5, 1, .5, 0, 0, .5, 1}));
  const std::string king = folder_.write("k.king", "0.25\n0\t0.125\n");
  run_well({"relationship", "convert", king, "--rescale", "--out", path("k.npy")});
  EXPECT_EQ(read_npy(path("k.npy")).values,
            (std::vector<double>{1, .5, 0, .5, 1, .25, 0, .25, 1}));
  expect_refusal(folder_, {"relationship", "convert", king, "--out", path("k.grm.bin")},
                 {"k.grm.bin", "expected ids", "--ids FILE"});
  expect_refusal(folder_, {"relationship", "convert", king, "--out", path("k.king2")},
                 {"expected a name that ends in"});
}

}  // namespace
}  // namespace kinflow::cli
