// From a format to its reader, and from rows to their names.
#include "kinflow/data/read_relationship.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "kinflow/core/error.h"
#include "kinflow/core/input_file.h"
#include "kinflow/data/npy.h"
#include "kinflow/data/pedigree.h"
#include "kinflow/data/relationship_readers.h"

namespace kinflow {
namespace {

using Format = RelationshipFormat;

RelationshipFile from_array(NpyArray array, const std::string& source) {
  if (array.shape.size() != 2) {
    throw InputError(
        fmt::format("{}: expected a square matrix, found an array of {} dimensions",
                    source, array.shape.size()));
  }
  if (array.shape[0] != array.shape[1] || array.shape[0] == 0) {
    throw InputError(fmt::format("{}: expected a square matrix, found {} x {}", source,
                                 array.shape[0], array.shape[1]));
  }
  RelationshipFile file{.source = source,
                        .ids = {},
                        .rows = array.shape[0],
                        .dense = std::move(array.values),
                        .sparse = {}};
  const auto n = static_cast<std::size_t>(file.rows);
  for (std::size_t i = 0; i < file.dense.size(); ++i) {
    if (std::isfinite(file.dense[i])) continue;
    throw InputError(
        fmt::format("{}: expected finite numbers, found {} in row {}, column {}",
                    source, file.dense[i], i / n + 1, i % n + 1));
  }
  return file;
}

MatrixLayout layout_of(Format format) {
  const bool is_kinship = format == Format::king_text || format == Format::king_binary;
  return {.is_kinship = is_kinship,
          .zeros_above_mean_triangle =
              is_kinship || format == Format::rel_text || format == Format::rel_binary};
}

RelationshipFile read_lines(TextLines& lines, Format format,
                            const std::vector<SampleId>& ids,
                            const RelationshipOptions& options) {
  if (format == Format::text && !options.format) {
    if (starts_like_pairs(lines))
      format = Format::pairs;
    else if (starts_like_pedigree(lines))
      format = Format::pedigree;
  }
  switch (format) {
    case Format::grm_list:
      return read_grm_list(lines);
    case Format::grm_sparse:
      return read_sparse_grm(lines, static_cast<std::int64_t>(ids.size()));
    case Format::pairs:
      return read_pairs(lines, ids);
    case Format::matrix_market:
      return read_matrix_market(lines);
    case Format::pedigree:
      return pedigree_relationship(read_pedigree(lines), options.drop_unlisted_parents);
    default:
      return read_text_matrix(lines, layout_of(format));
  }
}

/// Gives the rows the names that a file of ids has for them.
/// @param ids_source  that file, for messages
RelationshipFile with_ids(RelationshipFile file, std::vector<SampleId> ids,
                          const std::string& ids_source) {
  if (ids.empty()) return file;
  if (static_cast<std::int64_t>(ids.size()) != file.rows) {
    throw InputError(
        fmt::format("{}: expected {} ids, one for each row of {}, found {}", ids_source,
                    file.rows, file.source, ids.size()));
  }
  file.ids = std::move(ids);
  return file;
}

}  // namespace

RelationshipFile read_relationship(const std::string& path,
                                   const RelationshipOptions& options) {
  const RelationshipFiles files = find_relationship(path, options);
  if (files.format == Format::pedigree && !files.ids.empty()) {
    throw InputError(files.ids +
                     ": expected no file of ids beside a pedigree, which has its own");
  }
  std::vector<SampleId> ids;
  if (!files.ids.empty()) ids = read_sample_ids(files.ids);
  switch (files.format) {
    case Format::npy:
      return with_ids(from_array(read_npy(files.matrix), files.matrix), std::move(ids),
                      files.ids);
    case Format::grm_binary: {
      auto file = read_grm_binary(files.matrix, std::move(ids));
      if (!files.counts.empty())
        file.variants = read_mean_count(files.counts, file.rows);
      return file;
    }
    case Format::rel_binary:
    case Format::king_binary:
      return read_plink_binary(files.matrix, std::move(ids), layout_of(files.format));
    default: {
      TextLines lines(files.matrix);
      auto file = read_lines(lines, files.format, ids, options);
      return with_ids(std::move(file), std::move(ids), files.ids);
    }
  }
}

RelationshipFile parse_relationship(std::string_view bytes, const std::string& source,
                                    std::vector<SampleId> ids,
                                    const RelationshipOptions& options) {
  const Format format = options.format ? *options.format : relationship_format(source);
  switch (format) {
    case Format::npy:
      return with_ids(from_array(parse_npy(bytes, source), source), std::move(ids),
                      source);
    case Format::grm_binary:
      return parse_grm_binary(bytes, source, std::move(ids));
    case Format::rel_binary:
    case Format::king_binary:
      return parse_plink_binary(bytes, source, std::move(ids), layout_of(format));
    default: {
      TextLines lines(bytes, source);
      auto file = read_lines(lines, format, ids, options);
      return with_ids(std::move(file), std::move(ids), source);
    }
  }
}

}  // namespace kinflow
