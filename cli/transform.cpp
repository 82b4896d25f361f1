// kinflow transform: data to latents and back.
#include <CLI/CLI.hpp>
#include <memory>

#include "commands.h"
#include "kinflow/core/device.h"
#include "kinflow/evaluate/stream.h"
#include "kinflow/train/run_folder.h"
#include "options.h"

namespace kinflow::cli {

void add_transform(CLI::App& app, Console& console) {
  struct Given {
    std::string run, device = "cpu";
    TransformRequest request;
    std::int64_t threads = 1;
  };
  auto given = std::make_shared<Given>();
  auto& request = given->request;
  auto* verb = app.add_subcommand("transform", "Map data to latents, or back");
  verb->add_option("run", given->run, "Run folder or model file")->required();
  verb->add_option("table", request.table, "Table of data, or of latents u1, u2, ...")
      ->required();
  verb->add_flag("--inverse", request.inverse, "From latents to data");
  add_list(*verb, "--keep", request.keep,
           "Columns to copy to the output, comma-separated");
  verb->add_flag("--drop-missing", request.drop_missing,
                 "Leave out rows with missing values");
  add_device(*verb, given->device);
  add_threads(*verb, given->threads);
  verb->add_option("--out", request.out, "Table to write: .csv, .tsv or .npy")
      ->required();
  verb->callback([given, &console] {
    const auto& wanted = given->request;
    set_threads(given->threads);
    table_format(wanted.out);
    check_not_an_input(wanted.out, {wanted.table});
    const auto model =
        load_model(model_path_of(given->run), find_device(given->device), at::kDouble);
    transform_table(model, wanted,
                    {.threads = given->threads, .stop = &stop_requested()}, console);
  });
}

}  // namespace kinflow::cli
