// The model of trainings that held out one fold each.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "kinflow/fit/fit.h"
#include "kinflow/fit/fold_groups.h"
#include "kinflow/fit/fold_plan.h"

namespace kinflow {

struct CrossFit {
  const FoldGroups& groups;  ///< trained
  std::int64_t run;
  const FitRequest& request;
  const FitRows& rows;  ///< all
  const FoldPlan& plan;
  const FittedDependence& dependence;  ///< of all rows
  ValidScore valid_score;
  /// Trains flows as an ordinary fit does, with single rows held out, and gives the
  /// best of each fold. @param per_fold  how many
  std::function<std::vector<ModelPart>(std::int64_t per_fold)> train_ordinary;
  /// Becomes true when the user wants to stop: Interrupted is thrown.
  const std::atomic<bool>* stop = nullptr;
};

/// The mixture of the best flows of every fold. Its dependence parameters, their errors
/// and tests come from the latents of held-out rows, each under the best flow of the
/// fold that holds it out, and so does the cross-validated NLL. Single rows have
/// the mixture of members and row flows that makes it lowest; where row flows are in it
/// those of an ordinary fit take their place. A flow is trained on
/// all rows, with the kind, the replica's options and the number of epochs that did
/// best over the folds.
FitResult finish_cross_fit(const CrossFit& fit, const nlohmann::json& record,
                           Logger& logger);

}  // namespace kinflow
