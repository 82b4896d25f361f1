// Chromosome by chromosome to the disk, then traits and tables.
#include "kinflow/genetics/simulate_cohort.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

#include "kinflow/core/atomic_file.h"
#include "kinflow/core/counted.h"
#include "kinflow/core/error.h"
#include "kinflow/core/map_in_order.h"
#include "kinflow/core/memory.h"
#include "kinflow/core/output_folder.h"
#include "kinflow/genetics/write_genotypes.h"

namespace kinflow {
namespace {

/// InputError for what can be seen before anything is made.
void check_beforehand(const SimulateCohortOptions& options) {
  check_cohort_options(options);
  const double snps = static_cast<double>(options.snps / options.chromosomes + 1);
  const auto people = static_cast<double>(options.people);
  const double ancestors =
      static_cast<double>(options.populations * options.ancestral_haplotypes);
  const double tables = 8 * 5 * people * static_cast<double>(options.traits);
  require_memory(
      snps / 8 * (2 * people + ancestors) + 400 * snps + tables + 1000 * people,
      "[simulate]", "the haplotypes of a chromosome",
      "fewer people, or more chromosomes");
}

/// Writes a chromosome's genotypes.
void write_chromosome(const SimulateCohortOptions& options,
                      const SimulatedChromosome& chromosome, std::int64_t threads,
                      GenotypeWriter& writer) {
  const auto blocks = static_cast<std::int64_t>(chromosome.haplotypes.words());
  const auto row_bytes = static_cast<std::size_t>(bed_row_bytes(options.people));
  std::int64_t next = 0;
  std::size_t written = 0;
  map_in_order(
      threads,
      [&]() -> std::optional<std::int64_t> {
        if (next == blocks) return std::nullopt;
        return next++;
      },
      [&](std::int64_t block) { return packed_rows(options, chromosome, block); },
      [&](const std::string& rows) {
        for (std::size_t at = 0; at < rows.size(); at += row_bytes) {
          writer.add_packed(chromosome.sites.variants[written++],
                            std::string_view(rows).substr(at, row_bytes));
        }
      });
}

/// The cohort, with genotypes handed to a writer that is not finished yet.
struct UnfinishedCohort {
  SimulatedCohort cohort;
  std::unique_ptr<GenotypeWriter> genotypes;
};

UnfinishedCohort draw_cohort(const SimulateCohortOptions& options,
                             const std::string& prefix, const CohortWork& work) {
  UnfinishedCohort made;
  auto& cohort = made.cohort;
  cohort.options = options;
  GeneticValues genetic(options);
  cohort.families = simulate_families(options);
  for (const auto& family : cohort.families) {
    for (const auto& member : family.members) {
      if (member.row < 0) continue;
      cohort.people.push_back(member.person);
      cohort.age.push_back(member.age);
    }
  }
  made.genotypes = std::make_unique<GenotypeWriter>(prefix, cohort.people);
  Workers workers(work.threads);
  for (std::int64_t c = 0; c < options.chromosomes; ++c) {
    if (work.stop != nullptr && *work.stop) {
      throw Interrupted("stopped; nothing was written");
    }
    const auto chromosome = simulate_chromosome(options, cohort.families, c, workers);
    genetic.add(chromosome);
    write_chromosome(options, chromosome, work.threads, *made.genotypes);
  }
  cohort.effects = genetic.effects();
  cohort.traits = simulate_traits(options, cohort.families, genetic.finish());
  return made;
}

/// FID, IID and columns of numbers, NA where there is none.
std::string table_lines(const SimulatedCohort& cohort,
                        const std::vector<std::string>& names,
                        const std::function<double(std::size_t, std::size_t)>& value) {
  std::string lines = "FID\tIID";
  for (const auto& name : names) lines += "\t" + name;
  lines += "\n";
  for (std::size_t i = 0; i < cohort.people.size(); ++i) {
    const auto& id = cohort.people[i].id;
    lines += id.family + "\t" + id.individual;
    for (std::size_t t = 0; t < names.size(); ++t) {
      const double number = value(i, t);
      lines += std::isnan(number) ? "\tNA" : fmt::format("\t{}", number);
    }
    lines += "\n";
  }
  return lines;
}

std::vector<std::string> numbered(const std::string& prefix, std::int64_t count) {
  std::vector<std::string> names;
  for (std::int64_t i = 1; i <= count; ++i) names.push_back(prefix + std::to_string(i));
  return names;
}

std::string trait_name(std::int64_t trait) {
  return "trait" + std::to_string(trait + 1);
}

std::string truth_lines(const SimulatedCohort& cohort) {
  std::string lines = "CHROM\tPOS\tID\tA1\tA2\tA1_FREQ\tTRAIT\tEFFECT\tVARIANCE\n";
  for (const auto& effect : cohort.effects) {
    const auto& variant = effect.variant;
    lines += fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n", variant.chromosome,
                         variant.position, variant.id, variant.a1, variant.a2,
                         effect.frequency, trait_name(effect.trait), effect.effect,
                         effect.share);
  }
  return lines;
}

std::string pedigree_lines(const SimulatedCohort& cohort) {
  const auto or_zero = [](const std::string& id) { return id.empty() ? "0" : id; };
  std::string lines = "FID\tIID\tFATHER\tMOTHER\tSEX\n";
  for (const auto& family : cohort.families) {
    for (const auto& member : family.members) {
      const auto& person = member.person;
      lines +=
          fmt::format("{}\t{}\t{}\t{}\t{}\n", person.id.family, person.id.individual,
                      or_zero(person.father), or_zero(person.mother), person.sex);
    }
  }
  return lines;
}

void write_tables(const std::string& directory, const SimulatedCohort& cohort) {
  const auto write = [&](const std::string& name, const std::string& lines) {
    write_file_atomically((std::filesystem::path(directory) / name).string(), lines);
  };
  const auto count = cohort.options.traits;
  const auto traits = static_cast<std::size_t>(count);
  const auto& drawn = cohort.traits;
  write("pheno.tsv", table_lines(cohort, numbered("trait", count),
                                 [&](std::size_t i, std::size_t t) {
                                   return drawn.biomarkers[i * traits + t];
                                 }));
  write("covar.tsv",
        table_lines(cohort, {"age", "sex"}, [&](std::size_t i, std::size_t t) {
          return t == 0 ? cohort.age[i] : cohort.people[i].sex;
        }));
  auto names = numbered("u", count);
  for (auto& name : numbered("g", count)) names.push_back(std::move(name));
  write("latents.tsv", table_lines(cohort, names, [&](std::size_t i, std::size_t t) {
          return t < traits ? drawn.latents[i * traits + t]
                            : drawn.genetic[i * traits + t - traits];
        }));
  write("truth.tsv", truth_lines(cohort));
  write("pedigree.tsv", pedigree_lines(cohort));
  write("report.txt", cohort_report(cohort));
}

struct Moments {
  double variance = 0, skewness = 0;
  std::int64_t count = 0;
};

/// Of a column, missing values left out.
Moments moments_of(const std::vector<double>& values, std::size_t columns,
                   std::size_t column) {
  Moments found;
  double sum = 0;
  const auto each = [&](const auto& use) {
    for (std::size_t i = column; i < values.size(); i += columns) {
      if (!std::isnan(values[i])) use(values[i]);
    }
  };
  each([&](double value) {
    sum += value;
    ++found.count;
  });
  const auto count = static_cast<double>(found.count);
  const double mean = sum / count;
  double third = 0;
  each([&](double value) {
    found.variance += std::pow(value - mean, 2) / count;
    third += std::pow(value - mean, 3) / count;
  });
  found.skewness = third / std::pow(found.variance, 1.5);
  return found;
}

}  // namespace

SimulatedCohort simulate_cohort(const SimulateCohortOptions& options,
                                const std::string& prefix, const CohortWork& work) {
  check_beforehand(options);
  auto made = draw_cohort(options, prefix, work);
  made.genotypes->finish();
  return std::move(made.cohort);
}

SimulatedCohort write_simulated_cohort(const std::string& directory,
                                       const SimulateCohortOptions& options,
                                       const CohortWork& work,
                                       const ResultFiles& replaced) {
  check_beforehand(options);
  SimulatedCohort cohort;
  const auto write = [&] {
    const auto prefix = (std::filesystem::path(directory) / "cohort").string();
    auto made = draw_cohort(options, prefix, work);
    write_tables(directory, made.cohort);
    made.genotypes->finish();
    cohort = std::move(made.cohort);
  };
  fill_folder(directory, write, replaced);
  return cohort;
}

ResultFiles cohort_files(const std::string& directory) {
  ResultFiles files;
  for (const char* name :
       {"cohort.bed", "cohort.bim", "cohort.fam", "pheno.tsv", "covar.tsv", "truth.tsv",
        "latents.tsv", "pedigree.tsv", "report.txt"}) {
    files.push_back((std::filesystem::path(directory) / name).string());
  }
  return files;
}

std::string cohort_report(const SimulatedCohort& cohort) {
  const auto& options = cohort.options;
  std::int64_t families = 0, relatives = 0, pedigree_only = 0, admixed = 0;
  for (const auto& family : cohort.families) {
    const bool is_family = family.members.size() > 1;
    families += is_family;
    for (const auto& member : family.members) {
      relatives += is_family && member.row >= 0;
      pedigree_only += member.row < 0;
    }
    admixed += std::count(family.ancestry.begin(), family.ancestry.end(), 1.0) == 0;
  }
  std::string text = fmt::format(
      "{} people: {} in {}, {} single; {} more in the pedigree only\n"
      "{}, F_ST {}; admixed families and single people: {}\n"
      "{} on {}, {:.4g}% of calls missing\n"
      "{} of {}; heritability {}, family environment {}\n\n"
      "trait     heritability  skewness  missing  age effect  sex effect\n",
      options.people, relatives, counted(families, "family", "families"),
      options.people - relatives, pedigree_only,
      counted(options.populations, "population"), options.fst, admixed,
      counted(options.snps, "SNP"), counted(options.chromosomes, "chromosome"),
      100 * options.missing_calls, counted(cohort.effects.size(), "effect"),
      counted(options.loci, "causal locus", "causal loci"), options.heritability,
      options.family_environment);
  const auto traits = static_cast<std::size_t>(options.traits);
  const auto& drawn = cohort.traits;
  for (std::size_t t = 0; t < traits; ++t) {
    const auto biomarker = moments_of(drawn.biomarkers, traits, t);
    text += fmt::format("{:<8}  {:12.3f}  {:8.2f}  {:7}  {:10.4g}  {:10.4g}\n",
                        trait_name(static_cast<std::int64_t>(t)),
                        moments_of(drawn.genetic, traits, t).variance /
                            moments_of(drawn.latents, traits, t).variance,
                        biomarker.skewness, options.people - biomarker.count,
                        drawn.covariates.age[t], drawn.covariates.sex[t]);
  }
  return text;
}

}  // namespace kinflow
