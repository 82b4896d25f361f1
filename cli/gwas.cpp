// kinflow gwas: traits of related people against genotypes.
#include "kinflow/gwas/gwas.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "fit_options.h"
#include "genotype_options.h"
#include "gwas_views.h"
#include "kinflow/array/device.h"
#include "kinflow/core/error.h"
#include "kinflow/data/relationship_format.h"
#include "kinflow/gwas/flow_traits.h"
#include "kinflow/gwas/study_files.h"
#include "kinflow/pages/gwas_page.h"
#include "options.h"
#include "write_report.h"

namespace kinflow::cli {
namespace {

const Names<TraitTransform> kTransforms = {{"flow", TraitTransform::flow},
                                           {"rank-normal", TraitTransform::rank_normal},
                                           {"none", TraitTransform::none}};
const Names<CovariateUse> kCovariateUses = {{"residuals", CovariateUse::residuals},
                                            {"context", CovariateUse::context}};
const Names<FlowInput> kFlowInputs = {{"raw", FlowInput::raw},
                                      {"rank-normal", FlowInput::rank_normal}};
const Names<TestKind> kTests = {{"score", TestKind::score}, {"wald", TestKind::wald}};
const Names<SnpRelationshipKind> kKinds = {
    {"centered", SnpRelationshipKind::centered},
    {"standardized", SnpRelationshipKind::standardized}};

struct GwasGiven {
  GwasRequest request;
  GenotypeGiven genotypes;
  FitGiven fit;
  std::string grm, relationship, kind = kDefaultRelationshipKind;
  std::string transform = "flow", covariates = "residuals", test = "score";
  std::string flow_input = "rank-normal";
  std::optional<MinusNine> minus_nine;
  bool no_report = false;
  std::vector<std::string> of_flow;  // names of options that only a flow has

  GwasRequest resolve() const;
};

GwasRequest GwasGiven::resolve() const {
  auto made = request;
  auto& data = made.data;
  data.bfile = genotypes.prefix;
  data.people = genotypes.people;
  data.variants = genotypes.variants;
  data.relationship = grm.empty() ? relationship : grm;
  data.kind = chosen(kKinds, kind);
  data.traits.minus_nine = data.covariates.minus_nine =
      minus_nine.value_or(MinusNine::careful);
  made.transform = chosen(kTransforms, transform);
  made.covariate_use = chosen(kCovariateUses, covariates);
  made.flow_input = chosen(kFlowInputs, flow_input);
  made.test = chosen(kTests, test);
  made.clump.autosomes = data.variants.autosomes;
  auto flow = fit;
  flow.independent = fit.schedule == "baseline";
  if (flow.independent) {
    // Without an effect there, as check_options() says.
    flow.dependence.request.per_latent.reset();
  } else {
    flow.dependence.request.id = {"FID", "IID"};
    flow.dependence.request.relationships = {
        data.relationship.empty() ? made.out + ".flow.grm.bin" : data.relationship};
  }
  flow.request.data.table = made.out + ".traits.tsv";
  // What was missing is not in it.
  flow.request.data.minus_nine = MinusNine::value;
  flow.request.threads = made.threads;
  made.flow = flow.resolve();
  return made;
}

void add_table_options(CLI::App& verb, GwasGiven& given) {
  auto& data = given.request.data;
  verb.add_option("--pheno", data.traits.path,
                  "Table of traits with a header: FID and IID, or IID, and numbers")
      ->required();
  add_names(verb, "--pheno-name", data.traits.columns,
            "Traits to test, comma-separated (default: all columns)");
  verb.add_option("--covar", data.covariates.path, "Table of covariates, like --pheno");
  add_names(verb, "--covar-name", data.covariates.columns,
            "Covariates, comma-separated, PC{1:10} for ten of them (default: all "
            "columns)");
  add_names(verb, "--cat-covar", data.covariates.categories,
            "Covariates whose numbers are categories");
  add_minus_nine(verb, given.minus_nine,
                 "What -9 stands for (default: careful, which is missing, and asks "
                 "where the column has such values)");
}

void add_relationship_options(CLI::App& verb, GwasGiven& given) {
  auto& data = given.request.data;
  verb.add_option("--grm", given.grm,
                  "Prefix of a relationship matrix: PREFIX.grm.bin (default: "
                  "from the genotypes)");
  verb.add_option("--relationship", given.relationship,
                  "File of a relationship matrix, of any tool (see docs/formats.md)");
  verb.add_option("--relationship-ids", data.relationship_ids,
                  "Ids of its rows (default: the file beside it)");
  verb.add_flag("--relationship-by-position", data.relationship_by_position,
                "In place of ids: its rows are those of the .fam, in this order");
  add_choice(verb, "--kind", given.kind, kKinds,
             "How a relationship is made from the genotypes of the autosomes and XY; "
             "the default is that of kinflow grm");
  verb.add_flag("--loco", data.leave_chromosome_out,
                "Test a variant with the relationship of all other chromosomes; with "
                "--grm those of PREFIX.chrN");
  verb.add_option("--prune-r2", data.prune_r2,
                  "Of two variants with a larger r2 leave out one")
      ->check(number_in(0, 1));
  verb.add_option("--prune-kb", data.prune_kb, "Window of --prune-r2")
      ->check(number_in(0, 1e7));
}

void add_test_options(CLI::App& verb, GwasGiven& given) {
  auto& request = given.request;
  add_choice(verb, "--transform", given.transform, kTransforms,
             "What becomes of the traits before the tests");
  add_choice(verb, "--covar-use", given.covariates, kCovariateUses,
             "The flow sees what the covariates leave of the traits, or has them as "
             "context");
  add_choice(verb, "--flow-input", given.flow_input, kFlowInputs,
             "The flow sees traits as they are, or normal scores of their ranks");
  add_choice(verb, "--test", given.test, kTests,
             "Score test at the null model, or Wald test with variances for every "
             "variant");
  verb.add_flag(
      "--single", request.single,
      "Also test every trait by itself, rank-normal, with PREFIX.single files");
  add_locus_options(verb, request.clump);
  verb.add_flag("--gz", request.zipped, "Write PREFIX.assoc.tsv.gz");
}

/// InputError for options without an effect.
void check_options(const GwasGiven& given, const GwasRequest& request,
                   const CLI::App& verb) {
  check_effects(
      verb,
      {idle_beside({"--relationship"}, "--grm"),
       needs_option({"--covar-name", "--cat-covar", "--covar-use"}, {"--covar"}),
       needs_option({"--relationship-ids", "--relationship-by-position"},
                    {"--grm", "--relationship"}),
       idle_beside({"--relationship-ids"}, "--relationship-by-position"),
       needs_option({"--prune-kb"}, {"--prune-r2"}), idle_beside({"--kind"}, "--grm"),
       idle_beside({"--kind"}, "--relationship")},
      verb);
  const std::vector<EffectRule<GwasGiven>> rules = {
      {given.of_flow, "--transform flow",
       [](const GwasGiven& g) {
         return g.transform == "flow" ? "" : "--transform " + g.transform;
       }},
      {{"--loco"},
       "--grm PREFIX, with PREFIX.chrN.grm.bin for every chromosome, or no "
       "relationship",
       [](const GwasGiven& g) {
         return g.relationship.empty() ? "" : "--relationship " + g.relationship;
       }}};
  check_effects(verb, rules, given);
  check_effects(verb, fit_rules(), {given.fit, request.flow});
  refuse_idle_options(find_idle_values(verb, request.flow));
}

/// Defaults of the options of a flow.
void prefer(const FitRequest& defaults, FitGiven& given) {
  given.patience = defaults.train.patience;
  given.request.replicas = defaults.replicas;
}

/// The options of the flow and its training, in a group of their own, with the defaults
/// of a flow of traits in place of those of kinflow fit.
void add_options_of_flow(CLI::App& verb, FitGiven& given) {
  const auto others = verb.get_options();
  add_flow_options(verb, given);
  add_device(verb, given.request.device);
  for (auto* option : verb.get_options()) {
    if (std::find(others.begin(), others.end(), option) == others.end()) {
      option->group("Flow of the traits (--transform flow)");
    }
  }
  const auto& replicas = given.request.replicas;
  for (const auto& [name, value] :
       {std::pair{"--patience", fmt::format("{}", *given.patience)},
        std::pair{"--weight-decay",
                  fmt::format("{}", fmt::join(replicas.weight_decays, ","))},
        std::pair{"--memory-share",
                  fmt::format("{}", fmt::join(replicas.memory_shares, ","))}}) {
    auto* option = verb.get_option(name);
    auto text = option->get_description();
    const auto start = text.find(" (default: ");
    const auto end = text.find(')', start);
    option->description(fmt::format("{} (default: {}){}", text.substr(0, start), value,
                                    text.substr(end + 1)));
  }
}

/// The options that were typed, a line each.
std::vector<std::string> options_in_effect(const CLI::App& verb) {
  std::vector<std::string> lines;
  for (const auto* option : verb.get_options()) {
    if (option->count() == 0) continue;
    std::string line = option->get_name();
    if (option->get_items_expected_max() > 0) {
      line += fmt::format(" {}", fmt::join(option->results(), ","));
    }
    lines.push_back(line);
  }
  return lines;
}

/// The files of a relationship, which may be given by a prefix, and with --loco those
/// of all chromosomes.
std::vector<std::string> relationship_files(const GwasData& data) {
  if (data.relationship.empty()) return {};
  const auto found =
      find_relationship(data.relationship, {.ids = data.relationship_ids});
  std::vector<std::string> files = {found.matrix, found.ids, found.counts};
  if (!data.leave_chromosome_out) return files;
  const auto prefix = std::filesystem::absolute(data.relationship);
  const auto start = prefix.filename().string() + ".chr";
  std::error_code ignored;
  for (const auto& file :
       std::filesystem::directory_iterator(prefix.parent_path(), ignored)) {
    if (file.path().filename().string().starts_with(start)) {
      files.push_back(file.path().string());
    }
  }
  return files;
}

std::vector<std::string> input_files(const GwasGiven& given,
                                     const GwasRequest& request) {
  auto files = given.genotypes.inputs();
  files.push_back(request.data.traits.path);
  files.push_back(request.data.covariates.path);
  const auto of_relationship = relationship_files(request.data);
  files.insert(files.end(), of_relationship.begin(), of_relationship.end());
  std::erase(files, "");
  return files;
}

void run(const GwasGiven& given, const CLI::App& verb, Console& console) {
  auto request = given.resolve();
  check_options(given, request, verb);
  set_threads(request.threads);
  const auto inputs = input_files(given, request);
  const auto log_path = request.out + ".log";
  check_not_an_input(log_path, inputs);
  for (const auto& file : gwas_files(request.out)) check_not_an_input(file, inputs);
  RunLog log(console, options_in_effect(verb));
  try {
    const auto result = run_gwas(request, gwas_views(request), &stop_requested(), log);
    const auto text = gwas_summary(result, request);
    log.note(text);
    fmt::print("{}", text);
    for (const auto& file : result.files) log.info(file + ": written");
    log.write(log_path, "Finished.");
    if (!given.no_report) {
      write_report(
          request.out + ".report.html",
          [&] { return gwas_page(request.out, request.threads); }, console);
    }
  } catch (const Interrupted& interrupted) {
    log.write(log_path, fmt::format("Stopped: {}", interrupted.what()));
    throw;
  } catch (const NumericalError& error) {
    log.write(log_path, fmt::format("Error: {}", error.what()));
    throw;
  }
}

}  // namespace

void add_gwas(CLI::App& app, Console& console) {
  auto given = std::make_shared<GwasGiven>();
  prefer(default_trait_flow(/*adjusted=*/true), given->fit);
  auto* verb = app.add_subcommand(
      "gwas", "Test variants for association with traits of related people, jointly");
  add_genotype_options(*verb, given->genotypes);
  add_table_options(*verb, *given);
  add_relationship_options(*verb, *given);
  add_test_options(*verb, *given);
  given->of_flow =
      names_of_added_options(*verb, [&] { add_options_of_flow(*verb, given->fit); });
  given->of_flow.insert(given->of_flow.end(), {"--covar-use", "--flow-input"});
  add_threads(*verb, given->request.threads);
  verb->add_option("--out", given->request.out, "Prefix of the files to write")
      ->required();
  add_overwrite(*verb, given->request.overwrite);
  add_no_report(*verb, given->no_report);
  verb->callback([given, verb, &console] {
    given->genotypes.prefix = genotype_prefix(given->genotypes.prefix);
    run(*given, *verb, console);
  });
}

}  // namespace kinflow::cli
