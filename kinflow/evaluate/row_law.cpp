// Laws of new rows by the request that a model completes.
#include "kinflow/evaluate/row_law.h"

#include <map>
#include <numeric>
#include <utility>

#include "kinflow/core/log.h"
#include "kinflow/train/make_law.h"

namespace kinflow {

ColumnChoice columns_for(const Model& model, const DependenceRequest& request) {
  return {.columns = model.columns,
          .context = model.context_columns,
          .group = request.group,
          .time = request.time,
          .id = request.id,
          .minus_nine = model.minus_nine};
}

MinusNineRule minus_nine_for(const Model& model, std::optional<MinusNine> asked) {
  auto rule = model.minus_nine;
  rule.meaning = asked.value_or(rule.meaning);
  return rule;
}

RowLaws make_row_laws(const Model& model, const DependenceRequest& request,
                      RowRelations relations, const std::vector<double>& instead,
                      Logger& logger) {
  const auto labels = relations.labels;
  const auto notes = relations.notes;
  const auto columns = model.flow->options().dimension;
  // The decay of time is part of the structure, and a member has its own.
  const bool has_own_decay =
      kind_of(request) == DependenceKind::time && instead.empty();
  std::map<double, std::shared_ptr<const Dependence>> law_of_decay;
  RowLaws laws;
  for (std::int64_t member = 0; member < model.members(); ++member) {
    const auto learned = model.dependence_of(member);
    auto own = request;
    if (has_own_decay) own.time_decay = {learned.parameters.back()};
    auto& law = law_of_decay[has_own_decay ? own.time_decay.front() : 0];
    if (law == nullptr) {
      law = make_law(own, has_own_decay ? relations : std::move(relations), columns,
                     at::kCPU, logger);
    }
    laws.push_back(
        {.law = law,
         .parameters = learned.parameters_for_new_rows(own, *law, labels, instead)});
  }
  for (const auto& note : notes) logger.info(note);
  return laws;
}

std::optional<RowLaws> make_first_row_laws(
    const Model& model, const DependenceRequest& request, const RowRelations& relations,
    std::int64_t count, const std::vector<double>& instead, Logger& logger) {
  if (request.unstructured) return std::nullopt;
  std::vector<std::int64_t> first(static_cast<std::size_t>(count));
  std::iota(first.begin(), first.end(), std::int64_t{0});
  return make_row_laws(model, request, select_rows(relations, first), instead, logger);
}

}  // namespace kinflow
