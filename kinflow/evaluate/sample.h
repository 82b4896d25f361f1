// Draws from a model: dependent rows, and rows given observed ones. Independent rows
// are drawn by draw_table() (stream.h).
#pragma once

#include <cstdint>

#include "kinflow/core/random.h"
#include "kinflow/evaluate/row_law.h"
#include "kinflow/train/model.h"
#include "kinflow/train/table_rows.h"

namespace kinflow {

/// Rows that depend on each other by a law.
at::Tensor sample_dependent(const Model& model, const RowLaw& law,
                            const at::Tensor& context, Random& random);

/// Further rows given observed ones.
/// @param law  of the observed rows followed by the further ones
/// @param context  of the further rows
at::Tensor sample_given(const Model& model, const TableRows& observed,
                        const RowLaw& law, const at::Tensor& context, Random& random);

}  // namespace kinflow
