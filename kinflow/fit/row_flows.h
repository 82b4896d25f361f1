// Flows for single rows, which take rows as independent.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "kinflow/fit/fit.h"
#include "kinflow/fit/fit_data.h"
#include "kinflow/model/model.h"

namespace kinflow {

/// The requests of row flows beside those of members. They train as those of
/// `--independent` do; half as many replicas do as well: see docs/research.md.
std::vector<FitRequest> requests_of_row_flows(std::vector<FitRequest> requests);

/// The best flows of each fold of an ordinary fit of the same rows, of which single
/// ones are held out.
/// @param request  of a fit with a dependence
/// @param stop     becomes true when the user wants to stop: Interrupted is thrown
std::vector<ModelPart> train_ordinary(const FitRequest& request, FitRows rows,
                                      std::int64_t folds, std::int64_t per_fold,
                                      Logger& logger, const std::atomic<bool>* stop);

}  // namespace kinflow
