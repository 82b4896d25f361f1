// What the verbs refuse with images, and what they leave where they fail.
#include <sys/resource.h>

#include <csignal>
#include <filesystem>

#include "kinflow/data/npy.h"
#include "kinflow/images/write_png.h"
#include "small_faces.h"

namespace kinflow::cli {
namespace {

TEST(ImageRefusals, OptionsOfTheOtherKindAreRefused) {
  const auto& faces = Faces::get();
  const TemporaryFolder folder;
  const auto out = folder.path("out");
  expect_refusal(folder, fit_of(out, {"--hidden", "8"}), {"--hidden", "tables"});
  expect_refusal(folder, fit_of(out, {"--group", "person"}), {"--group", "tables"});
  expect_refusal(folder, fit_of(out, {"--schedule", "alternating"}), {"--schedule"});
  expect_refusal(folder, fit_of(out, {"--estimator", "hybrid"}), {"--estimator"});
  expect_refusal(folder, fit_of(out, {"--precision", "float64"}), {"--precision"});
  expect_refusal(folder, fit_of(out, {"--precision", "mixed"}),
                 {"--precision", "expected float32 on cpu", "found mixed"});
  expect_refusal(folder, fit_of(out, {"--start", "0.1,0.2"}), {"--start", "one value"});
  for (const auto* correlation : {"per-size", "pooled", "choose"}) {
    expect_refusal(
        folder, fit_of(out, {"--correlation", correlation}),
        {"--correlation: expected shared, per-block or per-latent for images",
         correlation});
  }
  expect_refusal(folder, fit_of(out, {"--ids", "x.csv"}), {"--ids", "both"});
  expect_refusal(folder, fit_of(out, {"--valid-ids", "x.csv"}), {"--valid-ids"});
  const Arguments table = {
      "fit", faces.table + "/train.csv", "--group", "group", "--out", out};
  expect_refusal(folder, table + Arguments{"--preset", "paper"},
                 {"--preset", "images"});
  expect_refusal(folder, table + Arguments{"--flow", "glow"}, {"--flow", "--images"});
  expect_refusal(folder, table + Arguments{"--precision", "mixed"}, {"--precision"});
  expect_refusal(folder,
                 {"evaluate", faces.run, faces.images + "/test", "--group", "g"},
                 {"--group", "tables"});
  expect_refusal(
      folder,
      {"evaluate", faces.table_run, faces.table + "/test.csv", "--samples", "30"},
      {"--samples", "images"});
  expect_refusal(folder, {"sample", faces.table_run, "--rows", "2", "--sheet", out},
                 {"--sheet", "images"});
  expect_refusal(folder,
                 {"sample", faces.run, "--n", "2", "--block-sizes", "2", "--out", out},
                 {"--block-sizes", "tables"});
  expect_refusal(folder, {"sample", faces.run, "--n", "2"}, {"--out", "--sheet"});
  expect_refusal(folder, {"sample", faces.run, "--out", out}, {"--n"});
  expect_refusal(folder,
                 {"transform", faces.run, faces.table + "/test.csv", "--out",
                  folder.path("out.csv")},
                 {"expected a model of tables, found a model of images"});
}

TEST(ImageRefusals, PeopleWhoAreNotKnownAreNotOnePerson) {
  const auto images = Faces::get().images + "/train";
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& cell, const Arguments& mentioned) {
    std::string table = "file,person\n";
    for (const auto& entry : std::filesystem::recursive_directory_iterator(images)) {
      if (!entry.is_regular_file()) continue;
      const auto file = std::filesystem::relative(entry.path(), images);
      const bool is_first = table.ends_with("person\n");
      table +=
          file.string() + "," + (is_first ? cell : file.parent_path().string()) + "\n";
    }
    const auto ids = folder.write("ids.csv", table);
    expect_refusal(
        folder,
        Arguments{"fit", images, "--ids", ids, "--out", folder.path("out")} + small({}),
        Arguments{ids} + mentioned);
  };
  refused("-9", {"expected a person", "-9", "missing"});
  refused("null", {":2", "'person'", "missing"});
}

TEST(ImageRefusals, OptionsWithoutEffectAreRefused) {
  const auto& faces = Faces::get();
  const TemporaryFolder folder;
  const auto out = folder.path("out");
  const auto valid = faces.images + "/valid";
  expect_refusal(folder, fit_of(out, {"--valid", valid, "--valid-fraction", "0.2"}),
                 {"--valid-fraction:", "--valid"});
  expect_refusal(folder, fit_of(out, {"--grey", "--rgb"}), {"--grey:", "--rgb"});
  expect_refusal(folder, fit_of(out, {"--person-column", "p"}),
                 {"--person-column:", "--ids"});
  expect_refusal(folder, fit_of(out, {"--grid", "0.1"}),
                 {"--grid:", "--schedule grid", "--schedule joint"});
  expect_refusal(folder, fit_of(out, {"--schedule", "grid", "--start", "0.2"}),
                 {"--start:", "--schedule grid"});
  expect_refusal(folder,
                 fit_of(out, {"--schedule", "baseline", "--estimator", "pairs"}),
                 {"--estimator:", "--schedule baseline"});
  expect_refusal(folder,
                 fit_of(out, {"--schedule", "grid", "--correlation", "per-latent"}),
                 {"--correlation:", "--schedule grid"});
  expect_refusal(folder, {"sample", faces.run, "--n", "2", "--crop", "8", "--out", out},
                 {"--crop:", "--given"});
  expect_refusal(folder,
                 {"sample", faces.run, "--n", "2", "--parameter", "0.2", "--out", out},
                 {"--parameter:", "--given"});
}

TEST(ImageRefusals, TrainingImagesDoNotValidate) {
  const TemporaryFolder folder;
  const auto train = Faces::get().images + "/train";
  expect_refusal(folder, fit_of(folder.path("out"), {"--valid", train}),
                 {"--valid", train, "the same"});
}

TEST(ImageRefusals, BadImagesAreRefusedAndNothingIsWritten) {
  const auto& faces = Faces::get();
  const TemporaryFolder folder;
  const auto out = folder.path("out");
  const auto fit = [&](const std::string& data, const Arguments& more = {}) {
    return Arguments{"fit", data, "--group-by-folder", "--out", out} + small(more);
  };
  const auto copy = [&](const std::string& name) {
    std::filesystem::copy(faces.images + "/train", folder.path(name),
                          std::filesystem::copy_options::recursive);
    return folder.path(name);
  };
  expect_refusal(folder, fit(folder.path("nowhere")), {"nowhere"});
  std::filesystem::create_directory(folder.path("empty"));
  expect_refusal(folder, fit(folder.path("empty")), {folder.path("empty")});
  const auto mixed = copy("mixed");
  std::filesystem::create_directory(mixed + "/zoe");
  write_png(mixed + "/zoe/1.png", blank_image(12, 8, 1));
  expect_refusal(folder, fit(mixed), {"zoe/1.png", "8 x 8", "12 x 8"});
  const auto corrupt = copy("corrupt");
  std::filesystem::create_directory(corrupt + "/zoe");
  folder.write("corrupt/zoe/1.png", "");
  expect_refusal(folder, fit(corrupt), {"zoe/1.png"});
  const auto skipped = run(fit(corrupt, {"--skip-corrupt", "--epochs", "1"}));
  EXPECT_EQ(skipped.exit_code, 0) << skipped.err;
  EXPECT_NE(skipped.err.find("1 image skipped"), std::string::npos) << skipped.err;
  expect_refusal(folder, fit_of(out, {"--batch-size", "4000"}),
                 {"already holds a run"});
  const auto other = folder.path("other");
  expect_refusal(folder, fit_of(other, {"--batch-size", "4000"}), {"--batch-size"});
  expect_refusal(folder, fit_of(other, {"--size", "7"}), {"--size"});
  expect_refusal(folder, fit_of(other, {"--size", "8xq"}), {"--size"});
  expect_refusal(folder, {"evaluate", faces.run, mixed}, {"zoe/1.png"});
  expect_refusal(folder,
                 {"evaluate", faces.run, faces.images + "/test", "--size", "12"},
                 {"8 x 8", "12 x 12"});
  expect_refusal(folder, {"evaluate", faces.run, faces.images + "/test", "--rgb"},
                 {"grey", "RGB"});
  expect_refusal(folder,
                 {"sample", faces.run, "--n", "2", "--out", faces.images + "/test"},
                 {"expected a new or empty folder"});
}

TEST(ImageRefusals, OutputsAreCheckedBeforeAnyIsWritten) {
  const auto& faces = Faces::get();
  const TemporaryFolder folder;
  const auto nowhere = folder.path("nowhere/x.png");
  const auto file = folder.write("file", "old");
  const Arguments evaluate = {"evaluate", faces.run, faces.images + "/test", "--out",
                              folder.path("scores.csv")};
  const Arguments sample = {"sample", faces.run, "--n", "2"};
  const auto into = [&](const std::string& out) {
    return sample + Arguments{"--out", out};
  };
  expect_refusal(folder, evaluate + Arguments{"--prd", nowhere},
                 {nowhere, "cannot write"});
  expect_refusal(folder, evaluate + Arguments{"--prd", folder.path("prd.svg")},
                 {"--prd: expected a .png file", "prd.svg"});
  expect_refusal(folder, into(folder.path("new")) + Arguments{"--sheet", nowhere},
                 {nowhere, "cannot write"});
  expect_refusal(
      folder, into(folder.path("new.npy")) + Arguments{"--sheet", folder.path("a.pdf")},
      {"--sheet: expected a .png file", "a.pdf"});
  expect_refusal(folder, into(folder.path("new.png")),
                 {"--out: expected a folder or an .npy file", "new.png"});
  expect_refusal(folder,
                 into(file + "/new") + Arguments{"--sheet", folder.path("sheet.png")},
                 {file + "/new: cannot make the folder (Not a directory)"});
}

TEST(ImageRefusals, ASheetDoesNotReplaceAGivenImage) {
  const auto& faces = Faces::get();
  const TemporaryFolder folder;
  std::filesystem::copy(faces.images + "/test", folder.path("known"),
                        std::filesystem::copy_options::recursive);
  const auto image = folder.path("known/t000002/t000002_000001.png");
  ASSERT_TRUE(std::filesystem::exists(image));
  expect_refusal(folder,
                 {"sample", faces.run, "--given", folder.path("known"), "--n", "1",
                  "--sheet", image},
                 {"--sheet: expected no file of the input", image});
  std::filesystem::rename(folder.path("known/t000002"), folder.path("elsewhere"));
  std::filesystem::create_directory_symlink(folder.path("elsewhere"),
                                            folder.path("known/t000002"));
  expect_refusal(folder,
                 {"sample", faces.run, "--given", folder.path("known/"), "--n", "1",
                  "--sheet", image},
                 {"--sheet: expected no file of the input", image});
  // Nor beside the images, where the next reading would find it.
  expect_refusal(folder,
                 {"sample", faces.run, "--n", "1", "--given", faces.images + "/test",
                  "--sheet", faces.images + "/test/sheet.png"},
                 {"--sheet: expected a place outside of the images"});
  expect_refusal(folder,
                 {"evaluate", faces.run, faces.images + "/test", "--out",
                  faces.images + "/test/x.csv"},
                 {"--out: expected a place outside of the images"});
  expect_refusal(folder, fit_of(faces.images + "/train/run"),
                 {"--out: expected a place outside of the images"});
}

TEST(ImageRefusals, TooFewImagesToCompareAreToldOf) {
  const auto& faces = Faces::get();
  const TemporaryFolder folder;
  run_well({"sample", faces.run, "--n", "19", "--out", folder.path("few")});
  const Arguments few = {"evaluate", faces.run, folder.path("few")};
  for (const auto& more :
       {Arguments{"--samples", "30"}, Arguments{"--prd", folder.path("prd.png")}}) {
    expect_refusal(folder, few + more,
                   {folder.path("few") + ": expected at least 20 images", "found 19"});
  }
}

TEST(ImageRefusals, FeaturesThatDoNotFitAreRefusedAndNothingIsWritten) {
  const auto& faces = Faces::get();
  const TemporaryFolder folder;
  const auto features = [&](const std::string& name, std::int64_t n, std::int64_t d) {
    const std::vector<double> numbers(static_cast<std::size_t>(n * d), 0.5);
    write_npy(folder.path(name), {n, d}, numbers);
    return folder.path(name);
  };
  const auto test = features("test.npy", 30, 4), drawn = features("drawn.npy", 40, 4);
  const Arguments evaluate = {"evaluate",
                              faces.run,
                              faces.images + "/test",
                              "--out",
                              folder.path("scores.csv"),
                              "--prd",
                              folder.path("prd.png")};
  const auto with = [&](const std::string& of_test, const std::string& of_drawn) {
    return evaluate +
           Arguments{"--test-features", of_test, "--drawn-features", of_drawn};
  };
  expect_refusal(folder, evaluate + Arguments{"--test-features", test},
                 {"--test-features: expected --drawn-features beside it"});
  expect_refusal(folder, evaluate + Arguments{"--drawn-features", drawn},
                 {"--drawn-features: expected --test-features beside it"});
  expect_refusal(folder, with(test, drawn) + Arguments{"--samples", "30"},
                 {"--samples: expected no --drawn-features beside it"});
  expect_refusal(folder, with(drawn, test),
                 {drawn + ": expected 30 rows, one for each image of " + faces.images +
                  "/test, found 40"});
  const auto wide = features("wide.npy", 40, 5);
  expect_refusal(folder, with(test, wide),
                 {wide + ": expected 4 columns, as in " + test + ", found 5"});
  const auto few = features("few.npy", 19, 4);
  expect_refusal(folder, with(test, few), {few + ": expected", "found [19, 4] of f8"});
  const auto text = folder.write("text.npy", "1,2\n");
  expect_refusal(folder, with(text, drawn), {text + ": not a .npy file"});
  expect_refusal(folder, with(folder.path("none.npy"), drawn),
                 {folder.path("none.npy"), "No such file"});
  expect_refusal(folder,
                 {"evaluate", faces.run, faces.images + "/test", "--test-features",
                  test, "--drawn-features", drawn, "--prd", test},
                 {"--prd: expected a .png file"});
  expect_refusal(folder,
                 {"evaluate", faces.table_run, faces.table + "/test.csv",
                  "--test-features", test, "--drawn-features", drawn},
                 {"--test-features", "images"});
}

TEST(ImageRefusals, ValuesThatMeanNothingAreRefused) {
  const TemporaryFolder folder;
  const auto out = folder.path("out");
  expect_refusal(folder, fit_of(out, {"--minutes", "0"}), {"--minutes", "'0'"});
  expect_refusal(folder, fit_of(out, {"--size", ""}),
                 {"--size: expected a value, found none"});
  expect_refusal(folder, fit_of(out, {"--size", "wide"}),
                 {"--size: expected a side", "'wide'"});
  expect_refusal(folder, fit_of(out, {"--grid", "0.1,0.2"}),
                 {"--grid: expected --schedule grid beside it"});
}

TEST(ImageRefusals, AFolderWithOtherFilesIsNoPlaceForARun) {
  const TemporaryFolder folder;
  folder.write("notes.txt", "mine");
  expect_refusal(folder, fit_of(folder.path()),
                 {folder.path() + ": expected a new or empty folder", "notes.txt"});
}

TEST(ImageRefusals, ADiskThatFillsUpBeforeACheckpointLeavesNoFolder) {
  const TemporaryFolder folder;
  rlimit before;
  ::getrlimit(RLIMIT_FSIZE, &before);
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 10'000;  // more than the record, less than a model
  ::setrlimit(RLIMIT_FSIZE, &small);
  const auto outcome = run(fit_of(folder.path("run"), {"--checkpoint-seconds", "0"}));
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
  EXPECT_NE(outcome.err.find("best.safetensors: cannot write (File too large)"),
            std::string::npos)
      << outcome.err;
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(ImageRefusals, ADamagedModelIsRefusedInOneLine) {
  const TemporaryFolder folder;
  const auto good = content_of(Faces::get().run + "/model.safetensors");
  const auto path = folder.path("m.safetensors");
  auto flipped = good;
  flipped[flipped.size() - 9] ^= 4;
  for (const auto& bytes :
       {good.substr(0, 1000), good.substr(0, good.size() - 4), flipped}) {
    folder.write("m.safetensors", bytes);
    expect_refusal(folder, {"evaluate", path, Faces::get().images + "/test"}, {path});
    expect_refusal(folder, {"sample", path, "--n", "2", "--out", folder.path("o")},
                   {path});
    expect_refusal(folder, {"inspect", path}, {path});
  }
}

}  // namespace
}  // namespace kinflow::cli
