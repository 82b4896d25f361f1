// The command that repeats a run, from its record.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace kinflow {

/// `kinflow fit TABLE ...` with every option whose value is not the default, for the
/// record of a run folder of a table. Words are quoted for a shell where they need it.
std::string repeat_fit_command(const nlohmann::json& record,
                               const std::string& directory);
/// The same of a run of images.
std::string repeat_image_fit_command(const nlohmann::json& record,
                                     const std::string& directory);
/// A word as a shell takes it whole.
std::string shell_word(const std::string& word);

}  // namespace kinflow
