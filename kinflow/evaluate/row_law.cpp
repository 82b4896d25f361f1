// Laws of new rows by the request that a model completes.
#include "kinflow/evaluate/row_law.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "kinflow/array/array.h"
#include "kinflow/core/error.h"
#include "kinflow/core/in_quotes.h"
#include "kinflow/core/log.h"
#include "kinflow/core/size.h"
#include "kinflow/data/table.h"
#include "kinflow/fit/make_law.h"

namespace kinflow {
namespace {

/// Marks rows whose group has rows on both sides of row `observed`.
void match_by_group(const std::vector<std::string>& labels, std::int64_t observed,
                    std::vector<bool>& is_matched) {
  const auto blocks = number_blocks(labels);
  const auto split = to_size(observed);
  std::vector<bool> is_before(blocks.label_of_block.size(), false);
  auto is_after = is_before;
  for (std::size_t row = 0; row < labels.size(); ++row) {
    (row < split ? is_before : is_after)[to_size(blocks.block_of_row[row])] = true;
  }
  for (std::size_t row = 0; row < labels.size(); ++row) {
    const auto block = to_size(blocks.block_of_row[row]);
    if (is_before[block] && is_after[block]) is_matched[row] = true;
  }
}

/// Marks rows that have a relative on the other side of row `observed`.
void match_by_relationship(const RelationshipFile& matrix, std::int64_t observed,
                           std::vector<bool>& is_matched) {
  for (std::int64_t row = observed; row < matrix.rows; ++row) {
    visit_row(matrix, row, [&](std::int64_t column, double value) {
      if (column >= observed || value == 0) return;
      is_matched[to_size(row)] = true;
      is_matched[to_size(column)] = true;
    });
  }
}

void check_roles(const Model& model, const DependenceRequest& request) {
  for (const auto& [option, column] :
       {std::pair("--group", request.group), std::pair("--time", request.time)}) {
    const auto& modelled = model.columns;
    if (std::find(modelled.begin(), modelled.end(), column) == modelled.end()) continue;
    throw InputError(fmt::format("{}: expected a column that is not modelled, found {}",
                                 option, in_quotes(column)));
  }
}

}  // namespace

ColumnChoice columns_for(const Model& model, const DependenceRequest& request) {
  return {.columns = model.columns,
          .context = model.context_columns,
          .context_levels = model.context_levels,
          .group = request.group,
          .time = request.time,
          .id = request.id,
          .minus_nine = model.minus_nine,
          .bounds = model.bounds()};
}

MinusNineRule minus_nine_for(const Model& model, std::optional<MinusNine> asked) {
  auto rule = model.minus_nine;
  rule.meaning = asked.value_or(rule.meaning);
  return rule;
}

RowLaws make_row_laws(const Model& model, const DependenceRequest& request,
                      RowRelations relations, const std::vector<double>& instead,
                      Logger& logger) {
  check_roles(model, request);
  if (!relations.times.empty() && instead.empty()) {
    model.dependence.check_times(relations.times_are_dates);
  }
  const auto labels = relations.labels;
  const auto notes = relations.notes;
  const auto columns = std::ssize(model.columns);
  // The decay of time is part of the structure, and a member has its own.
  const bool has_own_decay = kind_of(request) == DependenceKind::time &&
                             instead.empty() && !has_own_latents(request);
  std::map<double, std::shared_ptr<const Dependence>> law_of_decay;
  RowLaws laws;
  for (std::int64_t member = 0; member < model.members(); ++member) {
    const auto learned = model.dependence_of(member);
    auto own = request;
    if (has_own_decay) own.time_decay = {learned.parameters.back()};
    auto& law = law_of_decay[has_own_decay ? own.time_decay.front() : 0];
    if (law == nullptr) {
      law = make_law(own, has_own_decay ? relations : std::move(relations), columns,
                     nd::kCPU, logger);
    }
    laws.push_back(
        {.law = law,
         .parameters = learned.parameters_for_new_rows(own, *law, labels, instead)});
  }
  for (const auto& note : notes) logger.info(note);
  return laws;
}

UnmatchedRows find_unmatched_rows(const RowRelations& relations, std::int64_t observed,
                                  const std::string& given, const std::string& table) {
  const bool by_group = !relations.labels.empty();
  // Every row depends on every other one by components and times.
  if (relations.components.defined() || !relations.times.empty() ||
      !(by_group || !relations.relationships.empty())) {
    return {};
  }
  std::vector<bool> is_matched(static_cast<std::size_t>(relations.rows), false);
  if (by_group) match_by_group(relations.labels, observed, is_matched);
  for (const auto& matrix : relations.relationships) {
    match_by_relationship(matrix, observed, is_matched);
  }
  const auto first_new = is_matched.begin() + observed;
  UnmatchedRows found{.rows = std::count(first_new, is_matched.end(), false),
                      .observed = std::count(is_matched.begin(), first_new, false)};
  if (found.rows < relations.rows - observed) return found;
  throw InputError(
      fmt::format("{}: expected observed rows {} those of {}, found none{}", given,
                  by_group ? "in the groups of" : "related to", table,
                  by_group ? fmt::format(", but groups such as {} beside {}",
                                         in_quotes(relations.labels.front()),
                                         in_quotes(relations.labels[to_size(observed)]))
                           : ""));
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
