// Null models as rows of a table.
#pragma once

#include <string>
#include <vector>

#include "kinflow/genetics/association_tests.h"

namespace kinflow {

/// LEFT_OUT ADDED SET TRAITS LOG_LIKELIHOOD VG VE H2 ITERATIONS CONVERGED, with tabs
/// between.
std::string null_model_header();

/// Which variants the models are for.
struct NullModelPlace {
  std::string left_out;   ///< chromosome; empty: none
  bool adds_sex = false;  ///< beside the covariates, for variants of X
};

/// A row for each model. VG and VE are lower triangles, row by row, with ';' between
/// their entries, like the names of the traits and their heritability H2.
std::string null_model_rows(const NullModelPlace& place,
                            const std::vector<NullModel>& models);

struct TraitHeritability {
  std::string trait;
  double heritability = 0;
};
/// Of each trait of a set the mean over its models.
/// @param rows  as null_model_rows() gives them, of any number of places
std::vector<TraitHeritability> mean_heritability(const std::string& rows,
                                                 const std::string& set);

}  // namespace kinflow
