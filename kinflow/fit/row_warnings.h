// What may be a mistake in the tables of a fit, for the user.
#pragma once

#include <string>
#include <vector>

#include "kinflow/fit/fit_data.h"

namespace kinflow {

class Table;

/// Values far from all others (modelled columns, context, times), rows that repeat
/// earlier ones, and a group that may be a label for unknown groups.
std::vector<std::string> warnings_about_rows(const DataRequest& request,
                                             const FitRows& rows, const Table& table);
/// Values far from all others, and rows of groups of the training table.
/// @param table  of the validation rows
std::vector<std::string> warnings_about_valid_rows(const DataRequest& request,
                                                   const FitRows& rows,
                                                   const Table& table);

}  // namespace kinflow
