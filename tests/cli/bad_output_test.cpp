// Places that cannot be written: refused in one line, with whatever was there
// unchanged.
#include <sys/mount.h>
#include <sys/resource.h>

#include "run_binary.h"

namespace kinflow::cli {
namespace {

Arguments fit_into(const std::string& out) {
  return Arguments{"fit",     SharedFiles::get().blocks + "/train.csv",
                   "--group", "group",
                   "--out",   out} +
         small_fit();
}

Arguments sample_into(const std::string& out) {
  return {"sample", SharedFiles::get().blocks_run, "--rows", "500", "--out", out};
}

TEST(BadOutput, APlaceBelowAFileOrWithoutANameForFiles) {
  const TemporaryFolder folder;
  const std::string file = folder.write("file", "old");
  expect_refusal(folder, fit_into(file + "/run"), {file + "/run", "Not a directory"});
  expect_refusal(folder, fit_into("/proc/run"), {"/proc/run: cannot make the folder"});
  expect_refusal(folder, fit_into(folder.path(std::string(300, 'x'))),
                 {"File name too long"});
  expect_refusal(folder, sample_into(file + "/s.csv"),
                 {file + "/s.csv", "cannot write"});
  expect_refusal(folder, {"simulate", "--rows", "10", "--out", file + "/sim"},
                 {file + "/sim", "Not a directory"});
  expect_refusal(folder, {"demo", "--out", file + "/demo"}, {file + "/demo"});
}

TEST(BadOutput, AFolderThatHoldsARunIsNotOverwritten) {
  const TemporaryFolder folder;
  const auto& files = SharedFiles::get();
  const auto before = content_below(files.blocks_run);
  expect_refusal(folder, fit_into(files.blocks_run),
                 {files.blocks_run, "already holds a run", "--overwrite"});
  EXPECT_TRUE(content_below(files.blocks_run) == before);
}

TEST(BadOutput, AFullDevice) {
  const TemporaryFolder folder;
  const auto& files = SharedFiles::get();
  const std::string full = folder.path("full.csv");
  std::filesystem::create_symlink("/dev/full", full);
  expect_refusal(folder, sample_into(full), {full, "No space left on device"});
  expect_refusal(
      folder,
      {"transform", files.blocks_run, files.blocks + "/test.csv", "--out", full},
      {full, "No space left on device"});
  const Outcome printed = run({"inspect", files.blocks_run}, "/dev/full");
  EXPECT_EQ(printed.exit_code, 2);
  expect_one_error_line(printed, {"stdout", "No space left on device"});
}

/// Runs the binary with a limit on the size of files, which stands in for a disk that
/// fills up.
Outcome run_with_small_files(const Arguments& arguments) {
  rlimit before;
  ::getrlimit(RLIMIT_FSIZE, &before);
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 1000;
  ::setrlimit(RLIMIT_FSIZE, &small);
  Outcome outcome = run(arguments);
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  return outcome;
}

TEST(BadOutput, ADiskThatFillsUpLeavesWhatWasThere) {
  const TemporaryFolder folder;
  const std::string table = folder.write("s.csv", "old");
  const std::string run_folder = folder.path("run"), simulation = folder.path("sim");
  const auto before = content_below(folder.path());
  const std::vector<std::pair<Arguments, std::string>> cases = {
      {sample_into(table) + kOverwrite, table},
      {fit_into(run_folder), run_folder + "/run.json"},
      {{"simulate", "--rows", "100", "--out", simulation}, simulation + "/train.csv"}};
  for (const auto& [arguments, file] : cases) {
    SCOPED_TRACE(shown(arguments));
    const Outcome outcome = run_with_small_files(arguments);
    EXPECT_EQ(outcome.exit_code, 2);
    expect_one_error_line(outcome, {file + ": cannot write (File too large)"});
    EXPECT_TRUE(content_below(folder.path()) == before) << "files have changed";
  }
}

/// A small file system in memory, where that is allowed.
class TinyDisk {
 public:
  explicit TinyDisk(const std::string& path) : path_(path) {
    std::filesystem::create_directory(path);
    is_mounted_ = ::mount("tmpfs", path.c_str(), "tmpfs", 0, "size=12k") == 0;
  }
  ~TinyDisk() {
    if (is_mounted_) ::umount(path_.c_str());
  }
  bool is_mounted() const { return is_mounted_; }

 private:
  std::string path_;
  bool is_mounted_ = false;
};

TEST(BadOutput, AFullDiskEndsAFitWithoutHalfAModel) {
  const TemporaryFolder folder;
  const TinyDisk disk(folder.path("disk"));
  if (!disk.is_mounted()) GTEST_SKIP() << "mounting needs more rights";
  const std::string run_folder = folder.path("disk/run");
  const Outcome outcome = run(fit_into(run_folder));
  EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
  EXPECT_NE(outcome.err.find("kinflow: " + run_folder), std::string::npos);
  EXPECT_NE(outcome.err.find("No space left on device"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(run_folder + "/model.safetensors"));
  for (const auto& [file, content] : content_below(folder.path())) {
    EXPECT_FALSE(file.ends_with(".tmp")) << file;
  }
}

}  // namespace
}  // namespace kinflow::cli
