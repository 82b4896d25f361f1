// The law of rows from their relations.
#pragma once

#include <memory>

#include "kinflow/array/array.h"
#include "kinflow/dependence/dependence.h"
#include "kinflow/fit/row_relations.h"

namespace kinflow {

class Logger;

/// The law that a request describes over the rows of `relations`, whose matrices are
/// used up. InputError, with the file's name, for matrices that are not positive
/// semidefinite, and for sizes that do not fit.
/// @param columns  of the latents
std::unique_ptr<Dependence> make_law(const DependenceRequest& request,
                                     RowRelations relations, std::int64_t columns,
                                     nd::Device device, Logger& logger);

}  // namespace kinflow
