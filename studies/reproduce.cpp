// kinflow reproduce: the paper's experiments, beside its own numbers.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <memory>

#include "cli/commands.h"
#include "cli/options.h"
#include "kinflow/engine/images/image_names.h"
#include "studies/experiments.h"

namespace kinflow::cli {
namespace {

constexpr std::int64_t kQuickSeeds = 2;

// What the experiments have in common, as typed.
struct ReproduceGiven {
  ExperimentOptions options;
  std::optional<std::int64_t> seeds;
};

using Run = std::function<ExperimentReport(const ExperimentOptions&)>;

// A verb for an experiment, which runs it and shows what it came to.
// @param seeds  repetitions by default; 0: it has none
// @param has_one_table  some of its methods have no validation table
// @param seeds_option  names of the option for the number of repetitions
CLI::App* add_experiment(CLI::App& app, const std::string& name,
                         const std::string& help, const Run& run,
                         std::int64_t seeds = ExperimentOptions{}.seeds,
                         bool has_one_table = false,
                         const std::string& seeds_option = "--seeds") {
  auto given = std::make_shared<ReproduceGiven>();
  auto* verb = app.add_subcommand(name, help);
  auto& options = given->options;
  auto* out = verb->add_option("--out", options.directory, "Folder of the results");
  out->required();
  if (seeds > 0) {
    options.seeds = seeds;
    out->description(
        "Folder of the results; the same command goes on with one that was left "
        "unfinished");
    verb->add_option(
            seeds_option, given->seeds,
            fmt::format("Repetitions (default: {}, quick: {})", seeds, kQuickSeeds))
        ->check(integer_in(1, 1000));
    verb->add_option("--first-seed", options.first_seed, "Seed of the first repetition")
        ->check(integer_in(0, 1'000'000'000));
    verb->add_flag("--quick", options.quick,
                   "A reduced version for a CPU, which says what it leaves out");
  }
  if (has_one_table) {
    verb->add_flag("--one-table", options.one_table,
                   "Only the methods that have no validation table");
  }
  add_overwrite(*verb, options.overwrite);
  add_device(*verb, options.device);
  add_threads(*verb, options.threads);
  verb->callback([given, run] {
    auto& chosen = given->options;
    if (chosen.quick) chosen.seeds = std::min(kQuickSeeds, chosen.seeds);
    chosen.seeds = given->seeds.value_or(chosen.seeds);
    chosen.stop = &stop_requested(
        "stopping as soon as what is done is safe; a second signal stops at once");
    const auto report = run(chosen);
    fmt::print("{}", report.markdown);
    for (const auto& picture : report.pictures) fmt::print("picture: {}\n", picture);
  });
  return verb;
}

// Faces as typed.
struct FacesGiven {
  FaceSource source;
  std::string preset = name_of(glow_preset_names(), FaceSource{}.preset);
};

void add_lfw(CLI::App& app, Console& console) {
  auto given = std::make_shared<FacesGiven>();
  auto* verb = add_experiment(
      app, "lfw", "Faces of people, several of some: Labeled Faces in the Wild",
      [given, &app, &console](const ExperimentOptions& options) {
        const auto& lfw = *app.get_subcommand("lfw");
        check_effects(lfw, {idle_beside({"--minutes", "--preset"}, "--quick")}, lfw);
        given->source.preset = chosen(glow_preset_names(), given->preset);
        return reproduce_lfw(options, given->source, console);
      },
      /*seeds=*/3);
  verb->add_option("--data", given->source.folder,
                   "Folder with a folder of images for each person, or with an .npy "
                   "array of images and one, with 'id' in its name, of people "
                   "(default with --quick: simulated images)");
  verb->add_option("--minutes", given->source.minutes,
                   "Time of a baseline; all methods take as many steps")
      ->check(number_in(0.001, 1e5))
      ->default_str("");
  add_choice(*verb, "--preset", given->preset, glow_preset_names(),
             "Network: the paper's, or a lighter one");
  add_list(*verb, "--methods", given->source.methods,
           "Methods to train, comma-separated: baseline, grid-RHO, joint, "
           "joint-per-latent (default: "
           "baseline,grid-0.05,grid-0.1,grid-0.15,joint,joint-per-latent)");
}

}  // namespace

void add_reproduce(CLI::App& app, Console& console) {
  auto* reproduce = app.add_subcommand("reproduce", kReproduceHelp);
  reproduce->require_subcommand(1);
  auto part = std::make_shared<std::string>("all");
  const Names<Table1Part> parts = {{"blocks", Table1Part::blocks},
                                   {"relationship", Table1Part::relationship},
                                   {"families", Table1Part::families},
                                   {"all", Table1Part::all}};
  auto* table1 = add_experiment(
      *reproduce, "table1", "Table 1: five shapes in the plane, dependent rows",
      [part, parts, &console](const ExperimentOptions& options) {
        return reproduce_table1(options, chosen(parts, *part), console);
      },
      ExperimentOptions{}.seeds, /*has_one_table=*/true);
  add_choice(*table1, "--part", *part, parts,
             "Which part of the table; families are not in the paper");
  add_experiment(*reproduce, "strength",
                 "Figure 2: Crescent in blocks, by the strength of the dependence",
                 [&console](const ExperimentOptions& options) {
                   return reproduce_strength(options, console);
                 });
  add_experiment(*reproduce, "rho-recovery",
                 "Learned against true correlations of blocks on Crescent",
                 [&console](const ExperimentOptions& options) {
                   return reproduce_recovery(options, console);
                 });

  add_experiment(
      *reproduce, "teaser",
      "Figure 1: the density of Abs, learned with and without dependence",
      [&console](const ExperimentOptions& options) {
        return reproduce_teaser(options, console);
      },
      /*seeds=*/0);
  auto source = std::make_shared<PriceSource>();
  auto* stocks = add_experiment(
      *reproduce, "stocks", "Stock data pairs: daily log returns, dependent by pair",
      [source, &console](const ExperimentOptions& options) {
        return reproduce_stocks(options, *source, console);
      });
  stocks->add_option("--data", source->folder,
                     "Folder of price files, one for each ticker: AAPL.us.txt, "
                     "AAPL.csv or AAPL.txt with the columns Date and Close");
  stocks->add_option("--prices", source->table,
                     "One table in place of the folder: Date and a column of closing "
                     "prices for each ticker");
  stocks->add_option("--pairs", source->pairs,
                     "Pairs of tickers (default: AAPL-MSFT,MA-V)");
  auto cohort = std::make_shared<BiomarkerSource>();
  auto* biomarkers = add_experiment(
      *reproduce, "biomarkers", "Biomarkers of related individuals, families held out",
      [cohort, &console](const ExperimentOptions& options) {
        return reproduce_biomarkers(options, *cohort, console);
      },
      ExperimentOptions{}.seeds, /*has_one_table=*/true);
  biomarkers
      ->add_option("--data", cohort->folder,
                   "Folder of PREFIX.bed, .bim and .fam, pheno.tsv and pedigree.tsv")
      ->required();
  add_names(
      *biomarkers, "--traits", cohort->traits,
      "Columns of pheno.tsv to model, comma-separated (default: 15 blood traits of "
      "the heterogeneous stock mice)");
  add_names(*biomarkers, "--covariates", cohort->covariates,
            "Columns of pheno.tsv to regress out, comma-separated (default: the mice's "
            "sex, age, season and year)");
  biomarkers->add_option("--chr-set", cohort->autosomes, "Number of autosomes")
      ->check(integer_in(1, 95))
      ->capture_default_str();
  auto mice = std::make_shared<std::string>();
  auto* gwas = add_experiment(
      *reproduce, "gwas",
      "Association studies: simulated cohorts with known loci, and real data",
      [mice, &console](const ExperimentOptions& options) {
        return reproduce_gwas(options, *mice, console);
      },
      /*seeds=*/20);
  gwas->add_option("--data", *mice,
                   "Folder of PREFIX.bed, .bim and .fam, and pheno.tsv of the "
                   "heterogeneous stock mice (default: simulated cohorts alone)");
  auto repeats = std::make_shared<RepeatsSource>();
  auto* repeats_verb = add_experiment(
      *reproduce, "repeats", "Real tables of repeat measurements, groups held out",
      [repeats, &console](const ExperimentOptions& options) {
        return reproduce_repeats(options, *repeats, console);
      },
      ExperimentOptions{}.seeds, /*has_one_table=*/false, "--splits,--seeds");
  repeats_verb
      ->add_option("--data", repeats->folder,
                   "Folder with pbcseq.csv and mathachieve.csv")
      ->required();
  add_names(*repeats_verb, "--tables", repeats->tables,
            "Tables to take, comma-separated: pbcseq-logs, pbcseq, mathachieve "
            "(default: all)");
  add_lfw(*reproduce, console);
  add_experiment(*reproduce, "unbalanced-images",
                 "Simulated images of people, a few of whom have most of them",
                 [&console](const ExperimentOptions& options) {
                   return reproduce_unbalanced_images(options, console);
                 });
}

}  // namespace kinflow::cli
