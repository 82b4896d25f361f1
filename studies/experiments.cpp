// What all experiments say about themselves.
#include "studies/experiments.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <numeric>

#include "kinflow/core/atomic_file.h"
#include "kinflow/core/error.h"
#include "kinflow/core/version.h"
#include "kinflow/flow/cuda/cuda_backend.h"

namespace kinflow {
namespace {

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const auto colon = line.find(": ");
    if (line.rfind("model name", 0) == 0 && colon != std::string::npos) {
      return line.substr(colon + 2);
    }
  }
  return "unknown processor";
}

// Of names of sections.
std::string ending_of(const ExperimentOptions& options) {
  return fmt::format("{}{}",
                     options.first_seed == kFirstSeed
                         ? ""
                         : fmt::format("-from-{}", options.first_seed),
                     options.one_table ? "-one-table" : "");
}

}  // namespace

std::string machine_name(const std::string& device, std::int64_t threads) {
  if (device != "cpu") return "one " + device_name().value_or("unknown GPU");
  return fmt::format("{} core{} of an {}", threads, threads == 1 ? "" : "s",
                     processor_name());
}

StudyPlace study_place(const ExperimentOptions& options, const std::string& experiment,
                       const nlohmann::json& more) {
  nlohmann::json description = {
      {"experiment", experiment},       {"first_seed", options.first_seed},
      {"seeds", options.seeds},         {"quick", options.quick},
      {"one_table", options.one_table}, {"device", options.device}};
  description.update(more);
  return {.directory = options.directory,
          .description = std::move(description),
          .overwrite = options.overwrite,
          .device = options.device,
          .threads = options.threads,
          .stop = options.stop};
}

std::string heading(const std::string& title, const ExperimentOptions& options) {
  return fmt::format("## {}{}{}\n\n", title,
                     options.first_seed == kFirstSeed
                         ? ""
                         : fmt::format(", seeds from {}", options.first_seed),
                     options.one_table ? ", without a validation table" : "");
}

std::string provenance(const ExperimentOptions& options, const std::string& command,
                       double seconds) {
  return fmt::format(
      "`kinflow reproduce {}{}`, {}{}, on {} in {:.0f} s, kinflow {} ({}).\n", command,
      options.one_table ? " --one-table" : "",
      options.seeds == 1
          ? fmt::format("seed {}", options.first_seed)
          : fmt::format("{} seeds from {}", options.seeds, options.first_seed),
      options.quick ? " and reduced sweeps (--quick)" : "",
      machine_name(options.device, options.threads), seconds, version(), commit());
}

void write_report(const ExperimentOptions& options, const std::string& name,
                  const ExperimentReport& report) {
  const auto section = name + ending_of(options);
  write_file_atomically(options.directory + "/" + name + ".md",
                        fmt::format("<!-- begin {0} -->\n{1}<!-- end {0} -->\n",
                                    section, report.markdown));
}

std::vector<std::uint64_t> seeds_of(const ExperimentOptions& options) {
  std::vector<std::uint64_t> seeds(static_cast<std::size_t>(options.seeds));
  std::iota(seeds.begin(), seeds.end(), options.first_seed);
  return seeds;
}

}  // namespace kinflow
