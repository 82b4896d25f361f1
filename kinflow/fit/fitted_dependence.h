// The dependence of the rows of a fit: its laws, its start, and what a model keeps.
#pragma once

#include <memory>

#include "kinflow/array/array.h"
#include "kinflow/dependence/dependence.h"
#include "kinflow/engine/options.h"
#include "kinflow/fit/fit_data.h"
#include "kinflow/model/learned_dependence.h"

namespace kinflow {

class Logger;

struct FittedDependence {
  std::shared_ptr<const Dependence> law;  ///< of the training rows
  /// Of held-out rows; null where they are taken as independent.
  std::shared_ptr<const Dependence> valid_law = {};
  Array typical_weights = {};      ///< as in TrainingData
  Array valid_weights = {};        ///< as in TrainingData
  LearnedDependence learned = {};  ///< without parameters

  /// Parameters at the beginning of a run, [r, k]: one replica for each combination of
  /// a grid, one in other schedules.
  Array start(const DependenceRequest& request, const TrainOptions& options) const;
  /// What a model keeps of parameters [k] of the law.
  LearnedDependence with_parameters(const Array& parameters) const;
  /// The same with parameters of its own for each of the columns that share them now;
  /// of blocks none.
  FittedDependence for_each_latent(std::int64_t columns) const;
};

/// Makes the laws from the relations of the rows, which are used up. Schedule
/// `baseline` takes rows as independent; `grid` has one correlation for all blocks.
FittedDependence make_fitted_dependence(const DependenceRequest& request,
                                        Schedule schedule, FitRows& rows,
                                        nd::Device device, Logger& logger);

}  // namespace kinflow
