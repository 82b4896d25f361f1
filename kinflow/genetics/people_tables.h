// Tables of phenotypes and covariates, matched with the people of a .fam.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kinflow/data/delimited_lines.h"
#include "kinflow/data/minus_nine.h"
#include "kinflow/genetics/genotypes.h"
#include "kinflow/genetics/mixed_model_data.h"
#include "kinflow/genetics/variant_filters.h"

namespace kinflow {

struct PeopleTableRequest {
  std::string path;
  /// Empty: all but FID and IID. PC{1:10} stands for PC1 to PC10, unless a column has
  /// just this name. Names that were split at a comma are found too.
  std::vector<std::string> columns = {};
  /// Covariates taken as categories although they are numbers (--cat-covar).
  std::vector<std::string> categories = {};
  /// careful: missing, as in plink2, but InputError where another value from -10 to -8
  /// is in the same column, or -9 is plainly one of its values
  MinusNine minus_nine = MinusNine::careful;
};

struct CategoryColumn {
  std::string name;
  std::vector<std::string> labels;  ///< [people of the .fam], empty: missing
};

/// The rows of a file for the people of a .fam.
struct PeopleTable {
  std::string source;
  NamedColumns numbers;  ///< [people of the .fam x columns], NaN: missing
  std::vector<CategoryColumn> categories;
  std::vector<char> has_row;            ///< [people of the .fam]
  std::int64_t rows = 0;                ///< of the file
  std::int64_t unknown = 0;             ///< rows of people who are not in the .fam
  std::vector<std::string> notes = {};  ///< for the user, one line each
};

/// Reads phenotypes: columns of numbers.
///
/// The file is text, plain or gzipped, with a header whose first columns are FID and
/// IID, or IID alone, in any case and with or without a # before; lines before it that
/// start with ## are skipped. Cells are separated by tabs, else commas, else blanks, as
/// the header is. Cells of is_missing_cell() and, by the request, -9 are missing. Rows
/// find their people as those of choose_people() do, in any order; cells of people who
/// are not in the .fam are not looked at.
///
/// InputError, of one line with the file and the place, for: an empty file, no header,
/// columns without a name or with one that occurs twice, no columns beside the ids, a
/// column that is asked for but not there or asked for twice, no rows, rows of another
/// width, a person who occurs twice, an id that stands for several people, a cell that
/// is no number or infinite, and no row of anybody in the .fam. A note says where a
/// trait has the codes of controls and cases, which are taken as quantities, and where
/// -9 was taken as missing.
PeopleTable read_traits(const PeopleTableRequest& request,
                        const std::vector<Person>& people);
/// The same of a file that is open, or bytes in memory; request.path is not looked at.
PeopleTable read_traits(DelimitedLines& lines, const PeopleTableRequest& request,
                        const std::vector<Person>& people);

/// Reads covariates in the same way. A column with text that is no number is one of
/// categories, as are those of request.categories; there -9 is missing unless it is
/// MinusNine::value. InputError also for a column in which text stands between numbers
/// and which has more than kMostMixedLabels labels, which is more likely a mistake,
/// unless it is in request.categories, and for categories that are no columns.
PeopleTable read_covariates(const PeopleTableRequest& request,
                            const std::vector<Person>& people);
PeopleTable read_covariates(DelimitedLines& lines, const PeopleTableRequest& request,
                            const std::vector<Person>& people);

inline constexpr std::int64_t kMostMixedLabels = 20;

/// True where the values that are not missing are just 0 and 1, or just 1 and 2: the
/// codes of controls and cases.
bool are_case_codes(std::span<const double> values);

/// The people whom an analysis has, with all that it needs of them.
struct AnalysedPeople {
  std::vector<std::int64_t> people;  ///< rows of the .fam in its order
  NamedColumns traits;               ///< [people x traits]
  /// [people x ...] without an intercept: the numbers, then for each category a 0/1
  /// column "name=label" for all labels that occur but the most frequent one (of
  /// several the first in the order of bytes), in the order of bytes
  NamedColumns covariates;
  /// "in the phenotype table", "in the covariate table", "complete in traits",
  /// "complete in covariates"; the second and fourth only where there are covariates
  std::vector<FilterStep> steps;
  /// Of each trait, and of each covariate (numbers, then categories, as in the table):
  /// people without a value, among the candidates who are in the tables.
  std::vector<std::int64_t> missing_of_trait, missing_of_covariate;
  /// Of each trait: how many more people there would be if it were left out.
  std::vector<std::int64_t> lost_to_trait;
};

inline constexpr std::int64_t kLeastPeople = 10;

/// The candidates with a value of every trait and covariate.
/// @param candidates  rows of the .fam, ascending
/// @param covariates  may be null
/// InputError where fewer than kLeastPeople remain, with the count of each step and the
/// trait that costs most, and where a trait has fewer than three different values among
/// them, other than the codes 0 and 1 or 1 and 2.
AnalysedPeople complete_people(std::span<const std::int64_t> candidates,
                               const PeopleTable& traits,
                               const PeopleTable* covariates);

}  // namespace kinflow
