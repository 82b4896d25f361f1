// Words of messages: counts, and bytes of files that cannot be printed.
#include <gtest/gtest.h>

#include "kinflow/core/counted.h"
#include "kinflow/core/error.h"
#include "kinflow/core/in_quotes.h"

namespace kinflow {
namespace {

TEST(Counted, OneIsSingular) {
  EXPECT_EQ(counted(1, "row"), "1 row");
  EXPECT_EQ(counted(0, "row"), "0 rows");
  EXPECT_EQ(counted(2, "row"), "2 rows");
  EXPECT_EQ(counted(1, "locus", "loci"), "1 locus");
  EXPECT_EQ(counted(std::size_t{3}, "locus", "loci"), "3 loci");
}

TEST(Printable, OtherBytesAreEscaped) {
  EXPECT_EQ(printable("Stra\xc3\x9f"
                      "e 7"),
            "Stra\xc3\x9f"
            "e 7");
  EXPECT_EQ(printable("a\x7f\nb\xff"), "a\\x7f\\x0ab\\xff");
  EXPECT_EQ(in_quotes("a\tbc", 3), "'a\\x09b...'");
}

TEST(InputErrors, AreOnePrintableLine) {
  EXPECT_STREQ(InputError("f.csv: found 'x\ny\x1b[2J'").what(),
               "f.csv: found 'x\\x0ay\\x1b[2J'");
}

}  // namespace
}  // namespace kinflow
