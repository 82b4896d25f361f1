// Traits and covariates in the coordinates of the eigenvectors of a relationship.
#include "kinflow/genetics/mixed_model_data.h"

#include "kinflow/core/error.h"
#include "kinflow/genetics/trait_values.h"

namespace kinflow {

MixedModelData make_mixed_model_data(const RelationshipEigen& eigen,
                                     const NamedColumns& traits,
                                     const NamedColumns& covariates) {
  const auto rows = eigen.rows;
  const auto d = static_cast<std::int64_t>(traits.names.size());
  const auto c = static_cast<std::int64_t>(covariates.names.size());
  check_traits_and_covariates(traits, covariates, rows);
  if (eigen.values.back() - eigen.values.front() <= 1e-8 * eigen.values.back()) {
    throw InputError(
        "relationship: expected rows that differ in their relations, found a multiple "
        "of the identity matrix");
  }
  return {rows,
          eigen.values,
          {traits.names, rotate(eigen, traits.values.data(), d)},
          {covariates.names, rotate(eigen, covariates.values.data(), c)}};
}

MixedModelData trait_of(const MixedModelData& data, std::int64_t trait) {
  const auto first = data.traits.values.begin() + trait * data.rows;
  return {data.rows,
          data.eigenvalues,
          {{data.traits.names[static_cast<std::size_t>(trait)]},
           std::vector<double>(first, first + data.rows)},
          data.covariates};
}

}  // namespace kinflow
