// What a mixed model of related rows knows of its traits and covariates.
#pragma once

#include <cstdint>
#include <vector>

#include "kinflow/genetics/named_columns.h"
#include "kinflow/genetics/relationship_eigen.h"

namespace kinflow {

/// Y = W A + G + E with G ~ MN(0, K, Vg) and E ~ MN(0, I, Ve), in the coordinates of
/// the eigenvectors of K, where row i has the covariance eigenvalues[i] Vg + Ve and
/// rows are independent.
struct MixedModelData {
  std::int64_t rows = 0;
  std::vector<double> eigenvalues;  ///< [rows]
  NamedColumns traits;              ///< U'Y
  NamedColumns covariates;          ///< U'W, with the intercept if there is one

  std::int64_t trait_count() const {
    return static_cast<std::int64_t>(traits.names.size());
  }
  std::int64_t covariate_count() const {
    return static_cast<std::int64_t>(covariates.names.size());
  }
};

/// Checks and rotates. `covariates` must hold the intercept where one is wanted.
/// InputError as in check_traits_and_covariates(), and where all eigenvalues are equal,
/// so that Vg and Ve cannot be told apart.
MixedModelData make_mixed_model_data(const RelationshipEigen& eigen,
                                     const NamedColumns& traits,
                                     const NamedColumns& covariates);

/// The model of one of the traits.
MixedModelData trait_of(const MixedModelData& data, std::int64_t trait);

}  // namespace kinflow
