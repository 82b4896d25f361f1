// Which kind of page a path asks for.
#include "kinflow/pages/model/report_page.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "kinflow/core/error.h"
#include "kinflow/pages/gwas_page.h"
#include "kinflow/pages/model/compare_page.h"
#include "kinflow/pages/model/run_page.h"
#include "kinflow/pages/study_page.h"
#include "kinflow/pages/sweep_page.h"

namespace kinflow {
namespace {

bool has(const std::string& directory, const std::string& name) {
  std::error_code ignored;
  return std::filesystem::exists(directory + "/" + name, ignored);
}

bool is_run(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored)) {
    return std::filesystem::is_regular_file(path, ignored) &&
           path.ends_with(".safetensors");
  }
  for (const auto* name : {"run.json", "model.safetensors", "metrics.csv"}) {
    if (has(path, name)) return true;
  }
  return false;
}

}  // namespace

nlohmann::json report_page(const std::vector<std::string>& paths,
                           std::int64_t threads) {
  if (paths.size() > 1) {
    for (const auto& path : paths) {
      if (is_run(path)) continue;
      throw InputError(path + ": expected a run folder beside others, found none");
    }
    return compare_page(paths);
  }
  const auto& path = paths.at(0);
  if (is_run(path)) return run_page(path);
  if (is_sweep(path)) return sweep_page(path);
  if (is_demo(path)) return demo_page(path);
  if (is_study(path)) return study_page(path);
  if (is_gwas(path)) return gwas_page(path, threads);
  throw InputError(
      path +
      ": expected a run folder, a sweep, a demo, a study, or the prefix of "
      "a gwas, found none of them");
}

}  // namespace kinflow
