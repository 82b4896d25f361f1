// Estimates of the dependence, and the choice before the training, in plain words.
#include "kinflow/pages/strength_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "kinflow/pages/packed_numbers.h"
#include "kinflow/pages/record_lookup.h"

namespace kinflow {
namespace {

constexpr std::string_view kOfLatent = " of latent ";
constexpr std::size_t kNamedEstimates = 6;

// "rho of latent 2" taken apart; false where it is no such name.
bool take_latent(DependenceEstimate& one) {
  const auto place = one.name.rfind(kOfLatent);
  if (place == std::string::npos) return false;
  const auto* first = one.name.data() + place + kOfLatent.size();
  const auto* last = one.name.data() + one.name.size();
  const auto result = std::from_chars(first, last, one.latent);
  if (result.ec != std::errc() || result.ptr != last || one.latent < 1) return false;
  one.name.resize(place);
  return true;
}

// A number of which 0 is the end of the range.
std::string from_zero(double value) {
  return value >= 0 && value < 0.001 ? "below 0.001" : in_prose(value);
}

std::string with_interval(const DependenceEstimate& one) {
  auto text = from_zero(one.estimate);
  if (std::isfinite(one.low) && std::isfinite(one.high)) {
    text += fmt::format(" (95% interval from {} to {})",
                        one.low < 0.001 ? "0" : in_prose(one.low), in_prose(one.high));
  }
  return text;
}

std::string meaning_of(const std::string& parameter) {
  if (parameter == "lambda") {
    return ": the share of the variance that a row does not have in common with the "
           "rows "
           "it is related to";
  }
  if (parameter == "rho") return ": the correlation of two rows of one group";
  return "";
}

std::vector<std::string> lines_of_each(
    const std::vector<DependenceEstimate>& estimates) {
  std::vector<std::string> lines;
  for (const auto& one : estimates) {
    lines.push_back(fmt::format("{} is estimated as {}{}.", symbol_of(one.name),
                                with_interval(one), meaning_of(one.name)));
  }
  return lines;
}

// One kind of parameter, of every latent its own.
std::string line_of_latents(const std::vector<DependenceEstimate>& estimates) {
  const auto& name = estimates.front().name;
  auto text = fmt::format("Each latent has a {} of its own{}. ", symbol_of(name),
                          meaning_of(name));
  if (estimates.size() > kNamedEstimates) {
    const auto [low, high] = std::minmax_element(
        estimates.begin(), estimates.end(),
        [](const auto& a, const auto& b) { return a.estimate < b.estimate; });
    return text + fmt::format("They lie between {} and {}.", from_zero(low->estimate),
                              in_prose(high->estimate));
  }
  std::vector<std::string> each;
  for (const auto& one : estimates) {
    each.push_back(fmt::format("{} for u{}", with_interval(one), one.latent));
  }
  return text + "It is " + listed(each) + ".";
}

std::string line_of_groups(const std::vector<DependenceEstimate>& estimates,
                           std::size_t groups) {
  std::vector<double> values;
  for (const auto& one : estimates) values.push_back(one.estimate);
  std::sort(values.begin(), values.end());
  const auto at = [&](double share) {
    return values[static_cast<std::size_t>(share *
                                           static_cast<double>(values.size() - 1))];
  };
  return fmt::format(
      "Each of {} groups has a correlation \u03c1 of its own{}: half of them lie "
      "between "
      "{} and {} (0: rows of a group are no more alike than others; 1: they are the "
      "same).",
      groups, estimates.front().latent > 0 ? " in each latent" : "",
      from_zero(at(0.25)), from_zero(at(0.75)));
}

std::vector<std::string> lines_of_estimates(
    const std::vector<DependenceEstimate>& estimates) {
  if (estimates.empty()) return {};
  std::set<std::string> names;
  for (const auto& one : estimates) names.insert(one.name);
  static const std::set<std::string> kNoLabels = {"rho", "lambda", "gamma",
                                                  "own share"};
  const bool are_groups =
      std::none_of(names.begin(), names.end(),
                   [](const auto& name) { return kNoLabels.contains(name); });
  if (are_groups) return {line_of_groups(estimates, names.size())};
  if (estimates.front().latent == 0) return lines_of_each(estimates);
  // Of several kinds, such as lambda and gamma, every one has its line.
  std::map<std::string, std::vector<DependenceEstimate>> by_name;
  for (const auto& one : estimates) by_name[one.name].push_back(one);
  std::vector<std::string> lines;
  for (const auto& [name, of_latents] : by_name) {
    lines.push_back(line_of_latents(of_latents));
  }
  return lines;
}

std::string test_of_independence(const nlohmann::json& inference) {
  const double log10_p = number_at(inference, "/independence_test/log10_p");
  const double p = number_at(inference, "/independence_test/p_value");
  if (!std::isfinite(log10_p) && !std::isfinite(p)) {
    const auto why = text_at(inference, "/why_no_test");
    return why.empty() ? "" : "There is no test of independence: " + why + ".";
  }
  const double size = std::isfinite(log10_p) ? log10_p : -std::log10(p);
  return fmt::format("A likelihood-ratio test {} that rows are independent: p = {}.",
                     size > 3     ? "clearly rejects"
                     : size > 1.3 ? "rejects, with weak evidence,"
                                  : "does not reject",
                     p_in_prose(size));
}

// The names of candidates in plain words.
std::string candidate_in_words(const std::string& name, bool are_blocks) {
  static const std::map<std::string, std::string> kOfBlocks = {
      {"shared", "one correlation for all"},
      {"per-latent", "one correlation for each latent"},
      {"per-block", "one correlation for each group"},
      {"per-block-and-latent", "an effect of each group and one of each latent"}};
  static const std::map<std::string, std::string> kOfLatents = {
      {"shared", "the same parameters for all latents"},
      {"per latent", "parameters for each latent"}};
  const auto& words = are_blocks ? kOfBlocks : kOfLatents;
  const auto found = words.find(name);
  return found == words.end() ? name : found->second;
}

}  // namespace

std::string dependence_in_words(const nlohmann::json& request) {
  std::vector<std::string> parts;
  const auto group = text_at(request, "/dependence/group");
  if (!group.empty()) parts.push_back("groups of " + name_in_quotes(group));
  for (const auto& file : texts_at(request, "/dependence/relationships")) {
    parts.push_back("the relationships of " + last_name(file));
  }
  if (const auto file = text_at(request, "/dependence/components"); !file.empty()) {
    parts.push_back("the principal components of " + last_name(file));
  }
  if (text_at(request, "/dependence/time_kernel", "none") != "none") {
    parts.push_back("the time " + name_in_quotes(text_at(request, "/dependence/time")));
  }
  if (flag_at(request, "/dependence/unstructured")) {
    parts.push_back("a correlation of their own for every pair");
  }
  return parts.empty() ? "" : listed(parts);
}

std::string symbol_of(const std::string& parameter) {
  return parameter == "lambda"  ? "\u03bb"
         : parameter == "rho"   ? "\u03c1"
         : parameter == "gamma" ? "\u03b3"
                                : parameter;
}

std::vector<DependenceEstimate> dependence_estimates(const nlohmann::json& inference) {
  std::vector<DependenceEstimate> estimates;
  const auto list = found_at(inference, "/estimates");
  if (!list.is_array()) return estimates;
  for (const auto& one : list) {
    const double value = number_at(one, "/estimate");
    if (!std::isfinite(value)) continue;
    estimates.push_back({.name = text_at(one, "/parameter"),
                         .estimate = value,
                         .low = number_at(one, "/low"),
                         .high = number_at(one, "/high")});
  }
  // A group may be called like that: either all are of latents or none.
  auto of_latents = estimates;
  return std::all_of(of_latents.begin(), of_latents.end(), take_latent) ? of_latents
                                                                        : estimates;
}

std::vector<std::string> strength_in_words(const nlohmann::json& record) {
  const auto depends = dependence_in_words(found_at(record, "/request"));
  if (depends.empty()) {
    return {
        "Rows were taken as independent. Where they are not, the model leans towards "
        "groups with many rows."};
  }
  std::vector<std::string> lines{"Rows depend on each other through " + depends + "."};
  const auto inference = found_at(record, "/result/inference");
  auto estimates = dependence_estimates(inference);
  if (estimates.size() == 1) {
    // The interval that the picture of the likelihood has.
    auto& only = estimates[0];
    only.low = number_at(inference, "/profile_interval/low", only.low);
    only.high = number_at(inference, "/profile_interval/high", only.high);
  }
  for (auto& line : lines_of_estimates(estimates)) {
    lines.push_back(std::move(line));
  }
  if (auto line = test_of_independence(inference); !line.empty()) {
    lines.push_back(std::move(line));
  }
  return lines;
}

nlohmann::json dependence_choice_section(const nlohmann::json& record) {
  const auto candidates = found_at(record, "/result/dependence_choice/candidates");
  const auto chosen = text_at(record, "/result/dependence_choice/chosen");
  if (!candidates.is_array() || candidates.empty() || chosen.empty()) return {};
  const bool are_blocks =
      std::any_of(candidates.begin(), candidates.end(),
                  [](const auto& one) { return text_at(one, "/name") == "per-block"; });
  const bool has_errors = std::any_of(
      candidates.begin(), candidates.end(),
      [](const auto& one) { return number_at(one, "/standard_error", 0) > 0; });
  auto columns =
      nlohmann::json::array({{{"name", "dependence"}, {"text", true}},
                             {{"name", "NLL, nats a row"}, {"decimals", 4}},
                             {{"name", "above the lowest"}, {"decimals", 4}}});
  if (has_errors) {
    columns.push_back({{"name", "standard error"}, {"decimals", 4}});
  }
  columns.push_back({{"name", "chosen"}, {"text", true}});
  auto rows = nlohmann::json::array();
  std::string in_words;
  for (const auto& one : candidates) {
    const auto name = text_at(one, "/name", "?");
    auto row = nlohmann::json::array({candidate_in_words(name, are_blocks),
                                      rounded(number_at(one, "/nll_nats"), 6),
                                      rounded(number_at(one, "/difference"))});
    const double error = number_at(one, "/standard_error", 0);
    if (has_errors) row.push_back(error > 0 ? rounded(error, 3) : nlohmann::json());
    const bool is_chosen = flag_at(one, "/is_chosen");
    row.push_back(is_chosen ? "yes" : "");
    if (is_chosen) in_words = candidate_in_words(name, are_blocks);
    rows.push_back(std::move(row));
  }
  if (in_words.empty()) return {};
  const auto last = columns.size() - 1;
  return {
      {"type", "table"},
      {"title", "Which dependence was chosen"},
      {"short", "Choice"},
      {"lead",
       has_errors
           ? fmt::format(
                 "Before the training, {} kinds of correlation were compared by "
                 "how well they predict groups that were held out. Chosen: {}, "
                 "the simplest whose NLL is at most two standard errors, or 0.001 "
                 "nats, above the lowest.",
                 rows.size(), in_words)
           : fmt::format("Before the training, the likelihood of all rows less the "
                         "number of parameters decided whether all latents share the "
                         "parameters of the dependence. Chosen: {}.",
                         in_words)},
      {"columns", columns},
      {"rows", rows},
      {"marked", {{"column", last}, {"value", "yes"}}},
      {"caption",
       "From normal scores of the columns in place of latents, before any flow was "
       "trained. The simplest is in the first row."}};
}

}  // namespace kinflow
