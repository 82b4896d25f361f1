// A pass over a table of association tests, however long: places and p-values of all
// variants in a few bytes each, and the whole rows of those with small p-values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kinflow {

/// One variant in a few bytes.
struct ScannedVariant {
  std::int32_t position = 0;
  float log10_p = 0;  ///< NaN: not tested
  std::uint16_t chromosome = 0;
};

/// A row that was kept whole.
struct KeptVariant {
  std::uint16_t chromosome = 0;
  std::int64_t position = 0;
  double log10_p = 0;
  std::string line;  ///< as it stands in the file
};

struct GwasScan {
  std::vector<std::string> columns;      ///< of the file
  std::vector<std::string> chromosomes;  ///< in the order of the genome
  std::vector<ScannedVariant> variants;  ///< in the order of the file
  std::vector<KeptVariant> kept;         ///< those with the smallest p-values
  std::int64_t tested = 0;

  /// Place of a column, or -1.
  std::int64_t column(const std::string& name) const;
};

/// Rows that are kept whole, at most.
inline constexpr std::size_t kKeptVariants = 6000;

/// Reads PREFIX.assoc.tsv, plain or gzipped, on `threads` threads. InputError where it
/// has no columns CHROM, POS and P or LOG10P, or a row that is none.
GwasScan scan_associations(const std::string& path, std::int64_t threads);

/// The cells of a line.
std::vector<std::string> tab_cells(const std::string& line);

}  // namespace kinflow
