// Results that stand in the place of new ones: refused, or replaced whole on request.
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "kinflow/data/table.h"
#include "run_binary.h"
#include "tests/genetics/bed_files.h"

namespace kinflow::cli {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;
using namespace std::chrono_literals;

class Overwrite : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.path(name); }

  /// Once as it is, then refused with a line that names `file`, then replaced, with
  /// another file beside it left alone.
  void expect_rule(const Arguments& arguments, const std::string& file) const {
    SCOPED_TRACE(shown(arguments));
    run_well(arguments);
    ASSERT_TRUE(fs::exists(file)) << file;
    expect_refusal(folder_, arguments, {file, "--overwrite"});
    const auto first = content_of(file);
    std::ofstream(file) << "spoilt";
    run_well(arguments + kOverwrite);
    EXPECT_NE(content_of(file), "spoilt");
    EXPECT_TRUE(content_of(file) == first);
  }
  std::vector<std::string> names_in(const std::string& folder) const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(path(folder))) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  const SharedFiles& files_ = SharedFiles::get();
  TemporaryFolder folder_;
};

TEST_F(Overwrite, TablesAreRefusedOrReplaced) {
  const auto& run = files_.blocks_run;
  const auto test = files_.blocks + "/test.csv";
  expect_rule({"evaluate", run, test, "--out", path("e.csv")}, path("e.csv"));
  expect_rule({"evaluate", run, files_.blocks + "/train.csv", "--group", "group",
               "--out", path("g.csv")},
              path("g.csv"));
  expect_rule({"sample", run, "--rows", "5", "--out", path("s.csv")}, path("s.csv"));
  expect_rule({"transform", run, test, "--out", path("t.csv")}, path("t.csv"));
  // What is no file can be written again and again.
  fs::create_symlink("/dev/null", path("null.csv"));
  for (int time = 0; time < 2; ++time) {
    run_well({"sample", run, "--rows", "5", "--out", path("null.csv")});
  }
}

TEST_F(Overwrite, PhenotypesTakeThoseOfAnEarlierCallWithThem) {
  const auto table =
      folder_.write("t.csv", "IID,x1,x2\na,0.1,0.2\nb,0.3,-0.2\nc,0.5,0.7\n");
  const auto fam = folder_.write("t.fam", "0 a 0 0 1 1\n0 b 0 0 1 1\n0 c 0 0 1 1\n");
  const Arguments transform = {"transform", files_.blocks_run, table, "--pheno-out",
                               path("p")};
  run_well(transform + Arguments{"--gemma", fam});
  expect_refusal(folder_, transform, {path("p.pheno"), "--overwrite", "--pheno-out"});
  run_well(transform + kOverwrite);
  EXPECT_TRUE(fs::exists(path("p.pheno")));
  EXPECT_FALSE(fs::exists(path("p.gemma.txt")));
}

TEST_F(Overwrite, SimulationsLeaveNothingOfAnotherKind) {
  const auto simulate = [&](const std::string& kind) {
    return Arguments{"simulate", "--dependence", kind,       "--rows",
                     "40",       "--valid-rows", "10",       "--test-rows",
                     "10",       "--out",        path("sim")};
  };
  run_well(simulate("relationship"));
  folder_.write("sim/notes.txt", "mine");
  expect_refusal(folder_, simulate("blocks"), {path("sim/train.csv"), "--overwrite"});
  run_well(simulate("blocks") + kOverwrite);
  EXPECT_EQ(names_in("sim"), (Arguments{"notes.txt", "test.csv", "train.csv",
                                        "truth.json", "valid.csv"}));
  const Arguments cohort = {"simulate", "--cohort", "--people", "30",
                            "--snps",   "40",       "--out",    path("sim")};
  expect_refusal(folder_, cohort, {path("sim/train.csv"), "--overwrite"});
  run_well(cohort + kOverwrite);
  EXPECT_FALSE(fs::exists(path("sim/train.csv")));
  EXPECT_EQ(content_of(path("sim/notes.txt")), "mine");
  // A folder of images appears whole, so that nothing else may be in its place.
  const Arguments images = {"simulate",     "--images", "--rows",      "20",
                            "--valid-rows", "2",        "--test-rows", "2",
                            "--out",        path("sim")};
  expect_refusal(folder_, images + kOverwrite, {path("sim"), "notes.txt"});
  fs::remove(path("sim/notes.txt"));
  run_well(images + kOverwrite);
  EXPECT_EQ(names_in("sim"), (Arguments{"test", "train", "truth.json", "valid"}));
  run_well(simulate("blocks") + kOverwrite);
  EXPECT_EQ(names_in("sim"),
            (Arguments{"test.csv", "train.csv", "truth.json", "valid.csv"}));
}

TEST_F(Overwrite, RunsAreRefusedOrReplaced) {
  const auto fit = [&](const std::string& seed) {
    return Arguments{"fit",     files_.blocks + "/train.csv",
                     "--group", "group",
                     "--seed",  seed,
                     "--out",   path("run")} +
           small_fit();
  };
  run_well(fit("1"));
  folder_.write("run/notes.txt", "mine");
  expect_refusal(folder_, fit("2"),
                 {path("run"), "already holds a run", "--overwrite"});
  const auto before = content_of(path("run/model.safetensors"));
  expect_refusal(folder_, fit("2") + kOverwrite + Arguments{"--columns", "x9"}, {"x9"});
  run_well(fit("2") + kOverwrite);
  EXPECT_FALSE(content_of(path("run/model.safetensors")) == before);
  EXPECT_EQ(names_in("run"), (Arguments{"metrics.csv", "model.safetensors", "notes.txt",
                                        "report.html", "run.json"}));
  expect_refusal(folder_, {"fit", "--resume", path("run"), "--overwrite"},
                 {"--resume", "--overwrite"});
  // A folder of something else is never taken.
  fs::create_directory(path("other"));
  folder_.write("other/notes.txt", "mine");
  expect_refusal(folder_,
                 Arguments{"fit", files_.blocks + "/train.csv", "--group", "group",
                           "--overwrite", "--out", path("other")} +
                     small_fit(),
                 {path("other"), "notes.txt"});
}

TEST_F(Overwrite, SweepsAreRefusedOrReplaced) {
  const auto spec = [&](const std::string& name, int seeds) {
    Json grid = Json::array();
    for (int seed = 0; seed < seeds; ++seed) grid.push_back(seed);
    return folder_.write(name, Json{{"fixed",
                                     {{"table", files_.blocks + "/train.csv"},
                                      {"group", "group"},
                                      {"hidden", "8"},
                                      {"bins", 4},
                                      {"epochs", 1}}},
                                    {"grid", {{"seed", grid}}}}
                                   .dump());
  };
  const auto sweep = [&](const std::string& of) {
    return Arguments{"sweep", of, "--out", path("sweep"), "--threads", "1"};
  };
  const auto two = spec("two.json", 2), one = spec("one.json", 1);
  run_well(sweep(two));
  folder_.write("sweep/notes.txt", "mine");
  folder_.write("sweep/group7.safetensors", "of a training that is no more");
  expect_refusal(folder_, sweep(one),
                 {path("sweep"), "already holds a sweep", "--resume", "--overwrite"});
  run_well(sweep(one) + kOverwrite);
  EXPECT_EQ(read_table(path("sweep/results.csv")).rows(), 1);
  EXPECT_EQ(names_in("sweep"), (Arguments{"best", "notes.txt", "report.html",
                                          "results.csv", "sweep.json"}));
  expect_refusal(folder_, {"sweep", "--resume", path("sweep"), "--overwrite"},
                 {"--overwrite", "--resume"});
}

TEST_F(Overwrite, MatricesTakeTheIdsOfAnEarlierOneWithThem) {
  const auto named = folder_.write("a.txt", "1 0.5\n0.5 1\n");
  folder_.write("a.txt.id", "p\nq\n");
  const auto plain = folder_.write("b.txt", "1 0.2\n0.2 1\n");
  const auto convert = [&](const std::string& from, const std::string& to) {
    return Arguments{"relationship", "convert", from, "--out", path(to)};
  };
  expect_rule(convert(named, "c.npy"), path("c.npy"));
  EXPECT_TRUE(fs::exists(path("c.npy.id")));
  expect_refusal(folder_, convert(plain, "c.npy"), {path("c.npy"), "--overwrite"});
  run_well(convert(plain, "c.npy") + kOverwrite);
  EXPECT_FALSE(fs::exists(path("c.npy.id"))) << "ids of another matrix";
  // Matrices with the same people may share a file of ids.
  run_well(convert(named, "d.grm.bin"));
  run_well(convert(path("d.grm.bin"), "d.grm.sp"));
  folder_.write("a.txt.id", "r\ns\n");
  expect_refusal(folder_, convert(named, "d.grm.gz"),
                 {path("d.grm.id"), "--overwrite"});
}

TEST_F(Overwrite, MatricesOfGenotypesAndLoci) {
  const auto prefix = write_bed(folder_, "t", random_content(30, 40, 5));
  expect_rule({"grm", "--bfile", prefix, "--out", path("k")}, path("k.grm.bin"));
  // Matrices without a chromosome stand beside that of all.
  const Arguments loco = {"grm", "--bfile", prefix, "--loco", "--out", path("k")};
  run_well(loco);
  for (const std::string ending : {".grm.bin", ".grm.id", ".grm.N.bin"}) {
    folder_.write("k.chr9" + ending, "of a chromosome that is no more");
  }
  expect_refusal(folder_, loco, {path("k.chr"), "--overwrite"});
  run_well(loco + kOverwrite);
  EXPECT_FALSE(fs::exists(path("k.chr9.grm.bin")));
  EXPECT_TRUE(fs::exists(path("k.chr1.grm.bin")));
  EXPECT_TRUE(fs::exists(path("k.grm.bin")));
  const auto tests = folder_.write("tests.txt", "SNP P\nrs1 1e-9\nrs2 0.5\n");
  expect_rule({"clump", tests, "--bfile", prefix, "--nonfounders", "--out", path("l")},
              path("l.loci.tsv"));
}

TEST_F(Overwrite, AFolderInWhichAnotherProcessWorksIsNeverTaken) {
  const Arguments fit = Arguments{"fit",        files_.blocks + "/train.csv",
                                  "--group",    "group",
                                  "--patience", "100000",
                                  "--out",      path("run")} +
                        small_fit({}, "100000");
  Process process(fit, path("out"), path("err"));
  while (process.is_running() && !fs::exists(path("run/metrics.csv"))) {
    std::this_thread::sleep_for(1ms);
  }
  ASSERT_TRUE(process.is_running());
  for (const auto& more : {Arguments{}, kOverwrite}) {
    const auto second = run(fit + more);
    EXPECT_EQ(second.exit_code, 2);
    expect_one_error_line(second, {path("run"), "another process"});
    EXPECT_EQ(second.err.find("--resume"), second.err.npos) << second.err;
  }
  const auto score = run({"evaluate", path("run"), files_.blocks + "/test.csv"});
  EXPECT_EQ(score.exit_code, 2);
  expect_one_error_line(score, {path("run"), "another process"});
  EXPECT_EQ(score.err.find("--resume"), score.err.npos) << score.err;
}

}  // namespace
}  // namespace kinflow::cli
