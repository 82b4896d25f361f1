// Tables of principal components with the names of their rows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kinflow/data/minus_nine.h"
#include "kinflow/data/sample_ids.h"

namespace kinflow {

struct PrincipalComponents {
  std::string source;         ///< the file, for messages
  std::vector<SampleId> ids;  ///< [rows] all different, or empty where there are none
  std::int64_t rows = 0;
  std::int64_t columns = 0;    ///< at least 2
  std::vector<double> values;  ///< [rows x columns], row-major
};

/// Reads a table of principal components. A name that ends in .eigenvec is a file of
/// plink or GCTA: FID and IID (IID alone under plink2's header #IID) and the
/// components, with or without a header, between blanks or tabs. Any other is a table
/// with a header (read_table()); the columns in `id_columns`, or else those named FID
/// and IID (also with plink2's #), hold the ids where there are such, and all others
/// components. None may be missing. Throws InputError.
PrincipalComponents read_principal_components(
    const std::string& path, const std::vector<std::string>& id_columns,
    MinusNine minus_nine = MinusNine::careful);

}  // namespace kinflow
