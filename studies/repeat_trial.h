// One split of a table of repeat measurements: flows with and without its groups, and
// the multivariate random-intercept normal distribution.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kinflow/core/log.h"
#include "studies/experiments.h"
#include "studies/repeat_data.h"

namespace kinflow {

namespace repeat_method {
inline constexpr const char* kGroup = "flow, --group";
inline constexpr const char* kIndependent = "flow, --independent";
inline constexpr const char* kNormal = "random-intercept normal";
}  // namespace repeat_method
std::vector<std::string> repeat_methods();

/// Of held-out groups, mean NLLs in nats of a row.
struct RepeatScore {
  std::string method;
  double rows = 0;    ///< of rows by themselves
  double groups = 0;  ///< the same, every group weighted equally
  double joint = 0;   ///< of the rows of a group together
  double given = 0;   ///< of next rows given the earlier ones
};

struct RepeatTrial {
  std::string table;
  std::uint64_t seed = 0;
  std::int64_t train_groups = 0, train_rows = 0, test_groups = 0, test_rows = 0;
  std::int64_t next_rows = 0;
  std::vector<RepeatScore> scores = {};  ///< by repeat_methods()
  std::string dependence = {};           ///< that the adjusted flow has chosen
  /// Mean over the next rows of the sum of their columns' logarithms: their NLL less
  /// this is that of the logarithms. 0 of a table that has none or holds them.
  double logarithms_of_next = 0;

  const RepeatScore& score_of(const std::string& method) const;
};

/// The mean over groups of the mean over a group's rows.
double mean_over_groups(const std::vector<double>& of_rows,
                        const std::vector<std::string>& labels);

/// Trains both flows in run folders of the experiment's folder, as `kinflow fit` does
/// by default with --no-inference, and scores all methods. Runs that are finished are
/// taken as they are, and others go on from their checkpoint.
RepeatTrial run_repeat_trial(const ExperimentOptions& options, const RepeatTable& table,
                             const TableRows& rows, std::uint64_t seed, Logger& logger);

}  // namespace kinflow
