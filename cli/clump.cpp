// kinflow clump: loci from a table of association tests.
#include "kinflow/genetics/clump.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <memory>

#include "commands.h"
#include "genotype_options.h"
#include "kinflow/core/counted.h"
#include "kinflow/core/error.h"
#include "kinflow/report/text_table.h"
#include "kinflow/statistics/p_value.h"
#include "options.h"

namespace kinflow::cli {
namespace {

constexpr std::size_t kShownLoci = 20;

struct ClumpGiven {
  std::string table, bfile, out;
  AssociationFields fields;
  ClumpOptions options;
  bool nonfounders = false, overwrite = false;
};

std::vector<std::int64_t> people_of(const Genotypes& genotypes, bool nonfounders) {
  if (nonfounders) return all_people(genotypes);
  const auto rows = founders(genotypes);
  if (rows.empty()) {
    throw InputError(genotypes.prefix() +
                     ".fam: expected people without parents, found none; with "
                     "--nonfounders r2 is that of everyone");
  }
  return rows;
}

void warn_of_unknown(const ClumpGiven& given, const MatchedTests& tests,
                     Console& console) {
  if (tests.unknown_index == 0) return;
  console.warning(fmt::format(
      "{}: {} with p-values up to {:g} not in {}.bim and left out, the first is '{}'",
      given.table, counted(tests.unknown_index, "variant"), given.options.p1,
      given.bfile, tests.first_unknown_index));
}

void print_report(const ClumpGiven& given, const Genotypes& genotypes,
                  std::size_t people, const MatchedTests& tests,
                  const std::vector<Locus>& loci) {
  const auto with_p =
      std::count_if(tests.log10_p.begin(), tests.log10_p.end(),
                    [](double log10_p) { return !std::isnan(log10_p); });
  const auto& options = given.options;
  fmt::print("{}, {} of them with p-values of variants of {}.bim\n",
             counted(tests.rows, "row"), with_p, given.bfile);
  fmt::print("r2 over {} of {} people\n", people, genotypes.people().size());
  fmt::print("{}: p up to {:g}, r2 above {:g} within {:g} kb\n",
             counted(loci.size(), "locus", "loci"), options.p1, options.r2, options.kb);
  if (loci.empty()) return;
  TextTable table({{"locus"},
                   {"index", Align::kLeft},
                   {"chromosome", Align::kLeft},
                   {"position"},
                   {"p"},
                   {"SNPs"},
                   {"kb"}});
  for (std::size_t i = 0; i < std::min(kShownLoci, loci.size()); ++i) {
    const auto& locus = loci[i];
    const auto& index = genotypes.variants()[static_cast<std::size_t>(locus.index)];
    table.add_row(
        {std::to_string(i + 1), index.id, index.chromosome,
         std::to_string(index.position), format_p(locus.log10_p),
         std::to_string(locus.members.size() + 1),
         fmt::format("{:.1f}", 1e-3 * static_cast<double>(locus.end - locus.start))});
  }
  fmt::print("\n{}", table.plain());
  if (loci.size() > kShownLoci) fmt::print("and {} more\n", loci.size() - kShownLoci);
}

void run_clump(const ClumpGiven& given, Console& console) {
  const std::string out = given.out + ".loci.tsv";
  check_not_an_input(out, {given.table, given.bfile + ".bed", given.bfile + ".bim",
                           given.bfile + ".fam"});
  require_no_result({out}, given.overwrite);
  const Genotypes genotypes(given.bfile);
  const auto people = people_of(genotypes, given.nonfounders);
  const auto tests = match_tests(given.table, given.fields, genotypes, given.options);
  const auto loci = clump(genotypes, people, tests.log10_p, given.options);
  write_loci(out, loci, genotypes.variants());
  warn_of_unknown(given, tests, console);
  if (tests.elsewhere > 0) {
    console.warning(fmt::format(
        "{}: {} at another place than in {}.bim, which counts, the first is {}; is it "
        "another genome build, or another study?",
        given.table, counted(tests.elsewhere, "variant"), given.bfile,
        tests.first_elsewhere));
  }
  if (tests.zeros > 1) {
    console.warning(
        fmt::format("{}: {} p-values of 0, whose order is not known; a column LOG10P "
                    "with -log10 of "
                    "p-values gives it",
                    given.table, tests.zeros));
  }
  print_report(given, genotypes, people.size(), tests, loci);
  console.info(out + ": written");
}

}  // namespace

void add_clump(CLI::App& app, Console& console) {
  auto given = std::make_shared<ClumpGiven>();
  auto* verb = app.add_subcommand(
      "clump", "Group associated variants into loci, as plink 1.9's --clump does");
  auto& options = given->options;
  verb->add_option("table", given->table,
                   "Association tests: PFX.assoc.tsv, or plink's or GEMMA's, plain or "
                   "gzipped")
      ->required();
  verb->add_option("--bfile", given->bfile, "Prefix of bed, bim and fam files for r2")
      ->required();
  add_locus_options(*verb, options);
  verb->add_option("--snp-field", given->fields.id,
                   "Column of variant ids (default: ID, SNP or rs)");
  verb->add_option(
      "--p-field", given->fields.p,
      "Column of p-values (default: P, p_score, p_wald, p_lrt or PVAL), or "
      "LOG10P, LOG10_P or NEG_LOG10_P of their -log10, which counts where "
      "both are there");
  verb->add_option("--chr-set", options.autosomes, "Number of autosomes")
      ->check(integer_in(1, 95));
  verb->add_flag("--nonfounders", given->nonfounders,
                 "Take r2 over everyone, not only over people without parents");
  verb->add_option("--out", given->out, "Prefix: PREFIX.loci.tsv is written")
      ->required();
  add_overwrite(*verb, given->overwrite);
  verb->callback([given, &console] {
    given->bfile = genotype_prefix(given->bfile);
    run_clump(*given, console);
  });
}

}  // namespace kinflow::cli
