// What flows of unbalanced images came to, over the seeds.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "kinflow/array/device.h"
#include "kinflow/core/atomic_file.h"
#include "kinflow/core/error.h"
#include "kinflow/report/paired_test.h"
#include "kinflow/report/prd_figure.h"
#include "kinflow/report/text_table.h"
#include "kinflow/statistics/bits_per_dimension.h"
#include "studies/experiments.h"
#include "studies/score_table.h"
#include "studies/study_parts.h"
#include "studies/unbalanced_images.h"

namespace kinflow {
namespace {

using namespace unbalanced_method;
using Seeds = std::vector<UnbalancedSeed>;
using Measure = std::function<double(const ImageMethodScore&)>;

constexpr std::size_t kSheetColumns = 12, kSheetRows = 2;
// Share of the seeds in which a claim must hold.
constexpr double kShareOfSeeds = 0.9;

double test_nll(const ImageMethodScore& score) { return mean_of(score.test_nll_nats); }
double mean_rho(const ImageMethodScore& score) {
  return score.correlations.empty() ? 0 : mean_of(score.correlations);
}
Measure drawn(double (*distance)(const ImageDistances&)) {
  return
      [distance](const ImageMethodScore& score) { return distance(score.distances); };
}

std::vector<double> over_seeds(const Seeds& seeds, const std::string& method,
                               const Measure& measure) {
  std::vector<double> values;
  for (const auto& seed : seeds) values.push_back(measure(seed.score_of(method)));
  return values;
}

std::string score_lines(const Seeds& seeds, std::int64_t dimensions) {
  TextTable table({{"one image of everybody", Align::kLeft},
                   {"test NLL (nats)"},
                   {"bits per dimension"},
                   {"Frechet"},
                   {"F8"},
                   {"F1/8"},
                   {"F4"},
                   {"F1/4"}});
  for (const auto* method : {kTraining, kBaseline, kAdjusted, kTruth}) {
    std::vector<std::string> cells = {method, "", ""};
    if (!seeds.front().score_of(method).test_nll_nats.empty()) {
      const auto nlls = over_seeds(seeds, method, test_nll);
      cells[1] = with_error(nlls, 2);
      cells[2] = fmt::format("{:.4f}", bits_per_dimension(-mean_of(nlls), dimensions));
    }
    for (const auto& measure : {frechet, f_8, f_one_8th, f_4, f_one_4th}) {
      cells.push_back(with_error(over_seeds(seeds, method, drawn(measure)), 3));
    }
    table.add_row(cells);
  }
  return table.markdown();
}

class Claims {
 public:
  explicit Claims(const Seeds& seeds) : seeds_(seeds) {}

  // That the adjusted flow has more than the baseline of a measure, or less.
  void add(const std::string& what, const Measure& measure, bool more) {
    auto low = over_seeds(seeds_, kBaseline, measure);
    auto high = over_seeds(seeds_, kAdjusted, measure);
    if (!more) std::swap(low, high);
    std::size_t wins = 0;
    for (std::size_t i = 0; i < low.size(); ++i) wins += low[i] < high[i] ? 1 : 0;
    const auto count = seeds_.size();
    const auto bar = static_cast<std::size_t>(
        std::ceil(kShareOfSeeds * static_cast<double>(count) - 1e-9));
    std::string difference, p;
    if (count > 1) {
      const auto test = paired_test(low, high);
      difference =
          fmt::format("{:+.3f} ± {:.3f}", (more ? 1 : -1) * test.mean_difference,
                      test.standard_error);
      p = p_value_text(test.p_value);
    }
    table_.add_row({fmt::format("adjusted: {} than baseline", what),
                    fmt::format("{} of {}", bar, count),
                    fmt::format("{} of {}", wins, count), difference, p,
                    wins >= bar ? "yes" : "**no**"});
  }

  std::string markdown() const { return table_.markdown(); }

 private:
  const Seeds& seeds_;
  TextTable table_{{{"claim", Align::kLeft},
                    {"bar, seeds"},
                    {"measured"},
                    {"mean difference"},
                    {"p"},
                    {"holds", Align::kLeft}}};
};

std::string claims_table(const Seeds& seeds) {
  Claims claims(seeds);
  claims.add("lower test NLL (nats)", test_nll, false);
  claims.add("higher F8", drawn(f_8), true);
  claims.add("higher F1/8", drawn(f_one_8th), true);
  claims.add("lower Frechet distance", drawn(frechet), false);
  return claims.markdown();
}

// The epochs of which a table is made: some at the beginning, then fewer.
bool is_shown(std::int64_t epoch, std::int64_t last) {
  return epoch == 1 || epoch == 2 || epoch == 5 || epoch % 10 == 0 || epoch == last;
}

std::string epoch_table(const UnbalancedSeed& seed, std::int64_t dimensions) {
  TextTable table({{"epoch"},
                   {"baseline: training"},
                   {"validation"},
                   {"adjusted: training"},
                   {"validation"},
                   {"mean rho"}});
  const auto bits = [&](double nats) {
    return fmt::format("{:.4f}", bits_per_dimension(-nats, dimensions));
  };
  for (std::size_t i = 0; i < seed.baseline_epochs.size(); ++i) {
    const auto& baseline = seed.baseline_epochs[i];
    const auto& adjusted = seed.adjusted_epochs.at(i);
    if (!is_shown(baseline.epoch, std::ssize(seed.baseline_epochs))) continue;
    table.add_row({std::to_string(baseline.epoch), bits(baseline.train_nll_nats),
                   bits(baseline.valid_nll_nats), bits(adjusted.train_nll_nats),
                   bits(adjusted.valid_nll_nats),
                   fmt::format("{:.3f}", adjusted.mean_correlation)});
  }
  return table.markdown();
}

std::string learned_text(const Seeds& seeds, double truth) {
  const auto rho = over_seeds(seeds, kAdjusted, mean_rho);
  const auto epoch_of = [&](const char* method) {
    return mean_of(over_seeds(seeds, method, [](const ImageMethodScore& score) {
      return static_cast<double>(score.best_epoch);
    }));
  };
  return fmt::format(
      "\nThe people's correlations come out as {} on average; the numbers behind the "
      "images have {}. Validation chooses epoch {:.0f} of the baseline and {:.0f} of "
      "the adjusted flow on average.\n",
      with_error(rho, 3), truth, epoch_of(kBaseline), epoch_of(kAdjusted));
}

std::string scores_as_csv(const Seeds& seeds, std::uint64_t first_seed) {
  std::string lines =
      "seed,people,largest,method,best_epoch,test_nll_nats,mean_rho,frechet,f8,"
      "f1/8,f4,f1/4\n";
  for (std::size_t i = 0; i < seeds.size(); ++i) {
    for (const auto& score : seeds[i].scores) {
      lines += fmt::format(
          "{},{},{},\"{}\",{},{},{},{},{},{},{},{}\n", first_seed + i, seeds[i].people,
          seeds[i].largest, score.method, score.best_epoch,
          score.test_nll_nats.empty() ? "" : fmt::format("{}", test_nll(score)),
          mean_rho(score), frechet(score.distances), f_8(score.distances),
          f_one_8th(score.distances), f_4(score.distances), f_one_4th(score.distances));
    }
  }
  return lines;
}

std::string setting_text(const Seeds& seeds, const UnbalancedSetting& setting) {
  const auto people_of = [&](auto UnbalancedSeed::*part) {
    const auto [low, high] = std::minmax_element(
        seeds.begin(), seeds.end(),
        [&](const auto& a, const auto& b) { return a.*part < b.*part; });
    const auto least = (*low).*part, most = (*high).*part;
    return least == most ? std::to_string(least) : fmt::format("{} to {}", least, most);
  };
  const auto& images = setting.images;
  return fmt::format(
      "\nGrey images of {0} x {0} pixels show a shape on a shaded ground; standard "
      "normal numbers decide them, of which the images of one person have a share of "
      "{1} in common (`kinflow simulate --images`). The {2} training images are of {3} "
      "people, and the one with most has {4}. Each seed simulates anew and trains the "
      "same flow twice, {5} epochs in batches of {6}: *baseline* takes images as "
      "independent, *adjusted* learns a correlation for each person (`--schedule "
      "joint`). Of each, the epoch that validates best on {7} images. Both are scored "
      "on {8} images of as many new people, and as many drawn images are compared with "
      "{8} others of that law. {9} and {10} show how far the "
      "training images themselves, and further images of the true law, are away.\n\n",
      images.side, images.identity_share, images.images,
      people_of(&UnbalancedSeed::people), people_of(&UnbalancedSeed::largest),
      setting.train.epochs, setting.train.batch_size, images.valid_images,
      images.test_images, "*Training images*", "*balanced images*");
}

void write_curves(const std::string& path, const Seeds& seeds) {
  PrdFigure figure{.title = "Precision and recall of drawn images",
                   .subtitle = fmt::format(
                       "features: {}, mean of {} seeds",
                       seeds.front().scores.front().distances.features, seeds.size())};
  for (const auto* method : {kBaseline, kAdjusted}) {
    std::vector<PrdCurve> curves;
    for (const auto& seed : seeds) {
      curves.push_back(seed.score_of(method).distances.prd_curve);
    }
    const auto mean = mean_curve(curves);
    figure.curves.push_back(
        {.name = method, .precision = mean.precision, .recall = mean.recall});
  }
  write_prd_figure(path, figure);
}

void write_sheet(const std::string& path, const UnbalancedSeed& seed) {
  SampleSheet sheet;
  for (const auto* method : {kTruth, kTraining, kBaseline, kAdjusted}) {
    auto rows = sheet_rows(seed.score_of(method).samples, kSheetColumns);
    rows.resize(std::min(rows.size(), kSheetRows));
    rows.front().label = method;
    sheet.rows.insert(sheet.rows.end(), rows.begin(), rows.end());
  }
  write_sample_sheet(path, sheet);
}

}  // namespace

std::string unbalanced_tables(const Seeds& seeds, const UnbalancedSetting& setting) {
  const auto dimensions = setting.images.side * setting.images.side;
  return setting_text(seeds, setting) + score_lines(seeds, dimensions) +
         learned_text(seeds, setting.images.identity_share) +
         fmt::format(
             "\nFrechet distances and F-scores are in the feature space {}, which is "
             "no "
             "Inception's; F8 weighs recall, F1/8 precision. Means over the seeds, ± "
             "one standard error.\n"
             "\n![Precision and recall of drawn images](unbalanced-images-prd.png)\n"
             "\n![Images and draws](unbalanced-images-samples.png)\n"
             "\nNLL of single images by epoch, first seed (bits per dimension):\n\n",
             seeds.front().scores.front().distances.features) +
         epoch_table(seeds.front(), dimensions) + "\n" + claims_table(seeds);
}

ExperimentReport reproduce_unbalanced_images(const ExperimentOptions& options,
                                             Logger& logger) {
  if (options.device != "cpu") {
    throw InputError(fmt::format(
        "--device: expected cpu, where this study is made, found {}", options.device));
  }
  // Seeds run beside each other, each in one thread.
  set_threads(1);
  std::vector<StudyPart> parts;
  for (const auto seed : seeds_of(options)) {
    parts.push_back({fmt::format("images-{}", seed), [&, seed] {
                       return to_json(run_unbalanced_seed(
                           unbalanced_setting(seed, options.quick), options.stop));
                     }});
  }
  const StudyFolder folder(options.directory,
                           study_place(options, "unbalanced-images").description,
                           options.overwrite);
  Seeds seeds;
  const auto results = run_parts(parts, folder, options, logger);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    seeds.push_back(unbalanced_seed_from(results[i], folder.path_of(parts[i].name)));
  }
  ExperimentReport report;
  report.pictures = {options.directory + "/unbalanced-images-prd.png",
                     options.directory + "/unbalanced-images-samples.png"};
  write_curves(report.pictures[0], seeds);
  write_sheet(report.pictures[1], seeds.front());
  report.markdown =
      heading("Images with unbalanced repeats", options) +
      provenance(options, "unbalanced-images", folder.seconds()) +
      (options.quick ? "\nLeft out by --quick: most images and epochs, most of the "
                       "network, and all seeds but two unless --seeds says otherwise.\n"
                     : "") +
      unbalanced_tables(seeds, unbalanced_setting(options.first_seed, options.quick));
  write_file_atomically(options.directory + "/scores.csv",
                        scores_as_csv(seeds, options.first_seed));
  write_report(options, "unbalanced-images", report);
  return report;
}

}  // namespace kinflow
