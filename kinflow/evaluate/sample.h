// Draws from a model: dependent rows, and rows given observed ones. Independent rows
// are drawn by draw_table() (stream.h).
#pragma once

#include <vector>

#include "kinflow/array/array.h"
#include "kinflow/core/random.h"
#include "kinflow/evaluate/row_law.h"
#include "kinflow/fit/table_rows.h"
#include "kinflow/model/model.h"

namespace kinflow {

/// Rows that depend on each other by the laws of the model's members. A member picked
/// at random is the source of all rows, or with blocks one of each block.
Array sample_dependent(const Model& model, const RowLaws& laws, const Array& context,
                       Random& random);

/// Further rows given observed ones, all from one member, picked with the weights that
/// the members have given the observed rows; with blocks those of each block from one.
/// @param laws, observed_laws  as in member_log_weights()
/// @param context  of the further rows
Array sample_given(const Model& model, const TableRows& observed, const RowLaws& laws,
                   const RowLaws* observed_laws, const Array& context, Random& random);

/// Data in original units of independent rows, each from a member of its own.
/// @param members  the model's, each by itself
/// @param source  [n] int64, the number of every row's member
/// @param latents  [n, p]
Array data_of_members(const std::vector<Model>& members, const Array& source,
                      const Array& latents, const Array& context);

}  // namespace kinflow
