// Relationship matrices from the files of every tool.
#pragma once

#include <string>
#include <string_view>

#include "kinflow/data/relationship_file.h"
#include "kinflow/data/relationship_format.h"

namespace kinflow {

/// Reads a relationship matrix and the names of its rows; docs/formats.md has the table
/// of formats. Lists and pedigrees give a sparse matrix, the others a dense one. Text
/// whose first line names the columns of a table of pairs or of a pedigree is read as
/// such. Sizes are checked against the length of the file before memory is spent.
/// Throws InputError.
RelationshipFile read_relationship(const std::string& path,
                                   const RelationshipOptions& options = {});

/// The same for bytes in memory, with ids if there are any; `source` stands for the
/// file in messages, and its ending for the format unless `options` has one.
RelationshipFile parse_relationship(std::string_view bytes, const std::string& source,
                                    std::vector<SampleId> ids = {},
                                    const RelationshipOptions& options = {});

}  // namespace kinflow
