// What run.json says of the strength of the dependence, and of how it was chosen.
#include "kinflow/pages/strength_words.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace kinflow {
namespace {

nlohmann::json estimate(const std::string& name, double value) {
  return {{"parameter", name},
          {"estimate", value},
          {"low", value - 0.1},
          {"high", value + 0.1}};
}

// A record of groups with these estimates.
nlohmann::json record_with(const nlohmann::json& estimates) {
  return {{"request", {{"dependence", {{"group", "family"}}}}},
          {"result", {{"inference", {{"estimates", estimates}}}}}};
}

std::string words_of(const nlohmann::json& record) {
  std::string text;
  for (const auto& line : strength_in_words(record)) text += line + "\n";
  return text;
}

TEST(StrengthWords, NamesOfLatentsAreTakenApartWhereAllHaveThem) {
  const auto of_latents = dependence_estimates(
      {{"estimates",
        {estimate("rho of latent 1", 0.4), estimate("rho of latent 2", 0.8)}}});
  ASSERT_EQ(of_latents.size(), 2U);
  EXPECT_EQ(of_latents[1].name, "rho");
  EXPECT_EQ(of_latents[1].latent, 2);
  EXPECT_EQ(of_latents[1].estimate, 0.8);
  // A group that is called like that among others.
  const auto of_groups = dependence_estimates(
      {{"estimates", {estimate("x of latent 1", 0.4), estimate("y", 0.8)}}});
  EXPECT_EQ(of_groups[0].name, "x of latent 1");
  EXPECT_EQ(of_groups[0].latent, 0);
}

TEST(StrengthWords, SayWhatEveryKindOfEstimateIs) {
  EXPECT_NE(words_of(record_with(nlohmann::json::array({estimate("rho", 0.5)})))
                .find("\u03c1 is estimated as 0.5 (95% interval from 0.4 to 0.6)"),
            std::string::npos);
  EXPECT_NE(words_of(record_with({estimate("rho of latent 1", 0.25),
                                  estimate("rho of latent 2", 0.75)}))
                .find("Each latent has a \u03c1 of its own"),
            std::string::npos);
  EXPECT_NE(words_of(record_with({estimate("a", 0.25), estimate("b", 0.75)}))
                .find("Each of 2 groups has a correlation \u03c1 of its own: half"),
            std::string::npos);
  EXPECT_NE(words_of(record_with(nlohmann::json::array({estimate("rho", 1e-9)})))
                .find("below 0.001"),
            std::string::npos);
}

TEST(StrengthWords, OfOneParameterHaveTheIntervalOfTheLikelihood) {
  auto record = record_with(nlohmann::json::array({estimate("lambda", 0.5)}));
  record["result"]["inference"]["profile_interval"] = {{"low", 0.31}, {"high", 0.77}};
  EXPECT_NE(words_of(record).find("from 0.31 to 0.77"), std::string::npos);
}

TEST(StrengthWords, ShowTheEvidenceOfTheChoice) {
  auto record = record_with({});
  EXPECT_TRUE(dependence_choice_section(record).is_null());
  record["result"]["dependence_choice"] = {{"chosen", "correlation per-latent"},
                                           {"judged_by", "held-out blocks"},
                                           {"candidates",
                                            {{{"name", "shared"},
                                              {"nll_nats", 2.5},
                                              {"difference", 0.2},
                                              {"standard_error", 0.05},
                                              {"is_chosen", false}},
                                             {{"name", "per-latent"},
                                              {"nll_nats", 2.3},
                                              {"difference", 0},
                                              {"standard_error", 0},
                                              {"is_chosen", true}},
                                             {{"name", "per-block"},
                                              {"nll_nats", 2.4},
                                              {"difference", 0.1},
                                              {"standard_error", 0.02},
                                              {"is_chosen", false}}}}};
  const auto section = dependence_choice_section(record);
  ASSERT_EQ(section["rows"].size(), 3U);
  EXPECT_EQ(section["rows"][0],
            (nlohmann::json{"one correlation for all", 2.5, 0.2, 0.05, ""}));
  EXPECT_EQ(section["rows"][1], (nlohmann::json{"one correlation for each latent", 2.3,
                                                0, nullptr, "yes"}));
  EXPECT_NE(section["lead"].get<std::string>().find(
                "Chosen: one correlation for each latent"),
            std::string::npos);

  // By a likelihood there are no standard errors.
  record["result"]["dependence_choice"] = {
      {"chosen", "parameters that all latents share"},
      {"candidates",
       {{{"name", "shared"}, {"nll_nats", 2}, {"difference", 0}, {"is_chosen", true}},
        {{"name", "per latent"}, {"nll_nats", 3}, {"difference", 1}}}}};
  const auto by_likelihood = dependence_choice_section(record);
  EXPECT_EQ(by_likelihood["columns"].size(), 4U);
  EXPECT_EQ(by_likelihood["rows"][0][0], "the same parameters for all latents");
  EXPECT_EQ(by_likelihood["rows"][0].back(), "yes");

  for (const char* broken :
       {"3", "[]", "{\"candidates\": [4], \"chosen\": \"x\"}", "{\"chosen\": 7}"}) {
    record["result"]["dependence_choice"] = nlohmann::json::parse(broken);
    EXPECT_NO_THROW(dependence_choice_section(record)) << broken;
  }
}

}  // namespace
}  // namespace kinflow
