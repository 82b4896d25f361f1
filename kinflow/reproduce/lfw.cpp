// Faces with and without the knowledge of who is who.
#include <fmt/format.h>

#include <algorithm>

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
std::vector<Published> published_for(const ImageSet& set) {
  return set.dimension() == kPublishedDimension ? kPublished : std::vector<Published>();
}

struct Finished {
  FaceMethod method;
  ImageMethodScore score;
};

// One image of each person of the test images.
class TestImages {
 public:
  TestImages(const ImageSet& set, std::uint64_t seed)
      : set_(set), one_each_(one_image_per_person(set, seed)) {}

  std::vector<double> indiv(const std::vector<double>& of_all) const {
    std::vector<double> chosen;
    for (const auto image : one_each_) {
      chosen.push_back(of_all.at(static_cast<std::size_t>(image)));
    }
    return chosen;
  }

  const ImageSet& set() const { return set_; }

 private:
  const ImageSet& set_;
  std::vector<std::int64_t> one_each_;
};

double mean_of(const std::vector<double>& values) {
  return mean_and_standard_error(values).mean;
}

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
    if (!best || one.score.valid_nll_nats < best->score.valid_nll_nats) best = &one;
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

std::string parts_table(const FaceData& data) {
  TextTable table({{"part", Align::kLeft}, {"images"}, {"people"}, {"most of one"}});
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

std::string likelihood_table(const std::vector<Finished>& finished,
                             const TestImages& test) {
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
      return fmt::format("{:.4f}", bits_per_dimension(-nats, test.set().dimension()));
    };
    table.add_row({title, fmt::format("{:.1f}", nll), bits(nll),
                   fmt::format("{:.1f}", indiv_nll), bits(indiv_nll), valid, epoch});
  };
  for (const auto& paper : published_for(test.set())) {
    add(paper.heading, paper.nll, paper.indiv_nll, "", "");
  }
  for (const auto& [method, score] : finished) {
    const auto& nlls = score.test_nll_nats;
    add(fmt::format("ours: {}", method.title()), mean_of(nlls),
        mean_of(test.indiv(nlls)), fmt::format("{:.1f}", score.valid_nll_nats),
        std::to_string(score.best_epoch));
  }
  return table.markdown();
}

/// A method below the baseline, on all images and on one of each person.
struct Comparisons {
  PairedTest all, indiv;
};

Comparisons compare(const std::vector<double>& lower, const std::vector<double>& higher,
                    const TestImages& test) {
  return {paired_test_of_groups(lower, higher, test.set().person),
          paired_test(test.indiv(lower), test.indiv(higher))};
}

std::string difference_table(const std::vector<Finished>& finished,
                             const TestImages& test) {
  const auto* baseline = find_baseline(finished);
  if (baseline == nullptr) return {};
  TextTable table({{"difference to the baseline (nats)", Align::kLeft},
                   {"all images"},
                   {"p"},
                   {"one of each person"},
                   {"p"}});
  const auto text = [](const PairedTest& found) {
    return fmt::format("{:.2f} ± {:.2f}", -found.mean_difference, found.standard_error);
  };
  for (const auto& one : finished) {
    if (&one == baseline) continue;
    const auto [all, indiv] =
        compare(one.score.test_nll_nats, baseline->score.test_nll_nats, test);
    table.add_row({one.method.title(), text(all), p_value_text(all.p_value),
                   text(indiv), p_value_text(indiv.p_value)});
  }
  return fmt::format("\n{}", table.markdown());
}

std::string distance_table(const std::vector<Finished>& finished,
                           const TestImages& test) {
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
  for (const auto& paper : published_for(test.set())) {
    table.add_row({fmt::format("{} (FID)", paper.heading), part(paper.f_8),
                   part(paper.f_one_8th), part(paper.f_4), part(paper.f_one_4th),
                   fmt::format("{:.1f}", paper.fid), "", "",
                   fmt::format("{:.1f}", paper.indiv_fid)});
  }
  for (const auto& [method, score] : finished) {
    const auto& all = score.distances;
    std::vector<std::string> cells = {fmt::format("ours: {}", method.title()),
                                      part(all.prd.f_8),
                                      part(all.prd.f_one_8th),
                                      part(all.prd.f_4),
                                      part(all.prd.f_one_4th),
                                      part(all.frechet)};
    if (const auto& indiv = score.indiv_distances) {
      cells.insert(cells.end(), {part(indiv->prd.f_8), part(indiv->prd.f_one_8th),
                                 part(indiv->frechet)});
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
  const auto* joint = find_joint(finished);
  if (joint != nullptr && !joint->score.correlations.empty()) {
    const auto& learned = joint->score.correlations;
    const auto [low, high] = std::minmax_element(learned.begin(), learned.end());
    text += fmt::format(
        "Joint training finds correlations from {:.3f} to {:.3f} for the {} people "
        "with several images, {:.3f} on average over repeats (paper: 0.052 to 0.15).",
        *low, *high, learned.size(), joint->score.typical_correlation);
  }
  return text.empty() ? text : fmt::format("\n{}\n", text);
}

std::string claims_table(const std::vector<Finished>& finished,
                         const TestImages& test) {
  const auto* baseline = find_baseline(finished);
  if (baseline == nullptr) return {};
  TextTable table({{"claim", Align::kLeft},
                   {"bar"},
                   {"measured"},
                   {"p"},
                   {"holds", Align::kLeft},
                   {"p < 0.05", Align::kLeft}});
  const auto mark = [](bool holds) { return holds ? "yes" : "**no**"; };
  const auto add = [&](const std::string& claim, const PairedTest& found, double bar) {
    table.add_row({claim, fmt::format("{:.1f}", bar),
                   fmt::format("{:.1f}", bar - found.mean_difference),
                   p_value_text(found.p_value), mark(found.mean_difference > 0),
                   mark(found.p_value < 0.05)});
  };
  for (const auto* one : {chosen_of_grid(finished), find_joint(finished)}) {
    if (one == nullptr) continue;
    const auto& nlls = baseline->score.test_nll_nats;
    const auto [all, indiv] = compare(one->score.test_nll_nats, nlls, test);
    add(one->method.title() + " below baseline, all images", all, mean_of(nlls));
    add(one->method.title() + " below baseline, one image of each person", indiv,
        mean_of(test.indiv(nlls)));
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
  for (const auto& [method, score] : finished) {
    write_sample_sheet(fmt::format("{}/samples-{}.png", directory, method.name),
                       {.title = method.title(),
                        .rows = sheet_rows(score.samples, kOwnSheetColumns),
                        .enlargement = 2});
  }
}

void write_sheet(const std::string& path, const std::vector<Finished>& finished) {
  SampleSheet sheet{.enlargement = 2};
  for (const auto* one : main_methods(finished)) {
    auto rows = sheet_rows(first_of(one->score.samples, kSheetColumns * kSheetRows),
                           kSheetColumns);
    rows.front().label = one->method.title();
    sheet.rows.insert(sheet.rows.end(), rows.begin(), rows.end());
  }
  write_sample_sheet(path, sheet);
}

void write_curves(const std::string& path, const std::vector<Finished>& finished) {
  PrdFigure figure{.title = "Precision and recall of drawn faces"};
  for (const auto* one : main_methods(finished)) {
    const auto& distances = one->score.distances;
    figure.subtitle = fmt::format("features: {}", distances.features);
    figure.curves.push_back({.name = one->method.title(),
                             .precision = distances.prd_curve.precision,
                             .recall = distances.prd_curve.recall});
  }
  write_prd_figure(path, figure);
}

std::string setting(FaceStudy& study, const ExperimentOptions& options,
                    const FaceSource& source) {
  const auto& images = study.data().fit.train;
  const auto network =
      options.quick
          ? std::string("a tiny network")
          : fmt::format("preset `{}`", name_of(glow_preset_names(), source.preset));
  auto text = fmt::format(
      "\nFlows of {} x {} x {} images ({}), {} epochs of {} steps for every method",
      images.channels, images.height, images.width, network, study.epochs(),
      study.steps_per_epoch());
  if (!options.quick) {
    text +=
        fmt::format(": what a baseline does in {} minutes, by its speed at the start",
                    source.minutes);
  }
  return text +
         "; of each training the epoch that validates best. Whole people are held out. "
         "*One of each person* is the paper's \"indiv\". Errors and p-values of all "
         "images take those of one person as one draw, and say nothing of how another "
         "training would come out. All learn from images and their mirror "
         "images. The paper has 400 epochs of its own preparation of the images.\n\n";
}

std::string command_of(const ExperimentOptions& options, const FaceSource& source) {
  return options.quick ? "lfw" : fmt::format("lfw --minutes {}", source.minutes);
}

std::string markdown_of(FaceStudy& study, const std::vector<Finished>& finished,
                        const ExperimentOptions& options, const FaceSource& source) {
  const TestImages test(study.data().test, options.first_seed);
  return heading("Faces of people, several of some", options) +
         provenance(options, command_of(options, source), study.seconds()) +
         (options.quick ? "\nLeft out by --quick: the network, most of the training, "
                          "and all images but about a thousand.\n"
                        : "") +
         (source.folder.empty() ? fmt::format("\n{}\n", kSimulatedFaces) : "") +
         setting(study, options, source) + parts_table(study.data()) + "\n" +
         likelihood_table(finished, test) + difference_table(finished, test) +
         learned_correlations(finished) +
         fmt::format(
             "\nDrawn images, as many as test images, beside the test images in a "
             "feature space ({}). F8 weighs recall, F1/8 precision.\n\n",
             study.features()) +
         distance_table(finished, test) +
         "\n![Precision and recall of drawn faces](lfw-prd.png)\n"
         "\n![Faces drawn from each model](lfw-samples.png)\n" +
         claims_table(finished, test);
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

}  // namespace

ExperimentReport reproduce_lfw(const ExperimentOptions& options,
                               const FaceSource& source, Logger& logger) {
  const auto methods = face_methods(source.methods);
  FaceStudy study(options, source, logger);
  for (const auto& method : methods) study.run(method);
  std::vector<Finished> finished;
  for (const auto& method : all_methods(methods)) {
    if (auto score = study.find(method))
      finished.push_back({method, std::move(*score)});
  }
  ExperimentReport report;
  report.pictures = {options.directory + "/lfw-prd.png",
                     options.directory + "/lfw-samples.png"};
  write_curves(report.pictures[0], finished);
  write_sheet(report.pictures[1], finished);
  write_own_sheets(options.directory, finished);
  report.markdown = markdown_of(study, finished, options, source);
  write_report(options.directory, "lfw", report);
  return report;
}

}  // namespace kinflow
