// The part of Markdown that reports are written in.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "kinflow/pages/page.h"
#include "kinflow/pages/record_lookup.h"
#include "kinflow/pages/study_page.h"

namespace kinflow {
namespace {

constexpr std::size_t kLargestPicture = 600'000;

// Pieces of a line: text, code, strong or emphasised.
nlohmann::json inline_pieces(const std::string& line) {
  auto pieces = nlohmann::json::array();
  std::string plain;
  const auto flush = [&] {
    if (!plain.empty()) pieces.push_back({{"text", plain}});
    plain.clear();
  };
  for (std::size_t i = 0; i < line.size();) {
    const auto take = [&](const std::string& mark, const char* kind) {
      if (line.compare(i, mark.size(), mark) != 0) return false;
      const auto end = line.find(mark, i + mark.size());
      if (end == std::string::npos || end == i + mark.size()) return false;
      flush();
      pieces.push_back({{"text", line.substr(i + mark.size(), end - i - mark.size())},
                        {kind, true}});
      i = end + mark.size();
      return true;
    };
    if (take("`", "code") || take("**", "strong") || take("*", "emphasis")) continue;
    if (line[i] == '[') {
      // Of a link only the words.
      const auto middle = line.find("](", i), end = line.find(')', i);
      if (middle != std::string::npos && end != std::string::npos && middle < end) {
        plain += line.substr(i + 1, middle - i - 1);
        i = end + 1;
        continue;
      }
    }
    plain += line[i++];
  }
  flush();
  return pieces;
}

std::vector<std::string> table_cells(const std::string& line) {
  std::vector<std::string> cells;
  std::string cell;
  for (std::size_t i = line.find('|') + 1; i < line.size(); ++i) {
    if (line[i] == '\\' && i + 1 < line.size() && line[i + 1] == '|') {
      cell += line[++i];
    } else if (line[i] == '|') {
      const auto first = cell.find_first_not_of(' ');
      const auto last = cell.find_last_not_of(' ');
      cells.push_back(
          first == std::string::npos ? "" : cell.substr(first, last - first + 1));
      cell.clear();
    } else {
      cell += line[i];
    }
  }
  return cells;
}

nlohmann::json table_block(const std::vector<std::string>& lines) {
  nlohmann::json block = {{"kind", "table"},
                          {"head", nlohmann::json::array()},
                          {"left", nlohmann::json::array()},
                          {"rows", nlohmann::json::array()}};
  const auto head = table_cells(lines[0]);
  const auto rule = lines.size() > 1 ? table_cells(lines[1]) : head;
  for (std::size_t i = 0; i < head.size(); ++i) {
    block["head"].push_back(inline_pieces(head[i]));
    block["left"].push_back(i >= rule.size() || !rule[i].ends_with(':'));
  }
  for (std::size_t i = 2; i < lines.size(); ++i) {
    auto row = nlohmann::json::array();
    for (const auto& cell : table_cells(lines[i])) row.push_back(inline_pieces(cell));
    block["rows"].push_back(std::move(row));
  }
  return block;
}

// Width or height in the header of a PNG.
std::uint32_t png_size(const std::string& png, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    value = value << 8 | static_cast<unsigned char>(png[at + i]);
  }
  return value;
}

nlohmann::json image_block(const std::string& label, const std::string& name,
                           const std::string& directory) {
  nlohmann::json missing = {
      {"kind", "text"},
      {"text", {{{"text", "(The picture " + name + " is not there.)"}}}}};
  // Only what stands in the folder itself.
  if (name.find('/') != std::string::npos) return missing;
  const auto png = file_content(directory + "/" + name);
  if (png.size() < 24 || png.compare(1, 3, "PNG") != 0) return missing;
  if (png.size() > kLargestPicture) {
    missing["text"] = {
        {{"text", "(The picture " + name + " is too large for a page.)"}}};
    return missing;
  }
  return {{"kind", "image"},
          {"label", label},
          {"source", png_source(png)},
          {"width", png_size(png, 16)},
          {"height", png_size(png, 20)}};
}

}  // namespace

nlohmann::json markdown_blocks(const std::string& text, const std::string& directory) {
  auto blocks = nlohmann::json::array();
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  std::string paragraph;
  const auto flush = [&] {
    if (!paragraph.empty()) {
      blocks.push_back({{"kind", "text"}, {"text", inline_pieces(paragraph)}});
    }
    paragraph.clear();
  };
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto& line = lines[i];
    if (line.empty() || line.rfind("<!--", 0) == 0) {
      flush();
    } else if (line[0] == '#') {
      flush();
      const auto start = line.find_first_not_of("# ");
      if (start == std::string::npos) continue;
      blocks.push_back(
          {{"kind", "heading"}, {"text", inline_pieces(line.substr(start))}});
    } else if (line.rfind("![", 0) == 0 && line.find("](") != std::string::npos) {
      flush();
      const auto middle = line.find("](");
      const auto end = line.find(')', middle);
      blocks.push_back(image_block(line.substr(2, middle - 2),
                                   line.substr(middle + 2, end - middle - 2),
                                   directory));
    } else if (line[0] == '|') {
      flush();
      std::vector<std::string> rows;
      while (i < lines.size() && !lines[i].empty() && lines[i][0] == '|') {
        rows.push_back(lines[i++]);
      }
      --i;
      blocks.push_back(table_block(rows));
    } else if (line.rfind("- ", 0) == 0) {
      flush();
      auto items = nlohmann::json::array();
      while (i < lines.size() && lines[i].rfind("- ", 0) == 0) {
        items.push_back(inline_pieces(lines[i++].substr(2)));
      }
      --i;
      blocks.push_back({{"kind", "list"}, {"items", items}});
    } else {
      if (!paragraph.empty()) paragraph += ' ';
      paragraph += line;
    }
  }
  flush();
  return blocks;
}

}  // namespace kinflow
