// The files of the page (web/), as they stand in the program.
#pragma once

#include <string_view>

namespace kinflow {

extern const std::string_view kPageHtml;    ///< with @NAMES@ for what is put into it
extern const std::string_view kPageStyle;   ///< one style sheet
extern const std::string_view kPageScript;  ///< all scripts, one after the other
/// Their SHA-256 in hexadecimal digits.
extern const std::string_view kPageStyleSha256, kPageScriptSha256;

}  // namespace kinflow
