// Faces with and without the knowledge of who is who.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "kinflow/engine/images/image_names.h"
#include "kinflow/images/split_images.h"
#include "kinflow/report/prd_figure.h"
#include "kinflow/report/text_table.h"
#include "studies/experiments.h"
#include "studies/face_report.h"
#include "studies/face_study.h"

namespace kinflow {
namespace {

constexpr std::size_t kSheetColumns = 10, kSheetRows = 2;
constexpr std::size_t kOwnSheetColumns = 8;

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

// The first images of some.
SheetImages first_of(const SheetImages& images, std::size_t count) {
  auto few = images;
  few.values.resize(few.values.size() / images.count() *
                    std::min(count, images.count()));
  return few;
}

void write_own_sheets(const std::string& directory, const FaceResults& results) {
  for (const auto& one : results.methods) {
    write_sample_sheet(
        fmt::format("{}/samples-{}.png", directory, one.method.name),
        {.title = one.method.title(),
         .rows = sheet_rows(one.scores.front().samples, kOwnSheetColumns),
         .enlargement = 2});
  }
}

void write_sheet(const std::string& path, const FaceResults& results) {
  SampleSheet sheet{.enlargement = 2};
  for (const auto* one : results.main_methods()) {
    auto rows =
        sheet_rows(first_of(one->scores.front().samples, kSheetColumns * kSheetRows),
                   kSheetColumns);
    rows.front().label = one->method.title();
    sheet.rows.insert(sheet.rows.end(), rows.begin(), rows.end());
  }
  write_sample_sheet(path, sheet);
}

void write_curves(const std::string& path, const FaceResults& results) {
  PrdFigure figure{.title = "Precision and recall of drawn faces"};
  for (const auto* one : results.main_methods()) {
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

std::string setting(FaceStudy& study, const FaceResults& results,
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
      "paper's \"indiv\". *Joint* learns a correlation of every person with several "
      "images, *joint, per latent* one for each channel of each scale of the flow, "
      "the same for all its positions and all people. ";
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

std::string markdown_of(FaceStudy& study, const FaceResults& results,
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
         learned_correlations(results) +
         fmt::format(
             "\nDrawn images, as many as test images, beside the test images in a "
             "feature space ({}). F8 weighs recall, F1/8 precision.\n\n",
             built_in_description()) +
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
    return std::tuple(group, method.start, method.name);
  };
  std::sort(all.begin(), all.end(),
            [&](const auto& a, const auto& b) { return place(a) < place(b); });
  return all;
}

// Of the methods that are finished for all these seeds.
FaceResults results_of(const FaceStudy& study, const std::vector<FaceMethod>& methods,
                       const std::vector<std::uint64_t>& seeds) {
  FaceResults results{
      .methods = {}, .tests = {}, .dimension = study.images().dimension()};
  for (const auto seed : seeds) {
    const auto test = study.split(seed).test;
    results.tests.push_back({test.person, one_image_per_person(test, seed)});
  }
  for (const auto& method : methods) {
    FinishedMethod one{.method = method, .scores = {}};
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
  ExperimentReport report;
  report.pictures = {options.directory + "/lfw-prd.png",
                     options.directory + "/lfw-samples.png"};
  write_curves(report.pictures[0], results);
  write_sheet(report.pictures[1], results);
  write_own_sheets(options.directory, results);
  report.markdown = markdown_of(study, results, options, source);
  write_report(options, "lfw", report);
  return report;
}

}  // namespace kinflow
