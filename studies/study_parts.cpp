// Parts on several threads.
#include "studies/study_parts.h"

#include <optional>
#include <utility>

#include "kinflow/core/error.h"
#include "kinflow/core/map_in_order.h"

namespace kinflow {

using nlohmann::json;

namespace {

[[noreturn]] void stop_parts() {
  throw Interrupted("interrupted; the same command goes on");
}

}  // namespace

std::vector<json> run_parts(const std::vector<StudyPart>& parts,
                            const StudyFolder& folder, const ExperimentOptions& options,
                            Logger& logger) {
  std::vector<json> results(parts.size());
  std::size_t next = 0;
  std::int64_t done = 0;
  map_in_order(
      options.threads,
      [&]() -> std::optional<std::size_t> {
        if (next == parts.size()) return {};
        if (options.stop != nullptr && *options.stop) stop_parts();
        return next++;
      },
      [&](std::size_t i) {
        auto known = folder.find(parts[i].name);
        if (!known) {
          try {
            known = parts[i].run();
          } catch (const Interrupted&) {
            // A fit inside a part says how to go on with the fit alone.
            stop_parts();
          }
          folder.keep(parts[i].name, *known);
        }
        return std::pair(i, std::move(*known));
      },
      [&](std::pair<std::size_t, json> finished) {
        results[finished.first] = std::move(finished.second);
        logger.progress({.job = "reproduce",
                         .done = ++done,
                         .total = static_cast<std::int64_t>(parts.size()),
                         .unit = "part",
                         .status = parts[finished.first].name,
                         .seconds_left = -1});
      });
  return results;
}

}  // namespace kinflow
