// kinflow transform: data to latents and back.
#include <ATen/ATen.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "commands.h"
#include "kinflow/core/device.h"
#include "kinflow/core/error.h"
#include "kinflow/data/in_quotes.h"
#include "kinflow/data/table.h"
#include "kinflow/data/write_table.h"
#include "kinflow/train/fit_data.h"
#include "kinflow/train/model.h"
#include "kinflow/train/run_folder.h"
#include "options.h"

namespace kinflow::cli {
namespace {

std::vector<std::string> numbered_names(const std::string& prefix, std::size_t count) {
  std::vector<std::string> names;
  for (std::size_t i = 1; i <= count; ++i) names.push_back(prefix + std::to_string(i));
  return names;
}

void check_finite(const at::Tensor& result, const Table& table, const TableRows& rows) {
  const auto bad = at::isfinite(result).all(1).logical_not();
  if (!bad.any().item<bool>()) return;
  const auto first = bad.to(at::kLong).argmax().item<std::int64_t>();
  const auto row = rows.kept_rows[static_cast<std::size_t>(first)];
  throw NumericalError(fmt::format(
      "{}:{}: the transformed row is not finite: is it far outside the training data?",
      table.source(), table.line_of_row(row)));
}

}  // namespace

void add_transform(CLI::App& app, Console& console) {
  struct Given {
    std::string run, table, out, device = "cpu";
    std::vector<std::string> keep;
    bool inverse = false, drop_missing = false;
    std::int64_t threads = 1;
  };
  auto given = std::make_shared<Given>();
  auto* verb = app.add_subcommand("transform", "Map data to latents, or back");
  verb->add_option("run", given->run, "Run folder or model file")->required();
  verb->add_option("table", given->table, "Table of data, or of latents u1, u2, ...")
      ->required();
  verb->add_flag("--inverse", given->inverse, "From latents to data");
  add_list(*verb, "--keep", given->keep,
           "Columns to copy to the output, comma-separated");
  verb->add_flag("--drop-missing", given->drop_missing,
                 "Leave out rows with missing values");
  verb->add_option("--device", given->device, "Where to compute")
      ->check(CLI::IsMember({"cpu", "cuda"}));
  add_threads(*verb, given->threads);
  verb->add_option("--out", given->out, "Table to write: .csv, .tsv or .npy")
      ->required();
  verb->callback([given, &console] {
    set_threads(given->threads);
    table_format(given->out);
    check_not_an_input(given->out, {given->table});
    const auto model =
        load_model(model_path_of(given->run), find_device(given->device), at::kDouble);
    const auto latent_names = numbered_names("u", model.columns.size());
    const auto output_names = given->inverse ? model.columns : latent_names;
    const auto input_names = !given->inverse ? model.columns
                             : table_format(given->table) == TableFormat::npy
                                 ? numbered_names("x", model.columns.size())
                                 : latent_names;
    const auto table = read_table(given->table);
    const auto rows = read_rows(table, {.columns = input_names,
                                        .context = model.context_columns,
                                        .group = {},
                                        .drop_missing = given->drop_missing});
    if (const auto dropped = rows.table_rows - rows.data.size(0); dropped > 0) {
      console.info(given->table + ": " + std::to_string(dropped) +
                   " rows with missing values left out");
    }
    const auto result =
        (given->inverse ? model.from_latent(rows.data, rows.context)
                        : model.to_latent(rows.data, rows.context).latents)
            .contiguous();
    check_finite(result, table, rows);
    // The way back needs the context.
    auto kept = model.context_columns;
    kept.insert(kept.end(), given->keep.begin(), given->keep.end());
    write_table(given->out, output_names,
                {result.data_ptr<double>(), static_cast<std::size_t>(result.numel())},
                kept_columns(table, kept, rows.kept_rows, output_names));
  });
}

}  // namespace kinflow::cli
