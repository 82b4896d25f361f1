// Figure 1 of the paper: what dependence does to a flow, and what adjusting for it
// does.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "kinflow/core/log.h"

namespace kinflow {

/// Of simulated data, and of the demo.
inline constexpr std::uint64_t kFirstSeed = 4000;

struct TeaserOptions {
  std::string directory;
  std::uint64_t seed = kFirstSeed;  ///< of data and training
  std::string device = "cpu";
  std::int64_t threads = 1;
  bool overwrite = false;  ///< in place of a finished teaser that the folder holds
  const std::atomic<bool>* stop = nullptr;  ///< as in FitPlace
};

struct Teaser {
  std::string table;    ///< of what the fits came to, as text
  std::string picture;  ///< file
  double seconds = 0;
};

/// Writes simulated data (data), the run folders of fits with kinflow's defaults, with
/// an independent validation table (baseline, joint) and without (one-table-ordinary,
/// one-table-adjusted), and the picture density.png, last. A call that was stopped
/// begins anew; a finished one is overwritten on request only, else InputError.
Teaser run_teaser(const TeaserOptions& options, Logger& logger);

}  // namespace kinflow
