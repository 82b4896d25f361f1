// The program without LibTorch, alone in a folder.
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>

#include "kinflow/core/input_file.h"
#include "run_binary.h"

namespace kinflow::cli {
namespace {

/// The exit code of a copy of kinflow that has no kinflow-tensors beside it.
int run_alone(const TemporaryFolder& folder, const std::string& arguments) {
  const auto copy = folder.path("kinflow");
  std::filesystem::copy_file(KINFLOW_BINARY, copy,
                             std::filesystem::copy_options::skip_existing);
  const auto output = folder.path("output");
  const auto command = copy + " " + arguments + " > " + output + " 2>&1";
  return WEXITSTATUS(std::system(command.c_str()));
}

TEST(Programs, VerbsWithoutTensorsNeedNoOtherProgram) {
  const TemporaryFolder folder;
  EXPECT_EQ(run_alone(folder, "grm --help"), 0);
  EXPECT_EQ(run_alone(folder, "clump --help"), 0);
  EXPECT_EQ(run_alone(folder, "gwas --transform none --help"), 0);
  EXPECT_EQ(run_alone(folder, "gwas --transform=rank-normal --help"), 0);
}

TEST(Programs, AMissingOneIsNamed) {
  const TemporaryFolder folder;
  EXPECT_EQ(run_alone(folder, "gwas --help"), 127);
  EXPECT_NE(read_whole_file(folder.path("output")).find("kinflow-tensors"),
            std::string::npos);
}

}  // namespace
}  // namespace kinflow::cli
