// Laws of new rows by the request that a model completes.
#include "kinflow/evaluate/row_law.h"

#include <utility>

#include "kinflow/core/log.h"
#include "kinflow/train/make_law.h"

namespace kinflow {

ColumnChoice columns_for(const Model& model, const DependenceRequest& request) {
  return {.columns = model.columns,
          .context = model.context_columns,
          .group = request.group,
          .time = request.time,
          .id = request.id};
}

RowLaw make_row_law(const Model& model, const DependenceRequest& request,
                    RowRelations relations, const std::vector<double>& instead,
                    Logger& logger) {
  const auto labels = relations.labels;
  const auto notes = relations.notes;
  RowLaw made{.law = make_law(request, std::move(relations),
                              model.flow->options().dimension, at::kCPU, logger),
              .parameters = {}};
  made.parameters =
      model.dependence.parameters_for_new_rows(request, *made.law, labels, instead);
  for (const auto& note : notes) logger.info(note);
  return made;
}

}  // namespace kinflow
