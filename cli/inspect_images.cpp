// kinflow inspect on a model of images.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "image_commands.h"
#include "inspect_parts.h"
#include "kinflow/engine/images/image_names.h"
#include "kinflow/model/images/image_model.h"
#include "kinflow/report/text_table.h"

namespace kinflow::cli {
namespace {

nlohmann::json latents_json(const ImageModel& model) {
  auto scales = nlohmann::json::array();
  for (const auto& one : correlations_by_scale(model)) {
    scales.push_back({{"scale", one.scale.scale},
                      {"positions", one.scale.positions},
                      {"rho_of_channels", one.correlations}});
  }
  return scales;
}

// What the channels of every scale have.
void print_latents(const ImageModel& model) {
  TextTable table({{"scale"},
                   {"positions"},
                   {"channels"},
                   {"lowest rho"},
                   {"mean rho"},
                   {"highest rho"}});
  const auto rho = [](double value) { return fmt::format("{:.4f}", value); };
  for (const auto& one : correlations_by_scale(model)) {
    table.add_row({std::to_string(one.scale.scale), std::to_string(one.scale.positions),
                   std::to_string(one.scale.groups), rho(one.lowest()), rho(one.mean()),
                   rho(one.highest())});
  }
  fmt::print("\n{}", table.plain());
}

void print_json(const ImageModel& model, const std::string& run) {
  auto dependence = dependence_json(model.dependence);
  if (!model.latent_correlations.empty()) dependence["scales"] = latents_json(model);
  const nlohmann::json json = {
      {"kind", "images"},
      {"flow", to_json(model.flow->options())},
      {"parameters", model.flow->layout().count},
      {"prepare", to_json(model.prepare)},
      {"dependence", dependence},
      {"record", model.record},
      {"history", history_json(run, valid_score_of(model.record))}};
  fmt::print("{}\n", json.dump(2));
}

// How it was trained; of the best state of a run that is not finished, what is known.
void add_training(TextTable& table, const nlohmann::json& record) {
  const auto of_record = [&](const std::string& pointer) {
    return text_at(record, pointer);
  };
  const auto score = valid_score_of(record);
  const auto nll =
      fmt::format("NLL {} nats of {} images", of_record("/" + valid_score_key(score)),
                  score == ValidScore::weighted ? "weighted" : "single");
  if (!record.contains("epochs")) {
    table.add_row({"validation", fmt::format("{}, at epoch {}, the best so far", nll,
                                             of_record("/best_epoch"))});
    return;
  }
  table.add_row(
      {"validation", fmt::format("{}, {} bits per dimension, at epoch {} of {}", nll,
                                 of_record("/valid_bits_per_dimension"),
                                 of_record("/best_epoch"), of_record("/epochs"))});
  if (const auto late = late_best_line(record); !late.empty()) {
    table.add_row({"", late});
  }
  table.add_row(
      {"data", fmt::format("{} images of {} people for training, {} of {} for "
                           "validation",
                           of_record("/train_images"), of_record("/train_people"),
                           of_record("/valid_images"), of_record("/valid_people"))});
  table.add_row(
      {"training",
       fmt::format("schedule {}, estimator {}, seed {}, {} skipped "
                   "steps",
                   of_record("/request/train/schedule"),
                   of_record("/request/train/estimator"),
                   of_record("/request/train/seed"), of_record("/skipped_steps"))});
  table.add_row(
      {"source", of_record("/request/data/path") + " " + of_record("/data_hash")});
  table.add_row({"kinflow", of_record("/kinflow_version")});
}

void print_text(const ImageModel& model, const std::string& run) {
  TextTable table({{"", Align::kLeft}, {"", Align::kLeft}});
  const auto& flow = model.flow->options();
  table.add_row({"images", fmt::format("{} x {} x {} values of {} bits", flow.channels,
                                       flow.height, flow.width, model.bits())});
  table.add_row(
      {"flow", fmt::format("glow, {} scales of {} steps, networks of {} layers, "
                           "{} parameters",
                           flow.scales, flow.steps, flow.dense_layers,
                           model.flow->layout().count)});
  table.add_row({"dependence", model.summary()});
  add_training(table, model.record);
  fmt::print("{}", table.plain());
  if (!model.latent_correlations.empty()) {
    print_latents(model);
  } else if (model.dependence.kind == DependenceKind::blocks) {
    print_blocks(model.dependence);
  }
  print_history(run, ValidScore::rows);
}

}  // namespace

void inspect_images(const std::string& path, const std::string& run, bool as_json) {
  const auto model = load_image_model(path);
  as_json ? print_json(model, run) : print_text(model, run);
}

}  // namespace kinflow::cli
