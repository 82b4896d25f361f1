// Phenotypes for other tools.
#pragma once

#include <string>
#include <vector>

#include "kinflow/data/sample_ids.h"
#include "kinflow/genetics/named_columns.h"

namespace kinflow {

/// Writes #FID IID and the columns, with tabs between, as plink2, GCTA and regenie read
/// them; a family that is not known is 0. The file appears whole or not at all.
/// @param columns  [ids x columns]
void write_phenotypes(const std::string& path, const std::vector<SampleId>& ids,
                      const NamedColumns& columns);

}  // namespace kinflow
