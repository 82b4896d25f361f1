// What a study leaves on the disk, and what decides it.
#pragma once

#include <array>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "kinflow/core/result_files.h"
#include "kinflow/genetics/association_tests.h"
#include "kinflow/gwas/gwas_inputs.h"

namespace kinflow {

inline constexpr std::array kGwasPictures = {".manhattan.png", ".qq.png"};

/// Folder of an unfinished study.
std::string partial_of(const std::string& prefix);
/// Run folder of its flow, and the matrix that the flow is trained with.
std::string model_of(const std::string& prefix);
std::string flow_matrix_of(const std::string& prefix);

/// All files and folders that a study with this prefix may have, finished or not, but
/// for its .log.
ResultFiles gwas_files(const std::string& prefix);

/// All that decides a study, as it is known before a flow is trained.
nlohmann::json describe_study(const GwasRequest& request, const GwasInputs& inputs);
/// All that decides its tests.
nlohmann::json describe_tests(const GwasRequest& request, const GwasInputs& inputs,
                              const std::vector<TraitSet>& sets);

}  // namespace kinflow
