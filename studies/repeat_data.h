// Real tables of repeat measurements, and how groups are held out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kinflow/fit/table_rows.h"

namespace kinflow {

/// A table of the study.
struct RepeatTable {
  std::string name;  ///< also of files
  std::string title;
  std::string file;
  std::string group;
  std::vector<std::string> columns;
  /// Of the rows of a group: its latest row is the next one. Empty: the rows of a
  /// group have no order, and half of them, at random, are the next ones.
  std::string time = {};
  bool takes_logarithms = false;  ///< of the columns
};

/// Laboratory values of patients, as they are and as logarithms, and tests of pupils.
const std::vector<RepeatTable>& repeat_tables();

/// The tables of these names, in the order of repeat_tables(); none: all. InputError
/// for an unknown name.
std::vector<RepeatTable> chosen_repeat_tables(const std::vector<std::string>& names);

/// The rows of a table in a folder. InputError, with the file, where something is
/// missing or wrong, and for values without a logarithm.
TableRows read_repeats(const RepeatTable& table, const std::string& folder);

/// Row numbers. Rows of one group stand together, the given ones before the next.
struct RepeatSplit {
  std::vector<std::int64_t> train;
  std::vector<std::int64_t> test;   ///< of the other groups, those with several rows
  std::vector<std::int64_t> given;  ///< the earlier ones of these
  std::vector<std::int64_t> next;   ///< the others
};

/// Holds out 30% of the groups. InputError where none of them has several rows.
/// @param source  of the rows, for messages
RepeatSplit split_repeats(const TableRows& rows, std::uint64_t seed,
                          const std::string& source);

}  // namespace kinflow
