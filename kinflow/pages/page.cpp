// Puts the data into the page, in a form in which nothing of it can become markup.
#include "kinflow/pages/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <vector>

#include "kinflow/core/atomic_file.h"
#include "kinflow/pages/page_files.h"

namespace kinflow {
namespace {

/// JSON as the content of a <script>: without the characters that HTML looks for there,
/// and without the line ends that JavaScript knows and JSON does not.
std::string script_json(const nlohmann::json& document) {
  const auto text =
      document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  std::string safe;
  safe.reserve(text.size() + text.size() / 8);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '<' || c == '>' || c == '&') {
      safe += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else if (text.compare(i, 3, "\u2028") == 0 || text.compare(i, 3, "\u2029") == 0) {
      safe += text[i + 2] == '\xa8' ? "\\u2028" : "\\u2029";
      i += 2;
    } else {
      safe += c;
    }
  }
  return safe;
}

std::string bytes_of_hex(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  }
  return bytes;
}

std::string policy() {
  const auto hash = [](std::string_view sha256) {
    return "'sha256-" + base64(bytes_of_hex(sha256)) + "'";
  };
  return fmt::format(
      "default-src 'none'; script-src {}; style-src {}; img-src data:; base-uri "
      "'none'; form-action 'none'",
      hash(kPageScriptSha256), hash(kPageStyleSha256));
}

// The template with a text in the place of every @NAME@. What was put in is not looked
// at again.
std::string filled(const std::vector<std::pair<std::string, std::string>>& values) {
  std::string page;
  std::string_view rest = kPageHtml;
  for (const auto& [name, value] : values) {
    const auto mark = "@" + name + "@";
    const auto at = rest.find(mark);
    if (at == std::string_view::npos) {
      throw std::logic_error("page.html: no place for " + name);
    }
    page += rest.substr(0, at);
    page += value;
    rest.remove_prefix(at + mark.size());
  }
  return page += rest;
}

std::string assembled(const nlohmann::json& document) {
  return filled({{"POLICY", policy()},
                 {"TITLE", html_text(document.value("title", "") + " · kinflow")},
                 {"STYLE", std::string(kPageStyle)},
                 {"DATA", script_json(document)},
                 {"SCRIPT", std::string(kPageScript)}});
}

}  // namespace

std::string html_text(std::string_view text) {
  // The dump takes care of bytes that are no UTF-8.
  const auto valid =
      nlohmann::json(std::string(text))
          .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  std::string safe;
  for (const char c : nlohmann::json::parse(valid).get<std::string>()) {
    switch (c) {
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '&':
        safe += "&amp;";
        break;
      case '"':
        safe += "&quot;";
        break;
      case '\'':
        safe += "&#39;";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

std::string base64(std::string_view bytes) {
  static constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const auto count = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      group = group << 8 | (k < count ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      text += k <= count ? kDigits[group >> (18 - 6 * k) & 63] : '=';
    }
  }
  return text;
}

std::string png_source(std::string_view png) {
  return "data:image/png;base64," + base64(png);
}

std::string page_html(const nlohmann::json& document) {
  auto page = assembled(document);
  if (page.size() <= kLargestPage) return page;
  auto smaller = document;
  auto& sections = smaller["sections"];
  while (page.size() > kLargestPage && !sections.empty()) {
    // The largest first: the others may all find their place.
    std::size_t largest = 0, bytes = 0;
    for (std::size_t i = 0; i < sections.size(); ++i) {
      const auto size =
          sections[i]
              .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)
              .size();
      if (size > bytes && !sections[i].contains("missing")) {
        largest = i;
        bytes = size;
      }
    }
    if (bytes == 0) break;
    sections[largest] = {
        {"title", sections[largest].value("title", "")},
        {"missing", "Left out: the page would become larger than 2 MB with it."}};
    page = assembled(smaller);
  }
  return page;
}

void write_page(const std::string& path, const nlohmann::json& document) {
  write_file_atomically(path, page_html(document));
}

}  // namespace kinflow
