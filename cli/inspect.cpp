// kinflow inspect: what a run folder or a model file holds.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "image_commands.h"
#include "inspect_parts.h"
#include "kinflow/array/array.h"
#include "kinflow/core/counted.h"
#include "kinflow/core/log.h"
#include "kinflow/engine/names.h"
#include "kinflow/engine/valid_score.h"
#include "kinflow/fit/run_folder.h"
#include "kinflow/model/model.h"
#include "kinflow/report/text_table.h"
#include "kinflow/statistics/p_value.h"

namespace kinflow::cli {
namespace {

constexpr std::size_t kShownEstimates = 10;

// What the record, which may hold anything, says of a member; null where it does not.
nlohmann::json of_member(const Model& model, std::int64_t member,
                         const std::string& key) {
  const nlohmann::json::json_pointer place(fmt::format("/members/{}/{}", member, key));
  return model.record.contains(place) ? model.record.at(place) : nlohmann::json();
}

// The numbers of a member in an array [K, p].
std::vector<double> row_of(const Array& tensor, std::int64_t member) {
  const auto row = tensor[member].contiguous();
  return {row.data_ptr<double>(), row.data_ptr<double>() + row.numel()};
}

nlohmann::json calibration_json(const Model& model, std::int64_t member) {
  if (!model.calibration) return {};
  return {{"mean", row_of(model.calibration->mean, member)},
          {"deviation", row_of(model.calibration->deviation, member)}};
}

std::string calibration_line(const Model& model) {
  if (!model.calibration) return "";
  return fmt::format("latents less {:.3f}, divided by {:.3f}",
                     fmt::join(row_of(model.calibration->mean, 0), ", "),
                     fmt::join(row_of(model.calibration->deviation, 0), ", "));
}

// The part of every member.
std::vector<const ModelPart*> parts_of_members(const Model& model) {
  std::vector<const ModelPart*> all;
  for (const auto& part : model.parts) {
    all.insert(all.end(), static_cast<std::size_t>(part.members()), &part);
  }
  return all;
}

bool is_decorrelated(const ModelPart& part) {
  return part.standardization.decorrelation.defined();
}

nlohmann::json members_json(const Model& model) {
  auto members = nlohmann::json::array();
  const auto score_key = valid_score_key(valid_score_of(model.record));
  const auto parts = parts_of_members(model);
  for (std::int64_t member = 0; member < model.members(); ++member) {
    const auto learned = model.dependence_of(member);
    const auto& part = *parts[static_cast<std::size_t>(member)];
    members.push_back({{"replica", of_member(model, member, "replica")},
                       {"best_epoch", of_member(model, member, "best_epoch")},
                       {score_key, of_member(model, member, score_key)},
                       {"restarts", of_member(model, member, "restarts")},
                       {"flow", to_json(part.flow->options())},
                       {"parameters", part.flow->values().size(1)},
                       {"decorrelated", is_decorrelated(part)},
                       {"calibration", calibration_json(model, member)},
                       {"typical_parameter", learned.typical_parameter()},
                       {"dependence_parameters", learned.parameters}});
  }
  return members;
}

nlohmann::json bounds_json(const Model& model) {
  auto json = nlohmann::json::object();
  for (std::size_t i = 0; i < model.bounds().size(); ++i) {
    const auto& bounds = model.bounds()[i];
    if (bounds == ColumnBounds{}) continue;
    auto& own = json[model.columns[i]] = {{"low", nullptr}, {"high", nullptr}};
    if (bounds.has_low()) own["low"] = bounds.low;
    if (bounds.has_high()) own["high"] = bounds.high;
  }
  return json;
}

// "age above 18, score between 0 and 100".
std::string bounds_line(const Model& model) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < model.bounds().size(); ++i) {
    const auto& bounds = model.bounds()[i];
    if (bounds == ColumnBounds{}) continue;
    parts.push_back(fmt::format("{} {}", model.columns[i], bounds.in_words()));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

// The one that maps rows to latents.
const ModelPart& map_of(const Model& model) {
  return model.map ? *model.map : model.parts.at(0);
}

void print_json(const Model& model, const std::string& run) {
  const auto& map = map_of(model);
  const nlohmann::json json = {
      {"columns", model.columns},
      {"bounds", bounds_json(model)},
      {"context_columns", model.context_columns},
      {"context_levels", model.context_levels},
      {"flow", to_json(map.flow->options())},
      {"parameters", map.flow->values().size(1)},
      {"decorrelated", is_decorrelated(map)},
      {"dependence", dependence_json(model.dependence)},
      {"members", members_json(model)},
      {"record", model.record},
      {"history", history_json(run, valid_score_of(model.record))}};
  fmt::print("{}\n", json.dump(2));
}

// The columns, those of text with their categories.
std::string context_line(const Model& model) {
  std::vector<std::string> columns;
  for (const auto& name : model.context_columns) {
    const auto levels = model.context_levels.find(name);
    columns.push_back(
        levels == model.context_levels.end()
            ? name
            : fmt::format("{} ({})", name, fmt::join(levels->second, ", ")));
  }
  return fmt::format("{}", fmt::join(columns, ", "));
}

std::string flow_line(const ModelPart& part) {
  const auto& options = part.flow->options();
  auto line = fmt::format(
      "{} coupling, {}, networks {}", name_of(flow_kind_names(), options.kind),
      counted(options.layers, "layer"), fmt::join(options.hidden, "-"));
  if (options.kind == FlowKind::spline) line += fmt::format(", {} bins", options.bins);
  if (is_decorrelated(part)) line += ", of uncorrelated columns";
  return line + fmt::format(", {} weights", part.flow->values().size(1));
}

// Every kind once, with the number of its members where there are several.
std::vector<std::string> flow_lines(const Model& model) {
  std::vector<std::pair<std::string, std::int64_t>> kinds;
  for (const auto& part : model.parts) {
    const auto line = flow_line(part);
    const auto known = std::find_if(kinds.begin(), kinds.end(), [&](const auto& kind) {
      return kind.first == line;
    });
    if (known == kinds.end()) {
      kinds.emplace_back(line, part.members());
    } else {
      known->second += part.members();
    }
  }
  std::vector<std::string> lines;
  for (const auto& [line, members] : kinds) {
    lines.push_back(model.members() == 1
                        ? line
                        : fmt::format("{} of the members: {}", members, line));
  }
  if (model.map) lines.push_back("flow of all rows: " + flow_line(*model.map));
  return lines;
}

// "0.0123", or "-" for a number that does not exist.
std::string number_at(const nlohmann::json& json, const std::string& key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_number()
             ? fmt::format("{:.4g}", found->get<double>())
             : "-";
}

// A part of the record, which may hold anything; null where it is not of the kind.
nlohmann::json part_of(const nlohmann::json& json, const std::string& key,
                       nlohmann::json::value_t kind) {
  const auto found = json.is_object() ? json.find(key) : json.end();
  return found != json.end() && found->type() == kind ? *found : nlohmann::json(kind);
}

// Standard errors, intervals and the test of independence, given the flow.
void print_inference(const nlohmann::json& record) {
  using ValueKind = nlohmann::json::value_t;
  const auto inference = part_of(record, "inference", ValueKind::object);
  TextTable table({{"given the flow", Align::kLeft},
                   {"estimate"},
                   {"standard error"},
                   {"95% from"},
                   {"to"}});
  const auto estimates = part_of(inference, "estimates", ValueKind::array);
  const auto shown = std::min(kShownEstimates, estimates.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& row = estimates[i];
    if (!row.is_object()) return;
    table.add_row({text_at(row, "/parameter"), number_at(row, "estimate"),
                   number_at(row, "standard_error"), number_at(row, "low"),
                   number_at(row, "high")});
  }
  const auto profile = part_of(inference, "profile_interval", ValueKind::object);
  if (!profile.empty()) {
    table.add_row(
        {text_at(estimates.empty() ? nlohmann::json() : estimates[0], "/parameter") +
             ", profile likelihood",
         "", "", number_at(profile, "low"), number_at(profile, "high")});
  }
  if (shown > 0) fmt::print("\n{}", table.plain());
  if (estimates.size() > shown) {
    fmt::print("... and {} more (--json shows all)\n", estimates.size() - shown);
  }
  const auto test = part_of(inference, "independence_test", ValueKind::object);
  if (!test.empty()) {
    // Run folders of earlier versions have no logarithm.
    const bool has_logarithm = test.contains("log10_p") && test["log10_p"].is_number();
    fmt::print("\ntest of independence: likelihood ratio {}, p {}\n",
               number_at(test, "statistic"),
               has_logarithm ? format_p(test["log10_p"].get<double>())
                             : number_at(test, "p_value"));
  }
  const auto pooling = part_of(inference, "pooling", ValueKind::object);
  if (!pooling.empty()) {
    fmt::print(
        "\ncommon law of the correlations: logit rho has mean {}, deviation {}\n",
        number_at(pooling, "mean_logit_rho"),
        number_at(pooling, "deviation_logit_rho"));
  }
  for (const auto& [key, what] :
       {std::pair{"why_no_errors", "no standard errors"},
        std::pair{"why_no_test", "no test of independence"}}) {
    if (!inference.contains(key)) continue;
    fmt::print("{}: {}\n", what, text_at(inference, fmt::format("/{}", key)));
  }
  if (shown > 0 || !test.empty()) {
    fmt::print(
        "{}\n",
        inference.contains("flow") ? "Of the flow of all rows, whose latents "
                                     "`transform` gives. It is taken as "
                                     "known: on small tables intervals are too narrow."
        : record.contains("cross_validation")
            ? "From the latents of held-out rows, under flows that have not seen "
              "them."
            : "The flow is taken as known: on small tables intervals are too "
              "narrow.");
  }
}

// Empty where no replica ever diverged.
std::string restarts_line(const nlohmann::json& record) {
  const auto count = [&](const std::string& key) {
    const auto found = record.find(key);
    return found != record.end() && found->is_number_integer()
               ? found->get<std::int64_t>()
               : 0;
  };
  const auto restarts = count("restarts"), lost = count("lost_replicas");
  if (restarts == 0 && lost == 0) return "";
  auto line = fmt::format(
      "{} of replicas that diverged, from their best weights with a tenth of the "
      "learning rate",
      restarts);
  if (lost > 0) {
    line += fmt::format("; {} {} left out", lost,
                        lost == 1 ? "replica is" : "replicas are");
  }
  return line;
}

void print_members(const Model& model) {
  const auto name = model.dependence.typical_name();
  const auto score = valid_score_of(model.record);
  const bool has_folds = model.record.contains("cross_validation");
  std::vector<TableColumn> columns = {
      {"member"}, {"replica"}, {"best epoch"}, {valid_score_label(score)}};
  if (has_folds) columns.insert(columns.begin() + 1, {"fold"});
  if (!name.empty()) columns.push_back({"typical " + name});
  TextTable table(columns);
  const auto shown = [](const nlohmann::json& value) {
    if (value.is_number_float()) return format_nats(value.get<double>());
    return value.is_number() ? value.dump() : std::string("?");
  };
  for (std::int64_t member = 0; member < model.members(); ++member) {
    std::vector<std::string> row = {
        std::to_string(member + 1), shown(of_member(model, member, "replica")),
        shown(of_member(model, member, "best_epoch")),
        shown(of_member(model, member, valid_score_key(score)))};
    if (has_folds) {
      row.insert(row.begin() + 1, shown(of_member(model, member, "fold")));
    }
    if (!name.empty()) {
      row.push_back(
          fmt::format("{:.4f}", model.dependence_of(member).typical_parameter()));
    }
    table.add_row(row);
  }
  fmt::print("\n{}", table.plain());
}

// Score and rows of a run with a validation table or one part held out.
template <typename Add>
void add_validation(const Model& model, const Add& add) {
  const auto of_record = [&](const std::string& pointer) {
    return text_at(model.record, pointer);
  };
  const auto score = valid_score_of(model.record);
  add("validation",
      fmt::format("{} {} nats at epoch {} of {}{}", valid_score_label(score),
                  of_record("/" + valid_score_key(score)), of_record("/best_epoch"),
                  of_record("/epochs"),
                  score == ValidScore::joint
                      ? "; all rows scored together, not to be compared with the NLL "
                        "of single rows"
                      : ""));
  add("rows", fmt::format("{} for training, {} for validation",
                          of_record("/train_rows"), of_record("/valid_rows")));
}

void print_text(const Model& model, const std::string& run) {
  TextTable table({{"", Align::kLeft}, {"", Align::kLeft}});
  const auto add = [&](const std::string& name, const std::string& value) {
    if (!value.empty()) table.add_row({name, value});
  };
  add("columns", fmt::format("{}", fmt::join(model.columns, ", ")));
  add("bounds", bounds_line(model));
  add("context", context_line(model));
  for (const auto& line : flow_lines(model)) add("flow", line);
  add("calibration", calibration_line(model));
  const auto& dependence = model.dependence;
  add("dependence", dependence.summary());
  const auto of_record = [&](const std::string& pointer) {
    return text_at(model.record, pointer);
  };
  if (model.record.contains("cross_validation")) {
    add("cross-validation",
        fmt::format("NLL {} +- {} nats of single rows, each weighted by what it is "
                    "worth and scored by flows that have not seen it",
                    of_record("/cross_validation/nll_nats"),
                    of_record("/cross_validation/standard_error")));
    add("", of_record("/cross_validation/held_out"));
    if (!model.row_parts.empty()) {
      add("single rows",
          fmt::format(
              "of each fold {} of the members and {} of an ordinary fit's flows; "
              "the members alone have NLL {}",
              of_record("/row_mixture/members_of_fold"),
              of_record("/row_mixture/row_flows_of_fold"),
              of_record("/row_mixture/nll_nats_of_members")));
    }
    add("rows", fmt::format("{}, worth {} independent ones", of_record("/train_rows"),
                            of_record("/cross_validation/worth_of_rows")));
  } else {
    add_validation(model, add);
  }
  if (const auto late = late_best_line(model.record); !late.empty()) {
    table.add_row({"", late});
  }
  add("training", fmt::format("schedule {}, estimator {}, seed {}",
                              of_record("/request/train/schedule"),
                              of_record("/request/train/estimator"),
                              of_record("/request/train/seed")));
  add("restarts", restarts_line(model.record));
  if (model.record.contains("inference")) {
    add("likelihood", fmt::format("{} nats, all rows together",
                                  of_record("/inference/log_likelihood_nats")));
  }
  add("data", of_record("/request/data/table") + " " + of_record("/data_hash"));
  add("kinflow", of_record("/kinflow_version"));
  fmt::print("{}", table.plain());
  if (model.members() > 1) {
    print_members(model);
    fmt::print("{}\n", model.map
                           ? fmt::format("`evaluate` and `sample` take the mixture of "
                                         "these; `transform` and `gwas` a flow trained "
                                         "on all rows for {} epochs.",
                                         of_record("/map/epochs"))
                           : "Calibration, dependence and inference are shown of "
                             "member 1.");
  }
  if (dependence.kind == DependenceKind::blocks) print_blocks(dependence);
  print_inference(model.record);
  print_shared_parts(model.record);
  print_history(run, valid_score_of(model.record));
}

}  // namespace

void add_inspect(CLI::App& app, Console& /*console*/) {
  struct Given {
    std::string run;
    bool json = false;
  };
  auto given = std::make_shared<Given>();
  auto* verb = app.add_subcommand("inspect", "Show what a run holds");
  verb->add_option("run", given->run, "Run folder or model file")->required();
  verb->add_flag("--json", given->json, "Print JSON");
  verb->callback([given] {
    const auto path = model_path_of(given->run);
    if (model_kind(path) == ModelKind::images) {
      inspect_images(path, given->run, given->json);
      return;
    }
    const auto model = load_model(path);
    given->json ? print_json(model, given->run) : print_text(model, given->run);
  });
}

}  // namespace kinflow::cli
