// Faces with and without the knowledge of who is who.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

#include "kinflow/core/atomic_file.h"
#include "kinflow/core/bits_per_dimension.h"
#include "kinflow/images/split_images.h"
#include "kinflow/report/paired_test.h"
#include "kinflow/report/prd_figure.h"
#include "kinflow/report/text_table.h"
#include "kinflow/reproduce/experiments.h"
#include "kinflow/reproduce/face_study.h"
#include "kinflow/reproduce/score_table.h"
#include "kinflow/train/images/image_names.h"

namespace kinflow {
namespace {

constexpr std::size_t kSheetColumns = 10, kSheetRows = 2;
constexpr std::size_t kOwnSheetColumns = 8;

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

double mean_of(const std::vector<double>& values) {
  return mean_and_standard_error(values).mean;
}

/// A method that is finished for all seeds.
struct Finished {
  FaceMethod method;
  std::vector<ImageMethodScore> scores;  // by seed

  double mean(const std::function<double(const ImageMethodScore&)>& of) const {
    std::vector<double> values;
    for (const auto& score : scores) values.push_back(of(score));
    return mean_of(values);
  }
  double valid_nll() const {
    return mean([](const auto& score) { return score.valid_nll_nats; });
  }
};

// Who the test images of a seed show, and one image of each.
struct TestImages {
  std::vector<std::int64_t> person, one_each;

  std::vector<double> indiv(const std::vector<double>& of_all) const {
    std::vector<double> chosen;
    for (const auto image : one_each) {
      chosen.push_back(of_all.at(static_cast<std::size_t>(image)));
    }
    return chosen;
  }
};

/// What the tables are made of.
struct Results {
  std::vector<Finished> methods;
  std::vector<TestImages> tests;  // by seed
  std::int64_t dimension;         // of an image

  bool is_repeated() const { return tests.size() > 1; }

  // Mean NLL of every seed, of all images or of one of each person.
  std::vector<double> nlls(const Finished& of, bool indiv) const {
    std::vector<double> means;
    for (std::size_t seed = 0; seed < tests.size(); ++seed) {
      const auto& all = of.scores[seed].test_nll_nats;
      means.push_back(mean_of(indiv ? tests[seed].indiv(all) : all));
    }
    return means;
  }
};

const Finished* find_baseline(const std::vector<Finished>& finished) {
  for (const auto& one : finished) {
    if (one.method.schedule == Schedule::baseline) return &one;
  }
  return nullptr;
}

// The grid's value that validation chooses.
const Finished* chosen_of_grid(const std::vector<Finished>& finished) {
  const Finished* best = nullptr;
  for (const auto& one : finished) {
    if (one.method.schedule != Schedule::grid) continue;
    if (!best || one.valid_nll() < best->valid_nll()) best = &one;
  }
  return best;
}

const Finished* find_joint(const std::vector<Finished>& finished) {
  for (const auto& one : finished) {
    if (one.method.schedule == Schedule::joint) return &one;
  }
  return nullptr;
}

// The methods that answer the paper's: the grid's values but the chosen one are left
// out.
std::vector<const Finished*> main_methods(const std::vector<Finished>& finished) {
  std::vector<const Finished*> chosen;
  for (const auto* one :
       {find_baseline(finished), chosen_of_grid(finished), find_joint(finished)}) {
    if (one != nullptr) chosen.push_back(one);
  }
  return chosen;
}

std::string parts_table(const FaceData& data, bool is_first_of_several) {
  TextTable table({{is_first_of_several ? "part, first seed" : "part", Align::kLeft},
                   {"images"},
                   {"people"},
                   {"most of one"}});
  const auto add = [&](const char* name, const ImageSet& set) {
    const auto each = images_per_person(set);
    table.add_row({name, std::to_string(set.images()), std::to_string(set.people()),
                   std::to_string(*std::max_element(each.begin(), each.end()))});
  };
  add("training", data.fit.train);
  add("validation", data.fit.valid);
  add("test", data.test);
  return table.markdown();
}

std::string likelihood_table(const Results& results) {
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

/// A method below the baseline, on all images and on one of each person.
struct Comparisons {
  PairedTest all, indiv;
};

// Over seeds, or, where there is one, over its images.
Comparisons compare(const Finished& one, const Finished& baseline,
                    const Results& results) {
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

std::string difference_table(const Results& results) {
  const auto* baseline = find_baseline(results.methods);
  if (baseline == nullptr) return {};
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

double f_8(const ImageDistances& distances) { return distances.prd.f_8; }
double f_one_8th(const ImageDistances& distances) { return distances.prd.f_one_8th; }
double f_4(const ImageDistances& distances) { return distances.prd.f_4; }
double f_one_4th(const ImageDistances& distances) { return distances.prd.f_one_4th; }
double frechet(const ImageDistances& distances) { return distances.frechet; }

std::string distance_table(const Results& results) {
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

std::string learned_correlations(const std::vector<Finished>& finished) {
  std::string text;
  if (const auto* grid = chosen_of_grid(finished)) {
    text += fmt::format("Validation chooses rho {} of the grid (paper: 0.15). ",
                        grid->method.start);
  }
  if (const auto* joint = find_joint(finished)) {
    std::vector<double> learned;
    for (const auto& score : joint->scores) {
      learned.insert(learned.end(), score.correlations.begin(),
                     score.correlations.end());
    }
    if (!learned.empty()) {
      const auto [low, high] = std::minmax_element(learned.begin(), learned.end());
      text += fmt::format(
          "Joint training finds correlations from {:.3f} to {:.3f} for people with "
          "several images, {:.3f} on average over repeats (paper: 0.052 to 0.15).",
          *low, *high,
          joint->mean([](const auto& score) { return score.typical_correlation; }));
    }
  }
  return text.empty() ? text : fmt::format("\n{}\n", text);
}

std::string claims_table(const Results& results) {
  const auto* baseline = find_baseline(results.methods);
  if (baseline == nullptr) return {};
  TextTable table({{"claim", Align::kLeft},
                   {"bar"},
                   {"measured"},
                   {"p"},
                   {"holds", Align::kLeft},
                   {"p < 0.05", Align::kLeft}});
  const auto mark = [](bool holds) { return holds ? "yes" : "**no**"; };
  const auto add = [&](const std::string& claim, const PairedTest& found, bool indiv) {
    const double bar = mean_of(results.nlls(*baseline, indiv));
    table.add_row({claim, fmt::format("{:.1f}", bar),
                   fmt::format("{:.1f}", bar - found.mean_difference),
                   p_value_text(found.p_value), mark(found.mean_difference > 0),
                   mark(found.p_value < 0.05)});
  };
  for (const auto* one :
       {chosen_of_grid(results.methods), find_joint(results.methods)}) {
    if (one == nullptr) continue;
    const auto [all, indiv] = compare(*one, *baseline, results);
    add(one->method.title() + " below baseline, all images", all, false);
    add(one->method.title() + " below baseline, one image of each person", indiv, true);
  }
  return fmt::format("\n{}", table.markdown());
}

// The first images of some.
SheetImages first_of(const SheetImages& images, std::size_t count) {
  auto few = images;
  few.values.resize(few.values.size() / images.count() *
                    std::min(count, images.count()));
  return few;
}

void write_own_sheets(const std::string& directory,
                      const std::vector<Finished>& finished) {
  for (const auto& one : finished) {
    write_sample_sheet(
        fmt::format("{}/samples-{}.png", directory, one.method.name),
        {.title = one.method.title(),
         .rows = sheet_rows(one.scores.front().samples, kOwnSheetColumns),
         .enlargement = 2});
  }
}

void write_sheet(const std::string& path, const std::vector<Finished>& finished) {
  SampleSheet sheet{.enlargement = 2};
  for (const auto* one : main_methods(finished)) {
    auto rows =
        sheet_rows(first_of(one->scores.front().samples, kSheetColumns * kSheetRows),
                   kSheetColumns);
    rows.front().label = one->method.title();
    sheet.rows.insert(sheet.rows.end(), rows.begin(), rows.end());
  }
  write_sample_sheet(path, sheet);
}

void write_curves(const std::string& path, const std::vector<Finished>& finished) {
  PrdFigure figure{.title = "Precision and recall of drawn faces"};
  for (const auto* one : main_methods(finished)) {
    std::vector<PrdCurve> curves;
    for (const auto& score : one->scores) curves.push_back(score.distances.prd_curve);
    const auto mean = mean_curve(curves);
    figure.subtitle =
        fmt::format("features: {}", one->scores.front().distances.features);
    figure.curves.push_back({.name = one->method.title(),
                             .precision = mean.precision,
                             .recall = mean.recall});
  }
  write_prd_figure(path, figure);
}

std::string setting(FaceStudy& study, const Results& results,
                    const ExperimentOptions& options, const FaceSource& source) {
  const auto& images = study.images();
  const auto network =
      options.quick
          ? std::string("a tiny network")
          : fmt::format("preset `{}`", name_of(glow_preset_names(), source.preset));
  auto text = fmt::format(
      "\nFlows of {} x {} x {} images ({}), {} epochs for every method",
      images.channels, images.height, images.width, network, study.epochs());
  if (!options.quick) {
    text +=
        fmt::format(": what a baseline does in {} minutes, by its speed at the start",
                    source.minutes);
  }
  text +=
      "; of each training the epoch that validates best. All learn from images and "
      "their mirror images. Whole people are held out. *One of each person* is the "
      "paper's \"indiv\". ";
  text += results.is_repeated()
              ? fmt::format(
                    "Means over {} seeds, each with a split of the people, trainings "
                    "and draws of its own; errors and p-values are over seeds (paired "
                    "t-test).",
                    results.tests.size())
              : std::string(
                    "Errors and p-values of all images take those of one person as one "
                    "draw, and say nothing of how another training would come out "
                    "(--seeds).");
  return text +
         " The paper has 400 epochs of its own preparation of the images, once.\n\n";
}

std::string command_of(const ExperimentOptions& options, const FaceSource& source) {
  return options.quick ? "lfw" : fmt::format("lfw --minutes {}", source.minutes);
}

std::string markdown_of(FaceStudy& study, const Results& results,
                        const ExperimentOptions& options, const FaceSource& source) {
  return heading("Faces of people, several of some", options) +
         provenance(options, command_of(options, source), study.seconds()) +
         (options.quick ? "\nLeft out by --quick: the network, most of the training, "
                          "and all images but about a thousand.\n"
                        : "") +
         (source.folder.empty() ? fmt::format("\n{}\n", kSimulatedFaces) : "") +
         setting(study, results, options, source) +
         parts_table(study.split(options.first_seed), results.is_repeated()) + "\n" +
         likelihood_table(results) + difference_table(results) +
         learned_correlations(results.methods) +
         fmt::format(
             "\nDrawn images, as many as test images, beside the test images in a "
             "feature space ({}). F8 weighs recall, F1/8 precision.\n\n",
             study.features()) +
         distance_table(results) +
         "\n![Precision and recall of drawn faces](lfw-prd.png)\n"
         "\n![Faces drawn from each model](lfw-samples.png)\n" +
         claims_table(results);
}

// Those of this call and those of the study, by schedule and value.
std::vector<FaceMethod> all_methods(const std::vector<FaceMethod>& called) {
  auto all = face_methods({});
  for (const auto& method : called) {
    const bool is_known = std::any_of(all.begin(), all.end(), [&](const auto& other) {
      return other.name == method.name;
    });
    if (!is_known) all.push_back(method);
  }
  const auto place = [](const FaceMethod& method) {
    const int group = method.schedule == Schedule::baseline ? 0
                      : method.schedule == Schedule::grid   ? 1
                                                            : 2;
    return std::pair(group, method.start);
  };
  std::sort(all.begin(), all.end(),
            [&](const auto& a, const auto& b) { return place(a) < place(b); });
  return all;
}

// Of the methods that are finished for all these seeds.
Results results_of(const FaceStudy& study, const std::vector<FaceMethod>& methods,
                   const std::vector<std::uint64_t>& seeds) {
  Results results{.methods = {}, .tests = {}, .dimension = study.images().dimension()};
  for (const auto seed : seeds) {
    const auto test = study.split(seed).test;
    results.tests.push_back({test.person, one_image_per_person(test, seed)});
  }
  for (const auto& method : methods) {
    Finished one{.method = method, .scores = {}};
    for (const auto seed : seeds) {
      if (auto score = study.find(method, seed))
        one.scores.push_back(std::move(*score));
    }
    if (one.scores.size() == seeds.size()) results.methods.push_back(std::move(one));
  }
  return results;
}

}  // namespace

ExperimentReport reproduce_lfw(const ExperimentOptions& options,
                               const FaceSource& source, Logger& logger) {
  const auto methods = face_methods(source.methods);
  FaceStudy study(options, source, logger);
  const auto seeds = seeds_of(options);
  for (const auto seed : seeds) {
    for (const auto& method : methods) study.run(method, seed);
  }
  const auto results = results_of(study, all_methods(methods), seeds);
  const auto& finished = results.methods;
  ExperimentReport report;
  report.pictures = {options.directory + "/lfw-prd.png",
                     options.directory + "/lfw-samples.png"};
  write_curves(report.pictures[0], finished);
  write_sheet(report.pictures[1], finished);
  write_own_sheets(options.directory, finished);
  report.markdown = markdown_of(study, results, options, source);
  write_report(options.directory, "lfw", report);
  return report;
}

}  // namespace kinflow
