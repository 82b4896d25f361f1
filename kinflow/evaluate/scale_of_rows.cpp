// Means and deviations that a model keeps.
#include "kinflow/evaluate/scale_of_rows.h"

#include <algorithm>

#include "kinflow/array/array.h"
#include "kinflow/core/log.h"
#include "kinflow/data/categories.h"

namespace kinflow {
namespace {

std::vector<UsualColumn> usual_columns(const Standardization& standardization,
                                       const std::vector<std::string>& names) {
  std::vector<UsualColumn> columns;
  const auto mean = standardization.mean.to(nd::kCPU);
  const auto deviation = standardization.deviation.to(nd::kCPU);
  const bool is_none =
      (mean == 0).all().item<bool>() && (deviation == 1).all().item<bool>();
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    columns.push_back({.name = names[i],
                       .mean = mean[at].item<double>(),
                       .deviation = is_none ? 0 : deviation[at].item<double>()});
  }
  return columns;
}

}  // namespace

ScaleOfRows::ScaleOfRows(const Model& model)
    : of_data_(model.parts.at(0).standardization),
      usual_(usual_columns(of_data_, model.columns)) {
  for (auto& column : usual_) column.spread_counts = true;
  for (std::size_t i = 0; i < model.bounds().size(); ++i) {
    usual_[i].name = model.bounds()[i].name_on_line(usual_[i].name);
  }
  if (model.context_columns.empty()) return;
  usual_context_ =
      usual_columns(model.parts[0].context_standardization,
                    expanded_names(model.context_columns, model.context_levels));
  for (auto& column : usual_context_) {
    const auto& names = model.context_columns;
    const bool is_number =
        std::find(names.begin(), names.end(), column.name) != names.end();
    if (!is_number) column.deviation = 0;
  }
}

std::vector<ColumnBeside> ScaleOfRows::compare(const TableRows& rows) const {
  // Rows that are to be drawn have a context alone.
  const bool has_data = rows.data.size(1) > 0;
  auto columns =
      has_data ? compare_scale(columns_view(of_data_.unbounded(rows.data)), usual_)
               : std::vector<ColumnBeside>(usual_.size());
  if (!usual_context_.empty() && rows.context.defined()) {
    const auto more = compare_scale(columns_view(rows.context), usual_context_);
    columns.insert(columns.end(), more.begin(), more.end());
  }
  return columns;
}

void ScaleOfRows::add(const std::vector<ColumnBeside>& piece) {
  columns_.resize(std::max(columns_.size(), piece.size()));
  for (std::size_t i = 0; i < piece.size(); ++i) columns_[i].add(piece[i]);
}

std::vector<std::string> ScaleOfRows::warnings(const std::string& source) const {
  auto usual = usual_;
  usual.insert(usual.end(), usual_context_.begin(), usual_context_.end());
  usual.resize(columns_.size());
  return warnings_on_scale(source, columns_, usual);
}

void warn_of_scale(const Model& model, const TableRows& rows, const std::string& source,
                   Logger& logger) {
  ScaleOfRows scale(model);
  scale.add(scale.compare(rows));
  for (const auto& warning : scale.warnings(source)) logger.warning(warning);
}

}  // namespace kinflow
