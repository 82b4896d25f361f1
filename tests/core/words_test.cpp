// Words of messages: counts, and names that may have been meant.
#include <gtest/gtest.h>

#include "kinflow/core/counted.h"
#include "kinflow/core/suggest.h"

namespace kinflow {
namespace {

TEST(Counted, OneIsSingular) {
  EXPECT_EQ(counted(1, "row"), "1 row");
  EXPECT_EQ(counted(0, "row"), "0 rows");
  EXPECT_EQ(counted(2, "row"), "2 rows");
  EXPECT_EQ(counted(1, "locus", "loci"), "1 locus");
  EXPECT_EQ(counted(std::size_t{3}, "locus", "loci"), "3 loci");
}

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

}  // namespace
}  // namespace kinflow
