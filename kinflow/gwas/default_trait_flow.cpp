// The options of a flow of traits, in programs with and without LibTorch.
#include "kinflow/gwas/flow_traits.h"

namespace kinflow {

FitRequest default_trait_flow(bool adjusted) {
  FitRequest request;
  request.vary_flow = true;
  request.row_flows = false;
  request.normal_scores = ScoresUse::choose;
  DependenceRequest dependence;
  if (adjusted) dependence.relationships = {"of the people"};
  request.train = default_train_options(dependence);
  request.train.patience = 30;
  request.replicas.weight_decays = {0.001, 0.01};
  request.replicas.memory_shares = {0.25};
  return request;
}

}  // namespace kinflow
