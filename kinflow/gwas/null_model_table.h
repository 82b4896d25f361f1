// Null models as rows of a table.
#pragma once

#include <string>
#include <vector>

#include "kinflow/genetics/association_tests.h"

namespace kinflow {

/// LEFT_OUT SET TRAITS LOG_LIKELIHOOD VG VE ITERATIONS CONVERGED, with tabs between.
std::string null_model_header();

/// A row for each model. VG and VE are lower triangles, row by row, with ';' between
/// their entries, like the names of the traits.
/// @param left_out  the chromosome; empty: none
std::string null_model_rows(const std::string& left_out,
                            const std::vector<NullModel>& models);

}  // namespace kinflow
