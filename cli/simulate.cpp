// kinflow simulate: the paper's synthetic data, a cohort with genotypes, or images of
// people, as files.
#include "kinflow/data/simulate.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <vector>

#include "commands.h"
#include "kinflow/core/counted.h"
#include "kinflow/core/error.h"
#include "kinflow/genetics/simulate_cohort.h"
#include "kinflow/images/simulate_images.h"
#include "options.h"

namespace kinflow::cli {
namespace {

struct SimulateGiven {
  bool is_cohort = false;
  bool are_images = false;
  std::uint64_t seed = 0;
  std::string out;
  bool overwrite = false;
  std::vector<std::string> of_cohorts, of_images;  // names of what only one takes
  // All but --cohort; where not given, each has its own number.
  CLI::Option* rows = nullptr;
  CLI::Option* valid_rows = nullptr;
  CLI::Option* test_rows = nullptr;
  // With neither --cohort nor --images, and the numbers of rows of --images:
  SimulateOptions options;
  std::string shape = "abs";
  std::string dependence = "blocks";
  // With --cohort:
  SimulateCohortOptions cohort;
  std::vector<std::string> families;
  CohortWork work;
  // With --images:
  SimulateImagesOptions images;
};

void add_shape_options(CLI::App& verb, SimulateGiven& given) {
  auto& options = given.options;
  given.rows = verb.add_option("--rows", options.rows,
                               "Training rows or images (if not given: relationship "
                               "5000, families 2000, images 4000)")
                   ->check(integer_in(2, 1'000'000'000));
  given.valid_rows = verb.add_option("--valid-rows", options.valid_rows,
                                     "Independent validation rows (images: 1000)")
                         ->check(integer_in(1, 1'000'000'000));
  given.test_rows = verb.add_option("--test-rows", options.test_rows,
                                    "Independent test rows (images: 2000)")
                        ->check(integer_in(1, 1'000'000'000));
  verb.add_option("--shape", given.shape, "Density in the plane")
      ->check(one_of({"abs", "crescent", "crescent-cubed", "sign", "sine-wave"}));
  verb.add_option("--dependence", given.dependence, "How the training rows depend")
      ->check(one_of({"blocks", "relationship", "families"}));
  verb.add_option("--lambda", options.lambda,
                  "Share of independent variance (relationship and families; default: "
                  "random)")
      ->check(number_in(0, 1));
}

void add_cohort_options(CLI::App& verb, SimulateGiven& given) {
  auto& options = given.cohort;
  const auto add_count = [&](const char* name, std::int64_t& value, const char* help,
                             std::int64_t low, std::int64_t high) {
    verb.add_option(name, value, help)->check(integer_in(low, high));
  };
  const auto add_number = [&](const char* name, double& value, const char* help,
                              double low, double high) {
    verb.add_option(name, value, help)->check(number_in(low, high));
  };
  add_count("--people", options.people, "People with genotypes", 10, 10'000'000);
  add_count("--snps", options.snps, "SNPs", 1, 100'000'000);
  add_count("--chromosomes", options.chromosomes, "Chromosomes", 1, 22);
  add_count("--null-chromosomes", options.null_chromosomes,
            "The last chromosomes that have no effects", 0, 21);
  add_number("--relatives", options.relatives, "Share of people in families", 0, 1);
  add_list(verb, "--families", given.families,
           "Shapes of families, comma-separated (default: all)")
      ->check(one_of({"trio", "sibship", "three-generations", "cousins"}));
  add_count("--populations", options.populations, "Populations", 1, 100);
  add_number("--fst", options.fst, "F_ST of the populations", 0, 0.9);
  add_number("--admixed", options.admixed, "Share of admixed families", 0, 1);
  add_number("--spacing", options.spacing, "Mean distance of SNPs in bases", 2, 1e9);
  add_number("--ld-length", options.ld_length,
             "Bases over which correlations of alleles decay", 1, 1e9);
  add_number("--missing-calls", options.missing_calls, "Share of missing genotypes", 0,
             0.9);
  add_count("--traits", options.traits, "Biomarkers", 1, 100);
  add_count("--loci", options.loci, "Causal loci", 0, 1'000'000);
  add_count("--polygenic", options.polygenic_snps, "SNPs with small effects", 0,
            100'000'000);
  add_number("--heritability", options.heritability,
             "Genetic share of a latent's variance, loci included", 0, 1);
  add_number("--locus-share", options.locus_share,
             "Mean share of a latent's variance that a locus explains", 0, 1);
  add_number("--genetic-correlation", options.genetic_correlation,
             "Correlation of the traits' polygenic parts", -1, 1);
  add_number("--environment-correlation", options.environment_correlation,
             "Correlation of the traits' other parts", -1, 1);
  add_number("--family-environment", options.family_environment,
             "Share of variance that families have in common", 0, 1);
  add_number("--curvature", options.curvature,
             "Curved relation in pairs of traits; 0: none", 0, 10);
  add_number("--covariate-effect", options.covariate_effect,
             "Typical effect of age and of sex, in deviations of a biomarker", 0, 100);
  add_number("--missing-values", options.missing_values, "Share of missing biomarkers",
             0, 0.9);
  add_threads(verb, given.work.threads);
}

void add_image_options(CLI::App& verb, SimulateGiven& given) {
  auto& options = given.images;
  verb.add_option("--side", options.side, "Pixels of a side, a multiple of 4")
      ->check(integer_in(8, 64));
  verb.add_flag("--rgb", options.rgb, "In colours");
  verb.add_option("--identity-share", options.identity_share,
                  "Share of variance that a person's images have in common")
      ->check(number_in(0, 1));
  verb.add_option("--largest-person", options.largest_person,
                  "Most training images of a person")
      ->check(integer_in(1, 1'000'000'000));
}

/// When options of a cohort have an effect, beside others of its own.
const std::vector<EffectRule<SimulateCohortOptions>>& cohort_rules() {
  using Cohort = SimulateCohortOptions;
  static const std::vector<EffectRule<Cohort>> rules = {
      {{"--families", "--family-environment"},
       "--relatives above 0",
       [](const Cohort& c) { return c.relatives > 0 ? "" : "--relatives 0"; }},
      {{"--fst", "--admixed"},
       "several --populations",
       [](const Cohort& c) { return c.populations > 1 ? "" : "--populations 1"; }},
      {{"--genetic-correlation", "--environment-correlation", "--curvature"},
       "several --traits",
       [](const Cohort& c) { return c.traits > 1 ? "" : "--traits 1"; }},
      {{"--locus-share"},
       "--loci above 0",
       [](const Cohort& c) { return c.loci > 0 ? "" : "--loci 0"; }},
      {{"--heritability"}, "--loci or --polygenic above 0", [](const Cohort& c) {
         return c.loci > 0 || c.polygenic_snps > 0 ? "" : "--loci 0 --polygenic 0";
       }}};
  return rules;
}

/// The files of an earlier simulation, of whatever kind, that are to be overwritten.
/// InputError where they are there and are not.
ResultFiles earlier_files(const SimulateGiven& given) {
  auto files = simulation_files(given.out);
  for (const auto& others :
       {cohort_files(given.out), simulated_image_files(given.out)}) {
    files.insert(files.end(), others.begin(), others.end());
  }
  require_no_result(files, given.overwrite);
  if (!given.overwrite) files.clear();
  return files;
}

void simulate_shape(SimulateGiven& given, const ResultFiles& replaced,
                    Console& console) {
  auto& chosen = given.options;
  chosen.seed = given.seed;
  chosen.shape = plane_shape(given.shape);
  if (given.dependence == "relationship") {
    chosen.dependence = SimulatedDependence::relationship;
    if (given.rows->count() == 0) chosen.rows = 5000;
  } else if (given.dependence == "families") {
    chosen.dependence = SimulatedDependence::families;
    if (given.rows->count() == 0) chosen.rows = 2000;
  }
  const auto simulation = simulate(chosen);
  write_simulation(given.out, simulation, replaced);
  std::string how;
  if (!simulation.block_sizes.empty()) {
    how += " in " + counted(simulation.block_sizes.size(), "block");
  }
  if (simulation.families > 0) {
    how += " in " + counted(simulation.families, "family", "families");
  }
  if (simulation.block_sizes.empty()) {
    how += fmt::format(" with lambda {:.3f}", simulation.lambda);
  }
  console.info(fmt::format("{}: {} training rows of '{}'{}, entropy {:.4f} nats",
                           given.out, chosen.rows, given.shape, how,
                           simulation.entropy_nats));
}

void simulate_people(SimulateGiven& given, const ResultFiles& replaced) {
  auto& chosen = given.cohort;
  chosen.seed = given.seed;
  if (!given.families.empty()) {
    chosen.families.clear();
    for (const auto& name : given.families) {
      chosen.families.push_back(family_shape(name));
    }
  }
  given.work.stop = &stop_requested();
  const auto cohort = write_simulated_cohort(given.out, chosen, given.work, replaced);
  fmt::print("{}", cohort_report(cohort));
}

void simulate_pictures(SimulateGiven& given, const ResultFiles& replaced,
                       Console& console) {
  auto& chosen = given.images;
  if (chosen.side % 4 != 0) {
    throw InputError(
        fmt::format("--side: expected a multiple of 4, found {}", chosen.side));
  }
  chosen.seed = given.seed;
  if (given.rows->count() > 0) chosen.images = given.options.rows;
  if (given.valid_rows->count() > 0) chosen.valid_images = given.options.valid_rows;
  if (given.test_rows->count() > 0) chosen.test_images = given.options.test_rows;
  const auto simulation = simulate_images(chosen);
  write_simulated_images(given.out, simulation, replaced);
  console.info(
      fmt::format("{}: {} training images of {} people, {} x {} {}, identity share {}",
                  given.out, chosen.images, simulation.train.people(), chosen.side,
                  chosen.side, chosen.rgb ? "RGB" : "grey", chosen.identity_share));
}

/// InputError for options that the chosen kind of data does not take.
void check_options(const SimulateGiven& given, const CLI::App& verb) {
  const std::vector<std::string> of_shapes = {"--shape", "--dependence", "--lambda"};
  check_effects(
      verb,
      {idle_beside({"--images", "--rows", "--valid-rows", "--test-rows"}, "--cohort"),
       idle_beside(of_shapes, "--cohort"), idle_beside(of_shapes, "--images"),
       needs_option(given.of_cohorts, {"--cohort"}),
       needs_option(given.of_images, {"--images"})},
      verb);
  if (given.is_cohort) check_effects(verb, cohort_rules(), given.cohort);
  const std::vector<EffectRule<std::string>> by_dependence = {
      {{"--lambda"},
       "--dependence relationship or families",
       [](const std::string& dependence) {
         return dependence == "blocks" ? "--dependence blocks" : "";
       }}};
  check_effects(verb, by_dependence, given.dependence);
}

}  // namespace

void add_simulate(CLI::App& app, Console& console) {
  auto given = std::make_shared<SimulateGiven>();
  auto* verb = app.add_subcommand(
      "simulate",
      "Simulate the paper's dependent data, a cohort with genotypes, or images");
  add_shape_options(*verb, *given);
  add_seed(*verb, given->seed, "Seed of all random numbers");
  verb->add_option("--out", given->out, "Folder to write")->required();
  add_overwrite(*verb, given->overwrite);
  verb->add_flag(
      "--cohort", given->is_cohort,
      "A cohort with genotypes and biomarkers; the options below are its own");
  given->of_cohorts =
      names_of_added_options(*verb, [&] { add_cohort_options(*verb, *given); });
  verb->add_flag("--images", given->are_images,
                 "Images of people, a few with most of them; the options below are its "
                 "own, besides --rows, --valid-rows and --test-rows");
  given->of_images =
      names_of_added_options(*verb, [&] { add_image_options(*verb, *given); });
  verb->callback([given, verb, &console] {
    check_options(*given, *verb);
    const auto replaced = earlier_files(*given);
    if (given->is_cohort) {
      simulate_people(*given, replaced);
    } else if (given->are_images) {
      simulate_pictures(*given, replaced, console);
    } else {
      simulate_shape(*given, replaced, console);
    }
  });
}

}  // namespace kinflow::cli
