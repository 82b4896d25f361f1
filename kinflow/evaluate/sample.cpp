// Latents are drawn under the law of the dependence and mapped back to data.
#include "kinflow/evaluate/sample.h"

#include <ATen/ATen.h>

#include "kinflow/data/table.h"
#include "kinflow/dependence/independent.h"
#include "kinflow/dependence/relationship.h"

namespace kinflow {
namespace {

std::int64_t columns(const Model& model) { return model.flow->options().dimension; }

}  // namespace

SampledRows sample_rows(const Model& model, std::int64_t rows,
                        const at::Tensor& context, Random& random) {
  const Independent law(rows);
  const auto latents = law.sample(at::empty({0}, at::kDouble), columns(model), random);
  return {.data = model.from_latent(latents, context), .labels = {}};
}

SampledRows sample_blocks(const Model& model, const std::vector<std::int64_t>& sizes,
                          double correlation, Random& random) {
  std::vector<std::int64_t> block_of_row;
  SampledRows result;
  for (std::size_t block = 0; block < sizes.size(); ++block) {
    for (std::int64_t i = 0; i < sizes[block]; ++i) {
      block_of_row.push_back(static_cast<std::int64_t>(block));
      result.labels.push_back("new" + std::to_string(block + 1));
    }
  }
  const Blocks law(at::tensor(block_of_row, at::kLong), {BlockCorrelation::shared});
  const auto parameters = at::full({law.parameter_count()}, correlation, at::kDouble);
  result.data =
      model.from_latent(law.sample(parameters, columns(model), random), at::Tensor());
  return result;
}

SampledRows sample_relationship(const Model& model, const at::Tensor& relationship,
                                double lambda, Random& random) {
  const Relationship law(relationship);
  const auto latents =
      law.sample(at::tensor({lambda}, at::kDouble), columns(model), random);
  return {.data = model.from_latent(latents, at::Tensor()), .labels = {}};
}

SampledRows sample_given_blocks(const Model& model, const TableRows& observed,
                                std::int64_t rows,
                                const std::vector<double>& correlations,
                                Random& random) {
  const auto numbers = number_blocks(observed.labels);
  auto block_of_row = numbers.block_of_row;
  const auto known = static_cast<std::int64_t>(block_of_row.size());
  SampledRows result;
  for (std::size_t block = 0; block < numbers.label_of_block.size(); ++block) {
    for (std::int64_t i = 0; i < rows; ++i) {
      block_of_row.push_back(static_cast<std::int64_t>(block));
      result.labels.push_back(numbers.label_of_block[block]);
    }
  }
  // Every block now has at least two rows, hence a parameter.
  const Blocks law(at::tensor(block_of_row, at::kLong), {BlockCorrelation::per_block});
  const auto latents = law.sample_given(
      at::tensor(correlations, at::kDouble), at::arange(known, at::kLong),
      model.to_latent(observed.data, at::Tensor()).latents, random);
  result.data = model.from_latent(latents.narrow(0, known, law.rows() - known), {});
  return result;
}

SampledRows sample_given_relationship(const Model& model, const TableRows& observed,
                                      const at::Tensor& relationship, double lambda,
                                      Random& random) {
  const Relationship law(relationship);
  const auto known = observed.data.size(0);
  const auto latents =
      law.sample_given(at::tensor({lambda}, at::kDouble), at::arange(known, at::kLong),
                       model.to_latent(observed.data, at::Tensor()).latents, random);
  return {.data = model.from_latent(latents.narrow(0, known, law.rows() - known), {}),
          .labels = {}};
}

}  // namespace kinflow
