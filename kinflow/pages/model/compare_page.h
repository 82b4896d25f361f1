// Several runs beside each other, and the demo, which is four of them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace kinflow {

/// The document of several run folders. What cannot be compared is said in the page.
nlohmann::json compare_page(const std::vector<std::string>& runs);

/// Whether a folder is that of `kinflow demo`, or of its study.
bool is_demo(const std::string& directory);
/// The document of a demo: the paper's Figure 1, and test scores of its fits.
nlohmann::json demo_page(const std::string& directory);

}  // namespace kinflow
