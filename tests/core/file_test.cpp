// Files that appear whole or not at all, and reading with checks.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>

#include "kinflow/core/atomic_file.h"
#include "kinflow/core/input_file.h"
#include "kinflow/core/output_folder.h"
#include "tests/data/helpers.h"

namespace kinflow {
namespace {

TEST(UnfinishedFiles, AreToldByTheirNames) {
  const TemporaryFolder folder;
  for (const char* name : {"a.json.12.3.tmp", "a.tmp", "a.3.tmp", "a.x.3.tmp", "a.1.2",
                           "a.1..tmp", "1.2.tmp"}) {
    folder.write(name, "");
  }
  remove_unfinished_files(folder.path());
  EXPECT_FALSE(std::filesystem::exists(folder.path("a.json.12.3.tmp")));
  for (const char* name :
       {"a.tmp", "a.3.tmp", "a.x.3.tmp", "a.1.2", "a.1..tmp", "1.2.tmp"}) {
    EXPECT_TRUE(std::filesystem::exists(folder.path(name))) << name;
  }
}

TEST(AtomicFile, TheNameAppearsOnCommitOnly) {
  const TemporaryFolder folder;
  const std::string path = folder.write("out", "old");
  AtomicFile file(path);
  file.write("new");
  EXPECT_EQ(content_of(path), "old");
  file.commit();
  EXPECT_EQ(content_of(path), "new");
  EXPECT_EQ(folder.files().size(), 1u);
}

TEST(AtomicFile, WithoutCommitNothingRemains) {
  const TemporaryFolder folder;
  { AtomicFile(folder.path("out")).write("half"); }
  EXPECT_TRUE(folder.files().empty());
}

TEST(AtomicFile, LargeContentIsWrittenWhole) {
  const TemporaryFolder folder;
  std::string bytes(5'000'001, 'x');
  for (std::size_t i = 0; i < bytes.size(); i += 7) bytes[i] = static_cast<char>(i);
  write_file_atomically(folder.path("out"), bytes);
  EXPECT_EQ(read_whole_file(folder.path("out")), bytes);
}

TEST(AtomicFile, BytesCanBeReplacedBeforeTheEnd) {
  const TemporaryFolder folder;
  AtomicFile file(folder.path("out"));
  file.write("count: 0, " + std::string(3'000'000, 'x'));
  file.overwrite(7, "7");
  file.write("y");
  file.commit();
  EXPECT_EQ(content_of(folder.path("out")),
            "count: 7, " + std::string(3'000'000, 'x') + "y");
}

TEST(AtomicFile, PlacesThatCannotBeWrittenAreRefused) {
  const TemporaryFolder folder;
  EXPECT_EQ(input_error_of([&] { AtomicFile(folder.path("no/out")); }),
            folder.path("no/out") + ": cannot write (No such file or directory)");
  EXPECT_EQ(input_error_of([&] { AtomicFile(folder.path()); }),
            folder.path() + ": cannot write (Is a directory)");
  folder.write("file", "");
  EXPECT_EQ(input_error_of([&] { AtomicFile(folder.path("file/out")); }),
            folder.path("file/out") + ": cannot write (Not a directory)");
}

TEST(AtomicFile, AFullDiskIsAnErrorThatNamesThePath) {
  EXPECT_EQ(input_error_of([] { write_file_atomically("/dev/full", "bytes"); }),
            "/dev/full: cannot write (No space left on device)");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
}

TEST(AtomicFile, AFailedWriteLeavesTheOldFileAndNoTemporary) {
  const TemporaryFolder folder;
  const std::string path = folder.write("out", "old");
  // A limit on the size of files stands in for a full disk.
  rlimit before;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 4096;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string message =
      input_error_of([&] { write_file_atomically(path, std::string(100'000, 'x')); });
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(message, path + ": cannot write (File too large)");
  EXPECT_EQ(content_of(path), "old");
  EXPECT_EQ(folder.files().size(), 1u);
}

TEST(AtomicFile, ALinkKeepsPointingAtItsFile) {
  const TemporaryFolder folder;
  folder.write("target", "old");
  std::filesystem::create_symlink(folder.path("target"), folder.path("link"));
  write_file_atomically(folder.path("link"), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder.path("link")));
  EXPECT_EQ(content_of(folder.path("target")), "new");
}

TEST(OutputFolder, AFailureTakesANewFolderAwayAndLeavesAnOldOne) {
  const TemporaryFolder folder;
  for (const char* name : {"new", "slash/"}) {
    const std::string path = folder.path(name);
    EXPECT_EQ(input_error_of([&] {
                fill_folder(path, [&] {
                  write_file_atomically(path + "/first", "1");
                  throw InputError("no second file");
                });
              }),
              "no second file");
    EXPECT_FALSE(std::filesystem::exists(path)) << path;
  }
  folder.write("old", "kept");
  input_error_of([&] { fill_folder(folder.path(), [] { throw InputError(""); }); });
  EXPECT_EQ(content_of(folder.path("old")), "kept");
}

TEST(OutputFolder, AWholeFolderIsThereWithAllItsFilesOnly) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.path("empty"));
  for (const char* name : {"new", "slash/", "empty"}) {
    const std::string path = folder.path(name);
    make_whole_folder(path, [&](const std::string& into) {
      write_file_atomically(into + "/first", "1");
      EXPECT_FALSE(std::filesystem::exists(path + "/first"));
    });
    EXPECT_EQ(content_of(path + "/first"), "1");
    EXPECT_THROW(make_whole_folder(path, [](const std::string&) {}), InputError);
  }
  const auto failed = folder.path("failed");
  EXPECT_EQ(input_error_of([&] {
              make_whole_folder(failed, [](const std::string& into) {
                throw InputError(into + "/x: no place");
              });
            }),
            failed + "/x: no place");
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    const auto name = entry.path().filename().string();
    EXPECT_TRUE(name == "new" || name == "slash" || name == "empty") << name;
  }
}

TEST(InputFile, TheEndBeforeTheDataIsAnError) {
  const TemporaryFolder folder;
  InputFile file(folder.write("in", "abc"));
  EXPECT_EQ(file.size(), 3u);
  EXPECT_TRUE(file.is_regular());
  char bytes[4];
  EXPECT_EQ(input_error_of([&] { file.read_exactly(bytes, 4); }),
            folder.path("in") + ": the file ends before its data does");
}

TEST(InputFile, AnOffsetIsReadWithoutMovingOn) {
  const TemporaryFolder folder;
  InputFile file(folder.write("in", "abcdef"));
  char bytes[3] = {};
  file.read_at(4, bytes, 2);
  EXPECT_STREQ(bytes, "ef");
  EXPECT_EQ(file.read(bytes, 2), 2u);
  EXPECT_STREQ(bytes, "ab");
  EXPECT_EQ(input_error_of([&] { file.read_at(5, bytes, 2); }),
            folder.path("in") + ": the file ends before its data does");
}

TEST(InputFile, FilesWithoutASizeAreReadToTheirEnd) {
  EXPECT_FALSE(read_whole_file("/proc/self/status").empty());
  EXPECT_EQ(read_whole_file("/dev/null"), "");
}

}  // namespace
}  // namespace kinflow
