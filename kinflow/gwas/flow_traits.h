// Traits as the latents of a flow.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "kinflow/core/log.h"
#include "kinflow/data/sample_ids.h"
#include "kinflow/fit/fit.h"
#include "kinflow/genetics/named_columns.h"

namespace kinflow {

/// How flows of traits are trained by default: affine couplings of columns in random
/// order, since a relation of two columns must not stay inside one half of them, and
/// strong weight decay among the replicas, because cohorts are small for flows.
/// @param adjusted  whether people are related
FitRequest default_trait_flow(bool adjusted);

/// What a flow of traits is trained on, and where.
struct FlowTraits {
  NamedColumns traits;   ///< [people x traits]
  NamedColumns context;  ///< what the flow is conditioned on; may have no columns
  std::vector<SampleId> ids;
  /// Matrix of the people's relationship; empty: they are taken as independent.
  std::string relationship;
  std::string relationship_ids;
  FitRequest fit;         ///< its data is filled in
  std::string table;      ///< file of the traits, for the fit; is written
  std::string directory;  ///< run folder
};

/// Fits a flow to the traits and gives their latents u1, u2, ... A run folder that
/// holds the same run already is taken as it is, or goes on where it stopped.
/// InputError where the folder holds another run, also one of another relationship.
NamedColumns latents_of_flow(const FlowTraits& traits, const std::atomic<bool>* stop,
                             Logger& logger);

}  // namespace kinflow
