// Matching by ids, with counts.
#include "kinflow/data/match_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "kinflow/core/counted.h"
#include "kinflow/core/error.h"
#include "kinflow/core/in_quotes.h"
#include "kinflow/data/read_relationship.h"

namespace kinflow {
namespace {

constexpr std::size_t kNamedIds = 5;
constexpr std::int64_t kSeveral = -1;

bool has_families(const std::vector<SampleId>& ids) {
  return std::any_of(ids.begin(), ids.end(),
                     [](const SampleId& id) { return !id.family.empty(); });
}

/// The id as it counts in a comparison.
SampleId key_of(const SampleId& id, bool by_family) {
  return by_family ? id : SampleId{.family = "", .individual = id.individual};
}

/// Whether the chosen rows are all n rows as they stand, so that no copy is needed.
bool are_all_in_order(const std::vector<std::int64_t>& chosen, std::int64_t n) {
  std::int64_t next = 0;
  return static_cast<std::int64_t>(chosen.size()) == n &&
         std::all_of(chosen.begin(), chosen.end(),
                     [&](std::int64_t row) { return row == next++; });
}

TableRelationship read_for(const RelationshipRequest& request, bool by_position) {
  TableRelationship result{
      .matrix = read_relationship(
          request.path,
          {.ids = request.ids, .format = {}, .drop_unlisted_parents = by_position}),
      .note = {}};
  auto& file = result.matrix;
  make_symmetric(file);
  result.note = fmt::format("{}: {} relationship matrix of {}, mean diagonal {:.6g}",
                            file.source, file.is_sparse() ? "sparse" : "dense",
                            counted(file.rows, "row"), mean_diagonal(file));
  if (request.scale == RelationshipScale::unit_diagonal) {
    const double factor = rescale_to_unit_diagonal(file);
    if (factor != 1)
      result.note += fmt::format(", rescaled to 1 (times {:.6g})", factor);
  }
  return result;
}

}  // namespace

std::string why_nobody_matches(const TableIds& left, const TableIds& right) {
  for (const auto& [one, other] :
       {std::pair(&left, &right), std::pair(&right, &left)}) {
    std::unordered_map<std::string, const SampleId*> by_individual;
    for (const auto& id : one->ids) by_individual.emplace(id.individual, &id);
    for (const auto& id : other->ids) {
      if (const auto found = by_individual.find(id.individual);
          found != by_individual.end()) {
        return fmt::format("only the families differ, as in {} and {}", in_quotes(id),
                           in_quotes(*found->second));
      }
      if (id.family.empty()) continue;
      for (const char* between : {"_", ":", "-", "/", "."}) {
        const auto joined = id.family + between + id.individual;
        if (!by_individual.contains(joined)) continue;
        return fmt::format("{} has family and individual in one id, {} for {} of {}",
                           one->source, in_quotes(joined), in_quotes(id),
                           other->source);
      }
      if (by_individual.contains(id.family)) {
        return fmt::format("{} has families in place of individuals, {} for {} of {}",
                           one->source, in_quotes(id.family), in_quotes(id),
                           other->source);
      }
    }
  }
  return "";
}

RowMatch match_rows(const TableIds& file, const TableIds& table) {
  const bool by_family = has_families(table.ids) && has_families(file.ids);
  std::unordered_map<SampleId, std::int64_t> row_of;
  row_of.reserve(file.ids.size());
  for (std::size_t i = 0; i < file.ids.size(); ++i) {
    const auto [found, is_new] =
        row_of.emplace(key_of(file.ids[i], by_family), static_cast<std::int64_t>(i));
    if (!is_new) found->second = kSeveral;
  }
  if (table.ids.empty()) {
    throw InputError(table.source + ": expected ids of the rows, found none");
  }
  RowMatch match;
  match.rows.reserve(table.ids.size());
  std::unordered_map<SampleId, std::size_t> seen;
  std::size_t unknown = 0;
  std::string named;
  for (std::size_t i = 0; i < table.ids.size(); ++i) {
    const SampleId key = key_of(table.ids[i], by_family);
    const auto [first, is_new] = seen.emplace(key, i);
    if (!is_new) {
      throw InputError(fmt::format(
          "{}: expected different ids, found {} in rows {} and {} (of those without "
          "missing values)",
          table.source, in_quotes(key), first->second + 1, i + 1));
    }
    const auto found = row_of.find(key);
    if (found == row_of.end()) {
      if (++unknown <= kNamedIds) {
        named += (named.empty() ? "" : ", ") + in_quotes(table.ids[i]);
      }
    } else if (found->second == kSeveral) {
      throw InputError(
          fmt::format("{}: expected one person {} in {}, found it in several families; "
                      "give --id FAMILY,INDIVIDUAL",
                      table.source, in_quotes(key), file.source));
    } else {
      match.rows.push_back(found->second);
    }
  }
  if (match.rows.empty()) {
    const auto reason = why_nobody_matches(table, file);
    throw InputError(fmt::format(
        "{}: expected ids of {} such as {}, found none of them; the first id is {}{}",
        file.source, table.source, in_quotes(table.ids.front()),
        file.ids.empty() ? "missing" : in_quotes(file.ids.front()),
        reason.empty() ? "" : "; " + reason));
  }
  if (unknown > 0) {
    throw InputError(fmt::format(
        "{}: expected ids that {} has, found {} of {} that it has not: {}{}",
        table.source, file.source, unknown, table.ids.size(), named,
        unknown > kNamedIds ? ", ..." : ""));
  }
  match.note = fmt::format("{} matched by id, 0 only in the table, {} only in the file",
                           counted(match.rows.size(), "row"),
                           file.ids.size() - match.rows.size());
  return match;
}

std::string position_note(const std::vector<SampleId>& ids_of_file) {
  return ids_of_file.empty() ? "rows matched by position"
                             : "rows matched by position, not by the ids of the file";
}

TableRelationship relationship_for_table(const RelationshipRequest& request,
                                         const TableIds& table) {
  auto result = read_for(request, /*by_position=*/false);
  const auto& file = result.matrix;
  if (file.ids.empty()) {
    throw InputError(fmt::format(
        "{}: expected ids to match the table's rows with, found none; give "
        "--relationship-ids FILE, or --relationship-by-position in place of --id where "
        "both have the same rows in the same order",
        file.source));
  }
  const RowMatch match = match_rows({.source = file.source, .ids = file.ids}, table);
  result.note += "; " + match.note;
  if (!are_all_in_order(match.rows, file.rows)) {
    result.matrix = select_rows(file, match.rows);
  }
  return result;
}

TableRelationship relationship_by_position(const RelationshipRequest& request,
                                           std::int64_t expected_rows) {
  auto result = read_for(request, /*by_position=*/true);
  const auto& file = result.matrix;
  if (file.rows != expected_rows) {
    throw InputError(fmt::format(
        "{}: expected a {} x {} matrix, one row for each row of the table, found {} x "
        "{}{}",
        file.source, expected_rows, expected_rows, file.rows, file.rows,
        file.ids.empty() ? "" : "; --id COLUMN matches rows by their ids"));
  }
  result.note += "; " + position_note(file.ids);
  return result;
}

}  // namespace kinflow
