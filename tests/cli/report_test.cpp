// Report pages by the real binary: written by themselves, of names like any, and of
// folders in which something is missing.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "run_binary.h"

namespace kinflow::cli {
namespace {

nlohmann::json page_data(const std::string& page) {
  const auto text = content_of(page);
  const std::string open = "<script type=\"application/json\" id=\"data\">";
  const auto start = text.find(open);
  if (start == std::string::npos) return {};
  const auto first = start + open.size();
  return nlohmann::json::parse(
      text.substr(first, text.find("</script>", first) - first));
}

// The section of a type; null where there is none.
nlohmann::json page_section(const nlohmann::json& page, const std::string& type) {
  for (const auto& section : page["sections"]) {
    if (section.value("type", "") == type) return section;
  }
  return {};
}

// A table whose names are hostile.
const std::string kHostileName =
    "<img src=x onerror=alert(1)>\"'&\u202e\u05d0\U0001f600";

std::string hostile_table(const TemporaryFolder& folder) {
  std::string text =
      "\"<img src=x onerror=alert(1)>\"\"'&\u202e\u05d0\U0001f600\",y,family\n";
  unsigned state = 1;
  const auto next = [&] {
    double sum = 0;
    for (int i = 0; i < 6; ++i) {
      state = state * 1664525U + 1013904223U;
      sum += state / 4294967296.0 - 0.5;
    }
    return sum;
  };
  for (int family = 0; family < 40; ++family) {
    const double common = next();
    for (int i = 0; i < 4; ++i) {
      text += std::to_string(common + 0.5 * next()) + "," + std::to_string(next()) +
              ",</script>" + std::to_string(family) + "\n";
    }
  }
  return folder.write("<b>.csv", text);
}

Arguments fit_of_page(const std::string& table, const std::string& out) {
  return {"fit",      table, "--group",  "family", "--replicas", "2", "--folds", "3",
          "--hidden", "8",   "--epochs", "4",      "--bins",     "4", "--out",   out};
}

TEST(Report, IsWrittenByFitUnlessItIsNotWanted) {
  const TemporaryFolder folder;
  const auto table = hostile_table(folder);
  const auto outcome = run(fit_of_page(table, folder.path("run")));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("run/report.html"), std::string::npos);
  const auto page = page_data(folder.path("run/report.html"));
  const auto density = page_section(page, "density");
  ASSERT_FALSE(density.is_null());
  EXPECT_EQ(density["columns"][0], kHostileName);
  EXPECT_FALSE(page_section(page, "adjusted").is_null());
  EXPECT_FALSE(page_section(page, "latents").is_null());
  EXPECT_EQ(page_section(page, "table")["rows"].size(), 40U);
  // Labels of groups are shown as they stand in the table.
  EXPECT_NE(page_section(page, "groups")["groups"][0]["name"].get<std::string>().find(
                "</script>"),
            std::string::npos);

  const auto without =
      run(fit_of_page(table, folder.path("other")) + Arguments{"--no-report"});
  EXPECT_EQ(without.exit_code, 0) << without.err;
  EXPECT_FALSE(std::filesystem::exists(folder.path("other/report.html")));
}

TEST(Report, SaysWhatIsMissing) {
  const TemporaryFolder folder;
  const auto table = hostile_table(folder);
  const auto made = folder.path("run");
  run_well(fit_of_page(table, made) + Arguments{"--no-report"});
  const auto page = folder.path("page.html");
  const auto watch = [&] {
    run_well({"report", made, "--out", page, "--overwrite"});
    return page_data(page)["watch"].dump();
  };
  EXPECT_EQ(watch().find("cannot"), std::string::npos);
  std::ofstream(table, std::ios::app) << "1,2,new\n";
  EXPECT_NE(watch().find("has another content"), std::string::npos);
  std::filesystem::remove(table);
  EXPECT_NE(watch().find("is not there any more"), std::string::npos);
  std::filesystem::remove(made + "/metrics.csv");
  watch();
  EXPECT_NE(page_data(page)["sections"].dump().find("metrics.csv is not there"),
            std::string::npos);
  std::ofstream(made + "/run.json") << "{";
  EXPECT_NE(watch().find("run.json cannot be read"), std::string::npos);
  std::ofstream(made + "/model.safetensors") << "nothing";
  EXPECT_NE(watch().find("The model is not there or cannot be read"),
            std::string::npos);
}

TEST(Report, SetsRunsBesideEachOther) {
  const TemporaryFolder folder;
  const auto table = hostile_table(folder);
  run_well(fit_of_page(table, folder.path("one")) + Arguments{"--no-report"});
  run_well(fit_of_page(table, folder.path("two")) +
           Arguments{"--no-report", "--seed", "3"});
  run_well({"report", folder.path("one"), folder.path("two"), "--out",
            folder.path("page.html")});
  const auto page = page_data(folder.path("page.html"));
  const auto compared = page_section(page, "compare");
  ASSERT_EQ(compared["runs"].size(), 2U);
  EXPECT_TRUE(compared["runs"][1]["difference"].is_array());
  EXPECT_EQ(page_section(page, "maps")["panels"].size(), 3U);
}

TEST(Report, OfAModelFileAlone) {
  const TemporaryFolder folder;
  const auto table = hostile_table(folder);
  run_well(fit_of_page(table, folder.path("run")) + Arguments{"--no-report"});
  const auto model = folder.path("moved.safetensors");
  std::filesystem::copy(folder.path("run/model.safetensors"), model);
  run_well({"report", model, "--out", folder.path("page.html")});
  EXPECT_FALSE(page_section(page_data(folder.path("page.html")), "density").is_null());
}

TEST(Report, RefusesWhatIsNoRunAndWhatIsThere) {
  const TemporaryFolder folder;
  folder.write("page.html", "mine");
  const auto nothing = run({"report", folder.path(), "--out", folder.path("new.html")});
  EXPECT_EQ(nothing.exit_code, 2);
  EXPECT_NE(nothing.err.find("expected a run folder"), std::string::npos);
  const auto there = run({"report", folder.path(), "--out", folder.path("page.html")});
  EXPECT_EQ(there.exit_code, 2);
  EXPECT_EQ(content_of(folder.path("page.html")), "mine");
}

}  // namespace
}  // namespace kinflow::cli
