// Association studies: simulated cohorts, and real data by groups of traits.
#include <fmt/format.h>

#include "kinflow/array/device.h"
#include "studies/experiments.h"
#include "studies/gwas_cohorts.h"
#include "studies/gwas_groups.h"
#include "studies/study_parts.h"

namespace kinflow {
namespace {

using nlohmann::json;

const char* const kPower =
    "\n### Simulated cohorts with known loci\n\nEvery seed is a cohort of families in "
    "two populations, with six biomarkers that are curved against each other and not "
    "normal, and 36 causal loci; 2,000 more variants have small effects, and six of 22 "
    "chromosomes have none. A locus is found at 0.05 over the number of variants "
    "(clumped as by `kinflow clump`). It is true within 250 kb of a causal variant, "
    "each counted once, and false on a chromosome without effects; *elsewhere* are "
    "those that small effects may have made. *Single*: a mixed model for each "
    "biomarker (rank-normal), the smallest p-value times their number. All others test "
    "jointly: the rank-normal biomarkers, or latents of a flow of them, or of the "
    "biomarkers themselves; *adjusted* with the people's relationship in the "
    "likelihood, *baseline* without. Flows as in `kinflow gwas`, where the likelihood "
    "chooses between a lambda that latents share and one of each latent; of the "
    "rank-normal biomarkers also with either. Relationships without the chromosome "
    "that "
    "is tested.\n\n";
const char* const kNull =
    "\n### Chromosomes without effects\n\nThe same methods in other cohorts: three "
    "populations, and half of the chromosomes without effects and with variants that "
    "are almost independent; these are tested. *Single* is here every biomarker by "
    "itself.\n\n";
const char* const kGroups =
    "\n### Mice\n\nLoci of groups of blood traits of heterogeneous stock mice at 0.05 "
    "over the number of variants; sex, age, season and year as covariates; a centred "
    "relationship of all chromosomes, as in the paper. Means over trainings.\n\n";

const char* const kLeftOut =
    "\nLeft out by --quick: half of the people of the cohorts, of whom there are "
    "2,000, three quarters of the variants of null cohorts, two of three trainings on "
    "the mice, and all "
    "cohorts but two unless --seeds says otherwise.\n";

}  // namespace

ExperimentReport reproduce_gwas(const ExperimentOptions& options,
                                const std::string& data, Logger& logger) {
  // Parts run beside each other, each in one thread.
  set_threads(1);
  // Of several parts at once nobody could tell whose messages they are.
  Logger silent;
  std::vector<StudyPart> parts;
  for (const auto seed : seeds_of(options)) {
    parts.push_back({fmt::format("cohort-{}", seed),
                     [&, seed] { return run_power_cohort(options, seed, silent); }});
  }
  for (const double environment : {0.0, kFamilyEnvironment}) {
    for (const auto seed : seeds_of(options)) {
      parts.push_back(
          {fmt::format("null-{}-{}", environment, seed), [&, environment, seed] {
             return run_null_cohort(options, seed, environment, silent);
           }});
    }
  }
  const auto groups = data.empty() ? std::vector<TraitGroup>() : mice_groups();
  const auto repeats = options.quick ? 1 : kGroupRepeats;
  for (const auto& group : groups) {
    for (std::int64_t repeat = 1; repeat <= repeats; ++repeat) {
      parts.push_back({fmt::format("{}-{}", group.name, repeat), [&, repeat] {
                         return run_gwas_group(options, data, group,
                                               static_cast<std::uint64_t>(repeat),
                                               silent);
                       }});
    }
  }
  const auto place = study_place(options, "gwas", {{"data", data}});
  const StudyFolder folder(place.directory, place.description, place.overwrite);
  const auto results = run_parts(parts, folder, options, logger);
  const auto piece = [&](std::int64_t number) {
    const auto first = results.begin() + number * options.seeds;
    return std::vector<json>(first, first + options.seeds);
  };
  ExperimentReport report;
  report.markdown = heading("Association studies", options) +
                    provenance(options, "gwas", folder.seconds()) +
                    (options.quick ? kLeftOut : "") + kPower + power_report(piece(0)) +
                    kNull + null_report(piece(1), piece(2));
  if (!groups.empty()) {
    report.markdown +=
        kGroups +
        gwas_group_report(groups, {results.begin() + 3 * options.seeds, results.end()});
  }
  write_report(options, "gwas", report);
  return report;
}

}  // namespace kinflow
