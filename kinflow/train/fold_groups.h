// The trainings of all folds and kinds of flows, and what they give to a model.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "kinflow/train/training_group.h"

namespace kinflow {

struct TrainedFlow {
  std::size_t kind = 0;
  std::int64_t replica = 0;  ///< in the group of its fold and kind
};

/// A group for each fold and kind; one fold where rows are held out once.
struct FoldGroups {
  std::size_t kinds = 1;
  std::vector<std::unique_ptr<TrainingGroup>> all = {};  ///< those of a fold together

  std::size_t folds() const { return all.size() / kinds; }
  TrainingGroup& of(std::size_t fold, std::size_t kind) const {
    return *all.at(fold * kinds + kind);
  }
  const Trainer& trainer_of(std::size_t fold, const TrainedFlow& flow) const {
    return of(fold, flow.kind).trainer();
  }

  /// The flows of a run that a fold has trained, the best first; those that failed are
  /// left out unless all did.
  std::vector<TrainedFlow> ranked(std::size_t fold, std::int64_t run) const;
  /// Of all groups together.
  std::int64_t replicas_of(std::int64_t run) const;
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
