// The .log of a run.
#include "kinflow/gwas/run_log.h"

#include <gtest/gtest.h>

#include "tests/data/helpers.h"
#include "told.h"

namespace kinflow {
namespace {

/// Keeps what it is told.
TEST(RunLog, PassesMessagesOnAndKeepsThem) {
  const TemporaryFolder folder;
  Told told;
  RunLog log(told, {"--bfile mice", "--loco"});
  log.info("table\nof two lines\n");
  log.warning("close");
  log.note("for the file");
  log.write(folder.path("a.log"), "Finished.");
  EXPECT_EQ(told.text, "table\nof two lines\n\n! close\n");
  const auto text = content_of(folder.path("a.log"));
  std::size_t from = 0;
  for (const std::string part :
       {"kinflow ", "Options in effect:\n  --bfile mice\n  --loco\n", "Hostname: ",
        "Start time: ", "table\nof two lines\nWarning: close\nfor the file\n",
        "\nFinished.\n", "End time: ", " s)\n"}) {
    const auto found = text.find(part, from);
    ASSERT_NE(found, text.npos) << part << "\n" << text;
    from = found + part.size();
  }
  EXPECT_EQ(from, text.size());
}

}  // namespace
}  // namespace kinflow
