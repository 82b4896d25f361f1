// Union-find for the components, LAPACK for the definiteness.
#include "kinflow/data/check_relationship.h"

#include <fmt/format.h>
#include <lapacke.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kinflow/core/error.h"

namespace kinflow {
namespace {

constexpr double kRounding = 1e-8;
constexpr std::size_t kNamedRows = 5;

std::size_t to_size(std::int64_t value) { return static_cast<std::size_t>(value); }

/// The first few rows of a list, for messages.
std::string row_names(const RelationshipFile& file,
                      const std::vector<std::int64_t>& rows) {
  std::string names;
  for (std::size_t i = 0; i < std::min(rows.size(), kNamedRows); ++i) {
    names += (i == 0 ? "" : ", ") + row_name(file, rows[i]);
  }
  return names + (rows.size() > kNamedRows ? ", ..." : "");
}

void check_diagonal(const RelationshipFile& file, RelationshipCheck& check) {
  std::vector<std::int64_t> bad;
  check.mean_diagonal = mean_diagonal(file);
  check.smallest_diagonal = check.largest_diagonal = value_at(file, 0, 0);
  for (std::int64_t i = 0; i < file.rows; ++i) {
    const double value = value_at(file, i, i);
    check.smallest_diagonal = std::min(check.smallest_diagonal, value);
    check.largest_diagonal = std::max(check.largest_diagonal, value);
    if (!(value > 0)) bad.push_back(i);
  }
  check.bad_diagonals = static_cast<std::int64_t>(bad.size());
  if (!bad.empty()) {
    check.errors.push_back(
        fmt::format("expected a positive diagonal, found {} entries that are not: {}",
                    bad.size(), row_names(file, bad)));
  }
  if (std::abs(check.mean_diagonal - 1) > 0.05) {
    check.warnings.push_back(fmt::format(
        "the mean diagonal is {:.4g}, not 1; --rescale divides by it, and fit does so "
        "by itself",
        check.mean_diagonal));
  }
}

void check_symmetry(RelationshipFile& file, RelationshipCheck& check) {
  try {
    make_symmetric(file);
  } catch (const InputError& error) {
    check.is_symmetric = false;
    const std::string message = error.what();
    check.errors.push_back(message.substr(file.source.size() + 2));
  }
}

void check_pairs(const RelationshipFile& file, const RelationshipCheckOptions& options,
                 RelationshipCheck& check) {
  std::vector<double> scale;
  for (std::int64_t i = 0; i < file.rows; ++i) {
    scale.push_back(std::sqrt(std::max(0.0, value_at(file, i, i))));
  }
  for (std::int64_t i = 0; i < file.rows; ++i) {
    visit_row(file, i, [&](std::int64_t j, double value) {
      if (j >= i || value == 0) return;
      ++check.related_pairs;
      const double size = scale[to_size(i)] * scale[to_size(j)];
      if (!(value > options.twin_correlation * size) || size == 0) return;
      if (check.twin_count++ < options.listed_pairs) {
        check.twins.push_back({.row = j, .column = i, .correlation = value / size});
      }
    });
  }
  if (check.twin_count == 0) return;
  const auto& first = check.twins.front();
  check.warnings.push_back(
      fmt::format("{} pairs have a correlation above {}, as duplicates and twins have: "
                  "first {} and "
                  "{} with {:.4f}",
                  check.twin_count, options.twin_correlation, row_name(file, first.row),
                  row_name(file, first.column), first.correlation));
}

/// The Cholesky factor of the rows of one component, with `shift` on the diagonal.
bool has_factor(const RelationshipFile& file, const std::vector<std::int64_t>& rows,
                const std::vector<std::int64_t>& place, double shift) {
  const std::size_t m = rows.size();
  std::vector<double> lower(m * m, 0.0);
  for (std::size_t i = 0; i < m; ++i) {
    visit_row(file, rows[i], [&](std::int64_t column, double value) {
      const auto j = to_size(place[to_size(column)]);
      // Entries of 0 may lead out of the component.
      if (value != 0 && j <= i) lower[i * m + j] = value;
    });
    lower[i * m + i] += shift;
  }
  // Row-major lower is column-major upper.
  const auto size = static_cast<lapack_int>(m);
  return LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'U', size, lower.data(), size) == 0;
}

void check_definiteness(const RelationshipFile& file,
                        const std::vector<std::vector<std::int64_t>>& members,
                        const RelationshipCheckOptions& options,
                        RelationshipCheck& check) {
  std::vector<std::int64_t> place(to_size(file.rows));
  std::int64_t left_out = 0;
  check.definiteness = Definiteness::definite;
  for (const auto& rows : members) {
    double trace = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      place[to_size(rows[i])] = static_cast<std::int64_t>(i);
      trace += value_at(file, rows[i], rows[i]);
    }
    if (static_cast<std::int64_t>(rows.size()) > options.factored_rows) {
      left_out += static_cast<std::int64_t>(rows.size());
      continue;
    }
    if (has_factor(file, rows, place, 0)) continue;
    check.definiteness = Definiteness::semidefinite;
    if (has_factor(file, rows, place, kRounding * trace)) continue;
    check.definiteness = Definiteness::indefinite;
    check.indefinite_rows = rows;
    check.errors.push_back(fmt::format(
        "expected a positive semidefinite matrix, found a component of {} rows that is "
        "not: {}",
        rows.size(), row_names(file, rows)));
    return;
  }
  if (left_out == 0) return;
  check.definiteness = Definiteness::unknown;
  check.warnings.push_back(
      fmt::format("{} rows stand in components of more than {} rows, whose "
                  "definiteness was not checked",
                  left_out, options.factored_rows));
}

}  // namespace

std::vector<std::int64_t> connected_components(const RelationshipFile& file) {
  std::vector<std::int64_t> root(to_size(file.rows));
  std::iota(root.begin(), root.end(), std::int64_t{0});
  const auto find = [&](std::int64_t row) {
    while (root[to_size(row)] != row) {
      root[to_size(row)] = root[to_size(root[to_size(row)])];
      row = root[to_size(row)];
    }
    return row;
  };
  for (std::int64_t i = 0; i < file.rows; ++i) {
    visit_row(file, i, [&](std::int64_t j, double value) {
      if (value == 0 || i == j) return;
      const auto a = find(i), b = find(j);
      root[to_size(std::max(a, b))] = std::min(a, b);
    });
  }
  // The root is the first row of its component, so it is numbered before the others.
  std::vector<std::int64_t> number(root.size());
  std::int64_t next = 0;
  for (std::int64_t i = 0; i < file.rows; ++i) {
    const auto first = find(i);
    number[to_size(i)] = first == i ? next++ : number[to_size(first)];
  }
  return number;
}

RelationshipCheck check_relationship(RelationshipFile file,
                                     const RelationshipCheckOptions& options) {
  RelationshipCheck check;
  check.rows = file.rows;
  check.is_sparse = file.is_sparse();
  check.has_ids = !file.ids.empty();
  check_diagonal(file, check);
  if (check.bad_diagonals == 0) check_symmetry(file, check);
  check_pairs(file, options, check);

  const auto component_of = connected_components(file);
  check.components = 1 + *std::max_element(component_of.begin(), component_of.end());
  std::vector<std::vector<std::int64_t>> members(to_size(check.components));
  for (std::int64_t i = 0; i < file.rows; ++i) {
    members[to_size(component_of[to_size(i)])].push_back(i);
  }
  for (const auto& rows : members) {
    check.largest_component =
        std::max(check.largest_component, static_cast<std::int64_t>(rows.size()));
  }
  check.has_giant_component = check.is_sparse &&
                              check.largest_component > options.giant_rows &&
                              4 * check.largest_component > check.rows;
  if (check.has_giant_component) {
    check.warnings.push_back(fmt::format(
        "one component holds {} of the {} rows: sparse algebra will be slow; a higher "
        "--sparsify may break it up",
        check.largest_component, check.rows));
  }
  if (check.errors.empty()) check_definiteness(file, members, options, check);
  return check;
}

const char* name_of(Definiteness definiteness) {
  switch (definiteness) {
    case Definiteness::definite:
      return "positive definite";
    case Definiteness::semidefinite:
      return "positive semidefinite up to rounding";
    case Definiteness::indefinite:
      return "indefinite";
    case Definiteness::unknown:
      break;
  }
  return "not checked";
}

}  // namespace kinflow
