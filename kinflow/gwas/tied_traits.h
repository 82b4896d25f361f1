// Traits of which nearly everyone has the same value, and skewed ones.
#pragma once

#include "kinflow/core/log.h"
#include "kinflow/gwas/gwas_inputs.h"
#include "kinflow/gwas/gwas_request.h"

namespace kinflow {

/// Where fewer people than this share have other values than the commonest one of a
/// trait, as the cases of a rare disease, the tests have p-values that are too small at
/// rare variants (docs/model.md).
inline constexpr double kRareShare = 0.35;
/// Minor alleles that these people must be expected to have at every tested variant.
inline constexpr double kLeastExpectedAlleles = 50;

/// InputError, with the counts and what to do, for a trait that is rare in this sense
/// and has too few expected alleles; and with a flow also for traits of two values and
/// all rare ones, which have no density.
void check_tied_traits(const GwasInputs& inputs, TraitTransform transform);

/// Warns of traits, tested as they are, that are as skewed as a rare one with too few
/// expected alleles, and of traits of two values whose ranks are tested.
void warn_of_shapes(const GwasInputs& inputs, TraitTransform transform, Logger& logger);

}  // namespace kinflow
