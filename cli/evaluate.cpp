// kinflow evaluate: the likelihood of a table under a model.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "image_commands.h"
#include "kinflow/array/array.h"
#include "kinflow/array/device.h"
#include "kinflow/core/counted.h"
#include "kinflow/core/error.h"
#include "kinflow/data/shared_rows.h"
#include "kinflow/evaluate/likelihood.h"
#include "kinflow/evaluate/output_rows.h"
#include "kinflow/evaluate/scale_of_rows.h"
#include "kinflow/evaluate/stream.h"
#include "kinflow/report/text_table.h"
#include "options.h"

namespace kinflow::cli {
namespace {

struct EvaluateGiven {
  std::string run, table, given, device = "cpu";
  DependenceGiven dependence;
  std::vector<double> parameter;
  std::string out;
  std::vector<std::string> keep;
  bool json = false, drop_missing = false, overwrite = false;
  std::optional<MinusNine> minus_nine;
  std::int64_t threads = 1;
  EvaluateImagesGiven images;
};

// Names and values in the order in which they are shown.
std::vector<std::pair<std::string, double>> measures(const Likelihood& likelihood,
                                                     bool is_given) {
  const std::string given = is_given ? "_given" : "";
  std::vector<std::pair<std::string, double>> result = {
      {"mean_nll" + given + "_nats", likelihood.mean_nll_nats},
      {"standard_error_nats", likelihood.standard_error_nats},
      {"bits_per_dimension", likelihood.bits_per_dimension}};
  if (likelihood.joint_log_density_nats) {
    const double joint = *likelihood.joint_log_density_nats;
    result.emplace_back("joint_log_density" + given + "_nats", joint);
    result.emplace_back("joint_nll" + given + "_nats_per_row",
                        -joint / static_cast<double>(likelihood.rows));
  }
  return result;
}

// How rows found their like, by groups or relatives; nothing where that does not apply.
struct MatchCounts {
  std::optional<UnmatchedRows> unmatched;  // by the rows of --given
  std::optional<std::int64_t> rows_of_training_groups;
};

void print(const Likelihood& likelihood, const TableRows* observed,
           const MatchCounts& counts, bool as_json) {
  nlohmann::ordered_json json = {{"rows", likelihood.rows}};
  if (likelihood.rows_left_out > 0 || as_json) {
    json["rows_left_out"] = likelihood.rows_left_out;
  }
  if (observed != nullptr) json["given_rows"] = observed->data.size(0);
  if (counts.unmatched) {
    json["rows_unmatched"] = counts.unmatched->rows;
    json["given_rows_unmatched"] = counts.unmatched->observed;
  }
  if (counts.rows_of_training_groups) {
    json["rows_of_training_groups"] = *counts.rows_of_training_groups;
  }
  TextTable table({{"measure", Align::kLeft}, {"value"}});
  for (const auto& [name, value] : json.items()) table.add_row({name, value.dump()});
  for (const auto& [name, value] : measures(likelihood, observed != nullptr)) {
    json[name] = value;
    table.add_row({name, std::isnan(value) ? "-" : fmt::format("{:.6f}", value)});
  }
  fmt::print("{}", as_json ? json.dump(2) + "\n" : table.plain());
}

// Without a word on the dependence of given rows it is that of the training groups.
DependenceGiven dependence_of(const EvaluateGiven& given, const Model& model) {
  auto dependence = given.dependence;
  const bool by_group = model.dependence.kind == DependenceKind::blocks;
  if (!given.given.empty() && !dependence.any_or_time() && by_group) {
    dependence.request.group = model.dependence.column;
  }
  return dependence;
}

Likelihood score(const EvaluateGiven& given, const Model& model, const TableRows& rows,
                 const TableRows* observed, MatchCounts& counts, Console& console) {
  const auto& instead = given.parameter;
  const auto dependence = dependence_of(given, model);
  const auto request =
      model.dependence.request_for_new_rows(dependence.resolve(), instead);
  const auto all = observed != nullptr ? append_rows(*observed, rows) : rows;
  const auto source =
      observed != nullptr ? given.given + " and " + given.table : given.table;
  auto relations = read_relations(request, all, source,
                                  minus_nine_for(model, given.minus_nine).meaning);
  if (kind_of(request) == DependenceKind::blocks && instead.empty()) {
    counts.rows_of_training_groups = model.dependence.rows_of_known_blocks(rows.labels);
  }
  std::optional<RowLaws> observed_laws;
  if (observed != nullptr) {
    counts.unmatched = find_unmatched_rows(relations, observed->data.size(0),
                                           given.given, given.table);
    observed_laws = make_first_row_laws(model, request, relations,
                                        observed->data.size(0), instead, console);
  }
  const auto laws =
      make_row_laws(model, request, std::move(relations), instead, console);
  if (!model.row_parts.empty()) {
    console.info(
        "rows together have the density of the members, single rows that of another "
        "mixture (`inspect`: single rows)");
  }
  if (observed == nullptr) return evaluate_likelihood(model, rows, &laws);
  return evaluate_given(model, *observed, rows, laws,
                        observed_laws ? &*observed_laws : nullptr);
}

void report_rows_left_out(const std::string& table, const TableRows& rows,
                          Console& console) {
  const auto count = rows.table_rows - rows.data.size(0);
  if (count == 0) return;
  console.info(
      fmt::format("{}: {} with missing values left out", table, counted(count, "row")));
}

// Rows that are known are no test of what is said of them.
void check_other_rows(const EvaluateGiven& given, const TableRows& rows,
                      const TableRows& observed, Console& console) {
  const auto found = find_shared_rows(row_hashes(rows), row_hashes(observed));
  const auto count = rows.data.size(0);
  if ((found.are_all_the_same || found.are_all_shared) && count > 1) {
    throw InputError(fmt::format(
        "--given: expected other rows than those that are scored, found {} {} rows {} "
        "{} {} {}",
        found.are_all_the_same ? "the same" : "all", count,
        found.are_all_the_same ? "in" : "of", given.table,
        found.are_all_the_same ? "and" : "in", given.given));
  }
  if (found.shared == 0 || !found.are_more_than_chance) return;
  console.warning(
      fmt::format("{}: {} of {} stand among the observed rows of {} too, with the same "
                  "values: they are scored given themselves",
                  given.table, found.shared, counted(count, "row"), given.given));
}

// Rows that depend on each other, and on observed ones, are needed all at once.
void evaluate_together(const EvaluateGiven& given, const Model& model,
                       const ColumnChoice& columns, Console& console) {
  const auto table = read_table(given.table);
  const auto rows = read_rows(table, columns);
  TableRows observed;
  if (!given.given.empty()) observed = read_rows(given.given, columns);
  const auto* known = given.given.empty() ? nullptr : &observed;
  const std::vector<std::string> names = {known == nullptr ? "log_density_nats"
                                                           : "log_density_given_nats"};
  check_copies(table, given.keep, names);
  if (known != nullptr) check_other_rows(given, rows, observed, console);
  warn_of_scale(model, rows, given.table, console);
  if (known != nullptr) warn_of_scale(model, observed, given.given, console);
  MatchCounts counts;
  auto likelihood = score(given, model, rows, known, counts, console);
  likelihood.rows_left_out = rows.table_rows - likelihood.rows;
  if (!given.out.empty()) {
    const auto scores =
        in_places_of_table(likelihood.row_log_density_nats.unsqueeze(1), rows)
            .contiguous();
    write_table(given.out, names,
                {scores.data_ptr<double>(), static_cast<std::size_t>(scores.numel())},
                copied_columns(table, given.keep, columns.drop_missing));
  }
  report_rows_left_out(given.table, rows, console);
  if (known != nullptr) report_rows_left_out(given.given, *known, console);
  print(likelihood, known, counts, given.json);
}

void run(EvaluateGiven given, const std::string& model_path, Console& console) {
  find_names(given.table, {&given.keep, &given.dependence.request.id});
  if (!given.out.empty()) {
    table_format(given.out);
    auto inputs = input_files(given.dependence.resolve());
    inputs.insert(inputs.end(), {given.table, given.given});
    check_not_an_input(given.out, inputs);
    require_no_result({given.out}, given.overwrite);
  }
  const auto model = load_model(model_path, find_device(given.device), nd::kDouble);
  const auto dependence = dependence_of(given, model);
  auto columns = columns_for(model, dependence.request);
  columns.drop_missing = given.drop_missing;
  columns.minus_nine = minus_nine_for(model, given.minus_nine);
  if (dependence.any_or_time()) {
    evaluate_together(given, model, columns, console);
    return;
  }
  if (!given.given.empty() || !given.parameter.empty()) {
    throw InputError(
        fmt::format("{}: expected a dependence, such as --group or --relationship, "
                    "found none",
                    given.given.empty() ? "--parameter" : "--given"));
  }
  const auto likelihood = score_table(
      model,
      {.table = given.table, .out = given.out, .keep = given.keep, .columns = columns},
      {.threads = given.threads, .stop = &stop_requested()}, console);
  print(likelihood, nullptr, {}, given.json);
}

void run_images(const EvaluateGiven& given, const std::string& model,
                Console& console) {
  auto images = given.images;
  images.model = model;
  images.path = given.table;
  images.out = given.out;
  images.overwrite = given.overwrite;
  images.device = given.device;
  images.json = given.json;
  evaluate_images(images, console);
}

}  // namespace

void add_evaluate(CLI::App& app, Console& console) {
  auto given = std::make_shared<EvaluateGiven>();
  auto* verb = app.add_subcommand("evaluate",
                                  "Likelihood of a table or of images under a model");
  verb->add_option("run", given->run, "Run folder or model file")->required();
  verb->add_option("table", given->table, "Table to score, or images")->required();
  verb->add_option("--given", given->given,
                   "Table of observed rows: score the others given these");
  add_dependence_options(*verb, given->dependence);
  add_parameter(*verb, given->parameter);
  verb->add_option("--out", given->out,
                   "Table to write with the log-density of every row or image");
  add_overwrite(*verb, given->overwrite);
  add_names(*verb, "--keep", given->keep,
            "Columns to copy to the --out table, comma-separated");
  verb->add_flag("--json", given->json, "Print JSON");
  verb->add_flag("--drop-missing", given->drop_missing,
                 "Rows with missing values get no score");
  add_minus_nine(*verb, given->minus_nine,
                 "What -9 stands for (default: as in the training of the model)");
  add_device(*verb, given->device);
  add_threads(*verb, given->threads);
  mark_table_options(*verb,
                     {"--out", "--overwrite", "--json", "--device", "--threads"});
  add_evaluate_images_options(*verb, given->images);
  verb->callback([given, verb, &console] {
    set_threads(given->threads);
    check_effects(*verb, {needs_option({"--keep"}, {"--out"})}, *verb);
    call_by_model_kind(
        *verb, given->run,
        [&](const std::string& model) {
          const auto dependence = given->dependence.resolve();
          check_effects(*verb, dependence_rules(), dependence);
          check_effects(*verb, id_rules(), dependence);
          run(*given, model, console);
        },
        [&](const std::string& model) {
          check_evaluate_images_options(*verb, given->images, given->table);
          run_images(*given, model, console);
        });
  });
}

}  // namespace kinflow::cli
