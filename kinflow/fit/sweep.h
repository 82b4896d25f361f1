// Many runs at once: those on the same rows are trained as replicas of one training.
#pragma once

#include <atomic>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "kinflow/core/log.h"
#include "kinflow/fit/fit.h"

namespace kinflow {

/// One run of a sweep.
struct SweepRun {
  FitRequest request;
  /// Values of the options that differ between runs, as text for the table of results.
  std::vector<std::string> values;
};

struct SweepRequest {
  nlohmann::json specification;    ///< what the runs were made from; kept in the folder
  std::vector<std::string> names;  ///< of the options that differ between runs
  std::vector<SweepRun> runs;
  std::int64_t most_replicas = 0;  ///< trained side by side; 0: as memory allows
};

struct SweepPlace {
  std::string directory;
  bool resume = false;
  bool overwrite = false;  ///< in place of a sweep that the folder holds
  double checkpoint_seconds = 30;
  const std::atomic<bool>* stop = nullptr;  ///< as in FitPlace
};

/// The best of the runs that have one score; runs with different ones are not compared.
struct BestRun {
  std::int64_t run = 0;  ///< from 0
  double valid_nll_nats = 0;
  ValidScore score = ValidScore::rows;
  std::string directory;  ///< its run folder
};

struct SweepResult {
  std::int64_t runs = 0;
  std::int64_t failed = 0;
  /// First that of the score of the first training; empty where all runs failed.
  std::vector<BestRun> best;
  double seconds = 0;  ///< of this call
};

/// Trains all runs and leaves in the folder
///   results.csv   a row for every finished run, written anew after each training
///   best          the run folder of the best run by validation so far, of all that are
///                 scored like those of the first training
///   best-SCORE    the same of the others, where there are any
///   sweep.json    the specification and the hashes of the data
/// A sweep that was killed goes on with `resume` and ends in the same numbers. A run
/// whose training diverges is listed as failed. All tables are read and checked before
/// the folder is made.
SweepResult sweep(const SweepRequest& request, const SweepPlace& place, Logger& logger);

/// The specification of a sweep folder.
nlohmann::json read_sweep_specification(const std::string& directory);

}  // namespace kinflow
