// kinflow sample: draw rows from a model.
#include "kinflow/evaluate/sample.h"

#include <ATen/ATen.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "commands.h"
#include "kinflow/core/device.h"
#include "kinflow/core/error.h"
#include "kinflow/data/table.h"
#include "kinflow/data/write_table.h"
#include "kinflow/train/fit.h"
#include "kinflow/train/run_folder.h"
#include "options.h"

namespace kinflow::cli {
namespace {

struct Given {
  std::string run, given, group, relationship, context, out;
  std::string relationship_scale = "mean-diagonal";
  std::vector<std::int64_t> block_sizes;
  std::optional<std::int64_t> rows;
  std::optional<double> parameter;
  std::uint64_t seed = 0;
  std::int64_t threads = 1;
};

std::int64_t needed_rows(const Given& given) {
  if (given.rows) return *given.rows;
  throw InputError("sample: expected --rows N");
}

// The sizes in turn until there are as many rows as asked for; the last block is cut.
std::vector<std::int64_t> sizes_for(const Given& given) {
  if (!given.rows) return given.block_sizes;
  std::vector<std::int64_t> sizes;
  std::int64_t left = *given.rows;
  for (std::size_t i = 0; left > 0; i = (i + 1) % given.block_sizes.size()) {
    sizes.push_back(std::min(left, given.block_sizes[i]));
    left -= sizes.back();
  }
  return sizes;
}

at::Tensor read_matrix(const Given& given, std::int64_t rows, Console& console) {
  const auto relationship = read_relationship(
      {.path = given.relationship,
       .ids = {},
       .scale = chosen(relationship_scale_names(), given.relationship_scale)},
      rows);
  console.info(relationship.note);
  return relationship.matrix;
}

SampledRows sample_more(const Given& given, const Model& model, Random& random,
                        Console& console) {
  const bool by_relationship = !given.relationship.empty();
  const auto group = !given.group.empty() ? given.group : model.dependence.column;
  if (!by_relationship && group.empty()) {
    throw InputError("--given: expected --group COLUMN or --relationship FILE");
  }
  const auto observed = read_rows(given.given, {.columns = model.columns,
                                                .context = {},
                                                .group = by_relationship ? "" : group,
                                                .drop_missing = false});
  const auto rows = needed_rows(given);
  if (by_relationship) {
    const double lambda =
        model.dependence.parameter_for("relationship", given.parameter);
    const auto matrix = read_matrix(given, observed.data.size(0) + rows, console);
    return sample_given_relationship(model, observed, matrix, lambda, random);
  }
  const auto blocks = number_blocks(observed.labels).label_of_block;
  return sample_given_blocks(model, observed, rows,
                             model.dependence.correlations_of(blocks, given.parameter),
                             random);
}

// The column of block labels in the output.
std::string label_column(const Given& given, const Model& model) {
  if (!given.group.empty()) return given.group;
  return model.dependence.column.empty() ? "group" : model.dependence.column;
}

// Options that would have no effect are mistakes.
void check_options(const Given& given, const Model& model) {
  const bool by_context = !model.context_columns.empty();
  const bool dependent =
      !given.given.empty() || !given.block_sizes.empty() || !given.relationship.empty();
  if (by_context && given.context.empty()) {
    throw InputError(
        "sample: expected --context TABLE, one row to draw for each of its "
        "rows, since the model has context columns");
  }
  if (by_context && (dependent || given.rows)) {
    throw InputError(
        "--context: expected none of --rows, --block-sizes, --given and "
        "--relationship beside it");
  }
  if (!by_context && !given.context.empty()) {
    throw InputError(
        "--context: expected none, since the model has no context columns");
  }
  if (given.parameter && !dependent) {
    throw InputError("--parameter: expected --block-sizes, --given or --relationship");
  }
}

SampledRows draw(const Given& given, const Model& model, Console& console) {
  Random random(given.seed, stream(Purpose::draws));
  check_options(given, model);
  if (!given.context.empty()) {
    const auto context = read_rows(given.context, {.columns = model.context_columns});
    return sample_rows(model, context.data.size(0), context.data, random);
  }
  if (!given.given.empty()) return sample_more(given, model, random, console);
  if (!given.block_sizes.empty()) {
    const double rho = model.dependence.parameter_for("blocks", given.parameter);
    return sample_blocks(model, sizes_for(given), rho, random);
  }
  if (!given.relationship.empty()) {
    const double lambda =
        model.dependence.parameter_for("relationship", given.parameter);
    const auto matrix = read_matrix(given, needed_rows(given), console);
    return sample_relationship(model, matrix, lambda, random);
  }
  return sample_rows(model, needed_rows(given), at::Tensor(), random);
}

}  // namespace

void add_sample(CLI::App& app, Console& console) {
  auto given = std::make_shared<Given>();
  auto* verb = app.add_subcommand("sample", "Draw rows from a model");
  verb->add_option("run", given->run, "Run folder or model file")->required();
  verb->add_option("--rows", given->rows,
                   "Rows to draw; with --given, of every block or in all")
      ->check(integer_in(1, 1'000'000'000));
  auto* sizes = add_list(*verb, "--block-sizes", given->block_sizes,
                         "Draw correlated rows in blocks of these sizes, "
                         "comma-separated, repeated until --rows")
                    ->check(integer_in(1, 1'000'000'000));
  auto* observed =
      verb->add_option("--given", given->given,
                       "Table of observed rows: draw further rows that depend on them")
          ->excludes(sizes);
  verb->add_option("--group", given->group,
                   "Column of block labels in the --given table (default: the model's)")
      ->needs(observed);
  auto* relationship =
      verb->add_option(
              "--relationship", given->relationship,
              "Relationship matrix of the drawn rows; with --given, of the observed "
              "rows followed by the drawn ones")
          ->excludes(sizes);
  add_relationship_scale(*verb, relationship, given->relationship_scale);
  verb->add_option(
      "--context", given->context,
      "Table of context columns, for a model that has them; the output keeps "
      "them");
  verb->add_option("--parameter", given->parameter,
                   "rho or lambda instead of the learned one")
      ->check(number_in(0, 1));
  add_seed(*verb, given->seed, "Seed of the draws");
  add_threads(*verb, given->threads);
  verb->add_option("--out", given->out, "Table to write: .csv, .tsv or .npy")
      ->required();
  verb->callback([given, &console] {
    set_threads(given->threads);
    table_format(given->out);
    check_not_an_input(given->out, {given->given, given->context});
    const auto model = load_model(model_path_of(given->run), at::kCPU, at::kDouble);
    const auto sample = draw(*given, model, console);
    const auto data = sample.data.contiguous();
    if (!at::isfinite(data).all().item<bool>()) {
      throw NumericalError(given->run + ": a drawn row is not finite");
    }
    std::vector<TextColumn> text;
    if (!sample.labels.empty()) {
      text.push_back({label_column(*given, model), sample.labels});
    }
    if (!given->context.empty()) {
      const auto table = read_table(given->context);
      for (const auto& name : model.context_columns) {
        text.push_back({name, labels(table, name)});
      }
    }
    write_table(given->out, model.columns,
                {data.data_ptr<double>(), static_cast<std::size_t>(data.numel())},
                text);
  });
}

}  // namespace kinflow::cli
