// Residuals, normal scores and latents.
#include "kinflow/gwas/trait_sets.h"

#include <utility>

#include "kinflow/core/blas_threads.h"
#include "kinflow/genetics/trait_values.h"
#include "kinflow/gwas/study_files.h"

namespace kinflow {
namespace {

void add_to_names(NamedColumns& columns, const std::string& ending) {
  for (auto& name : columns.names) name += ending;
}

}  // namespace

NamedColumns residuals_of(const GwasInputs& inputs) {
  const BlasInCallingThread one_thread;
  const auto& people = inputs.people();
  const auto count = inputs.count();
  const auto covariates = standardize(people.covariates, count).columns;
  return residuals(people.traits, with_intercept(covariates, count), count);
}

FlowTraits flow_traits(const GwasRequest& request, const GwasInputs& inputs,
                       const std::string& relationship) {
  const auto& people = inputs.people();
  const bool in_context = request.covariate_use == CovariateUse::context &&
                          !people.covariates.names.empty();
  auto traits = in_context ? people.traits : residuals_of(inputs);
  // Other names than in the table of traits, so that a model refuses what it has not
  // seen.
  if (!in_context) add_to_names(traits, "_residual");
  if (request.flow_input == FlowInput::rank_normal) {
    traits = rank_normal_scores(traits, inputs.count());
    add_to_names(traits, "_score");
  }
  const bool is_given = relationship == inputs.data().relationship;
  return {.traits = std::move(traits),
          .context = in_context ? people.covariates : NamedColumns{},
          .ids = inputs.ids(),
          .relationship = relationship,
          .relationship_ids = is_given ? inputs.data().relationship_ids : "",
          .fit = request.flow,
          .table = request.out + ".traits.tsv",
          .directory = model_of(request.out)};
}

TraitSet joint_set(const GwasRequest& request, const GwasInputs& inputs,
                   const std::string& relationship, const std::atomic<bool>* stop,
                   Logger& logger) {
  switch (request.transform) {
    case TraitTransform::none:
      return {"traits", inputs.people().traits};
    case TraitTransform::rank_normal:
      return {"rank-normal", rank_normal_scores(residuals_of(inputs), inputs.count())};
    case TraitTransform::flow:
      break;
  }
  return {"flow",
          latents_of_flow(flow_traits(request, inputs, relationship), stop, logger)};
}

TraitSet single_set(const GwasInputs& inputs) {
  return {"single", rank_normal_scores(residuals_of(inputs), inputs.count()),
          /*is_joint=*/false};
}

}  // namespace kinflow
