// Images of the training set beside draws, as many as a moment gives.
#include "kinflow/pages/model/image_sections.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

#include "kinflow/array/array.h"
#include "kinflow/core/error.h"
#include "kinflow/core/json_reader.h"
#include "kinflow/core/size.h"
#include "kinflow/evaluate/image_draws.h"
#include "kinflow/evaluate/image_features.h"
#include "kinflow/evaluate/image_scores.h"
#include "kinflow/images/image_set.h"
#include "kinflow/images/write_png.h"
#include "kinflow/model/images/image_model.h"
#include "kinflow/pages/model/model_sections.h"
#include "kinflow/pages/packed_numbers.h"
#include "kinflow/pages/page.h"
#include "kinflow/pages/record_lookup.h"

namespace kinflow {
namespace {

constexpr std::int64_t kSheetColumns = 8;
constexpr std::int64_t kSheetImages = kSheetColumns * kSheetColumns;
constexpr std::int64_t kComparedImages = 400;
constexpr std::int64_t kFewestCompared = 100;
constexpr double kSecondsOfDraws = 3;
constexpr int kShownSide = 44;  // pixels of an image on the page, at least

// Images side by side: pixels [n, C, H, W] of 8 bits as one PNG.
nlohmann::json sheet_of(const std::string& title, const std::string& subtitle,
                        const Array& pixels) {
  const auto count = pixels.size(0), channels = pixels.size(1), height = pixels.size(2),
             width = pixels.size(3);
  const auto columns = std::min(kSheetColumns, count);
  const auto rows = (count + columns - 1) / columns;
  auto sheet = nd::full({rows * (height + 1) - 1, columns * (width + 1) - 1, channels},
                        255, nd::kByte);
  for (std::int64_t i = 0; i < count; ++i) {
    sheet.narrow(0, i / columns * (height + 1), height)
        .narrow(1, i % columns * (width + 1), width)
        .copy_(pixels[i].permute({1, 2, 0}));
  }
  const auto whole = sheet.contiguous();
  const auto png = encode_png(
      whole.size(1), whole.size(0), channels,
      {whole.data_ptr<std::uint8_t>(), static_cast<std::size_t>(whole.numel())});
  const auto scale = std::max<std::int64_t>(1, kShownSide / std::max(width, height));
  return {{"title", title},
          {"subtitle", subtitle},
          {"source", png_source(png)},
          {"label", fmt::format("A sheet of {} images. {}", count, title)},
          {"width", whole.size(1) * scale},
          {"height", whole.size(0) * scale}};
}

// One image of each person before a second of anybody.
Array varied_images(const ImageSet& set) {
  std::vector<std::int64_t> chosen;
  const auto by_person = images_by_person(set);
  for (std::size_t turn = 0; std::ssize(chosen) < kSheetImages; ++turn) {
    const auto before = chosen.size();
    for (const auto& images : by_person) {
      if (turn < images.size() && std::ssize(chosen) < kSheetImages) {
        chosen.push_back(images[turn]);
      }
    }
    if (chosen.size() == before) break;
  }
  return spread_to_eight_bits(rows_of(select_images(set, chosen)).pixels, set.bits);
}

/// Draws, as many as the time allows.
struct TimedDraws {
  Array pixels;
  double seconds_each = 0;
};

TimedDraws timed_draws(const ImageModel& model) {
  const auto draw = [&](std::int64_t count) {
    return draw_images(model, {.count = count, .seed = 1});
  };
  const auto clock = [] { return std::chrono::steady_clock::now(); };
  const auto seconds = [&](auto since) {
    return std::chrono::duration<double>(clock() - since).count();
  };
  const auto start = clock();
  auto pixels = draw(4);
  const double each = seconds(start) / 4;
  const auto most = static_cast<std::int64_t>(kSecondsOfDraws / std::max(each, 1e-6));
  // Few different numbers, so that pages of one run differ little.
  std::int64_t count = 4;
  for (const std::int64_t one : {std::int64_t{16}, kSheetImages, kComparedImages}) {
    if (most >= one) count = one;
  }
  if (count > 4) pixels = draw(count);
  return {.pixels = pixels, .seconds_each = each};
}

nlohmann::json prd_section(const ImageSet& real, const ImageModel& model,
                           const Array& draws, const std::string& what) {
  std::vector<std::int64_t> chosen(to_size(std::min(real.images(), kComparedImages)));
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    chosen[i] = static_cast<std::int64_t>(i) * real.images() / std::ssize(chosen);
  }
  const auto images =
      spread_to_eight_bits(rows_of(select_images(real, chosen)).pixels, real.bits);
  const auto distances = image_distances(
      built_in_features(images, spread_to_eight_bits(draws, model.bits())));
  auto recall = nlohmann::json::array(), precision = recall;
  const auto& curve = distances.prd_curve;
  const auto step = std::max<std::size_t>(1, curve.recall.size() / 100);
  for (std::size_t i = 0; i < curve.recall.size(); i += step) {
    recall.push_back(rounded(curve.recall[i], 4));
    precision.push_back(rounded(curve.precision[i], 4));
  }
  return {{"type", "prd"},
          {"title", "Precision and recall"},
          {"lead",
           "Precision: how much of what is drawn looks like real images. Recall: how "
           "much of what is real is drawn. The nearer to the upper right corner, the "
           "better."},
          {"curves",
           {{{"name", "draws against " + what},
             {"recall", recall},
             {"precision", precision}}}},
          {"caption",
           fmt::format("{} draws against {} {}, in the features {}. F8 {:.3f}, F1/8 "
                       "{:.3f}; Frechet distance {:.3g} (no FID).{}",
                       distances.generated_images, distances.real_images, what,
                       distances.features, distances.prd.f_8, distances.prd.f_one_8th,
                       distances.frechet,
                       std::max(distances.prd.f_8, distances.prd.f_one_8th) < 0.01
                           ? " The curve lies in the lower left corner: hardly a draw "
                             "looks like an image."
                           : "")}};
}

std::optional<ImageSet> images_of(const RunRecord& run, const std::string& key,
                                  const ImageModel& model) {
  const auto request = found_at(run.record, "/request");
  if (!request.is_object() || text_at(request, "/" + key + "/path").empty()) return {};
  const JsonReader reader(request, "run.json");
  auto images = image_request_from(reader.object(key));
  images.prepare = model.prepare;
  auto set = read_images(images, 1).set;
  check_shape(model, set, images.path);
  return set;
}

void add_sheets(const RunRecord& run, const ImageModel& model,
                nlohmann::json& document) {
  const auto draws = timed_draws(model);
  auto sheets = nlohmann::json::array();
  std::optional<ImageSet> train, valid;
  try {
    train = images_of(run, "data", model);
    valid = images_of(run, "valid", model);
  } catch (const std::exception& error) {
    document["watch"].push_back(
        watch_line("missing", std::string("Images cannot be shown: ") + error.what()));
  }
  if (train) {
    const auto shown = varied_images(*train);
    sheets.push_back(
        sheet_of("Training images",
                 fmt::format("{} of {}, of as many people as there are", shown.size(0),
                             with_commas(static_cast<double>(train->images()))),
                 shown));
  }
  const auto count = std::min(kSheetImages, draws.pixels.size(0));
  sheets.push_back(
      sheet_of("Draws from the model", fmt::format("{} images of new people", count),
               spread_to_eight_bits(draws.pixels.narrow(0, 0, count), model.bits())));
  document["sections"].push_back(
      {{"type", "images"},
       {"title", "Images beside draws"},
       {"short", "Images"},
       {"lead",
        "Where the model has learned the images, draws look like them, in all "
        "their variety."},
       {"sheets", sheets}});
  const auto& real = valid ? valid : train;
  if (real && real->images() >= kFewestCompared &&
      draws.pixels.size(0) >= kFewestCompared) {
    document["sections"].push_back(prd_section(
        *real, model, draws.pixels, valid ? "validation images" : "training images"));
  } else {
    document["sections"].push_back(
        {{"title", "Precision and recall"},
         {"missing",
          fmt::format("Left out: they need {} draws and as many images, and {} draws "
                      "were made in the time that a page takes. \u2018kinflow "
                      "evaluate\u2019 computes them.",
                      kFewestCompared, draws.pixels.size(0))}});
  }
}

nlohmann::json latents_section(const ImageModel& model) {
  auto rows = nlohmann::json::array();
  for (const auto& one : correlations_by_scale(model)) {
    rows.push_back({one.scale.scale, one.scale.positions, one.scale.groups,
                    rounded(one.lowest(), 4), rounded(one.mean(), 4),
                    rounded(one.highest(), 4)});
  }
  return {
      {"type", "table"},
      {"title", "How alike images of one person are"},
      {"short", "Strength"},
      {"lead",
       "The learned correlation \u03c1 of the latents of a person\u2019s images, one "
       "for each channel of a scale of the flow, the same for all its positions "
       "and all people. Channels that leave after the first scale hold the "
       "finest detail."},
      {"columns",
       {{{"name", "scale"}},
        {{"name", "positions"}},
        {{"name", "channels"}},
        {{"name", "lowest \u03c1"}, {"decimals", 3}},
        {{"name", "mean \u03c1"}, {"decimals", 3}},
        {{"name", "highest \u03c1"}, {"decimals", 3}}}},
      {"rows", rows}};
}

}  // namespace

void add_image_sections(const RunRecord& run, nlohmann::json& document) {
  try {
    const auto model = load_image_model(run.model_path());
    const auto& learned = model.dependence;
    if (!learned.labels.empty()) {
      document["facts"].push_back(
          fact("typical \u03c1", fmt::format("{:.3f}", learned.typical_parameter()),
               fmt::format("over {} people with several images",
                           with_commas(static_cast<double>(learned.labels.size())))));
    }
    add_sheets(run, model, document);
    if (!model.latent_correlations.empty()) {
      document["sections"].push_back(latents_section(model));
    } else if (!learned.labels.empty()) {
      auto section = groups_section(learned, model.record);
      section["title"] = "How alike images of one person are";
      section["lead"] =
          "The learned correlation \u03c1 of the latents of a person\u2019s images, "
          "over "
          "their number.";
      section["size_label"] = "images of the person";
      section["caption"] = "People with one image have no \u03c1.";
      document["sections"].push_back(std::move(section));
    }
  } catch (const std::exception& error) {
    const std::string what = error.what();
    document["watch"].push_back(
        watch_line("missing", "The model is not there or cannot be read: " +
                                  what.substr(0, what.find('\n'))));
  }
}

}  // namespace kinflow
