// The folders of the sources include each other as docs/architecture.md says.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

const fs::path kSources = KINFLOW_SOURCES;

using Graph = std::map<std::string, std::set<std::string>>;

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// "kinflow/fit/images" is "fit/images"; "cli" and "studies" stay.
std::string without_root(const std::string& folder) {
  constexpr std::string_view kRoot = "kinflow/";
  return folder.starts_with(kRoot) ? folder.substr(kRoot.size()) : folder;
}

/// Which folder includes a header of which, without a folder's own.
Graph graph_of_sources() {
  static const std::regex include(R"re(#include "((?:kinflow|cli|studies)/[^"]+)")re");
  Graph graph;
  for (const auto* root : {"kinflow", "cli", "studies"}) {
    for (const auto& entry : fs::recursive_directory_iterator(kSources / root)) {
      const auto ending = entry.path().extension();
      if (ending != ".h" && ending != ".cpp" && ending != ".cu" && ending != ".cuh") {
        continue;
      }
      // The public face includes what it shows.
      if (entry.path().parent_path() == kSources / "kinflow") continue;
      const auto from = without_root(
          entry.path().parent_path().lexically_relative(kSources).generic_string());
      const auto text = text_of(entry.path());
      for (std::sregex_iterator it(text.begin(), text.end(), include), end; it != end;
           ++it) {
        const auto header = fs::path((*it)[1].str());
        EXPECT_TRUE(fs::exists(kSources / header)) << header << " in " << entry.path();
        const auto to = without_root(header.parent_path().generic_string());
        if (from != to) graph[from].insert(to);
      }
    }
  }
  return graph;
}

/// The lines "folder: folder, folder" of the block after the heading.
Graph graph_of_document() {
  const auto text = text_of(kSources / "docs/architecture.md");
  const auto heading = text.find("\n## Include direction\n");
  const auto begin = text.find("```\n", heading);
  if (heading == std::string::npos || begin == std::string::npos) return {};
  std::istringstream block(
      text.substr(begin + 4, text.find("```", begin + 4) - begin - 4));
  static const std::regex name("[a-z_/]+");
  Graph graph;
  for (std::string line; std::getline(block, line);) {
    const auto colon = line.find(':');
    if (colon == std::string::npos) continue;
    auto& reached = graph[line.substr(0, colon)];
    const auto names = line.substr(colon + 1);
    for (std::sregex_iterator it(names.begin(), names.end(), name), end; it != end;
         ++it) {
      reached.insert(it->str());
    }
  }
  return graph;
}

/// The folder of the document that a folder belongs to: itself or the nearest above it.
std::string room_of(const std::string& folder, const Graph& document) {
  for (fs::path at = folder; !at.empty(); at = at.parent_path()) {
    if (document.count(at.generic_string())) return at.generic_string();
  }
  return folder;
}

/// Folders in the order in which they can be built; fewer than all where some include
/// each other in a circle.
std::size_t count_in_order(const Graph& graph) {
  std::set<std::string> all, done;
  for (const auto& [from, reached] : graph) {
    all.insert(from);
    all.insert(reached.begin(), reached.end());
  }
  for (bool grows = true; grows;) {
    grows = false;
    for (const auto& folder : all) {
      if (done.count(folder)) continue;
      const auto found = graph.find(folder);
      const bool is_ready = found == graph.end() ||
                            std::ranges::all_of(found->second, [&](const auto& to) {
                              return done.count(to) > 0;
                            });
      if (is_ready) grows = done.insert(folder).second;
    }
  }
  return all.size() - done.size();
}

bool is_inside(const std::string& folder, const std::string& outer) {
  return folder.starts_with(outer + "/");
}

TEST(IncludeGraph, IsThatOfTheDocument) {
  const auto document = graph_of_document();
  ASSERT_GT(document.size(), 10U);
  Graph rooms;
  for (const auto& [from, reached] : graph_of_sources()) {
    const auto room = room_of(from, document);
    EXPECT_TRUE(document.count(room)) << from << " is not in docs/architecture.md";
    for (const auto& to : reached) {
      const auto other = room_of(to, document);
      if (other != room && other != "core") rooms[room].insert(other);
    }
  }
  for (const auto& [room, reached] : document) {
    EXPECT_EQ(rooms[room], reached) << "of " << room;
  }
}

TEST(IncludeGraph, HasNoCircleOfFolders) {
  const auto document = graph_of_document();
  EXPECT_EQ(count_in_order(document), 0U);
}

// A folder and those inside it may include each other: it is their face.
TEST(IncludeGraph, HasNoCircleOfSubfolders) {
  Graph graph;
  for (const auto& [from, reached] : graph_of_sources()) {
    for (const auto& to : reached) {
      if (!is_inside(to, from) && !is_inside(from, to)) graph[from].insert(to);
    }
  }
  EXPECT_EQ(count_in_order(graph), 0U);
}

// The order in which folders are found to be free of circles is one that exists.
TEST(IncludeGraph, ACircleIsSeen) {
  EXPECT_EQ(count_in_order({{"a", {"b"}}, {"b", {"c"}}, {"c", {"a"}}}), 3U);
  EXPECT_EQ(count_in_order({{"a", {"b", "c"}}, {"b", {"c"}}}), 0U);
}

}  // namespace
