// What rows have in common, in terms of the table's columns, for the page of a fit.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace kinflow {

/// Adds the tables of `shared_parts` of a run's record, which may hold anything, to the
/// sections of its page; nothing where it has none.
/// @param result  of the run's record
void add_shared_parts_sections(const nlohmann::json& result, nlohmann::json& document);

}  // namespace kinflow
