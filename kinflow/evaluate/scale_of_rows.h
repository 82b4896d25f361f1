// Rows beside those that a model was trained on, by what the model knows of them.
#pragma once

#include <string>
#include <vector>

#include "kinflow/data/compare_scale.h"
#include "kinflow/fit/table_rows.h"
#include "kinflow/model/model.h"

namespace kinflow {

class Logger;

/// Compares the columns of a table, modelled and of context, with those of the training
/// rows, piece by piece; those with bounds as they are on the real line. Models whose
/// columns were not scaled know nothing to compare with, and categories have no scale.
class ScaleOfRows {
 public:
  explicit ScaleOfRows(const Model& model);

  /// Of a piece, on any thread.
  std::vector<ColumnBeside> compare(const TableRows& rows) const;
  void add(const std::vector<ColumnBeside>& piece);
  /// One for each column that seems to be in other units.
  std::vector<std::string> warnings(const std::string& source) const;

 private:
  Standardization of_data_;
  std::vector<UsualColumn> usual_, usual_context_;
  std::vector<ColumnBeside> columns_;
};

/// Warnings for all rows at once.
void warn_of_scale(const Model& model, const TableRows& rows, const std::string& source,
                   Logger& logger);

}  // namespace kinflow
