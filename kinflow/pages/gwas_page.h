// The page of an association study: p-values along the genome, regions of loci,
// quantiles and null models.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace kinflow {

/// Whether a study with this prefix has left a table of tests.
bool is_gwas(const std::string& prefix);

/// The document of a study, by the prefix of its files. What is missing or broken is
/// said in the page.
nlohmann::json gwas_page(const std::string& prefix, std::int64_t threads);

}  // namespace kinflow
