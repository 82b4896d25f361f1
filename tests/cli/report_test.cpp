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
  const auto lowest = page_section(page, "table")["rows"];
  ASSERT_EQ(lowest.size(), 40U);
  // Labels of groups are shown as they stand in the table.
  EXPECT_NE(lowest[0][1].get<std::string>().find("</script>"), std::string::npos);
  // Which dependence was chosen stands before the learning curves.
  const auto& sections = page["sections"];
  EXPECT_EQ(sections[sections.size() - 2].value("short", ""), "Choice");

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

// Every number on the strength of latents and groups is that of `inspect`.
TEST(Report, ShowsTheStrengthOfEachLatent) {
  const TemporaryFolder folder;
  const auto table = hostile_table(folder);
  for (const std::string correlation : {"per-latent", "per-block-and-latent"}) {
    const auto made = folder.path(correlation);
    run_well(fit_of_page(table, made) +
             Arguments{"--correlation", correlation, "--no-report"});
    run_well({"report", made, "--out", folder.path("page.html"), "--overwrite"});
    const auto page = page_data(folder.path("page.html"));
    const auto outcome = run({"inspect", made, "--json"});
    const auto dependence = nlohmann::json::parse(outcome.out)["dependence"];
    const auto of_latents = page_section(page, "latents_strength")["latents"];
    ASSERT_EQ(of_latents.size(), 2U) << correlation;
    EXPECT_EQ(of_latents[0]["name"], "u1");
    EXPECT_TRUE(of_latents[0]["low"].is_number());
    const auto groups = page_section(page, "groups");
    if (correlation == "per-latent") {
      EXPECT_TRUE(groups.is_null());
      continue;
    }
    ASSERT_EQ(groups["groups"].size(), 40U);
    for (std::size_t i = 0; i < 40; ++i) {
      EXPECT_NEAR(groups["groups"][i]["rho"], dependence["blocks"][i]["rho"], 1e-4);
      EXPECT_NEAR(groups["groups"][i]["of_latents"][1],
                  dependence["latents"][1]["blocks"][i]["rho"], 1e-3);
    }
  }
}

TEST(Report, OfOneCorrelationShowsItsLikelihood) {
  const TemporaryFolder folder;
  run_well(fit_of_page(hostile_table(folder), folder.path("run")) +
           Arguments{"--correlation", "shared", "--no-report"});
  run_well({"report", folder.path("run"), "--out", folder.path("page.html")});
  const auto curve = page_section(page_data(folder.path("page.html")), "likelihood");
  ASSERT_EQ(curve["log_likelihood"].size(), 99U);
  // Of families that share most of one column: no correlation is far less likely.
  EXPECT_LT(curve["log_likelihood"][0].get<double>(), -2);
  ASSERT_TRUE(curve["interval"].is_array());
  EXPECT_LT(curve["interval"][0], curve["estimate"]);
  EXPECT_GT(curve["interval"][1], curve["estimate"]);
}

TEST(Report, OfAnEarlierVersionOpens) {
  const TemporaryFolder folder;
  const auto made = folder.path("run");
  run_well(fit_of_page(hostile_table(folder), made) + Arguments{"--no-report"});
  auto record = nlohmann::json::parse(content_of(made + "/run.json"));
  for (const auto* key : {"cross_validation", "dependence_choice", "inference", "map",
                          "members", "valid_score", "columns"}) {
    record["result"].erase(key);
  }
  record.erase("dependence_hashes");
  record.erase("seconds");
  record["request"].erase("replicas");
  for (const auto* key : {"per_latent", "relationship_by_position"}) {
    record["request"]["dependence"].erase(key);
  }
  std::ofstream(made + "/run.json") << record;
  std::filesystem::remove(made + "/held_out.csv");
  run_well({"report", made, "--out", folder.path("page.html")});
  const auto page = page_data(folder.path("page.html"));
  for (const auto* type : {"density", "adjusted", "latents", "table", "curves"}) {
    EXPECT_FALSE(page_section(page, type).is_null()) << type;
  }
  EXPECT_EQ(page["watch"].dump().find("cannot"), std::string::npos)
      << page["watch"].dump();
}

TEST(Report, OfAnyBrokenFileIsAPage) {
  const TemporaryFolder folder;
  const auto made = folder.path("run");
  run_well(fit_of_page(hostile_table(folder), made) + Arguments{"--no-report"});
  for (const std::string name :
       {"run.json", "metrics.csv", "held_out.csv", "model.safetensors"}) {
    const auto path = made + "/" + name;
    const auto whole = content_of(path);
    // A row that is cut in its last number cannot be told from another number.
    const auto cell = whole.rfind(',', whole.rfind(',', whole.size() / 2) - 1);
    const auto cut = cell == std::string::npos ? whole.size() / 2 : cell;
    for (const auto& content :
         {std::string(), whole.substr(0, cut), std::string("\xff\xfe\0{[,\n1,", 10)}) {
      std::ofstream(path, std::ios::binary) << content;
      run_well({"report", made, "--out", folder.path("page.html"), "--overwrite"});
      const auto page = page_data(folder.path("page.html"));
      EXPECT_NE((page["watch"].dump() + page["sections"].dump()).find("cannot"),
                std::string::npos)
          << name << ": " << content.size();
    }
    std::ofstream(path, std::ios::binary) << whole;
  }
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
