// The trainings of all folds and kinds of flows, and what they give to a model.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "kinflow/fit/training_group.h"

namespace kinflow {

struct TrainedFlow {
  std::size_t kind = 0;
  std::int64_t replica = 0;  ///< in the group of its fold and kind
};

/// A group for each fold and kind; one fold where rows are held out once. After the
/// kinds of flows with the dependence of the rows follow, in each fold, those of row
/// flows, which are trained as if the rows were independent.
struct FoldGroups {
  std::size_t kinds = 1;
  std::size_t row_kinds = 0;
  std::vector<std::unique_ptr<TrainingGroup>> all = {};  ///< those of a fold together

  std::size_t groups_of_fold() const { return kinds + row_kinds; }
  std::size_t folds() const { return all.size() / groups_of_fold(); }
  TrainingGroup& of(std::size_t fold, std::size_t kind) const {
    return *all.at(fold * groups_of_fold() + kind);
  }
  const Trainer& trainer_of(std::size_t fold, const TrainedFlow& flow) const {
    return of(fold, flow.kind).trainer();
  }

  /// The flows of a run that a fold has trained with the dependence, the best first;
  /// those that failed are left out unless all did.
  std::vector<TrainedFlow> ranked(std::size_t fold, std::int64_t run) const;
  /// The same of its row flows, without those that failed.
  std::vector<TrainedFlow> ranked_row_flows(std::size_t fold, std::int64_t run) const;
  /// Of all groups with the dependence together.
  std::int64_t replicas_of(std::int64_t run) const;
  /// Of all groups together.
  std::int64_t lost_replicas(std::int64_t run) const;
  std::int64_t restarts(std::int64_t run) const;
  std::int64_t epochs(std::int64_t run) const;

  /// Flows of a fold as members of a model, in their order, with the weights that they
  /// have now.
  std::vector<ModelPart> parts_of_model(std::size_t fold,
                                        const std::vector<TrainedFlow>& flows) const;
  /// What a model's record says of a member.
  nlohmann::json describe(std::size_t fold, const TrainedFlow& flow,
                          const std::string& score_key) const;
};

/// The model of a run whose groups held out the same rows, or had a validation table:
/// its best flows, with errors and tests of the best one if asked for.
/// @param record  of the run, whose request and hashes the model keeps
FitResult finish_held_out(const FoldGroups& groups, std::int64_t run,
                          const nlohmann::json& record, Logger& logger);

}  // namespace kinflow
