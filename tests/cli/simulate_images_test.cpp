// kinflow simulate --images: its folders, and options that do not belong together.
#include "run_binary.h"

namespace kinflow::cli {
namespace {

const Arguments kSmallImages = {"simulate",     "--images", "--rows",      "40",
                                "--valid-rows", "3",        "--test-rows", "2",
                                "--seed",       "2"};

TEST(SimulateImages, WritesAFolderForEachPersonAndTheTruth) {
  const TemporaryFolder folder;
  const auto out = folder.path("c");
  run_well(kSmallImages + Arguments{"--out", out});
  std::size_t images = 0;
  for (const auto& [path, bytes] : content_below(out + "/train")) {
    images += path.ends_with(".png") && bytes.starts_with("\x89PNG");
  }
  EXPECT_EQ(images, 40u);
  EXPECT_EQ(content_below(out + "/valid").size(), 6u);  // 3 folders, 3 files
  EXPECT_EQ(content_below(out + "/test").size(), 4u);
  EXPECT_NE(content_of(out + "/truth.json").find("\"identity_share\": 0.7"),
            std::string::npos);
  const auto again = folder.path("d");
  run_well(kSmallImages + Arguments{"--out", again});
  EXPECT_EQ(content_of(again + "/valid/v000002/v000002_000001.png"),
            content_of(out + "/valid/v000002/v000002_000001.png"));
  expect_refusal(folder, kSmallImages + Arguments{"--out", out},
                 {out, "expected no earlier result", "--overwrite"});
}

TEST(SimulateImages, RefusesWhatDoesNotBelongTogether) {
  const TemporaryFolder folder;
  const Arguments out = {"--out", folder.path("c")};
  expect_refusal(folder, kSmallImages + Arguments{"--shape", "abs"} + out,
                 {"--shape: expected no --images"});
  expect_refusal(folder, kSmallImages + Arguments{"--people", "20"} + out,
                 {"--people: expected --cohort beside it", "found none"});
  expect_refusal(folder, Arguments{"simulate", "--side", "8"} + out,
                 {"--side: expected --images beside it", "found none"});
  expect_refusal(folder, Arguments{"simulate", "--images", "--cohort"} + out,
                 {"--images: expected no --cohort"});
  expect_refusal(folder, kSmallImages + Arguments{"--side", "10"} + out,
                 {"--side: expected a multiple of 4, found 10"});
  expect_refusal(folder, kSmallImages + Arguments{"--identity-share", "1.5"} + out,
                 {"--identity-share", "'1.5'"});
}

}  // namespace
}  // namespace kinflow::cli
