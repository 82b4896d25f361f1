// Tables of association tests: one variant a line, effects on every trait, a p-value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kinflow/data/delimited_lines.h"
#include "kinflow/data/zipped_file.h"

namespace kinflow {

/// The tests of one variant. A number that is not known, because the test could not be
/// done or the file does not tell, is NaN (`people` and `position`: 0).
struct Association {
  static constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

  std::string chromosome;
  std::int64_t position = 0;
  std::string id;
  std::string a1;  ///< the allele that is counted
  std::string a2;
  double a1_frequency = kUnknown;
  std::int64_t people = 0;
  std::vector<double> effects;          ///< of one a1 allele on each trait
  std::vector<double> standard_errors;  ///< of the effects
  double chi_squared = kUnknown;
  double p = kUnknown;        ///< 0 below the smallest number, see log10_p
  double log10_p = kUnknown;  ///< -log10 of the p-value
};

/// Rows as they stand in a file of AssociationWriter, with as many effects and standard
/// errors as there are traits (else std::invalid_argument).
std::string format_associations(std::span<const Association> rows, std::size_t traits);

/// Writes CHROM POS ID A1 A2 A1_FREQ N, BETA_trait and SE_trait for each trait, CHISQ,
/// P and LOG10P (-log10 of the p-value), with tabs between; plink reads it as a report
/// for --clump. The file appears whole when it is finished, or not at all; a path that
/// ends in .gz is gzipped.
class AssociationWriter {
 public:
  /// @param traits  names; blanks in them become '_', because most tools split there.
  /// InputError where two are the same after that.
  AssociationWriter(const std::string& path, const std::vector<std::string>& traits);

  /// Adds rows that format_associations() gave for as many traits.
  void append(std::string_view formatted) { file_.write(formatted); }
  /// Gives the file its name. Call once, last.
  void finish() { file_.commit(); }

 private:
  ZippedFile file_;
};

/// Names of columns that a user chooses in place of the known ones.
struct AssociationFields {
  std::string id;  ///< empty: ID, SNP or rs
  std::string p;   ///< empty: P, p_score, p_wald, p_lrt or PVAL, and LOG10P
};

/// Reads such a table, or one of plink's or GEMMA's, row by row. Columns are found by
/// name, in any order and in upper or lower case: ID, SNP or rs; #CHROM, CHROM or CHR;
/// POS, BP or ps; P, p_score, p_wald, p_lrt or PVAL; LOG10P, LOG10_P or NEG_LOG10_P,
/// which are -log10 of p-values; A1 or allele1; A2 or allele0; A1_FREQ or af; N, OBS_CT
/// or NMISS; CHISQ; BETA_trait and SE_trait. Of several names for the same the first in
/// this list counts. Only ids and p-values, or their logarithms, must be there. Of both
/// the logarithm counts, unless a user has chosen a column of p-values; a chosen column
/// with one of the names of logarithms holds these.
/// Cells are separated by tabs, else commas, else blanks, as the header is.
/// InputError, with file and line, for a column that is missing or there twice, a row
/// of another width, a cell that is no number, a p-value outside 0 to 1, a negative
/// logarithm, and one that is not that of the p-value beside it.
class AssociationReader {
 public:
  explicit AssociationReader(const std::string& path,
                             const AssociationFields& fields = {});

  const std::vector<std::string>& traits() const { return traits_; }
  bool has_places() const { return chromosome_ && position_; }
  /// Reads the next row into `row`; false at the end.
  bool next(Association& row);
  /// Line of the row that was read last.
  std::int64_t line() const { return lines_.line(); }
  /// Throws InputError "FILE:LINE: WHAT" about the row that was read last.
  [[noreturn]] void fail(const std::string& what) const { lines_.fail(what); }

 private:
  using Column = std::optional<std::size_t>;

  Column find(std::span<const std::string_view> names) const;
  Column require(const std::string& wanted, std::span<const std::string_view> names,
                 const std::string& what) const;
  void find_p(const std::string& wanted);
  void find_traits();
  double number(Column column) const;
  std::int64_t whole_number(Column column) const;
  void read_p(Association& row) const;
  std::string text(Column column) const;
  [[noreturn]] void refuse(const std::string& expected, Column column) const;

  DelimitedLines lines_;
  std::vector<std::string> traits_;
  std::vector<Column> effects_, standard_errors_;
  Column chromosome_, position_, id_, a1_, a2_, a1_frequency_, people_, chi_squared_,
      p_, log10_p_;
};

}  // namespace kinflow
