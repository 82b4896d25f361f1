// Tables of text: alignment, rules and Markdown.
#include "kinflow/report/text_table.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace kinflow {
namespace {

TextTable example() {
  TextTable table({{"model", Align::kLeft}, {"test NLL"}, {"\u03c1"}});
  table.add_row({"entropy", "1.338"});
  table.add_row({"joint | memory", "1.381", "0.42"});
  return table;
}

TEST(TextTable, PlainColumnsAreAligned) {
  EXPECT_EQ(example().plain(),
            "model           test NLL     \u03c1\n"
            "--------------  --------  ----\n"
            "entropy            1.338\n"
            "joint | memory     1.381  0.42\n");
}

TEST(TextTable, MarkdownKeepsAlignmentAndEscapesBars) {
  EXPECT_EQ(example().markdown(),
            "| model | test NLL | \u03c1 |\n"
            "|:---|---:|---:|\n"
            "| entropy | 1.338 |  |\n"
            "| joint \\| memory | 1.381 | 0.42 |\n");
}

TEST(TextTable, WithoutRowsItIsHeadingAndRule) {
  EXPECT_EQ(TextTable({{"a"}, {"bc"}}).plain(), "a  bc\n-  --\n");
}

TEST(TextTable, TooManyCellsAreRefused) {
  TextTable table({{"a"}});
  EXPECT_THROW(table.add_row({"1", "2"}), std::invalid_argument);
}

}  // namespace
}  // namespace kinflow
