// Residuals, normal scores and latents.
#include "kinflow/gwas/trait_sets.h"

#include <algorithm>
#include <utility>

#include "kinflow/core/blas_threads.h"
#include "kinflow/core/error.h"
#include "kinflow/core/in_quotes.h"
#include "kinflow/genetics/trait_values.h"
#include "kinflow/gwas/study_files.h"

namespace kinflow {
namespace {

void add_to_names(NamedColumns& columns, const std::string& ending) {
  for (auto& name : columns.names) name += ending;
}

bool is_among(const std::string& name, const std::vector<std::string>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

ColumnsView traits_as_read(const GwasInputs& inputs) {
  const auto& traits = inputs.people().traits;
  return {.source = inputs.data().traits.path,
          .names = traits.names,
          .rows = inputs.count(),
          .values = traits.values.data(),
          .row_stride = 1,
          .column_stride = inputs.count()};
}

void check_no_labels_are_traits(const GwasInputs& inputs) {
  if (!inputs.data().traits.columns.empty()) return;
  // Cases may come first.
  check_no_labels(traits_as_read(inputs),
                  {.ties_are_in_order = false, .option = "--pheno-name"});
}

void check_flow_traits(const GwasRequest& request, const GwasInputs& inputs) {
  const auto traits = traits_as_read(inputs);
  for (const auto& name : request.flow.data.allow_ties) {
    if (is_among(name, traits.names)) continue;
    throw InputError("--allow-ties: expected traits, found " + in_quotes(name));
  }
  check_redundancy(traits);
  check_ties(traits, {.share = least_tied_share(request.flow.flow),
                      .allowed = request.flow.data.allow_ties,
                      .advice = "leave them out (--pheno-name), test them without a "
                                "flow (--transform rank-normal)"});
}

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
  auto fit = request.flow;
  auto& allowed = fit.data.allow_ties;
  allowed.clear();
  for (std::size_t i = 0; i < traits.names.size(); ++i) {
    if (is_among(people.traits.names[i], request.flow.data.allow_ties)) {
      allowed.push_back(traits.names[i]);
    }
  }
  return {.traits = std::move(traits),
          .context = in_context ? people.covariates : NamedColumns{},
          .ids = inputs.ids(),
          .relationship = relationship,
          .relationship_ids = is_given ? inputs.data().relationship_ids : "",
          .fit = std::move(fit),
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
