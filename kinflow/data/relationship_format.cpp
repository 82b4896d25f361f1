// Endings of names.
#include "kinflow/data/relationship_format.h"

#include <filesystem>
#include <string_view>

#include "kinflow/core/error.h"

namespace kinflow {
namespace {

using Format = RelationshipFormat;

bool exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored) &&
         !std::filesystem::is_directory(path, ignored);
}

std::string without_ending(const std::string& path, std::string_view ending) {
  return path.ends_with(ending) ? path.substr(0, path.size() - ending.size()) : path;
}

bool belongs_to_gcta(Format format) {
  return format == Format::grm_binary || format == Format::grm_list ||
         format == Format::grm_sparse;
}

}  // namespace

const std::vector<std::pair<std::string, Format>>& relationship_format_names() {
  static const std::vector<std::pair<std::string, Format>> names = {
      {"npy", Format::npy},
      {"text", Format::text},
      {"grm-bin", Format::grm_binary},
      {"grm-gz", Format::grm_list},
      {"grm-sp", Format::grm_sparse},
      {"rel", Format::rel_text},
      {"rel-bin", Format::rel_binary},
      {"king", Format::king_text},
      {"king-bin", Format::king_binary},
      {"pairs", Format::pairs},
      {"mtx", Format::matrix_market},
      {"pedigree", Format::pedigree}};
  return names;
}

const std::string& name_of(Format format) {
  for (const auto& [name, value] : relationship_format_names()) {
    if (value == format) return name;
  }
  return relationship_format_names().front().first;
}

Format relationship_format(const std::string& path) {
  static const std::vector<std::pair<std::string_view, Format>> endings = {
      {".npy", Format::npy},           {".grm.bin", Format::grm_binary},
      {".grm", Format::grm_list},      {".grm.sp", Format::grm_sparse},
      {".rel", Format::rel_text},      {".rel.bin", Format::rel_binary},
      {".king", Format::king_text},    {".king.bin", Format::king_binary},
      {".kin0", Format::pairs},        {".kin", Format::pairs},
      {".mtx", Format::matrix_market}, {".fam", Format::pedigree},
      {".psam", Format::pedigree},     {".ped", Format::pedigree},
      {".pedigree", Format::pedigree}};
  if (path.ends_with(".zst")) {
    throw InputError(path +
                     ": expected a plain or gzipped file, found zstd; unpack it with "
                     "zstd -d");
  }
  const std::string unzipped = without_ending(path, ".gz");
  for (const auto& [ending, format] : endings) {
    if (unzipped.ends_with(ending)) return format;
  }
  return Format::text;
}

RelationshipFiles find_relationship(const std::string& path,
                                    const RelationshipOptions& options) {
  RelationshipFiles files{.format = options.format.value_or(Format::text),
                          .matrix = path,
                          .ids = options.ids,
                          .counts = {}};
  if (!exists(path) && !options.format) {
    const std::string prefix = without_ending(path, ".grm");
    for (const std::string_view ending : {".grm.bin", ".grm.gz", ".grm.sp"}) {
      if (!exists(prefix + std::string(ending))) continue;
      files.matrix = prefix + std::string(ending);
      break;
    }
  }
  if (!options.format) files.format = relationship_format(files.matrix);
  const std::string own_ids = ids_path_for(files.matrix, files.format);
  for (const std::string& candidate :
       {own_ids, files.matrix + ".id", files.matrix + ".sampleIDs.txt"}) {
    if (files.ids.empty() && files.format != Format::pedigree && exists(candidate)) {
      files.ids = candidate;
    }
  }
  if (files.format == Format::grm_binary) {
    const std::string counts = without_ending(files.matrix, ".grm.bin") + ".grm.N.bin";
    if (counts != files.matrix && exists(counts)) files.counts = counts;
  }
  return files;
}

std::string ids_path_for(const std::string& matrix, Format format) {
  std::string stem = without_ending(matrix, ".gz");
  if (belongs_to_gcta(format)) {
    for (const std::string_view ending : {".bin", ".sp"}) {
      stem = without_ending(stem, ending);
    }
    return stem + ".id";
  }
  if (format == Format::rel_binary || format == Format::king_binary) {
    return without_ending(stem, ".bin") + ".id";
  }
  if (format == Format::rel_text || format == Format::king_text) return stem + ".id";
  return matrix + ".id";
}

}  // namespace kinflow
