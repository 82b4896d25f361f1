// Reading and writing lists of samples.
#include "kinflow/data/sample_ids.h"

#include <fmt/format.h>

#include <unordered_map>

#include "kinflow/core/counted.h"
#include "kinflow/core/error.h"
#include "kinflow/core/in_quotes.h"
#include "kinflow/data/label_key.h"
#include "kinflow/data/text_lines.h"

namespace kinflow {

bool SampleId::operator==(const SampleId& other) const {
  return label_key(individual) == label_key(other.individual) &&
         label_key(family) == label_key(other.family);
}

std::string in_quotes(const SampleId& id) {
  return in_quotes(id.family.empty() ? id.individual : id.family + " " + id.individual,
                   80);
}

SampleId sample_id(std::string_view family, std::string_view individual) {
  return {.family = std::string(label_key(family) == "0" ? "" : family),
          .individual = std::string(individual)};
}

std::vector<SampleId> read_sample_ids(const std::string& path) {
  TextLines lines(path);
  return read_sample_ids(lines);
}

std::vector<SampleId> read_sample_ids(TextLines& lines) {
  std::vector<SampleId> ids;
  std::size_t width = 0;
  bool family_first = false;
  std::int64_t first_line = 0;
  while (lines.next_filled()) {
    const auto cells = split_cells(lines.line());
    if (cells.empty()) lines.fail("expected an id, found separators only");
    if (width == 0) {
      width = cells.size();
      first_line = lines.number();
      const std::string name = lower_case(cells[0]);
      const bool names_family = name == "#fid" || name == "fid";
      const bool names_individual = name == "#iid" || name == "iid";
      family_first = names_family || (!names_individual && width > 1);
      if (family_first && width < 2) lines.fail("expected FID and IID, found FID only");
      if (names_family || names_individual) continue;
    }
    if (cells.size() != width) {
      lines.fail(fmt::format("expected {} as in line {}, found {}",
                             counted(width, "cell"), first_line, cells.size()));
    }
    ids.push_back(family_first ? sample_id(cells[0], cells[1])
                               : sample_id("", cells[0]));
  }
  if (ids.empty()) throw InputError(lines.source() + ": expected ids, found none");
  check_sample_ids(ids, lines.source());
  return ids;
}

void check_sample_ids(const std::vector<SampleId>& ids, const std::string& source) {
  std::unordered_map<SampleId, std::size_t> seen;
  seen.reserve(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i].individual.empty() || !is_printable_utf8(ids[i].family) ||
        !is_printable_utf8(ids[i].individual)) {
      throw InputError(fmt::format("{}: expected ids of UTF-8 text, found {}", source,
                                   in_quotes(ids[i])));
    }
    const auto [found, is_new] = seen.emplace(ids[i], i);
    if (is_new) continue;
    throw InputError(
        fmt::format("{}: expected different ids, found {} both as id {} and as id {}",
                    source, in_quotes(ids[i]), found->second + 1, i + 1));
  }
}

std::string sample_id_lines(const std::vector<SampleId>& ids) {
  std::string text;
  for (const SampleId& id : ids) {
    text += (id.family.empty() ? "0" : id.family) + "\t" + id.individual + "\n";
  }
  return text;
}

}  // namespace kinflow

std::size_t std::hash<kinflow::SampleId>::operator()(
    const kinflow::SampleId& id) const {
  const std::hash<std::string> of_text;
  return of_text(kinflow::label_key(id.individual)) * 31 +
         of_text(kinflow::label_key(id.family));
}
