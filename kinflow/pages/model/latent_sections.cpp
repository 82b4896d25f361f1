// Latents beside the normal distribution, and pairs of rows beside their correlation.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "kinflow/array/array.h"
#include "kinflow/core/error.h"
#include "kinflow/core/log.h"
#include "kinflow/core/size.h"
#include "kinflow/model/group_draws.h"
#include "kinflow/pages/model/model_sections.h"
#include "kinflow/pages/packed_numbers.h"
#include "kinflow/pages/record_lookup.h"
#include "kinflow/statistics/normal_quantile.h"

namespace kinflow {
namespace {

constexpr std::int64_t kShownLatents = 9;
constexpr std::int64_t kPlottedLatents = 1200;
// Pairs of rows below this correlation are not related.
constexpr double kLeastRelated = 1e-3;
constexpr std::size_t kBins = 14;
constexpr std::int64_t kComparedColumns = 30;

std::vector<double> as_numbers(const Array& values) {
  const auto whole = values.to(nd::kDouble).contiguous();
  return {whole.data_ptr<double>(), whole.data_ptr<double>() + whole.numel()};
}

/// C of the related rows under the model, and what is left of their latents without it.
struct Whitened {
  Array covariance;  // [m, m]
  Array latents;     // [m, p]
};

std::optional<Whitened> whiten(const Model& model, const RunSample& sample,
                               const Array& latents) {
  const auto kind = kind_of(sample.dependence);
  if (kind == DependenceKind::independent || kind == DependenceKind::unstructured ||
      sample.related.count() < 3) {
    return std::nullopt;
  }
  const auto single = model.single();
  const auto request = single.dependence.request_for_new_rows(sample.dependence, {});
  Logger silent;
  const auto laws =
      make_row_laws(single, request,
                    read_relations(request, sample.related.rows,
                                   text_at(model.record, "/request/data/table")),
                    {}, silent);
  Whitened result;
  // One for all latents, or one for each.
  const auto covariances = laws.at(0).law->covariance(laws[0].parameters.cpu()).cpu();
  result.covariance = covariances.mean(0);
  const auto columns = latents.t().reshape({covariances.size(0), -1, latents.size(0)});
  result.latents = nd::linalg_solve_triangular(nd::linalg_cholesky(covariances),
                                               columns.transpose(1, 2), /*upper=*/false)
                       .transpose(1, 2)
                       .reshape({latents.size(1), latents.size(0)})
                       .t();
  return result;
}

// Quantiles of every latent at those of a normal distribution, and the band in which
// they lie by chance where the rows are worth `worth` independent ones.
nlohmann::json quantiles(const Array& latents, double worth) {
  const auto rows = latents.size(0);
  // No further than there are rows.
  const double last = 1 - 0.5 / static_cast<double>(rows);
  const double end = std::min(3.6, normal_quantile(last));
  constexpr int kPoints = 61;
  auto normal = nlohmann::json::array(), low = normal, high = normal, columns = normal;
  std::vector<double> shares;
  for (int i = 0; i < kPoints; ++i) {
    const double z = -end + 2 * end * i / (kPoints - 1);
    const double share = std::erfc(-z / std::sqrt(2.0)) / 2;
    const double density = std::exp(-z * z / 2) / std::sqrt(2 * 3.14159265358979);
    const double error =
        std::min(2.0, std::sqrt(share * (1 - share) / std::max(worth, 1.0)) / density);
    normal.push_back(rounded(z));
    low.push_back(rounded(z - 1.96 * error, 4));
    high.push_back(rounded(z + 1.96 * error, 4));
    shares.push_back(share);
  }
  const auto sorted = std::get<0>(nd::sort(latents, 0)).contiguous();
  for (std::int64_t c = 0; c < std::min(latents.size(1), kShownLatents); ++c) {
    const auto values = as_numbers(sorted.select(1, c));
    auto own = nlohmann::json::array();
    for (const double share : shares) {
      const double place = std::clamp(share * static_cast<double>(rows) - 0.5, 0.0,
                                      static_cast<double>(rows - 1));
      const auto below = static_cast<std::size_t>(place);
      const auto above = std::min(below + 1, values.size() - 1);
      own.push_back(rounded(values[below] + (place - std::floor(place)) *
                                                (values[above] - values[below])));
    }
    columns.push_back(std::move(own));
  }
  return {{"normal", normal}, {"low", low}, {"high", high}, {"quantiles", columns}};
}

nlohmann::json latent_pairs(const Array& latents, const TableRows& rows,
                            const std::vector<std::string>& names) {
  const auto count = std::min(latents.size(0), kPlottedLatents);
  const auto columns = std::min<std::int64_t>(latents.size(1), 16);
  auto packed_rows = nlohmann::json::array(), ranges = packed_rows,
       marginals = packed_rows, numbers = packed_rows;
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < count; ++i) {
    places.push_back(i * latents.size(0) / count);
    numbers.push_back(rows.kept_rows[to_size(places.back())] + 1);
  }
  const auto chosen = latents.index_select(0, nd::tensor(places, nd::kLong));
  constexpr double kEnd = 4;
  constexpr int kSteps = 40;
  for (std::int64_t c = 0; c < columns; ++c) {
    packed_rows.push_back(packed(as_numbers(chosen.select(1, c))));
    ranges.push_back({-kEnd, kEnd});
    std::vector<double> counts(kSteps, 0);
    auto bars = nlohmann::json::array(), curve = bars;
    for (const double value : as_numbers(latents.select(1, c))) {
      const double share = (value + kEnd) / (2 * kEnd);
      if (share >= 0 && share < 1) ++counts[static_cast<std::size_t>(share * kSteps)];
    }
    for (int i = 0; i < kSteps; ++i) {
      const double from = -kEnd + 2 * kEnd * i / kSteps, to = from + 2 * kEnd / kSteps;
      bars.push_back(rounded(
          counts[static_cast<std::size_t>(i)] / static_cast<double>(latents.size(0)),
          4));
      curve.push_back(rounded(
          (std::erf(to / std::sqrt(2.0)) - std::erf(from / std::sqrt(2.0))) / 2, 4));
    }
    marginals.push_back(
        {{"low", -kEnd}, {"high", kEnd}, {"rows", bars}, {"draws", curve}});
  }
  return {{"columns", names},       {"ranges", ranges},
          {"rows", packed_rows},    {"draws", nlohmann::json::array()},
          {"marginals", marginals}, {"numbers", numbers}};
}

/// Sums over pairs of rows in a bin of their correlation.
struct PairBin {
  double model = 0, before = 0, after = 0, pairs = 0;
  // Of each unit, for errors: pairs, and sums of both products.
  std::map<std::int64_t, std::array<double, 3>> of_unit;
};

double error_of(const PairBin& bin, std::size_t which, double mean) {
  if (bin.of_unit.size() < 3) return std::nan("");
  double squares = 0;
  for (const auto& [unit, sums] : bin.of_unit) {
    const double residual = sums[which] - mean * sums[0];
    squares += residual * residual;
  }
  return std::sqrt(squares) / bin.pairs;
}

std::vector<PairBin> bin_pairs(const Whitened& whitened, const Array& latents,
                               const std::vector<std::int64_t>& unit) {
  const auto rows = latents.size(0), columns = latents.size(1);
  const auto c = whitened.covariance.contiguous();
  const auto before = (nd::matmul(latents, latents.t()) / columns).contiguous();
  const auto after =
      (nd::matmul(whitened.latents, whitened.latents.t()) / columns).contiguous();
  const auto* model = c.data_ptr<double>();
  const auto* of_before = before.data_ptr<double>();
  const auto* of_after = after.data_ptr<double>();
  std::vector<PairBin> bins(kBins + 1);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < i; ++j) {
      const auto at = to_size(i * rows + j);
      // Unrelated pairs are a bin of their own, the first.
      const double r = std::clamp(model[at], 0.0, 1.0);
      const auto which =
          r < kLeastRelated
              ? std::size_t{0}
              : 1 + std::min(static_cast<std::size_t>(r * static_cast<double>(kBins)),
                             kBins - 1);
      auto& bin = bins[which];
      ++bin.pairs;
      bin.model += model[at];
      bin.before += of_before[at];
      bin.after += of_after[at];
      if (which > 0 && unit[to_size(i)] > 0) {
        auto& sums = bin.of_unit[unit[to_size(i)]];
        sums[0] += 1;
        sums[1] += of_before[at];
        sums[2] += of_after[at];
      }
    }
  }
  return bins;
}

// Correlation of related rows in a column, pairs weighted by their correlation under
// the model: sum c_ij z_i z_j / sum c_ij.
double related_correlation(const Array& weights, const Array& column) {
  const auto z = (column - column.mean()) / column.std();
  const double sum = weights.sum().item<double>();
  return sum > 0 ? nd::dot(z, nd::mv(weights, z)).item<double>() / sum : std::nan("");
}

nlohmann::json adjusted_section(const Model& model, const RunSample& sample,
                                const Whitened& whitened, const Array& latents,
                                double& before, double& after) {
  const auto bins = bin_pairs(whitened, latents, sample.related.unit);
  auto list = nlohmann::json::array();
  double pairs = 0;
  for (std::size_t i = 0; i < bins.size(); ++i) {
    const auto& bin = bins[i];
    if (bin.pairs < 1) continue;
    const double mean_before = bin.before / bin.pairs,
                 mean_after = bin.after / bin.pairs, r = bin.model / bin.pairs;
    list.push_back({{"model", rounded(r, 4)},
                    {"pairs", bin.pairs},
                    {"before", rounded(mean_before)},
                    {"after", rounded(mean_after)},
                    {"before_error", rounded(error_of(bin, 1, mean_before), 3)},
                    {"after_error", rounded(error_of(bin, 2, mean_after), 3)}});
    if (i == 0) continue;
    pairs += bin.pairs;
  }
  if (pairs == 0) {
    throw InputError("no two of the rows that are looked at are related");
  }
  auto weights = nd::where(whitened.covariance > kLeastRelated, whitened.covariance,
                           nd::zeros_like(whitened.covariance));
  weights.fill_diagonal_(0);
  const auto scores = normal_scores_among(sample.related.rows.data);
  auto columns = nlohmann::json::array();
  before = after = 0;
  for (std::int64_t c = 0; c < latents.size(1); ++c) {
    const auto of = [&](const Array& from) {
      return related_correlation(weights, from.select(1, c));
    };
    const double own_before = of(latents), own_after = of(whitened.latents);
    before += own_before / static_cast<double>(latents.size(1));
    after += own_after / static_cast<double>(latents.size(1));
    if (c >= kComparedColumns) continue;
    columns.push_back({{"name", model.columns[to_size(c)]},
                       {"data", rounded(of(scores), 4)},
                       {"before", rounded(own_before, 4)},
                       {"after", rounded(own_after, 4)}});
  }
  return {
      {"type", "adjusted"},
      {"title", "Does the dependence go away?"},
      {"short", "Dependence"},
      {"lead",
       "Latents of rows that belong together are alike. If the model has learned how "
       "much, their mean product lies on the dashed line, and nothing is left of it "
       "once the dependence is taken out (L\u207b\u00b9U with C = LL\u1d40)."},
      {"bins", list},
      {"columns", columns},
      {"columns_note", "over pairs of related rows; columns as normal scores"},
      {"caption",
       fmt::format(
           "{} rows{}, {} related pairs. Lines are 95% intervals by units of "
           "rows that were held out together. Flows are those that have not "
           "seen the rows.",
           with_commas(static_cast<double>(sample.related.count())),
           sample.related_are_all ? "" : ", parts of units that were chosen by chance",
           with_commas(pairs))}};
}

}  // namespace

LatentSections latent_sections(const Model& model, const RunSample& sample) {
  LatentSections sections;
  const auto shown = held_out_latents(model, sample.shown);
  const double rows = static_cast<double>(sample.shown.count());
  const double worth = number_at(model.record, "/cross_validation/worth_of_rows", rows);
  std::vector<std::string> names;
  for (std::size_t c = 0; c < model.columns.size(); ++c) {
    names.push_back(fmt::format("u{}", c + 1));
  }
  auto& latents = sections.latents;
  latents = {
      {"type", "latents"},
      {"title", "Are the latents normal?"},
      {"short", "Latents"},
      {"lead",
       "The flow maps every row to latents that should be standard normal, so that "
       "their quantiles lie on the line. The band is where they lie by chance."},
      {"names",
       std::vector<std::string>(
           names.begin(),
           names.begin() + std::min<std::ptrdiff_t>(std::ssize(names), kShownLatents))},
      {"before", quantiles(shown, std::min(rows, std::max(worth, 1.0)))},
      {"pairs", names.size() > 1 ? latent_pairs(shown, sample.shown.rows, names)
                                 : nlohmann::json()}};
  std::string caption =
      sample.held_out.empty()
          ? "Latents of training rows, under a flow that has seen them."
          : "Latents of held-out rows, each under the best flow that has not seen it.";
  try {
    const auto related = held_out_latents(model, sample.related);
    if (const auto whitened = whiten(model, sample, related)) {
      latents["after"] =
          quantiles(whitened->latents, static_cast<double>(sample.related.count()));
      sections.adjusted = adjusted_section(model, sample, *whitened, related,
                                           sections.before, sections.after);
      caption += fmt::format(
          " As the flow gives them, the band is that of as many independent rows as "
          "these are worth, {}.",
          in_prose(std::min(rows, worth)));
    }
  } catch (const std::exception& error) {
    sections.adjusted = {{"title", "Does the dependence go away?"},
                         {"short", "Dependence"},
                         {"missing", std::string("Not known: ") + error.what()}};
  }
  if (std::ssize(model.columns) > kShownLatents) {
    caption += fmt::format(" The first {} of {} latents are shown.", kShownLatents,
                           model.columns.size());
  }
  latents["caption"] = caption;
  return sections;
}

}  // namespace kinflow
