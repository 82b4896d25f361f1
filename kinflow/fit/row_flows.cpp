// An ordinary fit inside another one.
#include "kinflow/fit/row_flows.h"

#include <algorithm>
#include <utility>

#include "kinflow/core/error.h"
#include "kinflow/core/log.h"
#include "kinflow/fit/folded_training.h"

namespace kinflow {

std::vector<FitRequest> requests_of_row_flows(std::vector<FitRequest> requests) {
  for (auto& request : requests) {
    request.train.schedule = Schedule::baseline;
    request.train.patience =
        std::min(request.train.patience, SharedTrainOptions{}.patience);
    request.flow.latent_map = false;
    request.replicas.count = std::max<std::int64_t>(request.replicas.count / 2, 1);
  }
  return requests;
}

std::vector<ModelPart> train_ordinary(const FitRequest& given, FitRows rows,
                                      std::int64_t folds, std::int64_t per_fold,
                                      Logger& logger, const std::atomic<bool>* stop) {
  auto request = requests_of_row_flows({given}).front();
  request.data.dependence = {};
  request.data.split_by.reset();
  request.data.folds = folds;
  rows.relations.rows = rows.train.data.size(0);
  FoldedTraining ordinary({with_defaults(request)}, std::move(rows), logger);
  while (!ordinary.finished()) {
    if (stop != nullptr && *stop) {
      throw Interrupted(
          "interrupted in the last part, flows for single rows; go on with --resume");
    }
    ordinary.run_epoch();
    for (const auto& warning : ordinary.take_warnings()) logger.warning(warning);
    logger.progress({.job = "flows for single rows",
                     .done = ordinary.epochs_done(),
                     .total = request.train.epochs,
                     .unit = "epoch",
                     .status = ordinary.status_line()});
  }
  const auto& groups = ordinary.groups();
  for (const auto& group : groups.all) group->restore_best();
  std::vector<ModelPart> parts;
  for (std::size_t fold = 0; fold < groups.folds(); ++fold) {
    auto best = groups.ranked(fold, 0);
    best.resize(std::min(best.size(), static_cast<std::size_t>(per_fold)));
    for (auto& part : groups.parts_of_model(fold, best)) {
      parts.push_back(std::move(part));
    }
  }
  return parts;
}

}  // namespace kinflow
