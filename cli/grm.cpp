// kinflow grm: relationship matrices from genotypes.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "commands.h"
#include "genotype_options.h"
#include "kinflow/array/device.h"
#include "kinflow/data/write_relationship.h"
#include "kinflow/genetics/relationship_from_snps.h"
#include "kinflow/report/text_table.h"
#include "options.h"

namespace kinflow::cli {
namespace {

using Kind = SnpRelationshipKind;

struct GrmGiven {
  GenotypeGiven genotypes;
  std::string kind = kDefaultRelationshipKind, out;
  bool loco = false, gemma = false, overwrite = false;
  std::int64_t threads = 1;

  Kind chosen_kind() const {
    if (kind == "centered") return Kind::centered;
    return gemma ? Kind::unit_variance : Kind::standardized;
  }
  /// Files of all matrices, also of chromosomes that the genotypes no longer have.
  ResultFiles results() const {
    ResultFiles files;
    for (const auto& ending : files_of_relationship(path(""))) {
      const auto found =
          loco ? paths_between(out + ".chr", ending) : ResultFiles{out + ending};
      files.insert(files.end(), found.begin(), found.end());
    }
    return files;
  }
  std::string path(const std::string& prefix) const {
    if (!gemma) return prefix + ".grm.bin";
    return prefix + (kind == "centered" ? ".cXX.txt" : ".sXX.txt");
  }
};

/// Writes matrices and remembers what to say of them.
class MatrixWriter {
 public:
  MatrixWriter(const GrmGiven& given, Console& console)
      : given_(given),
        console_(console),
        table_({{"file", Align::kLeft}, {"people"}, {"variants"}, {"mean diagonal"}}) {}

  void write(const std::string& prefix, const RelationshipFile& file) {
    const std::string path = given_.path(prefix);
    if (!has_room_) remove_result(given_.results());
    has_room_ = true;
    write_relationship(path, file);
    console_.info(path + ": written");
    table_.add_row({path, std::to_string(file.rows),
                    fmt::format("{:.6g}", file.variants),
                    fmt::format("{:.6f}", mean_diagonal(file))});
  }
  std::string table() const { return table_.plain(); }

 private:
  const GrmGiven& given_;
  Console& console_;
  bool has_room_ = false;
  TextTable table_;
};

void check_outputs(const GrmGiven& given) {
  const auto inputs = given.genotypes.inputs();
  for (const auto& path : given.results()) check_not_an_input(path, inputs);
  require_no_result(given.results(), given.overwrite);
}

const std::vector<EffectRule<GrmGiven>>& grm_rules() {
  static const std::vector<EffectRule<GrmGiven>> rules = {
      {{"--nonfounders"},
       "--kind standardized without --gemma, --maf or --hwe, which need frequencies,",
       [](const GrmGiven& given) -> std::string {
         const auto& filters = given.genotypes.variants;
         const bool is_used = given.chosen_kind() == Kind::standardized ||
                              filters.least_minor_frequency.has_value() ||
                              filters.least_hardy_weinberg_p.has_value();
         if (is_used) return "";
         return given.kind == "centered" ? "--kind centered" : "--gemma";
       }}};
  return rules;
}

void make_matrices(const GrmGiven& given, Console& console) {
  check_outputs(given);
  const Genotypes genotypes(given.genotypes.prefix);
  auto filters = given.genotypes.variants;
  filters.only_autosomes = true;
  const Chosen people = choose_people(genotypes, given.genotypes.people);
  const Chosen variants = choose_variants(genotypes, people.rows, filters);
  const SnpRelationshipOptions options{.kind = given.chosen_kind(),
                                       .autosomes = filters.autosomes,
                                       .with_nonfounders = filters.with_nonfounders};
  MatrixWriter writer(given, console);
  if (given.loco) {
    visit_leaving_chromosomes_out(
        genotypes, people.rows, variants.rows, options,
        [&](const ChromosomeVariants& left_out, const RelationshipFile& file) {
          writer.write(given.out + ".chr" + short_chromosome_name(left_out.name), file);
        });
  } else {
    writer.write(given.out,
                 snp_relationship(genotypes, people.rows, variants.rows, options));
  }
  fmt::print("{}\n{}", filter_table(people, variants), writer.table());
}

}  // namespace

void add_grm(CLI::App& app, Console& console) {
  auto given = std::make_shared<GrmGiven>();
  auto* verb = app.add_subcommand(
      "grm", "Compute relationship matrices from genotypes of the autosomes and XY");
  add_genotype_options(*verb, given->genotypes);
  verb->add_option(
          "--kind", given->kind,
          "Genotypes with their mean taken off (centered, as GEMMA; the default "
          "of grm and gwas), or also divided by what their deviation is in "
          "equilibrium (standardized, as plink and GCTA)")
      ->check(one_of({"centered", "standardized"}));
  verb->add_flag("--loco", given->loco,
                 "A matrix PREFIX.chrN for every chromosome N, from all others");
  verb->add_flag(
      "--gemma", given->gemma,
      "Write GEMMA's PREFIX.cXX.txt (centered) or PREFIX.sXX.txt in place of "
      "PREFIX.grm.bin");
  add_threads(*verb, given->threads);
  verb->add_option("--out", given->out, "Prefix of the files to write")->required();
  add_overwrite(*verb, given->overwrite);
  verb->callback([given, verb, &console] {
    check_effects(*verb, grm_rules(), *given);
    given->genotypes.prefix = genotype_prefix(given->genotypes.prefix);
    set_threads(given->threads);
    make_matrices(*given, console);
  });
}

}  // namespace kinflow::cli
