// kinflow transform: data to latents and back.
#include <CLI/CLI.hpp>
#include <memory>

#include "commands.h"
#include "kinflow/array/array.h"
#include "kinflow/array/device.h"
#include "kinflow/core/error.h"
#include "kinflow/evaluate/stream.h"
#include "kinflow/fit/run_folder.h"
#include "kinflow/genetics/genotypes.h"
#include "options.h"

namespace kinflow::cli {
namespace {

ResultFiles pheno_files(const TransformRequest& wanted) {
  return {PhenotypeFiles::pheno_path(wanted.pheno_out),
          PhenotypeFiles::gemma_path(wanted.pheno_out)};
}

void check_outputs(const TransformRequest& wanted, const std::string& fam,
                   bool overwrite) {
  if (wanted.out.empty() && wanted.pheno_out.empty()) {
    throw InputError("transform: expected --out or --pheno-out, found neither");
  }
  if (!wanted.out.empty()) {
    table_format(wanted.out);
    check_not_an_input(wanted.out, {wanted.table, fam});
    require_no_result({wanted.out}, overwrite);
  }
  if (wanted.pheno_out.empty()) return;
  require_no_result(pheno_files(wanted), overwrite, "--pheno-out");
  for (const auto& path : pheno_files(wanted)) {
    check_not_an_input(path, {wanted.table, fam});
    if (path != wanted.out) continue;
    throw InputError("--pheno-out: expected another file than --out, found " + path);
  }
}

}  // namespace

void add_transform(CLI::App& app, Console& console) {
  struct Given {
    std::string run, fam, device = "cpu";
    TransformRequest request;
    std::int64_t threads = 1;
    bool overwrite = false;
  };
  auto given = std::make_shared<Given>();
  auto& request = given->request;
  auto* verb = app.add_subcommand("transform", "Map data to latents, or back");
  verb->add_option("run", given->run, "Run folder or model file")->required();
  verb->add_option("table", request.table, "Table of data, or of latents u1, u2, ...")
      ->required();
  verb->add_flag("--inverse", request.inverse, "From latents to data");
  add_names(*verb, "--keep", request.keep,
            "Columns to copy to the --out table, comma-separated");
  verb->add_flag("--drop-missing", request.drop_missing,
                 "Rows with missing values get empty cells");
  add_minus_nine(*verb, request.minus_nine,
                 "What -9 stands for (default: as in the training of the model)");
  add_device(*verb, given->device);
  add_threads(*verb, given->threads);
  verb->add_option("--out", request.out, "Table to write: .csv, .tsv or .npy");
  verb->add_option(
      "--pheno-out", request.pheno_out,
      "Prefix of PREFIX.pheno, the latents as phenotypes for plink2, GCTA and regenie");
  verb->add_option(
      "--gemma", given->fam,
      "Write PREFIX.gemma.txt too, for GEMMA with the people of this .fam");
  add_names(*verb, "--id", request.id,
            "Column of ids, or two of family and individual, for --pheno-out (default: "
            "FID and IID, or IID)");
  add_overwrite(*verb, given->overwrite);
  verb->callback([given, verb, &console] {
    check_effects(*verb,
                  {needs_option({"--keep"}, {"--out"}),
                   needs_option({"--gemma", "--id"}, {"--pheno-out"})},
                  *verb);
    auto& wanted = given->request;
    set_threads(given->threads);
    check_outputs(wanted, given->fam, given->overwrite);
    find_names(wanted.table, {&wanted.keep, &wanted.id});
    if (!given->fam.empty()) {
      wanted.gemma = {.source = given->fam, .ids = ids_of(read_people(given->fam))};
    }
    const auto model =
        load_model(model_path_of(given->run), find_device(given->device), nd::kDouble);
    transform_table(model, wanted,
                    {.threads = given->threads, .stop = &stop_requested()}, console);
    // That of an earlier call, with other latents.
    if (!wanted.pheno_out.empty() && given->fam.empty()) {
      remove_result({PhenotypeFiles::gemma_path(wanted.pheno_out)});
    }
  });
}

}  // namespace kinflow::cli
