// Units of dependent rows, dealt to folds.
#include "kinflow/fit/fold_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "kinflow/core/counted.h"
#include "kinflow/core/error.h"
#include "kinflow/data/folds.h"
#include "kinflow/data/row_sets.h"
#include "kinflow/data/split.h"
#include "kinflow/data/table.h"

namespace kinflow {
namespace {

// With fewer units a training would see one of them.
constexpr std::int64_t kFewestUnits = 3;
// Stretches of time in each fold, whose spread gives standard errors of a series.
constexpr std::int64_t kStretchesOfFold = 4;
// Of the rows of a stretch of time, on either side of it.
constexpr double kGapShare = 0.1;
// A unit with more than this share of the rows is mentioned.
constexpr double kLargeShare = 0.5;

void join_equal(const std::vector<std::string>& labels, RowSets& sets) {
  if (labels.empty()) return;
  const auto blocks = number_blocks(labels).block_of_row;
  std::vector<std::int64_t> first(labels.size(), -1);
  for (std::size_t row = 0; row < blocks.size(); ++row) {
    auto& found = first[static_cast<std::size_t>(blocks[row])];
    if (found < 0) found = static_cast<std::int64_t>(row);
    sets.join(found, static_cast<std::int64_t>(row));
  }
}

void join_related(const RelationshipFile& matrix, RowSets& sets) {
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    visit_row(matrix, row, [&](std::int64_t column, double value) {
      if (value != 0) sets.join(row, column);
    });
  }
}

std::int64_t count_of(const std::vector<std::int64_t>& numbers) {
  return numbers.empty() ? 0 : *std::max_element(numbers.begin(), numbers.end()) + 1;
}

std::string sizes_line(const FoldPlan& plan, const std::string& what) {
  std::vector<std::set<std::int64_t>> units(static_cast<std::size_t>(plan.folds));
  for (std::size_t row = 0; row < plan.fold_of_row.size(); ++row) {
    units[static_cast<std::size_t>(plan.fold_of_row[row])].insert(
        plan.unit_of_row[row]);
  }
  const auto [least, most] = std::minmax_element(
      units.begin(), units.end(),
      [](const auto& a, const auto& b) { return a.size() < b.size(); });
  const auto plural = what == "family" ? std::string("families") : what + "s";
  return fmt::format(
      "{} folds of {} are held out in turn", plan.folds,
      least->size() == most->size()
          ? counted(most->size(), what, plural)
          : fmt::format("{} to {} {}", least->size(), most->size(), plural));
}

// The rows of the neighbouring stretches that are nearest to a fold's own.
std::vector<std::vector<std::int64_t>> gaps_between(
    const std::vector<double>& times, const std::vector<std::int64_t>& fold_of_row,
    std::int64_t folds) {
  std::vector<std::int64_t> order(times.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    order[i] = static_cast<std::int64_t>(i);
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) {
    return times[static_cast<std::size_t>(a)] < times[static_cast<std::size_t>(b)];
  });
  const auto fold_at = [&](std::int64_t place) {
    return fold_of_row[static_cast<std::size_t>(
        order[static_cast<std::size_t>(place)])];
  };
  const auto rows = static_cast<std::int64_t>(order.size());
  std::vector<std::vector<std::int64_t>> gaps(static_cast<std::size_t>(folds));
  for (std::int64_t fold = 0; fold < folds; ++fold) {
    std::int64_t first = 0;
    while (fold_at(first) < fold) ++first;
    std::int64_t end = first;
    while (end < rows && fold_at(end) == fold) ++end;
    const auto width =
        static_cast<std::int64_t>(kGapShare * static_cast<double>(end - first));
    auto& gap = gaps[static_cast<std::size_t>(fold)];
    const auto add = [&](std::int64_t begin, std::int64_t stop) {
      for (auto i = std::max(begin, std::int64_t{0}); i < std::min(stop, rows); ++i) {
        gap.push_back(order[static_cast<std::size_t>(i)]);
      }
    };
    add(first - width, first);
    add(end, end + width);
    std::sort(gap.begin(), gap.end());
  }
  return gaps;
}

FoldPlan folds_in_time(const std::vector<double>& times, std::int64_t folds) {
  FoldPlan plan;
  plan.fold_of_row = stretches_of_time(times, folds);
  plan.folds = count_of(plan.fold_of_row);
  if (plan.folds < 2) {
    throw InputError("--split-by time: expected rows of two times or more, found one");
  }
  plan.unit_of_row = stretches_of_time(times, folds * kStretchesOfFold);
  plan.units = count_of(plan.unit_of_row);
  plan.gaps = gaps_between(times, plan.fold_of_row, plan.folds);
  plan.note = fmt::format(
      "{} stretches of time are held out in turn, each with a gap of a tenth of its "
      "rows on either side",
      plan.folds);
  return plan;
}

// Rows that are held out together.
struct Units {
  std::vector<std::int64_t> unit_of_row = {};
  std::vector<std::int64_t> rows_of_unit = {};
  std::string name = "row";
  std::string reason = {};  // why they are not what the dependence asks for

  std::int64_t count() const { return std::ssize(rows_of_unit); }
};

Units units_of(const RowSets& sets) {
  Units units{.unit_of_row = sets.numbers()};
  units.rows_of_unit.resize(static_cast<std::size_t>(count_of(units.unit_of_row)));
  for (const auto unit : units.unit_of_row) {
    ++units.rows_of_unit[static_cast<std::size_t>(unit)];
  }
  return units;
}

// @param with_relatives  whether elements of matrices connect rows
Units joined_units(const DataRequest& request, const FitRows& all,
                   bool with_relatives) {
  RowSets sets(all.train.data.size(0));
  join_equal(all.train.fold_labels, sets);
  if (request.split_by != HoldOutBy::rows) join_equal(all.train.labels, sets);
  const auto& relationships = all.relations.relationships;
  for (std::size_t i = 0; with_relatives && i < relationships.size(); ++i) {
    join_related(relationships[i], sets);
  }
  auto units = units_of(sets);
  if (units.count() < all.train.data.size(0)) {
    units.name = with_relatives && !relationships.empty() ? "family" : "group";
  }
  return units;
}

// Dependent rows together; where all hang together, as much of it as can be.
Units find_units(const DataRequest& request, const FitRows& all) {
  // A training without the one of two units sees the other alone; the user may ask for
  // it.
  const auto fewest = all.train.fold_labels.empty() ? kFewestUnits : 2;
  auto units = joined_units(request, all, request.split_by == HoldOutBy::dependence);
  const auto found = units.count();
  if (found < fewest) units = joined_units(request, all, false);
  if (units.count() < fewest) units = units_of(RowSets(all.train.data.size(0)));
  if (units.count() != found) {
    units.reason = fmt::format(
        "all rows hang together in {}, so that single {}s are held out, and scores are "
        "those of further ones of the same",
        counted(found, "part"), units.name);
  }
  return units;
}

// A line on a unit with most of the rows; empty where there is none.
std::string large_unit_line(const Units& units) {
  const double share = static_cast<double>(*std::max_element(
                           units.rows_of_unit.begin(), units.rows_of_unit.end())) /
                       static_cast<double>(units.unit_of_row.size());
  if (share <= kLargeShare) return {};
  return fmt::format(
      "; one of them has {:.0f}% of the rows, and the fold that holds it out trains on "
      "the others",
      100 * share);
}

}  // namespace

std::vector<std::int64_t> FoldPlan::held_out_rows(std::int64_t fold) const {
  std::vector<std::int64_t> rows;
  for (std::size_t row = 0; row < fold_of_row.size(); ++row) {
    if (fold_of_row[row] == fold) rows.push_back(static_cast<std::int64_t>(row));
  }
  return rows;
}

std::vector<std::int64_t> FoldPlan::training_rows(std::int64_t fold) const {
  std::vector<std::int64_t> rows;
  for (std::size_t row = 0; row < fold_of_row.size(); ++row) {
    const auto number = static_cast<std::int64_t>(row);
    const bool is_in_gap =
        !gaps.empty() &&
        std::binary_search(gaps[static_cast<std::size_t>(fold)].begin(),
                           gaps[static_cast<std::size_t>(fold)].end(), number);
    if (fold_of_row[row] != fold && !is_in_gap) rows.push_back(number);
  }
  return rows;
}

FoldPlan plan_folds(const DataRequest& request, const FitRows& all, std::int64_t folds,
                    std::uint64_t seed) {
  if (request.split_by == HoldOutBy::time) {
    return folds_in_time(all.train.times.values, folds);
  }
  auto units = find_units(request, all);
  FoldPlan plan{.folds = std::min(folds, units.count()),
                .unit_of_row = units.unit_of_row,
                .units = units.count()};
  std::vector<double> worth;
  for (const auto rows : units.rows_of_unit) worth.push_back(usual_worth_of_unit(rows));
  const auto fold_of_unit = deal_units(worth, plan.folds, seed);
  for (const auto unit : plan.unit_of_row) {
    plan.fold_of_row.push_back(fold_of_unit[static_cast<std::size_t>(unit)]);
  }
  plan.note = sizes_line(plan, units.name) + large_unit_line(units);
  if (!units.reason.empty()) plan.note += "; " + units.reason;
  return plan;
}

FitRows rows_of_fold(const FitRows& all, const FoldPlan& plan, std::int64_t fold) {
  const auto train = plan.training_rows(fold), held_out = plan.held_out_rows(fold);
  return {.columns = all.columns,
          .train = select_rows(all.train, train),
          .valid = select_rows(all.train, held_out),
          .relations = select_rows(all.relations, train),
          .valid_relations = select_rows(all.relations, held_out),
          .minus_nine = all.minus_nine};
}

void hold_out(const DataRequest& request, std::uint64_t seed, FitRows& rows) {
  SplitOptions options{.valid_fraction = request.valid_fraction, .seed = seed};
  const auto count = rows.train.data.size(0);
  if (request.split_by == HoldOutBy::time) {
    options.by = SplitBy::time;
    options.time_of_row = rows.train.times.values;
  } else {
    auto units = find_units(request, rows);
    if (!units.reason.empty()) rows.warnings.push_back(units.reason);
    if (units.count() < count) {
      options.by = SplitBy::group;
      for (const auto unit : units.unit_of_row) {
        const auto size = units.rows_of_unit[static_cast<std::size_t>(unit)];
        options.worth_of_row.push_back(usual_worth_of_unit(size) /
                                       static_cast<double>(size));
      }
      options.block_of_row = std::move(units.unit_of_row);
    }
  }
  const auto parts = split(count, options);
  rows.valid = select_rows(rows.train, parts.valid);
  rows.train = select_rows(rows.train, parts.train);
  rows.valid_relations = select_rows(rows.relations, parts.valid);
  auto notes = std::move(rows.relations.notes);
  rows.relations = select_rows(rows.relations, parts.train);
  rows.relations.notes = std::move(notes);
}

}  // namespace kinflow
