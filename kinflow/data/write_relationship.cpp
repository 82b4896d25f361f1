// One writer for each format, all over the same walk along rows.
#include "kinflow/data/write_relationship.h"

#include <fmt/format.h>

#include <memory>
#include <span>

#include "kinflow/core/atomic_file.h"
#include "kinflow/core/error.h"
#include "kinflow/data/append_number.h"
#include "kinflow/data/npy.h"
#include "kinflow/data/zipped_file.h"

namespace kinflow {
namespace {

using Format = RelationshipFormat;

/// The number of variants behind the entry of row i and column j <= i; 1 where nothing
/// is known of it.
double variants_behind(const RelationshipFile& file, std::int64_t i, std::int64_t j) {
  if (file.pair_variants.empty()) return file.variants > 0 ? file.variants : 1;
  return double{file.pair_variants[static_cast<std::size_t>(i * (i + 1) / 2 + j)]};
}

/// Row i of the matrix as n values.
std::vector<double> dense_row(const RelationshipFile& file, std::int64_t row) {
  std::vector<double> values(static_cast<std::size_t>(file.rows));
  visit_row(file, row, [&](std::int64_t column, double value) {
    values[static_cast<std::size_t>(column)] = value;
  });
  return values;
}

template <typename Number>
void write_numbers(ZippedFile& output, std::span<const double> values) {
  const std::vector<Number> numbers(values.begin(), values.end());
  output.write(
      {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(Number)});
}

/// Rows as text or binary: the lower triangle with its diagonal, or whole rows.
template <typename Write>
void write_rows(const std::string& path, const RelationshipFile& file, bool is_triangle,
                const Write& write) {
  auto output = std::make_unique<ZippedFile>(path);
  for (std::int64_t i = 0; i < file.rows; ++i) {
    const auto values = dense_row(file, i);
    write(*output, std::span(values).first(
                       static_cast<std::size_t>(is_triangle ? i + 1 : file.rows)));
  }
  output->commit();
}

/// Text lines for the entries of the lower triangle that are not 0, and the diagonal.
template <typename Line>
void write_entries(const std::string& path, const std::string& header,
                   const RelationshipFile& file, bool with_zeros, const Line& line_of) {
  auto output = std::make_unique<ZippedFile>(path);
  output->write(header);
  std::string lines;
  for (std::int64_t i = 0; i < file.rows; ++i) {
    lines.clear();
    const auto add = [&](std::int64_t j, double value) {
      if (j > i || (value == 0 && j != i && !with_zeros)) return;
      lines += line_of(i, j);
      append_number(lines, value);
      lines += '\n';
    };
    if (with_zeros) {
      const auto values = dense_row(file, i);
      for (std::int64_t j = 0; j <= i; ++j) add(j, values[static_cast<std::size_t>(j)]);
    } else {
      visit_row(file, i, add);
    }
    output->write(lines);
  }
  output->commit();
}

void write_text_row(ZippedFile& output, std::span<const double> values,
                    char separator) {
  std::string line;
  for (const double value : values) {
    append_number(line, value);
    line += separator;
  }
  line.back() = '\n';
  output.write(line);
}

std::int64_t lower_entries(const RelationshipFile& file) {
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < file.rows; ++i) {
    visit_row(file, i, [&](std::int64_t j, double value) {
      count += j == i || (j < i && value != 0);
    });
  }
  return count;
}

void check_ids(const std::string& path, const RelationshipFile& file, Format format) {
  const bool needs_ids = format == Format::grm_binary || format == Format::grm_list ||
                         format == Format::grm_sparse || format == Format::rel_text ||
                         format == Format::rel_binary || format == Format::pairs;
  if (needs_ids && file.ids.empty()) {
    throw InputError(fmt::format(
        "{}: expected ids, which this format needs, found none in {}; give --ids FILE",
        path, file.source));
  }
  for (const SampleId& id : file.ids) {
    if ((id.family + id.individual).find_first_of(" \t,\"") == std::string::npos) {
      continue;
    }
    throw InputError(
        fmt::format("{}: expected ids without blanks, commas and quotes, "
                    "which the format cannot hold, found {}",
                    path, in_quotes(id)));
  }
}

/// The numbers of variants behind a .grm.bin.
std::string counts_path_for(const std::string& path) {
  return path.substr(0, path.size() - 4) + ".N.bin";
}

}  // namespace

ResultFiles files_of_relationship(const std::string& path) {
  const auto format = relationship_format(path);
  ResultFiles files = {path};
  if (format != Format::pairs) files.push_back(ids_path_for(path, format));
  if (format == Format::grm_binary) files.push_back(counts_path_for(path));
  return files;
}

std::vector<std::string> write_relationship(const std::string& path,
                                            const RelationshipFile& file) {
  const Format format = relationship_format(path);
  const std::string plain =
      path.ends_with(".gz") ? path.substr(0, path.size() - 3) : path;
  const bool is_text =
      plain.ends_with(".txt") || plain.ends_with(".tsv") || plain.ends_with(".csv");
  const bool is_binary = format == Format::npy || format == Format::grm_binary ||
                         format == Format::rel_binary;
  if (format == Format::king_text || format == Format::king_binary ||
      format == Format::pedigree || (format == Format::text && !is_text) ||
      (is_binary && plain != path)) {
    throw InputError(path +
                     ": expected a name that ends in .npy, .grm.bin, .grm.gz, .grm.sp, "
                     ".rel, .rel.bin, .mtx, .kin0, .txt, .tsv or .csv");
  }
  check_ids(path, file, format);
  std::vector<std::string> written;
  if (!file.ids.empty() && format != Format::pairs) {
    written.push_back(ids_path_for(path, format));
    write_file_atomically(written.back(), sample_id_lines(file.ids));
  }
  const auto float32 = [](ZippedFile& output, std::span<const double> values) {
    write_numbers<float>(output, values);
  };
  switch (format) {
    case Format::npy:
      write_npy(path, {file.rows, file.rows},
                file.is_sparse() ? to_dense(file) : file.dense);
      break;
    case Format::grm_binary:
      written.push_back(counts_path_for(path));
      write_rows(written.back(), file, true,
                 [&](ZippedFile& output, std::span<const double> values) {
                   const auto row = static_cast<std::int64_t>(values.size()) - 1;
                   std::vector<double> counts;
                   for (std::int64_t j = 0; j <= row; ++j) {
                     counts.push_back(variants_behind(file, row, j));
                   }
                   write_numbers<float>(output, counts);
                 });
      write_rows(path, file, true, float32);
      break;
    case Format::grm_list:
      write_entries(path, "", file, true, [&](std::int64_t i, std::int64_t j) {
        return fmt::format("{}\t{}\t{}\t", i + 1, j + 1, variants_behind(file, i, j));
      });
      break;
    case Format::grm_sparse:
      write_entries(path, "", file, false, [](std::int64_t i, std::int64_t j) {
        return fmt::format("{}\t{}\t", i, j);
      });
      break;
    case Format::rel_text:
      write_rows(path, file, true, [](ZippedFile& output, auto values) {
        write_text_row(output, values, '\t');
      });
      break;
    case Format::rel_binary:
      write_rows(path, file, false, [](ZippedFile& output, auto values) {
        write_numbers<double>(output, values);
      });
      break;
    case Format::matrix_market:
      write_entries(path,
                    fmt::format("%%MatrixMarket matrix coordinate real symmetric\n"
                                "{} {} {}\n",
                                file.rows, file.rows, lower_entries(file)),
                    file, false, [](std::int64_t i, std::int64_t j) {
                      return fmt::format("{} {} ", i + 1, j + 1);
                    });
      break;
    case Format::pairs:
      write_entries(path, "#FID1\tIID1\tFID2\tIID2\tRELATIONSHIP\n", file, false,
                    [&](std::int64_t i, std::int64_t j) {
                      std::string cells;
                      for (const auto row : {i, j}) {
                        const auto& id = file.ids[static_cast<std::size_t>(row)];
                        cells += (id.family.empty() ? "0" : id.family) + "\t" +
                                 id.individual + "\t";
                      }
                      return cells;
                    });
      break;
    default:
      write_rows(path, file, false, [&](ZippedFile& output, auto values) {
        write_text_row(output, values, plain.ends_with(".csv") ? ',' : '\t');
      });
  }
  written.push_back(path);
  return written;
}

}  // namespace kinflow
