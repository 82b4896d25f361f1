// Puts the sections of a model together, and says what is missing.
#include "kinflow/pages/model/model_sections.h"

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include "kinflow/array/array.h"
#include "kinflow/core/error.h"
#include "kinflow/pages/record_lookup.h"

namespace kinflow {
namespace {

void add_section(nlohmann::json& document, const nlohmann::json& section) {
  if (!section.is_null()) document["sections"].push_back(section);
}

// A section, or why it is not there.
nlohmann::json section_or_why(const std::string& title,
                              const std::function<nlohmann::json()>& make) {
  try {
    return make();
  } catch (const std::exception& error) {
    const std::string what = error.what();
    return {{"title", title},
            {"missing", "This could not be made: " + what.substr(0, what.find('\n'))}};
  }
}

std::string share(double value) {
  // Without a sign before zero.
  auto text = fmt::format("{:.2f}", std::abs(value) < 0.005 ? 0.0 : value);
  if (text[0] == '-') text.replace(0, 1, "\u2212");
  return text;
}

void add_adjustment_words(const LatentSections& sections, nlohmann::json& document,
                          const Model& model) {
  if (!std::isfinite(sections.before)) return;
  const bool goes_away = std::abs(sections.after) < 0.1 * std::abs(sections.before);
  std::vector<std::string> lines{fmt::format(
      "Latents of related rows have a correlation of {}; once the dependence is taken "
      "out, {} is left{}",
      share(sections.before), share(sections.after),
      goes_away ? ". It goes away."
                : ": a part of it that the model has not learned.")};
  const double worth = number_at(model.record, "/cross_validation/worth_of_rows"),
               rows = number_at(model.record, "/train_rows");
  if (worth > 0 && rows > 0) {
    lines.push_back(fmt::format(
        "An ordinary flow would count {} rows alike. For the mean they are worth {} "
        "independent ones, and here they count by that.",
        with_commas(rows), in_prose(worth)));
  }
  document["words"].push_back(words_under("What adjusting changed", lines));
  if (!goes_away && std::abs(sections.after) > 0.05) {
    document["watch"].push_back(watch_line(
        "warn",
        "The dependence does not go away: rows that belong together are still "
        "alike once it is taken out, or less alike than unrelated ones."));
  }
}

void add_strength_fact(const Model& model, nlohmann::json& document) {
  const auto& learned = model.dependence;
  const auto name = learned.typical_name();
  if (name.empty()) return;
  const bool is_rho = name == "rho";
  document["facts"].push_back(fact(
      is_rho             ? "typical \u03c1"
      : name == "lambda" ? "\u03bb"
                         : name,
      fmt::format("{:.3f}", learned.typical_parameter()),
      fmt::format(
          "{}{}",
          is_rho ? fmt::format("in the model, over {} groups with repeats",
                               with_commas(static_cast<double>(learned.labels.size())))
                 : "in the model: the share of variance that a row has of its own",
          learned.latents > 1 ? ", mean of the latents" : "")));
}

void add_of_rows(const RunRecord& run, const Model& model, nlohmann::json& document) {
  RunSample sample;
  try {
    sample = sample_run(run, model);
  } catch (const std::exception& error) {
    document["watch"].push_back(watch_line(
        "missing", fmt::format("The rows cannot be shown: {}. The page leaves out what "
                               "needs them.",
                               error.what())));
    return;
  }
  if (!sample.held_out_problem.empty()) {
    document["watch"].push_back(watch_line(
        "missing",
        "Scores of held-out rows cannot be shown: " + sample.held_out_problem +
            ". Rows are shown under a flow that may have seen them."));
  }
  add_section(document, section_or_why("The learned density",
                                       [&] { return density_section(model, sample); }));
  add_section(document, section_or_why("How strong the dependence is", [&] {
                return strength_section(model, sample);
              }));
  add_section(document, latents_strength_section(model.dependence, model.record));
  LatentSections latents;
  const auto of_latents = section_or_why("Are the latents normal?", [&] {
    latents = latent_sections(model, sample);
    return latents.latents;
  });
  add_adjustment_words(latents, document, model);
  add_section(document, latents.adjusted);
  add_section(document, of_latents);
  add_section(document, section_or_why("Rows with the lowest density", [&] {
                return lowest_section(model, sample, document["watch"]);
              }));
}

}  // namespace

void add_model_sections(const RunRecord& run, nlohmann::json& document) {
  try {
    const auto model = load_model(run.model_path(), nd::kCPU, nd::kDouble);
    add_strength_fact(model, document);
    add_of_rows(run, model, document);
  } catch (const std::exception& error) {
    const std::string what = error.what();
    document["watch"].push_back(
        watch_line("missing", "The model is not there or cannot be read: " +
                                  what.substr(0, what.find('\n'))));
  }
}

}  // namespace kinflow
