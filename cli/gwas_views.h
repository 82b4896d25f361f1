// What a person sees of an association study: tables and pictures.
#pragma once

#include <string>

#include "kinflow/gwas/gwas.h"

namespace kinflow::cli {

/// Tables for the log and pictures beside the results. `request` must outlive them.
GwasViews gwas_views(const GwasRequest& request);

/// What every method came to.
std::string gwas_summary(const GwasResult& result, const GwasRequest& request);

}  // namespace kinflow::cli
