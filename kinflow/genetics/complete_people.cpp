// People with all values, and their columns.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "kinflow/core/counted.h"
#include "kinflow/core/error.h"
#include "kinflow/core/in_quotes.h"
#include "kinflow/genetics/people_tables.h"

namespace kinflow {
namespace {

using Rows = std::vector<std::int64_t>;

/// Values of one column for the people of the .fam.
std::span<const double> values_of(const PeopleTable& table, std::size_t column) {
  return std::span(table.numbers.values)
      .subspan(column * table.has_row.size(), table.has_row.size());
}

/// For each person of the .fam, how many columns have no value, and the last of those.
struct Gaps {
  explicit Gaps(std::size_t people) : count(people), last(people) {}

  /// Adds a column; gives the number of `rows` without a value.
  template <typename IsMissing>
  std::int64_t add(std::size_t column, const Rows& rows, const IsMissing& is_missing) {
    std::int64_t missing = 0;
    for (const std::int64_t row : rows) {
      const auto person = static_cast<std::size_t>(row);
      if (!is_missing(person)) continue;
      ++missing;
      ++count[person];
      last[person] = column;
    }
    return missing;
  }

  std::vector<std::size_t> count, last;
};

/// Keeps the rows for which keeps(person) and counts the others.
template <typename Keeps>
void filter(Rows& rows, std::vector<FilterStep>& steps, const std::string& name,
            const Keeps& keeps) {
  const std::size_t before = rows.size();
  std::erase_if(
      rows, [&](std::int64_t row) { return !keeps(static_cast<std::size_t>(row)); });
  steps.push_back({.filter = name,
                   .removed = static_cast<std::int64_t>(before - rows.size()),
                   .left = static_cast<std::int64_t>(rows.size())});
}

/// ", and what would help most"; empty where no trait has gaps.
std::string dearest_trait(const AnalysedPeople& analysed,
                          const std::vector<std::string>& names) {
  const auto largest = [](const std::vector<std::int64_t>& counts) {
    return static_cast<std::size_t>(std::max_element(counts.begin(), counts.end()) -
                                    counts.begin());
  };
  if (names.empty()) return "";
  if (const auto trait = largest(analysed.lost_to_trait);
      analysed.lost_to_trait[trait] > 0) {
    return fmt::format("; trait {} costs most, {} with all else",
                       in_quotes(names[trait]),
                       counted(analysed.lost_to_trait[trait], "person", "people"));
  }
  const auto trait = largest(analysed.missing_of_trait);
  if (analysed.missing_of_trait[trait] == 0) return "";
  return fmt::format("; trait {} is missing most often, for {}",
                     in_quotes(names[trait]),
                     counted(analysed.missing_of_trait[trait], "person", "people"));
}

void check_enough(const AnalysedPeople& analysed, std::size_t candidates,
                  const PeopleTable& traits) {
  const auto left = static_cast<std::int64_t>(analysed.people.size());
  if (left >= kLeastPeople) return;
  std::string steps;
  for (const FilterStep& step : analysed.steps) {
    steps += fmt::format(", {} {}", step.left, step.filter);
  }
  throw InputError(fmt::format(
      "{}: expected at least {} people with all traits and covariates, found {} "
      "({} candidates{}){}",
      traits.source, kLeastPeople, left, candidates, steps,
      dearest_trait(analysed, traits.numbers.names)));
}

/// Values of the people, one column after the other.
NamedColumns selected(const PeopleTable& table, const Rows& people) {
  NamedColumns result{.names = table.numbers.names, .values = {}};
  result.values.reserve(result.names.size() * people.size());
  for (std::size_t column = 0; column < result.names.size(); ++column) {
    const auto values = values_of(table, column);
    for (const std::int64_t row : people) {
      result.values.push_back(values[static_cast<std::size_t>(row)]);
    }
  }
  return result;
}

std::set<double> up_to_three_values(std::span<const double> values) {
  std::set<double> different;
  for (const double value : values) {
    if (!std::isnan(value)) different.insert(value);
    if (different.size() == 3) break;
  }
  return different;
}

void check_values(const NamedColumns& traits, std::size_t people,
                  const std::string& source) {
  for (std::size_t trait = 0; trait < traits.names.size(); ++trait) {
    const auto values = std::span(traits.values).subspan(trait * people, people);
    const auto different = up_to_three_values(values);
    if (different.size() > 2 || are_case_codes(values)) continue;
    throw InputError(fmt::format(
        "{}: trait {}: expected at least three different values among the {} people "
        "with all traits and covariates, found {}",
        source, in_quotes(traits.names[trait]), people, fmt::join(different, " and ")));
  }
}

/// Adds a 0/1 column for each label but the most frequent one.
void add_indicators(const CategoryColumn& category, const Rows& people,
                    NamedColumns& columns) {
  std::map<std::string, std::int64_t> count_of_label;
  const auto label_of = [&](std::int64_t row) -> const std::string& {
    return category.labels[static_cast<std::size_t>(row)];
  };
  for (const std::int64_t row : people) ++count_of_label[label_of(row)];
  const auto most_frequent = std::max_element(
      count_of_label.begin(), count_of_label.end(),
      [](const auto& a, const auto& b) { return a.second < b.second; });
  for (auto label = count_of_label.begin(); label != count_of_label.end(); ++label) {
    if (label == most_frequent) continue;
    columns.names.push_back(category.name + "=" + label->first);
    for (const std::int64_t row : people) {
      columns.values.push_back(label_of(row) == label->first ? 1 : 0);
    }
  }
}

}  // namespace

bool are_case_codes(std::span<const double> values) {
  const auto different = up_to_three_values(values);
  return different == std::set<double>{0, 1} || different == std::set<double>{1, 2};
}

AnalysedPeople complete_people(std::span<const std::int64_t> candidates,
                               const PeopleTable& traits,
                               const PeopleTable* covariates) {
  AnalysedPeople analysed;
  Rows& people = analysed.people;
  people.assign(candidates.begin(), candidates.end());
  filter(people, analysed.steps, "in the phenotype table",
         [&](std::size_t person) { return traits.has_row[person] != 0; });
  if (covariates != nullptr) {
    filter(people, analysed.steps, "in the covariate table",
           [&](std::size_t person) { return covariates->has_row[person] != 0; });
  }

  const auto add_numbers = [&](const PeopleTable& table, Gaps& gaps,
                               std::vector<std::int64_t>& missing) {
    for (std::size_t i = 0; i < table.numbers.names.size(); ++i) {
      const auto values = values_of(table, i);
      missing.push_back(gaps.add(
          i, people, [&](std::size_t person) { return std::isnan(values[person]); }));
    }
  };
  Gaps of_traits(traits.has_row.size()), of_covariates(traits.has_row.size());
  add_numbers(traits, of_traits, analysed.missing_of_trait);
  if (covariates != nullptr) {
    add_numbers(*covariates, of_covariates, analysed.missing_of_covariate);
    for (const CategoryColumn& category : covariates->categories) {
      analysed.missing_of_covariate.push_back(of_covariates.add(
          0, people,
          [&](std::size_t person) { return category.labels[person].empty(); }));
    }
  }
  analysed.lost_to_trait.resize(traits.numbers.names.size());
  for (const std::int64_t row : people) {
    const auto person = static_cast<std::size_t>(row);
    if (of_traits.count[person] == 1 && of_covariates.count[person] == 0) {
      ++analysed.lost_to_trait[of_traits.last[person]];
    }
  }

  filter(people, analysed.steps, "complete in traits",
         [&](std::size_t person) { return of_traits.count[person] == 0; });
  if (covariates != nullptr) {
    filter(people, analysed.steps, "complete in covariates",
           [&](std::size_t person) { return of_covariates.count[person] == 0; });
  }
  check_enough(analysed, candidates.size(), traits);
  analysed.traits = selected(traits, people);
  check_values(analysed.traits, people.size(), traits.source);
  if (covariates != nullptr) {
    analysed.covariates = selected(*covariates, people);
    for (const CategoryColumn& category : covariates->categories) {
      add_indicators(category, people, analysed.covariates);
    }
  }
  return analysed;
}

}  // namespace kinflow
