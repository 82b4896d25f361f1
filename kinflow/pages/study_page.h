// The page of a study of `reproduce`: its report, its pictures and its scores.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace kinflow {

/// Whether a folder holds a study.
bool is_study(const std::string& directory);

/// The document of a study. What is missing or broken is said in the page.
nlohmann::json study_page(const std::string& directory);

/// Blocks of a Markdown text as the page shows them: headings, paragraphs, lists,
/// tables, and images of the folder as data. Of inline marks `code`, **strong** and
/// *emphasis* are known; all else is text.
nlohmann::json markdown_blocks(const std::string& text, const std::string& directory);

}  // namespace kinflow
