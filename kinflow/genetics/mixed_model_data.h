// What a mixed model of related rows knows of its traits and covariates.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kinflow/genetics/relationship_eigen.h"

namespace kinflow {

/// Columns of numbers with names, [rows x names], column-major.
struct NamedColumns {
  std::vector<std::string> names;
  std::vector<double> values;
};

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
/// InputError, with the names of columns, where a value is not finite, a covariate or a
/// trait (given the covariates) is a linear combination of others, there are too few
/// rows, or all eigenvalues are equal, so that Vg and Ve cannot be told apart.
MixedModelData make_mixed_model_data(const RelationshipEigen& eigen,
                                     const NamedColumns& traits,
                                     const NamedColumns& covariates);

/// The model of one of the traits.
MixedModelData trait_of(const MixedModelData& data, std::int64_t trait);

/// How far traits are from being linear combinations of each other: the ratio of the
/// largest to the smallest eigenvalue of the correlations that the covariates leave.
double trait_condition(const MixedModelData& data);

}  // namespace kinflow
