// Residuals, normal scores and latents.
#include "kinflow/gwas/trait_sets.h"

#include <utility>

#include "kinflow/genetics/trait_values.h"
#include "kinflow/gwas/flow_traits.h"

namespace kinflow {
namespace {

NamedColumns residuals_of(const GwasInputs& inputs) {
  const auto& people = inputs.people();
  return residuals(people.traits, with_intercept(people.covariates, inputs.count()),
                   inputs.count());
}

}  // namespace

TraitSet joint_set(const GwasRequest& request, const GwasInputs& inputs,
                   const std::string& relationship, const std::atomic<bool>* stop,
                   Logger& logger) {
  const auto& people = inputs.people();
  if (request.transform == TraitTransform::none) return {"traits", people.traits};
  if (request.transform == TraitTransform::rank_normal) {
    return {"rank-normal", rank_normal_scores(residuals_of(inputs), inputs.count())};
  }
  const bool in_context = request.covariate_use == CovariateUse::context &&
                          !people.covariates.names.empty();
  auto traits = in_context ? people.traits : residuals_of(inputs);
  if (request.flow_input == FlowInput::rank_normal) {
    traits = rank_normal_scores(traits, inputs.count());
  }
  const FlowTraits flow{.traits = std::move(traits),
                        .context = in_context ? people.covariates : NamedColumns{},
                        .ids = inputs.ids(),
                        .relationship = relationship,
                        .relationship_ids = inputs.data().relationship_ids,
                        .fit = request.flow,
                        .table = request.out + ".traits.tsv",
                        .directory = request.out + ".model"};
  return {"flow", latents_of_flow(flow, stop, logger)};
}

TraitSet single_set(const GwasInputs& inputs) {
  return {"single", rank_normal_scores(residuals_of(inputs), inputs.count()),
          /*is_joint=*/false};
}

}  // namespace kinflow
