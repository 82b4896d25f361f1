// Words of messages: counts.
#include <gtest/gtest.h>

#include "kinflow/core/counted.h"

namespace kinflow {
namespace {

TEST(Counted, OneIsSingular) {
  EXPECT_EQ(counted(1, "row"), "1 row");
  EXPECT_EQ(counted(0, "row"), "0 rows");
  EXPECT_EQ(counted(2, "row"), "2 rows");
  EXPECT_EQ(counted(1, "locus", "loci"), "1 locus");
  EXPECT_EQ(counted(std::size_t{3}, "locus", "loci"), "3 loci");
}

}  // namespace
}  // namespace kinflow
