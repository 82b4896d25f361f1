// How strong the dependence is, and which rows the model finds unlikely.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <unordered_map>

#include "kinflow/array/array.h"
#include "kinflow/core/log.h"
#include "kinflow/core/size.h"
#include "kinflow/data/label_key.h"
#include "kinflow/pages/model/model_sections.h"
#include "kinflow/pages/packed_numbers.h"
#include "kinflow/pages/record_lookup.h"
#include "kinflow/pages/strength_words.h"

namespace kinflow {
namespace {

constexpr std::size_t kMostGroups = 400;
constexpr std::size_t kShownColumns = 8;
constexpr std::int64_t kMostLatents = 30;

// The largest half, and of the others some of every size.
std::vector<std::size_t> groups_shown(const std::vector<std::int64_t>& sizes) {
  std::vector<std::size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return sizes[a] > sizes[b]; });
  if (order.size() <= kMostGroups) return order;
  const auto whole = kMostGroups / 2, rest = order.size() - whole;
  for (std::size_t i = 0; i < kMostGroups - whole; ++i) {
    order[whole + i] = order[whole + i * rest / (kMostGroups - whole)];
  }
  order.resize(kMostGroups);
  return order;
}

// log p of the latents under a parameter, each column with its most likely mean and
// scale, up to a constant.
double profile_likelihood(const Dependence& law, double parameter, const Array& latents,
                          const Array& with_ones) {
  const auto parameters = nd::full({1, law.parameter_count()}, parameter, nd::kDouble);
  const auto solved = law.precision_times(parameters, with_ones)[0];
  const auto columns = latents.size(1);
  const auto of_ones = solved.select(1, columns);  // C^-1 1
  const auto of_latents = solved.narrow(1, 0, columns);
  const auto mean = nd::mv(latents.t(), of_ones) / of_ones.sum();
  // (u - m)' C^-1 (u - m) = u' C^-1 u - m^2 1' C^-1 1
  const auto squares = (latents * of_latents).sum(0) - mean.square() * of_ones.sum();
  const auto rows = static_cast<double>(latents.size(0));
  return -0.5 * rows * (squares / rows).log().sum().item<double>() -
         0.5 * static_cast<double>(columns) * law.log_det(parameters).item<double>();
}

// log p of latents for values of the one parameter, less its maximum. Groups all have
// the same.
struct ProfileCurve {
  std::vector<double> at, log_likelihood;
  double best = 0;
};

ProfileCurve profile_curve(const Dependence& law, const Array& latents) {
  const auto ones = nd::ones({latents.size(0), 1}, nd::kDouble);
  const auto with_ones = nd::cat({latents, ones}, 1).unsqueeze(0);
  ProfileCurve curve;
  constexpr int kPoints = 99;
  for (int i = 1; i <= kPoints; ++i) {
    curve.at.push_back(i / (kPoints + 1.0));
    curve.log_likelihood.push_back(
        profile_likelihood(law, curve.at.back(), latents, with_ones));
  }
  const auto best =
      std::max_element(curve.log_likelihood.begin(), curve.log_likelihood.end());
  curve.best = curve.at[to_size(best - curve.log_likelihood.begin())];
  const double top = *best;
  for (auto& value : curve.log_likelihood) value -= top;
  return curve;
}

std::string meaning_of_strength(bool is_lambda) {
  return is_lambda
             ? "\u03bb is the share of the variance that a row has of its own: 1 "
               "where rows are independent, towards 0 where all of it follows the "
               "relationship."
             : "\u03c1 is the correlation of rows of one group: 0 where they are "
               "independent, 1 where they are the same.";
}

nlohmann::json likelihood_section(const Model& model, const RunSample& sample) {
  const auto single = model.single();
  const auto request = single.dependence.request_for_new_rows(sample.dependence, {});
  Logger silent;
  const auto laws =
      make_row_laws(single, request,
                    read_relations(request, sample.related.rows,
                                   text_at(model.record, "/request/data/table")),
                    {}, silent);
  const auto& law = *laws.at(0).law;
  const bool are_blocks = model.dependence.kind == DependenceKind::blocks;
  if (law.parameter_count() < 1 || (law.parameter_count() > 1 && !are_blocks))
    return {};
  const auto curve = profile_curve(law, held_out_latents(model, sample.related));
  auto values = nlohmann::json::array();
  for (const double value : curve.log_likelihood) values.push_back(rounded(value, 6));
  const bool is_lambda = !are_blocks;
  const auto inference = found_at(model.record, "/inference");
  nlohmann::json section = {
      {"type", "likelihood"},
      {"title", is_lambda ? "The likelihood of \u03bb" : "The likelihood of \u03c1"},
      {"short", "Strength"},
      {"lead", meaning_of_strength(is_lambda)},
      {"parameter", is_lambda ? "\u03bb" : "\u03c1"},
      {"at", curve.at},
      {"log_likelihood", values},
      {"estimate", curve.best},
      {"caption",
       fmt::format(
           "Of the latents of {} held-out rows, each under the best flow that "
           "has not seen it, with the most likely mean and scale; the flows are "
           "taken as known. The upright line is the estimate.",
           with_commas(static_cast<double>(sample.related.count())))}};
  if (!sample.related_are_all) {
    section["caption"] = section["caption"].get<std::string>() +
                         fmt::format(
                             " They are some of {}: of all rows together the "
                             "curve is narrower.",
                             with_commas(static_cast<double>(sample.table_rows)));
  }
  const double low = number_at(inference, "/profile_interval/low"),
               high = number_at(inference, "/profile_interval/high"),
               estimate = number_at(inference, "/estimates/0/estimate");
  if (std::isfinite(low) && std::isfinite(high)) section["interval"] = {low, high};
  if (std::isfinite(estimate)) section["estimate"] = estimate;
  return section;
}

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

struct Scored {
  SampledRows rows;
  std::vector<double> scores;  // of these
  std::vector<double> all;     // of as many as are known
  bool are_held_out = false;
};

// Without held-out scores: those of the rows that are looked at.
Scored score_rows(const Model& model, const RunSample& sample) {
  if (!sample.held_out.empty()) {
    return {.rows = sample.lowest,
            .scores = sample.lowest_scores,
            .all = sample.held_out.log_density,
            .are_held_out = true};
  }
  const auto& rows = sample.shown.rows;
  const auto density = model.row_log_density(rows.data, rows.context).contiguous();
  Scored scored;
  scored.all.assign(density.data_ptr<double>(),
                    density.data_ptr<double>() + density.numel());
  std::vector<std::int64_t> order(scored.all.size());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return scored.all[to_size(a)] < scored.all[to_size(b)];
  });
  order.resize(std::min(order.size(), kLowestRows));
  scored.rows.rows = select_rows(rows, order);
  for (const auto i : order) scored.scores.push_back(scored.all[to_size(i)]);
  return scored;
}

}  // namespace

nlohmann::json groups_section(const LearnedDependence& learned,
                              const nlohmann::json& record) {
  std::unordered_map<std::string, DependenceEstimate> estimate_of;
  for (const auto& one : dependence_estimates(found_at(record, "/inference"))) {
    if (one.latent == 0) estimate_of[label_key(one.name)] = one;
  }
  const auto latents = std::min(learned.latents, kMostLatents);
  const auto mean = learned.mean_parameters();
  auto groups = nlohmann::json::array(), typical = groups, names = groups;
  bool has_intervals = false;
  for (const auto i : groups_shown(learned.sizes)) {
    nlohmann::json group = {{"name", learned.column + " " + learned.labels[i]},
                            {"size", learned.sizes[i]},
                            {"rho", rounded(mean[i])},
                            {"low", nullptr},
                            {"high", nullptr}};
    const auto found = estimate_of.find(label_key(learned.labels[i]));
    if (found != estimate_of.end()) {
      group["low"] = rounded(found->second.low, 4);
      group["high"] = rounded(found->second.high, 4);
      has_intervals = true;
    }
    for (std::int64_t latent = 0; learned.latents > 1 && latent < latents; ++latent) {
      group["of_latents"].push_back(rounded(learned.parameters_of(latent)[i], 4));
    }
    groups.push_back(std::move(group));
  }
  std::string caption = "Groups of one row have no \u03c1.";
  if (has_intervals) {
    caption +=
        " Lines are 95% intervals given the flow; small groups say little, and the "
        "prior draws them to the middle.";
  }
  if (groups.size() < learned.labels.size()) {
    caption += fmt::format(" {} of {} groups are shown, the largest among them.",
                           groups.size(), learned.labels.size());
  }
  nlohmann::json section = {
      {"type", "groups"},
      {"title", "How strongly groups hang together"},
      {"short", "Strength"},
      {"lead",
       "The learned correlation \u03c1 of the rows of a group, over its size. 0: no "
       "more alike than rows of different groups; 1: the same row again."},
      {"groups", groups},
      {"typical", rounded(learned.typical_parameter())},
      {"caption", caption}};
  for (std::int64_t latent = 0; learned.latents > 1 && latent < latents; ++latent) {
    section["latents"].push_back(
        {{"name", fmt::format("u{}", latent + 1)},
         {"typical", rounded(learned.typical_parameter_of(latent), 4)}});
  }
  return section;
}

nlohmann::json latents_strength_section(const LearnedDependence& learned,
                                        const nlohmann::json& record) {
  const auto name = learned.typical_name();
  if (learned.latents < 2 || name.empty()) return {};
  std::map<std::int64_t, DependenceEstimate> estimate_of;
  for (const auto& one : dependence_estimates(found_at(record, "/inference"))) {
    if (one.name == name && one.latent > 0) estimate_of[one.latent] = one;
  }
  auto latents = nlohmann::json::array();
  for (std::int64_t i = 1; i <= std::min(learned.latents, kMostLatents); ++i) {
    nlohmann::json one = {{"name", fmt::format("u{}", i)},
                          {"value", rounded(learned.typical_parameter_of(i - 1), 4)},
                          {"low", nullptr},
                          {"high", nullptr}};
    if (const auto found = estimate_of.find(i); found != estimate_of.end()) {
      one["value"] = rounded(found->second.estimate, 4);
      one["low"] = rounded(found->second.low, 4);
      one["high"] = rounded(found->second.high, 4);
    }
    latents.push_back(std::move(one));
  }
  const bool are_blocks = learned.kind == DependenceKind::blocks;
  std::string caption = "Lines are 95% intervals given the flow.";
  if (estimate_of.empty()) caption = "There are no intervals.";
  if (learned.latents > kMostLatents) {
    caption +=
        fmt::format(" The first {} of {} latents.", kMostLatents, learned.latents);
  }
  return {{"type", "latents_strength"},
          {"title", "How strong the dependence of each latent is"},
          {"short", "Latents\u2019 strength"},
          {"lead", name == "own share"
                       ? std::string("The share of the variance of a latent that a row "
                                     "has of its own.")
                       : meaning_of_strength(!are_blocks)},
          {"parameter", symbol_of(name)},
          {"latents", latents},
          {"caption", caption}};
}

nlohmann::json strength_section(const Model& model, const RunSample& sample) {
  const auto& learned = model.dependence;
  const bool has_groups =
      learned.kind == DependenceKind::blocks && !learned.labels.empty();
  const auto mean = learned.mean_parameters();
  const bool groups_differ =
      has_groups &&
      std::any_of(mean.begin(), mean.end(), [&](double rho) { return rho != mean[0]; });
  if (groups_differ) return groups_section(learned, model.record);
  // One for all groups and latents has a likelihood to look at.
  if (learned.latents == 1 &&
      (has_groups || learned.kind == DependenceKind::relationship ||
       learned.kind == DependenceKind::time)) {
    return likelihood_section(model, sample);
  }
  return {};
}

nlohmann::json lowest_section(const Model& model, const RunSample& sample,
                              nlohmann::json& watch) {
  const auto scored = score_rows(model, sample);
  const auto& rows = scored.rows.rows;
  const double median = median_of(scored.all);
  auto columns = nlohmann::json::array({{{"name", "row"}}});
  if (!rows.labels.empty()) {
    columns.push_back({{"name", sample.dependence.group}, {"text", true}});
  }
  columns.push_back({{"name", "NLL, nats"}});
  columns.push_back({{"name", "above the median"}});
  const auto shown = std::min(model.columns.size(), kShownColumns);
  for (std::size_t c = 0; c < shown; ++c) {
    columns.push_back({{"name", model.columns[c]}});
  }
  std::vector<std::size_t> order(scored.scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return scored.scores[a] < scored.scores[b];
  });
  auto cells = nlohmann::json::array();
  for (const auto i : order) {
    auto row = nlohmann::json::array({rows.kept_rows[i] + 1});
    if (!rows.labels.empty()) row.push_back(rows.labels[i]);
    row.push_back(rounded(-scored.scores[i], 4));
    row.push_back(rounded(median - scored.scores[i], 4));
    for (std::size_t c = 0; c < shown; ++c) {
      row.push_back(
          rounded(rows.data[static_cast<std::int64_t>(i)][static_cast<std::int64_t>(c)]
                      .item<double>(),
                  6));
    }
    cells.push_back(std::move(row));
  }
  // What the model itself would find that unlikely.
  constexpr std::int64_t kDraws = 4000;
  const auto draws = draw_rows(model, sample.shown.rows, kDraws);
  Array context;
  if (sample.shown.rows.context.defined()) {
    context = sample.shown.rows.context.index_select(
        0, nd::arange(kDraws, nd::kLong).remainder(sample.shown.rows.context.size(0)));
  }
  const double least = model.row_log_density(draws, context).min().item<double>();
  const auto below =
      static_cast<double>(std::count_if(scored.all.begin(), scored.all.end(),
                                        [&](double score) { return score < least; }));
  const double expected = static_cast<double>(scored.all.size()) / kDraws;
  if (below > 3 * expected + 3) {
    watch.push_back(watch_line(
        "warn",
        fmt::format("{} rows are less likely than each of {} draws from the "
                    "model; some {} would be by chance. They stand in the table "
                    "of the rows with the lowest density.",
                    with_commas(below), with_commas(kDraws),
                    in_prose(std::ceil(expected)))));
  }
  return {{"type", "table"},
          {"title", "Rows with the lowest density"},
          {"short", "Unlikely rows"},
          {"lead",
           scored.are_held_out
               ? "Rows that the flows which had not seen them find least likely: "
                 "mistakes, other populations, or tails."
               : "Rows that the model finds least likely, among those that are looked "
                 "at here: mistakes, other populations, or tails."},
          {"columns", columns},
          {"rows", cells},
          {"most", 12},
          {"wide", shown > 3}};
}

}  // namespace kinflow
