// Names that may have been meant.
#include "kinflow/data/suggest.h"

#include <gtest/gtest.h>

namespace kinflow {
namespace {

TEST(Suggest, MistypedNamesFindTheirLike) {
  const std::vector<std::string> names = {"--group", "--grid", "--relationship",
                                          "--relationship-ids", "--out"};
  EXPECT_EQ(nearest_name("--gruop", names), "--group");
  EXPECT_EQ(nearest_name("--Group", names), "--group");
  EXPECT_EQ(nearest_name("--groups", names), "--group");
  EXPECT_EQ(nearest_name("--relation", names), "--relationship");
  EXPECT_EQ(nearest_name("--temperature", names), "");
  EXPECT_EQ(nearest_name("x", std::vector<std::string>{"y"}), "");
  EXPECT_EQ(did_you_mean("famliy", std::vector<std::string>{"x", "family"}),
            "; did you mean 'family'?");
  EXPECT_EQ(did_you_mean("colour", std::vector<std::string>{"x", "family"}), "");
}

TEST(Suggest, ANameOfAFileIsShownOnOneLineOfPrintableText) {
  EXPECT_EQ(did_you_mean("p_of_test", std::vector<std::string>{"p_of_te\x16st"}),
            "; did you mean 'p_of_te\\x16st'?");
  const std::string long_name = "column" + std::string(60, 'x');
  EXPECT_EQ(did_you_mean("column", std::vector<std::string>{long_name}),
            "; did you mean '" + long_name + "'?");
}

}  // namespace
}  // namespace kinflow
