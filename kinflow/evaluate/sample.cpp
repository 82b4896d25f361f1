// Latents are drawn under the law of the dependence and mapped back to data.
#include "kinflow/evaluate/sample.h"

#include <ATen/ATen.h>

namespace kinflow {

at::Tensor sample_dependent(const Model& model, const RowLaw& law,
                            const at::Tensor& context, Random& random) {
  return model.from_latent(
      law.law->sample(law.parameters, model.flow->options().dimension, random),
      context);
}

at::Tensor sample_given(const Model& model, const TableRows& observed,
                        const RowLaw& law, const at::Tensor& context, Random& random) {
  const auto known = observed.data.size(0);
  const auto latents = law.law->sample_given(
      law.parameters, at::arange(known, at::kLong),
      model.to_latent(observed.data, observed.context).latents, random);
  return model.from_latent(latents.narrow(0, known, law.law->rows() - known), context);
}

}  // namespace kinflow
