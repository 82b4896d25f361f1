// Components of connected rows, LAPACK for their definiteness.
#include "kinflow/data/check_relationship.h"

#include <fmt/format.h>
#include <lapacke.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kinflow/core/counted.h"
#include "kinflow/core/error.h"
#include "kinflow/core/size.h"
#include "kinflow/data/row_sets.h"

namespace kinflow {
namespace {

constexpr double kRounding = 1e-8;
constexpr std::size_t kNamedRows = 5;

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
        fmt::format("expected a positive diagonal, found {} at or below 0: {}",
                    counted(bad.size(), "entry", "entries"), row_names(file, bad)));
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
  check.warnings.push_back(fmt::format(
      "{} with a correlation above {}, as duplicates and twins have: first "
      "{} and {} with {:.4f}",
      counted(check.twin_count, "pair"), options.twin_correlation,
      row_name(file, first.row), row_name(file, first.column), first.correlation));
}

/// The rows of every component, in the order of their first rows.
std::vector<std::vector<std::int64_t>> component_rows(const RelationshipFile& file) {
  const auto component_of = connected_components(file);
  std::vector<std::vector<std::int64_t>> members(
      to_size(1 + *std::max_element(component_of.begin(), component_of.end())));
  for (std::int64_t i = 0; i < file.rows; ++i) {
    members[to_size(component_of[to_size(i)])].push_back(i);
  }
  return members;
}

/// One component after another as a dense matrix.
class ComponentMatrices {
 public:
  explicit ComponentMatrices(const RelationshipFile& file)
      : file_(file), place_(to_size(file.rows)) {}

  /// Whether there is a Cholesky factor with `share` of the trace on the diagonal.
  bool has_factor(const std::vector<std::int64_t>& rows, double share) {
    auto upper = columns(rows);
    const std::size_t m = rows.size();
    double trace = 0;
    for (std::size_t i = 0; i < m; ++i) trace += upper[i * m + i];
    for (std::size_t i = 0; i < m; ++i) upper[i * m + i] += share * trace;
    const auto size = static_cast<lapack_int>(m);
    return LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'U', size, upper.data(), size) == 0;
  }

  struct Spectrum {
    std::vector<double> eigenvalues;  ///< increasing
    std::vector<double> first;        ///< eigenvector of the smallest
  };
  Spectrum spectrum(const std::vector<std::int64_t>& rows) {
    auto upper = columns(rows);
    const auto size = static_cast<lapack_int>(rows.size());
    Spectrum result{.eigenvalues = std::vector<double>(rows.size()), .first = {}};
    const lapack_int info =
        LAPACKE_dsyevd(LAPACK_COL_MAJOR, 'V', 'U', size, upper.data(), size,
                       result.eigenvalues.data());
    if (info != 0) {
      throw NumericalError(
          fmt::format("{}: the spectral decomposition of a component of {} rows failed "
                      "(dsyevd: {})",
                      file_.source, rows.size(), info));
    }
    upper.resize(rows.size());
    result.first = std::move(upper);
    return result;
  }

 private:
  /// The upper triangle column by column, [m x m], which is the lower one row by row.
  std::vector<double> columns(const std::vector<std::int64_t>& rows) {
    const std::size_t m = rows.size();
    for (std::size_t i = 0; i < m; ++i) {
      place_[to_size(rows[i])] = static_cast<std::int64_t>(i);
    }
    std::vector<double> upper(m * m);
    for (std::size_t i = 0; i < m; ++i) {
      visit_row(file_, rows[i], [&](std::int64_t column, double value) {
        const auto j = to_size(place_[to_size(column)]);
        // Entries of 0 may lead out of the component.
        if (value != 0 && j <= i) upper[i * m + j] = value;
      });
    }
    return upper;
  }

  const RelationshipFile& file_;
  std::vector<std::int64_t> place_;  ///< of a row in its component
};

void check_definiteness(const RelationshipFile& file,
                        const std::vector<std::vector<std::int64_t>>& members,
                        const RelationshipCheckOptions& options,
                        RelationshipCheck& check) {
  ComponentMatrices matrices(file);
  std::int64_t left_out = 0;
  check.definiteness = Definiteness::definite;
  for (const auto& rows : members) {
    if (static_cast<std::int64_t>(rows.size()) > options.factored_rows) {
      left_out += static_cast<std::int64_t>(rows.size());
      continue;
    }
    if (matrices.has_factor(rows, 0)) continue;
    check.definiteness = Definiteness::semidefinite;
    if (matrices.has_factor(rows, kRounding)) continue;
    check.definiteness = Definiteness::indefinite;
    check.indefinite_rows = rows;
    check.errors.push_back(fmt::format(
        "expected a positive semidefinite matrix, found a component of {} that is "
        "not: {}",
        counted(rows.size(), "row"), row_names(file, rows)));
    return;
  }
  if (left_out == 0) return;
  check.definiteness = Definiteness::unknown;
  check.warnings.push_back(
      fmt::format("{} rows stand in components of more than {} rows, whose "
                  "definiteness was not checked",
                  left_out, options.factored_rows));
}

/// The rows with the largest weights, in that order, down to a tenth of the largest.
std::vector<std::int64_t> heaviest_rows(const std::vector<std::int64_t>& rows,
                                        const std::vector<double>& weights) {
  std::vector<std::size_t> order(rows.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::abs(weights[a]) > std::abs(weights[b]);
  });
  std::vector<std::int64_t> heaviest;
  for (const std::size_t i : order) {
    if (std::abs(weights[i]) < 0.1 * std::abs(weights[order[0]])) break;
    heaviest.push_back(rows[i]);
  }
  return heaviest;
}

}  // namespace

std::vector<std::int64_t> connected_components(const RelationshipFile& file) {
  RowSets sets(file.rows);
  for (std::int64_t i = 0; i < file.rows; ++i) {
    visit_row(file, i, [&](std::int64_t j, double value) {
      if (value != 0 && i != j) sets.join(i, j);
    });
  }
  return sets.numbers();
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

  const auto members = component_rows(file);
  check.components = static_cast<std::int64_t>(members.size());
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

void require_positive_semidefinite(const RelationshipFile& file,
                                   std::int64_t largest_component) {
  const auto members = component_rows(file);
  for (const auto& rows : members) {
    if (static_cast<std::int64_t>(rows.size()) <= largest_component) continue;
    throw InputError(fmt::format(
        "{}: expected components of at most {} rows, found one of {}: {}; {}conjugate "
        "gradients (--solver iterative) have no such limit for one matrix",
        file.source, largest_component, rows.size(), row_names(file, rows),
        file.is_sparse() ? "a higher --sparsify may break it up, and " : ""));
  }
  ComponentMatrices matrices(file);
  for (const auto& rows : members) {
    // The trace is at most m times the largest eigenvalue: what it adds is rounding.
    if (matrices.has_factor(rows, kRounding)) continue;
    const auto spectrum = matrices.spectrum(rows);
    const double smallest = spectrum.eigenvalues.front();
    const double largest = std::max(spectrum.eigenvalues.back(), 0.0);
    if (smallest >= -kRounding * static_cast<double>(rows.size()) * largest) continue;
    throw InputError(fmt::format(
        "{}: expected a positive semidefinite matrix, found the smallest eigenvalue "
        "{:.4g} in a component of {}, mostly at {}{}",
        file.source, smallest, counted(rows.size(), "row"),
        row_names(file, heaviest_rows(rows, spectrum.first)),
        file.is_sparse()
            ? "; a lower --sparsify keeps more of the matrix, a higher one "
              "may break the component up"
            : ""));
  }
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
