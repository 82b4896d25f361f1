// The kinds of flows that a fit trains.
#pragma once

#include <string>
#include <vector>

#include "kinflow/fit/fit.h"

namespace kinflow {

struct FlowChoice {
  FlowOptions flow;          ///< without dimension, context and bound
  bool decorrelate = false;  ///< whether it sees uncorrelated columns
  bool scores = false;       ///< whether it sees normal scores of the columns
};

/// The flow of the request or, where flows vary: large and small splines, affine flows,
/// and affine flows of uncorrelated columns, which begin as the normal distribution.
/// Where validation chooses, the second and the last see normal scores; a flow of the
/// request stands twice, with and without. No kind is the best for all tables: see
/// docs/research.md. At most as many as there are replicas.
std::vector<FlowChoice> flow_choices(const FitRequest& request);

/// "spline 3 x 64-64 with 16 bins, affine 8 x 32-32, ...", for the user.
std::string described(const std::vector<FlowChoice>& choices);

}  // namespace kinflow
