// The page as a file: nothing of the data becomes markup, and it stays small.
#include "kinflow/pages/page.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "kinflow/pages/packed_numbers.h"
#include "kinflow/pages/page_figures.h"
#include "kinflow/pages/run_record.h"
#include "kinflow/report/svg_figure.h"
#include "tests/data/helpers.h"

namespace kinflow {
namespace {

// What stands between the tags of the data.
std::string data_of(const std::string& page) {
  const std::string open = "<script type=\"application/json\" id=\"data\">";
  const auto start = page.find(open) + open.size();
  return page.substr(start, page.find("</script>", start) - start);
}

std::size_t count_of(const std::string& text, const std::string& what) {
  std::size_t count = 0;
  for (auto at = text.find(what); at != std::string::npos;
       at = text.find(what, at + 1)) {
    ++count;
  }
  return count;
}

TEST(Page, DataCannotCloseTheirElement) {
  const std::string evil =
      "</script><script>alert(1)</script><!--\u2028\u2029&amp;\"'\\";
  auto document = empty_document("kind", evil);
  document["words"].push_back(words_under(evil, {evil}));
  const auto page = page_html(document);
  const auto data = data_of(page);
  EXPECT_EQ(data.find('<'), std::string::npos);
  EXPECT_EQ(data.find('>'), std::string::npos);
  EXPECT_EQ(data.find('&'), std::string::npos);
  EXPECT_EQ(data.find("\u2028"), std::string::npos);
  EXPECT_EQ(data.find("\u2029"), std::string::npos);
  // The text itself is there, whole.
  EXPECT_EQ(nlohmann::json::parse(data)["title"], evil);
  // The script, the data, and no third one.
  EXPECT_EQ(count_of(page, "<script"), 2U);
}

TEST(Page, TitleIsText) {
  EXPECT_EQ(html_text("<b a='1'>&\""), "&lt;b a=&#39;1&#39;&gt;&amp;&quot;");
}

TEST(Page, BytesThatAreNoUtf8BecomeReplacements) {
  const auto page = page_html(empty_document("kind", "\xff\xfe name"));
  EXPECT_EQ(nlohmann::json::parse(data_of(page))["title"], "\ufffd\ufffd name");
}

TEST(Page, PlaceholdersInNamesAreNotFilled) {
  const auto page = page_html(empty_document("kind", "@SCRIPT@ @DATA@"));
  EXPECT_EQ(nlohmann::json::parse(data_of(page))["title"], "@SCRIPT@ @DATA@");
  EXPECT_EQ(count_of(page, "<script"), 2U);
}

TEST(Page, PolicyAllowsNothingButItsOwnScriptAndStyle) {
  const auto page = page_html(empty_document("kind", "title"));
  EXPECT_NE(page.find("default-src 'none'; script-src 'sha256-"), std::string::npos);
  EXPECT_NE(page.find("style-src 'sha256-"), std::string::npos);
  EXPECT_EQ(page.find("unsafe"), std::string::npos);
  EXPECT_EQ(page.find("http-equiv=\"refresh\""), std::string::npos);
  EXPECT_EQ(page.find(" src=\"http"), std::string::npos);
}

TEST(Page, LeavesOutTheLargestSectionsWhereItWouldBecomeTooLarge) {
  auto document = empty_document("kind", "title");
  document["sections"].push_back({{"title", "small"}, {"type", "table"}, {"rows", {}}});
  document["sections"].push_back(
      {{"title", "large"}, {"type", "table"}, {"rows", std::string(3'000'000, 'x')}});
  const auto page = page_html(document);
  EXPECT_LE(page.size(), kLargestPage);
  const auto sections = nlohmann::json::parse(data_of(page))["sections"];
  EXPECT_FALSE(sections[0].contains("missing"));
  EXPECT_TRUE(sections[1].contains("missing"));
}

TEST(Page, Base64IsThatOfTheRfc) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
}

TEST(PackedNumbers, ComeBackToWithinAStepOfTheirRange) {
  const std::vector<double> values = {-3, 0.25, 1e3, std::nan(""), 17.5, INFINITY};
  const auto back = unpacked(packed(values));
  ASSERT_EQ(back.size(), values.size());
  for (const std::size_t i : {0U, 1U, 2U, 4U}) {
    EXPECT_NEAR(back[i], values[i], 1003.0 / 65534) << i;
  }
  EXPECT_TRUE(std::isnan(back[3]));
  EXPECT_TRUE(std::isnan(back[5]));
}

TEST(PackedNumbers, TakeRangesThatWouldOverflow) {
  const std::vector<double> values = {-1.7e308, 0, 1.7e308};
  const auto text = packed(values);
  EXPECT_TRUE(std::isfinite(text["low"].get<double>()));
  EXPECT_EQ(unpacked(packed(std::vector<double>{4, 4})), (std::vector<double>{4, 4}));
  EXPECT_TRUE(unpacked(packed(std::vector<double>{})).empty());
}

TEST(PageFigures, WriteTheSectionsThatArePictures) {
  const std::vector<double> x = {0, 1, 2}, y = {1, 2, 3};
  const std::vector<std::uint8_t> map(4, 100);
  auto document = empty_document("kind", "title");
  document["sections"] = {
      {{"type", "table"}, {"title", "a table"}},
      {{"type", "density"},
       {"columns", {"<b>", "y"}},
       {"x", {0, 2}},
       {"y", {0, 3}},
       {"side", 2},
       {"map", packed_bytes(map)},
       {"rows", {{"x", packed(x)}, {"y", packed(y)}}},
       {"draws", {{"x", packed(x)}, {"y", packed(y)}}},
       {"rows_note", "3 rows"},
       {"draws_note", "3 draws"}},
      {{"type", "curves"}, {"title", "curves"}, {"missing", "nothing"}}};
  const auto figures = page_figures(document);
  ASSERT_EQ(figures.size(), 1U);
  EXPECT_EQ(figures[0].name, "2-density");
  const auto svg = svg_figure(figures[0].panels, figures[0].options);
  EXPECT_EQ(svg.find("<b>"), std::string::npos);
  EXPECT_NE(svg.find("&lt;b&gt;"), std::string::npos);
  EXPECT_EQ(count_of(svg, "<circle"), 6U);
  const TemporaryFolder folder;
  write_figures(figures, folder.path("pictures"), ".png");
  EXPECT_EQ(content_of(folder.path("pictures/2-density.png")).substr(1, 3), "PNG");
}

}  // namespace
}  // namespace kinflow
