// The program alone in a folder.
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>

#include "kinflow/core/input_file.h"
#include "run_binary.h"

namespace kinflow::cli {
namespace {

/// The exit code of a copy of kinflow that has no kinflow-reproduce beside it.
int run_alone(const TemporaryFolder& folder, const std::string& arguments) {
  const auto copy = folder.path("kinflow");
  std::filesystem::copy_file(KINFLOW_BINARY, copy,
                             std::filesystem::copy_options::skip_existing);
  const auto output = folder.path("output");
  const auto command = copy + " " + arguments + " > " + output + " 2>&1";
  return WEXITSTATUS(std::system(command.c_str()));
}

TEST(Programs, VerbsNeedNoOtherProgram) {
  const TemporaryFolder folder;
  for (const char* verb :
       {"simulate", "fit", "sweep", "evaluate", "sample", "transform", "inspect",
        "compare", "report", "relationship", "grm", "gwas", "clump", "demo"}) {
    EXPECT_EQ(run_alone(folder, std::string(verb) + " --help"), 0) << verb;
  }
}

TEST(Programs, AMissingOneIsNamed) {
  const TemporaryFolder folder;
  EXPECT_EQ(run_alone(folder, "reproduce --help"), 127);
  EXPECT_NE(read_whole_file(folder.path("output")).find("kinflow-reproduce"),
            std::string::npos);
}

TEST(Programs, LinkToNoTensorLibrary) {
  const TemporaryFolder folder;
  const auto output = folder.path("libraries");
  const auto command = std::string("ldd ") + KINFLOW_BINARY + " > " + output;
  ASSERT_EQ(std::system(command.c_str()), 0);
  const auto libraries = read_whole_file(output);
  EXPECT_NE(libraries.find("openblas"), std::string::npos);
  EXPECT_EQ(libraries.find("torch"), std::string::npos) << libraries;
}

}  // namespace
}  // namespace kinflow::cli
