// Names of people, or of other samples, in the files of genetics tools.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kinflow {

class TextLines;

/// A family id and an individual id, as in plink's files. The family is empty where
/// there is none; plink writes 0 for that. Ids are equal where their label_key() is:
/// 1 and 1.0 are the same person.
struct SampleId {
  std::string family;
  std::string individual;

  bool operator==(const SampleId& other) const;
};

/// "'FAMILY INDIVIDUAL'", or "'INDIVIDUAL'" without a family, for messages.
std::string in_quotes(const SampleId& id);

/// The id from two cells of a file; a family of 0 is none.
SampleId sample_id(std::string_view family, std::string_view individual);

/// Reads a file with one sample a line: one column (individual) or more (family,
/// individual, and others that are ignored, as in a .fam file), separated by blanks,
/// tabs or commas. A first line that starts with `#FID`, `#IID`, FID or IID is a header
/// and says what the first column is. InputError for lines of another width than the
/// first, for ids that are no printable UTF-8, and for an id that occurs twice.
std::vector<SampleId> read_sample_ids(const std::string& path);
std::vector<SampleId> read_sample_ids(TextLines& lines);

/// InputError where an id is no printable UTF-8 or occurs twice. `source` stands for
/// the file; ids are counted from 1 in messages.
void check_sample_ids(const std::vector<SampleId>& ids, const std::string& source);

/// The lines of a .id file: family and individual with a tab between, no header; a
/// family of 0 stands for none.
std::string sample_id_lines(const std::vector<SampleId>& ids);

}  // namespace kinflow

/// @cond
template <>
struct std::hash<kinflow::SampleId> {
  std::size_t operator()(const kinflow::SampleId& id) const;
};
/// @endcond
