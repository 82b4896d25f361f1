// kinflow evaluate: the likelihood of a table under a model.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "kinflow/core/device.h"
#include "kinflow/core/error.h"
#include "kinflow/evaluate/likelihood.h"
#include "kinflow/report/text_table.h"
#include "kinflow/train/fit.h"
#include "kinflow/train/run_folder.h"
#include "options.h"

namespace kinflow::cli {
namespace {

void print_text(const Likelihood& likelihood) {
  TextTable table({{"measure", Align::kLeft}, {"value"}});
  table.add_row({"rows", std::to_string(likelihood.rows)});
  table.add_row({"mean_nll_nats", fmt::format("{:.6f}", likelihood.mean_nll_nats)});
  table.add_row(
      {"standard_error", fmt::format("{:.6f}", likelihood.standard_error_nats)});
  table.add_row(
      {"bits_per_dimension", fmt::format("{:.6f}", likelihood.bits_per_dimension)});
  if (likelihood.joint_log_density_nats) {
    const double joint = *likelihood.joint_log_density_nats;
    table.add_row({"joint_log_density_nats", fmt::format("{:.4f}", joint)});
    table.add_row(
        {"joint_nll_nats_per_row",
         fmt::format("{:.6f}", -joint / static_cast<double>(likelihood.rows))});
  }
  fmt::print("{}", table.plain());
}

void print_json(const Likelihood& likelihood) {
  nlohmann::json json = {{"rows", likelihood.rows},
                         {"mean_nll_nats", likelihood.mean_nll_nats},
                         {"standard_error_nats", likelihood.standard_error_nats},
                         {"bits_per_dimension", likelihood.bits_per_dimension}};
  if (likelihood.joint_log_density_nats) {
    const double joint = *likelihood.joint_log_density_nats;
    json["joint_log_density_nats"] = joint;
    json["joint_nll_nats_per_row"] = -joint / static_cast<double>(likelihood.rows);
  }
  fmt::print("{}\n", json.dump(2));
}

}  // namespace

void add_evaluate(CLI::App& app, Console& console) {
  struct Given {
    std::string run, table, group, relationship, device = "cpu";
    std::string relationship_ids, relationship_scale = "mean-diagonal";
    std::vector<std::string> id;
    std::optional<double> parameter;
    std::string out;
    std::vector<std::string> keep;
    bool json = false, drop_missing = false;
    std::int64_t threads = 1;
  };
  auto given = std::make_shared<Given>();
  auto* verb = app.add_subcommand("evaluate", "Likelihood of a table under a model");
  verb->add_option("run", given->run, "Run folder or model file")->required();
  verb->add_option("table", given->table, "Table to score")->required();
  auto* group = verb->add_option("--group", given->group,
                                 "Column of block labels: also the joint likelihood");
  auto* relationship =
      verb->add_option("--relationship", given->relationship,
                       "Relationship matrix of the rows: also the joint likelihood")
          ->excludes(group);
  add_relationship_options(*verb, relationship, given->id, given->relationship_ids);
  add_relationship_scale(*verb, relationship, given->relationship_scale);
  verb->add_option("--parameter", given->parameter,
                   "rho or lambda instead of the learned one")
      ->check(number_in(0, 1));
  auto* out = verb->add_option("--out", given->out,
                               "Table to write with the log-density of every row");
  add_list(*verb, "--keep", given->keep,
           "Columns to copy to the --out table, comma-separated")
      ->needs(out);
  verb->add_flag("--json", given->json, "Print JSON");
  verb->add_flag("--drop-missing", given->drop_missing,
                 "Leave out rows with missing values");
  verb->add_option("--device", given->device, "Where to compute")
      ->check(CLI::IsMember({"cpu", "cuda"}));
  add_threads(*verb, given->threads);
  verb->callback([given, &console] {
    if (given->parameter && given->group.empty() && given->relationship.empty()) {
      throw InputError(
          "--parameter: expected --group or --relationship, found neither");
    }
    if (!given->out.empty()) {
      table_format(given->out);
      check_not_an_input(given->out, {given->table});
    }
    set_threads(given->threads);
    const auto model =
        load_model(model_path_of(given->run), find_device(given->device), at::kDouble);
    const auto table = read_table(given->table);
    const auto rows = read_rows(table, {.columns = model.columns,
                                        .context = model.context_columns,
                                        .group = given->group,
                                        .drop_missing = given->drop_missing,
                                        .id = given->id});
    EvaluatedDependence dependence{.by_group = !given->group.empty(),
                                   .relationship = {},
                                   .parameter = given->parameter};
    std::string note;
    if (!given->relationship.empty()) {
      const auto matched = read_relationship(
          {.path = given->relationship,
           .ids = given->relationship_ids,
           .scale = chosen(relationship_scale_names(), given->relationship_scale)},
          rows, given->table);
      dependence.relationship = matched.matrix;
      note = matched.note;
    }
    const auto likelihood = evaluate_likelihood(model, rows, dependence);
    if (!given->out.empty()) {
      const auto& scores = likelihood.row_log_density_nats;
      const std::vector<std::string> names = {"log_density_nats"};
      write_table(given->out, names,
                  {scores.data_ptr<double>(), static_cast<std::size_t>(scores.numel())},
                  kept_columns(table, given->keep, rows.kept_rows, names));
    }
    if (!note.empty()) console.info(note);
    given->json ? print_json(likelihood) : print_text(likelihood);
  });
}

}  // namespace kinflow::cli
