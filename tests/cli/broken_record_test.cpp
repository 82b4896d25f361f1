// Records that are cut off, are no JSON or hold other things: one plain line each.
#include <nlohmann/json.hpp>

#include "run_binary.h"

namespace kinflow::cli {
namespace {

using Json = nlohmann::json;

/// Refused, or taken for what is still whole; never with a word of a library.
void expect_plain(const Arguments& arguments) {
  const auto outcome = run(arguments);
  EXPECT_TRUE(outcome.exit_code == 2 || outcome.exit_code == 0) << outcome.err;
  for (const std::string word : {"exception", "parse", "internal error", "literal"}) {
    EXPECT_EQ(outcome.err.find(word), outcome.err.npos) << outcome.err;
  }
  if (outcome.exit_code == 2) expect_one_error_line(outcome, {});
}

std::vector<std::string> spoilt(const std::string& text) {
  std::vector<std::string> texts = {"",       "\n", "no JSON",
                                    "[1, 2]", "7",  "{\"a\": 1e999}"};
  for (const std::size_t part : {1U, 4U, 7U}) {
    texts.push_back(text.substr(0, text.size() * part / 8));
  }
  const auto whole = Json::parse(text);
  for (const auto& [key, ignored] : whole.items()) {
    for (const auto& value : {Json(), Json("x"), Json{{"x", 1}}}) {
      auto other = whole;
      other[key] = value;
      texts.push_back(other.dump());
    }
    auto other = whole;
    other.erase(key);
    texts.push_back(other.dump());
  }
  return texts;
}

TEST(BrokenRecord, OfARunIsToldInOnePlainLine) {
  const TemporaryFolder folder;
  const auto& files = SharedFiles::get();
  std::filesystem::create_directory(folder.path("run"));
  const auto record = folder.path("run/run.json");
  for (const auto& text : spoilt(content_of(files.blocks_run + "/run.json"))) {
    SCOPED_TRACE(text.substr(0, 60));
    folder.write("run/run.json", text);
    for (const char* left : {"model.safetensors", "metrics.csv"}) {
      std::filesystem::remove(folder.path("run/") + left);
    }
    expect_plain({"fit", "--resume", folder.path("run")});
    expect_plain({"evaluate", folder.path("run"), files.blocks + "/test.csv"});
  }
  folder.write("run/run.json", "{\n \"status\": \"run");
  expect_refusal(folder, {"fit", "--resume", folder.path("run")},
                 {record, "expected JSON", "breaks off in line 2"});
  folder.write("run/run.json", "{\n \"status\": run}");
  expect_refusal(folder, {"fit", "--resume", folder.path("run")},
                 {record, "expected JSON", "a mistake in line 2"});
  folder.write("run/run.json", "");
  expect_refusal(folder, {"fit", "--resume", folder.path("run")},
                 {record, "expected JSON", "found nothing"});
}

TEST(BrokenRecord, OfASweepIsToldInOnePlainLine) {
  const TemporaryFolder folder;
  const auto& files = SharedFiles::get();
  const auto spec =
      folder.write("spec.json", Json{{"fixed",
                                      {{"table", files.blocks + "/train.csv"},
                                       {"group", "group"},
                                       {"hidden", "8"},
                                       {"bins", 4},
                                       {"epochs", 1}}}}
                                    .dump());
  run_well({"sweep", spec, "--out", folder.path("sweep"), "--threads", "1"});
  const auto whole = content_of(folder.path("sweep/sweep.json"));
  for (const auto& text : spoilt(whole)) {
    SCOPED_TRACE(text.substr(0, 60));
    folder.write("sweep/sweep.json", text);
    expect_plain({"sweep", "--resume", folder.path("sweep"), "--threads", "1"});
  }
  for (const auto& text : spoilt(content_of(spec))) {
    SCOPED_TRACE(text.substr(0, 60));
    folder.write("spec.json", text);
    expect_plain({"sweep", spec, "--out", folder.path("other"), "--threads", "1",
                  "--overwrite"});
  }
}

}  // namespace
}  // namespace kinflow::cli
