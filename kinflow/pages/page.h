// One HTML file that shows a run: it opens from disk and reaches for nothing else.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace kinflow {

/// A page is never larger, however large the run.
inline constexpr std::size_t kLargestPage = 2'000'000;

/// The page of a document: `title`, `kind`, `subtitle`, `facts` (label, value, note),
/// `words` (heading, text), `watch` (level, text), `sections` (type, title, lead, and
/// what web/section_*.js of this type reads), `commands`, `provenance`, `options`,
/// `footer`. Texts of files and tables may hold anything: they are shown as text. Bytes
/// that are no UTF-8 become U+FFFD, and numbers that are not finite null.
/// Where the page would become larger than kLargestPage, a word takes the place of its
/// largest sections.
std::string page_html(const nlohmann::json& document);

/// Writes it, atomically.
void write_page(const std::string& path, const nlohmann::json& document);

/// Base64 of bytes, for data URIs and policies.
std::string base64(std::string_view bytes);
/// "data:image/png;base64,..." of a PNG.
std::string png_source(std::string_view png);
/// A text in which no character can end or open an element of HTML.
std::string html_text(std::string_view text);

}  // namespace kinflow
