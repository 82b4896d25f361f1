// What all experiments say about themselves.
#include "kinflow/reproduce/experiments.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "kinflow/core/atomic_file.h"
#include "kinflow/core/error.h"
#include "kinflow/core/version.h"
#include "kinflow/flow/cuda_backend.h"
#include "kinflow/report/page_section.h"

namespace kinflow {
namespace {

constexpr std::uint64_t kFirstSeed = 4000;

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

}  // namespace

std::string machine_name(const std::string& device, std::int64_t threads) {
  if (device != "cpu") return "one " + device_name().value_or("unknown GPU");
  return fmt::format("{} core{} of an {}", threads, threads == 1 ? "" : "s",
                     processor_name());
}

StudyPlace study_place(const ExperimentOptions& options, const std::string& experiment,
                       const nlohmann::json& more) {
  nlohmann::json description = {{"experiment", experiment},
                                {"seeds", options.seeds},
                                {"quick", options.quick},
                                {"device", options.device}};
  description.update(more);
  return {.directory = options.directory,
          .description = std::move(description),
          .device = options.device,
          .threads = options.threads,
          .stop = options.stop};
}

std::string provenance(const ExperimentOptions& options, const std::string& command,
                       double seconds) {
  return fmt::format(
      "`kinflow reproduce {}`, {}{}, on {} in {:.0f} s, kinflow {} ({}).\n", command,
      options.seeds == 1 ? "1 seed" : fmt::format("{} seeds", options.seeds),
      options.quick ? " and reduced sweeps (--quick)" : "",
      machine_name(options.device, options.threads), seconds, version(), commit());
}

void write_report(const std::string& directory, const std::string& name,
                  const ExperimentReport& report) {
  write_file_atomically(directory + "/" + name + ".md", report.markdown);
}

void write_to_page(const std::string& page, const std::string& name,
                   const ExperimentReport& report) {
  auto text = report.markdown;
  const auto images = std::filesystem::path(page).parent_path() / "img";
  for (const auto& picture : report.pictures) {
    const auto file = std::filesystem::path(picture).filename();
    const auto link = "](" + file.string() + ")";
    const auto at = text.find(link);
    if (at != std::string::npos) {
      text.replace(at, link.size(), "](img/" + file.string() + ")");
    }
    std::error_code error;
    std::filesystem::create_directories(images, error);
    std::filesystem::copy_file(picture, images / file,
                               std::filesystem::copy_options::overwrite_existing,
                               error);
    if (error) {
      throw InputError(fmt::format("{}: cannot be written ({})",
                                   (images / file).string(), error.message()));
    }
  }
  replace_section(page, name, text);
}

std::vector<std::uint64_t> simulation_seeds(std::int64_t count) {
  std::vector<std::uint64_t> seeds;
  for (std::int64_t i = 0; i < count; ++i) {
    seeds.push_back(kFirstSeed + static_cast<std::uint64_t>(i));
  }
  return seeds;
}

}  // namespace kinflow
