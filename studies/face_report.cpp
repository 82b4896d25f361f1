// Tables of a study of faces.
#include "studies/face_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "kinflow/report/paired_test.h"
#include "kinflow/report/text_table.h"
#include "kinflow/statistics/bits_per_dimension.h"
#include "studies/score_table.h"

namespace kinflow {
namespace {

/// A method of the paper: mean NLLs, FIDs and F-scores, of its appendix.
struct Published {
  const char* heading;
  double nll, indiv_nll, fid, indiv_fid, f_8, f_one_8th, f_4, f_one_4th;
};
const std::vector<Published> kPublished = {
    {"paper: baseline", 6414.2, 6443.3, 85.6, 96.6, 0.577, 0.609, 0.391, 0.426},
    {"paper: grid", 6357.7, 6389.9, 80.1, 92.1, 0.570, 0.655, 0.391, 0.456},
    {"paper: joint", 6352.1, 6379.9, 76.8, 89.0, 0.608, 0.671, 0.405, 0.480}};
constexpr std::int64_t kPublishedDimension = 3 * 32 * 32;

// The paper's numbers, where images have its size.
std::vector<Published> published_for(std::int64_t dimension) {
  return dimension == kPublishedDimension ? kPublished : std::vector<Published>();
}

// The first of a schedule and of a kind of correlations.
const FinishedMethod* find(const std::vector<FinishedMethod>& finished,
                           Schedule schedule,
                           BlockCorrelation correlation = BlockCorrelation::per_block) {
  for (const auto& one : finished) {
    const auto& method = one.method;
    if (method.schedule == schedule && method.correlation == correlation) return &one;
  }
  return nullptr;
}

const FinishedMethod* find_per_latent(const std::vector<FinishedMethod>& finished) {
  return find(finished, Schedule::joint, BlockCorrelation::per_latent);
}

// "0.010 to 0.120 for WHOM, 0.050 on average over repeats"
std::string range_of_correlations(const FinishedMethod& method,
                                  const std::string& whose) {
  std::vector<double> learned;
  for (const auto& score : method.scores) {
    learned.insert(learned.end(), score.correlations.begin(), score.correlations.end());
  }
  if (learned.empty()) return {};
  const auto [low, high] = std::minmax_element(learned.begin(), learned.end());
  return fmt::format(
      "{:.3f} to {:.3f} for {}, {:.3f} on average", *low, *high, whose,
      method.mean([](const auto& score) { return score.typical_correlation; }));
}

// The grid's value that validation chooses.
const FinishedMethod* chosen_of_grid(const std::vector<FinishedMethod>& finished) {
  const FinishedMethod* best = nullptr;
  for (const auto& one : finished) {
    if (one.method.schedule != Schedule::grid) continue;
    if (!best || one.valid_nll() < best->valid_nll()) best = &one;
  }
  return best;
}

/// A method below the baseline, on all images and on one of each person.
struct Comparisons {
  PairedTest all, indiv;
};

// Over seeds, or, where there is one, over its images.
Comparisons compare(const FinishedMethod& one, const FinishedMethod& baseline,
                    const FaceResults& results) {
  if (results.is_repeated()) {
    return {paired_test(results.nlls(one, false), results.nlls(baseline, false)),
            paired_test(results.nlls(one, true), results.nlls(baseline, true))};
  }
  const auto& test = results.tests.front();
  const auto& lower = one.scores.front().test_nll_nats;
  const auto& higher = baseline.scores.front().test_nll_nats;
  return {paired_test_of_groups(lower, higher, test.person),
          paired_test(test.indiv(lower), test.indiv(higher))};
}

}  // namespace

double FinishedMethod::mean(
    const std::function<double(const ImageMethodScore&)>& of) const {
  std::vector<double> values;
  for (const auto& score : scores) values.push_back(of(score));
  return mean_of(values);
}

double FinishedMethod::valid_nll() const {
  return mean([](const auto& score) { return score.valid_nll_nats; });
}

std::vector<double> TestFaces::indiv(const std::vector<double>& of_all) const {
  std::vector<double> chosen;
  for (const auto image : one_each) {
    chosen.push_back(of_all.at(static_cast<std::size_t>(image)));
  }
  return chosen;
}

std::vector<double> FaceResults::nlls(const FinishedMethod& of, bool indiv) const {
  std::vector<double> means;
  for (std::size_t seed = 0; seed < tests.size(); ++seed) {
    const auto& all = of.scores[seed].test_nll_nats;
    means.push_back(mean_of(indiv ? tests[seed].indiv(all) : all));
  }
  return means;
}

std::vector<const FinishedMethod*> FaceResults::main_methods() const {
  std::vector<const FinishedMethod*> chosen;
  for (const auto* one : {find(methods, Schedule::baseline), chosen_of_grid(methods),
                          find(methods, Schedule::joint), find_per_latent(methods)}) {
    if (one != nullptr) chosen.push_back(one);
  }
  return chosen;
}

std::string likelihood_table(const FaceResults& results) {
  TextTable table({{"mean test NLL (nats)", Align::kLeft},
                   {"all images"},
                   {"bits per dimension"},
                   {"one of each person"},
                   {"bits per dimension"},
                   {"validation"},
                   {"best epoch"}});
  const auto add = [&](const std::string& title, double nll, double indiv_nll,
                       const std::string& valid, const std::string& epoch) {
    const auto bits = [&](double nats) {
      return fmt::format("{:.4f}", bits_per_dimension(-nats, results.dimension));
    };
    table.add_row({title, fmt::format("{:.1f}", nll), bits(nll),
                   fmt::format("{:.1f}", indiv_nll), bits(indiv_nll), valid, epoch});
  };
  for (const auto& paper : published_for(results.dimension)) {
    add(paper.heading, paper.nll, paper.indiv_nll, "", "");
  }
  for (const auto& one : results.methods) {
    const auto epoch = one.mean(
        [](const auto& score) { return static_cast<double>(score.best_epoch); });
    add(fmt::format("ours: {}", one.method.title()), mean_of(results.nlls(one, false)),
        mean_of(results.nlls(one, true)), fmt::format("{:.1f}", one.valid_nll()),
        fmt::format("{:.0f}", epoch));
  }
  return table.markdown();
}

std::string difference_table(const FaceResults& results) {
  const auto* baseline = find(results.methods, Schedule::baseline);
  if (baseline == nullptr || results.methods.size() == 1) return {};
  std::vector<TableColumn> columns = {
      {"difference to the baseline (nats)", Align::kLeft},
      {"all images"},
      {"p"},
      {"one of each person"},
      {"p"}};
  if (results.is_repeated()) columns.push_back({"all images, by seed"});
  TextTable table(columns);
  const auto text = [](const PairedTest& found) {
    return fmt::format("{:.2f} ± {:.2f}", -found.mean_difference, found.standard_error);
  };
  for (const auto& one : results.methods) {
    if (&one == baseline) continue;
    const auto [all, indiv] = compare(one, *baseline, results);
    std::vector<std::string> cells = {one.method.title(), text(all),
                                      p_value_text(all.p_value), text(indiv),
                                      p_value_text(indiv.p_value)};
    if (results.is_repeated()) {
      const auto own = results.nlls(one, false),
                 theirs = results.nlls(*baseline, false);
      std::vector<std::string> differences;
      for (std::size_t i = 0; i < own.size(); ++i) {
        differences.push_back(fmt::format("{:+.1f}", own[i] - theirs[i]));
      }
      cells.push_back(fmt::format("{}", fmt::join(differences, ", ")));
    }
    table.add_row(cells);
  }
  return fmt::format("\n{}", table.markdown());
}

std::string distance_table(const FaceResults& results) {
  TextTable table({{"drawn images", Align::kLeft},
                   {"F8"},
                   {"F1/8"},
                   {"F4"},
                   {"F1/4"},
                   {"Frechet"},
                   {"F8, one of each"},
                   {"F1/8, one of each"},
                   {"Frechet, one of each"}});
  const auto part = [](double value) { return fmt::format("{:.3f}", value); };
  for (const auto& paper : published_for(results.dimension)) {
    table.add_row({fmt::format("{} (FID)", paper.heading), part(paper.f_8),
                   part(paper.f_one_8th), part(paper.f_4), part(paper.f_one_4th),
                   fmt::format("{:.1f}", paper.fid), "", "",
                   fmt::format("{:.1f}", paper.indiv_fid)});
  }
  for (const auto& one : results.methods) {
    std::vector<std::string> cells = {fmt::format("ours: {}", one.method.title())};
    const auto add = [&](auto distance) {
      cells.push_back(part(one.mean(
          [&](const ImageMethodScore& score) { return distance(score.distances); })));
    };
    const auto add_indiv = [&](auto distance) {
      cells.push_back(part(one.mean([&](const ImageMethodScore& score) {
        return distance(*score.indiv_distances);
      })));
    };
    add(f_8);
    add(f_one_8th);
    add(f_4);
    add(f_one_4th);
    add(frechet);
    const bool has_indiv = std::all_of(
        one.scores.begin(), one.scores.end(),
        [](const auto& score) { return score.indiv_distances.has_value(); });
    if (has_indiv) {
      add_indiv(f_8);
      add_indiv(f_one_8th);
      add_indiv(frechet);
    }
    table.add_row(cells);
  }
  return table.markdown();
}

std::string learned_correlations(const FaceResults& results) {
  std::string text;
  if (const auto* grid = chosen_of_grid(results.methods)) {
    text += fmt::format("Validation chooses rho {} of the grid (paper: 0.15). ",
                        grid->method.start);
  }
  if (const auto* joint = find(results.methods, Schedule::joint)) {
    const auto range = range_of_correlations(*joint, "people with several images");
    if (!range.empty()) {
      text += fmt::format(
          "Joint training finds correlations from {} over repeats (paper: 0.052 to "
          "0.15). ",
          range);
    }
  }
  if (const auto* own = find_per_latent(results.methods)) {
    const auto range = range_of_correlations(*own, "the channels of the latents");
    if (!range.empty())
      text += fmt::format("Per latent they are {} over latents. ", range);
  }
  while (text.ends_with(' ')) text.pop_back();
  return text.empty() ? text : fmt::format("\n{}\n", text);
}

std::string claims_table(const FaceResults& results) {
  const auto* baseline = find(results.methods, Schedule::baseline);
  if (baseline == nullptr || results.methods.size() == 1) return {};
  NllClaims claims(1);
  const auto add = [&](const std::string& claim, const PairedTest& found, bool indiv) {
    const double bar = mean_of(results.nlls(*baseline, indiv));
    claims.add(claim, bar, bar - found.mean_difference, found.p_value);
  };
  for (const auto* one :
       {chosen_of_grid(results.methods), find(results.methods, Schedule::joint),
        find_per_latent(results.methods)}) {
    if (one == nullptr) continue;
    const auto [all, indiv] = compare(*one, *baseline, results);
    add(one->method.title() + " below baseline, all images", all, false);
    add(one->method.title() + " below baseline, one image of each person", indiv, true);
  }
  return fmt::format("\n{}", claims.markdown());
}

}  // namespace kinflow
