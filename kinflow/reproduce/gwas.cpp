// Association studies: simulated cohorts, and real data by groups of traits.
#include <fmt/format.h>

#include "kinflow/core/device.h"
#include "kinflow/reproduce/experiments.h"
#include "kinflow/reproduce/gwas_cohorts.h"
#include "kinflow/reproduce/gwas_groups.h"
#include "kinflow/reproduce/study_folder.h"

namespace kinflow {
namespace {

using nlohmann::json;

/// Parts of a study, each of which is kept when it is finished.
class Parts {
 public:
  Parts(const ExperimentOptions& options, const json& description, std::int64_t total,
        Logger& logger)
      : place_(study_place(options, "gwas", description)),
        folder_(place_.directory, place_.description),
        total_(total),
        logger_(logger) {}

  template <typename Run>
  json get(const std::string& name, const Run& run) {
    auto known = folder_.find(name);
    if (!known) {
      known = run();
      folder_.keep(name, *known);
    }
    logger_.progress({.job = "reproduce",
                      .done = ++done_,
                      .total = total_,
                      .unit = "part",
                      .status = name,
                      .seconds_left = -1});
    return *known;
  }
  double seconds() const { return folder_.seconds(); }

 private:
  StudyPlace place_;
  StudyFolder folder_;
  std::int64_t total_, done_ = 0;
  Logger& logger_;
};

}  // namespace

ExperimentReport reproduce_gwas(const ExperimentOptions& options,
                                const std::string& data, Logger& logger) {
  set_threads(options.threads);
  const auto groups = data.empty() ? std::vector<TraitGroup>() : mice_groups();
  const auto repeats = options.quick ? 1 : kGroupRepeats;
  Parts parts(options, {{"data", data}},
              options.seeds + static_cast<std::int64_t>(groups.size()) * repeats,
              logger);
  std::vector<json> cohorts, studies;
  for (const auto& group : groups) {
    for (std::int64_t repeat = 0; repeat < repeats; ++repeat) {
      const auto name = fmt::format("{}-{}", group.name, repeat + 1);
      studies.push_back(parts.get(name, [&] {
        return run_gwas_group(options, data, group, static_cast<std::uint64_t>(repeat),
                              logger);
      }));
    }
  }
  for (const auto seed : seeds_of(options)) {
    cohorts.push_back(parts.get(fmt::format("cohort-{}", seed), [&] {
      return run_gwas_cohort(options, seed, logger);
    }));
  }
  ExperimentReport report;
  report.markdown = heading("Association studies", options) +
                    provenance(options, "gwas", parts.seconds()) + "\n" +
                    gwas_cohort_report(cohorts);
  if (!studies.empty()) {
    report.markdown += "\n" + gwas_group_report(groups, studies);
  }
  write_report(options.directory, "gwas", report);
  return report;
}

}  // namespace kinflow
