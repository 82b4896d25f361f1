// Regression by a QR decomposition, checks by one with pivots.
#include "kinflow/genetics/trait_values.h"

#include <cblas.h>
#include <fmt/format.h>
#include <lapacke.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "kinflow/core/counted.h"
#include "kinflow/core/error.h"
#include "kinflow/core/in_quotes.h"
#include "kinflow/statistics/normal_quantile.h"

namespace kinflow {
namespace {

// Columns of length 1 depend on each other where this much of one is left.
constexpr double kDependent = 1e-7;

/// "FILE: covariate 'x'", for messages.
std::string place_of(const std::string& source, const char* what,
                     const std::string& name) {
  return fmt::format("{}{}{} {}", source, source.empty() ? "" : ": ", what,
                     in_quotes(name));
}

/// Of numbers beyond these, products of variances are none.
constexpr double kLargestValue = 1e100, kSmallestValue = 1e-100;

void check_sizes(std::span<const double> values, const std::string& place) {
  double largest = 0;
  for (const double value : values) largest = std::max(largest, std::abs(value));
  if (largest > kLargestValue || (largest > 0 && largest < kSmallestValue)) {
    throw InputError(fmt::format(
        "{}: expected a largest value between {:g} and {:g}, found {:g}; change its "
        "unit",
        place, kSmallestValue, kLargestValue, largest));
  }
}

void check_values(const NamedColumns& columns, std::int64_t rows, const char* what,
                  const std::string& source) {
  const auto n = static_cast<std::size_t>(rows);
  const auto expected = n * columns.names.size();
  if (columns.values.size() != expected) {
    throw InputError(
        fmt::format("[traits and covariates] expected {} values of {}s, "
                    "received {}",
                    expected, what, columns.values.size()));
  }
  for (std::size_t i = 0; i < expected; ++i) {
    if (std::isfinite(columns.values[i])) continue;
    throw InputError(fmt::format("{}, row {}: expected a finite number, found {}",
                                 place_of(source, what, columns.names[i / n]),
                                 i % n + 1, columns.values[i]));
  }
  for (std::size_t j = 0; j < columns.names.size(); ++j) {
    check_sizes(std::span(columns.values).subspan(j * n, n),
                place_of(source, what, columns.names[j]));
  }
}

/// The R of a QR decomposition with pivots of columns of length 1.
struct PivotedColumns {
  std::size_t count = 0;
  std::vector<double> r;  ///< [count x count], upper triangle
  std::vector<std::size_t> order;

  double at(std::size_t i, std::size_t j) const { return r[j * count + i]; }
};

PivotedColumns pivot(std::vector<double> columns, std::int64_t rows,
                     std::size_t count) {
  const auto n = static_cast<std::size_t>(rows);
  std::vector<lapack_int> order(count, 0);
  std::vector<double> factors(count);
  LAPACKE_dgeqp3(LAPACK_COL_MAJOR, static_cast<lapack_int>(rows),
                 static_cast<lapack_int>(count), columns.data(),
                 static_cast<lapack_int>(rows), order.data(), factors.data());
  PivotedColumns result{count, std::vector<double>(count * count), {}};
  for (std::size_t j = 0; j < count; ++j) {
    result.order.push_back(static_cast<std::size_t>(order[j] - 1));
    for (std::size_t i = 0; i <= j; ++i) {
      result.r[j * count + i] = columns[j * n + i];
    }
  }
  return result;
}

/// The first column that depends on the others, and these.
struct Dependent {
  std::size_t column;
  std::vector<std::size_t> on;
};

std::vector<Dependent> find_dependent(const PivotedColumns& columns) {
  std::size_t rank = 0;
  while (rank < columns.count && std::abs(columns.at(rank, rank)) > kDependent) ++rank;
  if (rank == columns.count) return {};
  // R11 z = r12: the column as a combination of the first ones.
  std::vector<double> shares(rank);
  for (std::size_t i = rank; i-- > 0;) {
    shares[i] = columns.at(i, rank);
    for (std::size_t j = i + 1; j < rank; ++j) {
      shares[i] -= columns.at(i, j) * shares[j];
    }
    shares[i] /= columns.at(i, i);
  }
  Dependent found{columns.order[rank], {}};
  for (std::size_t i = 0; i < rank; ++i) {
    if (std::abs(shares[i]) > 1e-5) found.on.push_back(columns.order[i]);
  }
  std::sort(found.on.begin(), found.on.end());
  return {found};
}

double norm(const double* column, std::int64_t rows) {
  return cblas_dnrm2(static_cast<int>(rows), column, 1);
}

void scale_to_one(double* column, std::int64_t rows, double length) {
  cblas_dscal(static_cast<int>(rows), 1 / length, column, 1);
}

std::string names_of(const std::vector<std::size_t>& columns,
                     const std::vector<std::string>& names) {
  std::vector<std::string> chosen;
  for (const auto column : columns) chosen.push_back(names[column]);
  return quoted_names(chosen);
}

bool is_constant(std::span<const double> values) {
  return std::all_of(values.begin(), values.end(),
                     [&](double value) { return value == values.front(); });
}

bool has_constant(const NamedColumns& columns, std::int64_t rows) {
  const auto n = static_cast<std::size_t>(rows);
  for (std::size_t j = 0; j < columns.names.size(); ++j) {
    if (is_constant(std::span(columns.values).subspan(j * n, n))) return true;
  }
  return false;
}

/// InputError for a second constant, and for zeros.
void check_different(const NamedColumns& covariates, std::int64_t rows,
                     const std::string& source) {
  const auto n = static_cast<std::size_t>(rows);
  bool is_second = false;
  for (std::size_t j = 0; j < covariates.names.size(); ++j) {
    const auto values = std::span(covariates.values).subspan(j * n, n);
    if (!is_constant(values)) continue;
    if (is_second || values.front() == 0) {
      throw InputError(fmt::format(
          "{}: expected different values, found {} in all {} rows",
          place_of(source, "covariate", covariates.names[j]), values.front(), rows));
    }
    is_second = true;
  }
}

void check_covariates(const NamedColumns& covariates, std::int64_t rows,
                      const std::string& source) {
  const auto n = static_cast<std::size_t>(rows);
  auto columns = covariates.values;
  for (std::size_t j = 0; j < covariates.names.size(); ++j) {
    scale_to_one(&columns[j * n], rows, norm(&columns[j * n], rows));
  }
  for (const auto& [column, on] :
       find_dependent(pivot(std::move(columns), rows, covariates.names.size()))) {
    throw InputError(fmt::format(
        "{}: expected no linear combination of other covariates, found one of {}",
        place_of(source, "covariate", covariates.names[column]),
        names_of(on, covariates.names)));
  }
}

void check_traits(const NamedColumns& traits, const NamedColumns& covariates,
                  std::int64_t rows, const std::string& source) {
  const auto n = static_cast<std::size_t>(rows);
  const auto place = [&](std::size_t column) {
    return place_of(source, "trait", traits.names[column]);
  };
  auto columns = residuals(traits, covariates, rows).values;
  for (std::size_t j = 0; j < traits.names.size(); ++j) {
    const double length = norm(&columns[j * n], rows);
    if (length <= kDependent * norm(&traits.values[j * n], rows)) {
      throw InputError(fmt::format(
          "{}: expected values that the covariates do not determine, found a constant "
          "or a linear combination of {}",
          place(j), covariates.names.empty() ? "nothing" : "the covariates"));
    }
    scale_to_one(&columns[j * n], rows, length);
  }
  for (const auto& [column, on] :
       find_dependent(pivot(std::move(columns), rows, traits.names.size()))) {
    throw InputError(
        fmt::format("{}: expected no linear combination of other traits and the "
                    "covariates, found one of {}",
                    place(column), names_of(on, traits.names)));
  }
}

void replace_by_scores(double* column, std::size_t rows) {
  std::vector<std::size_t> order(rows);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return column[a] < column[b]; });
  std::vector<double> scores(rows);
  for (std::size_t first = 0, end = 0; first < rows; first = end) {
    while (end < rows && column[order[end]] == column[order[first]]) ++end;
    const double mean_rank = 0.5 * static_cast<double>(first + end + 1);
    const double score =
        normal_quantile((mean_rank - 0.375) / (static_cast<double>(rows) + 0.25));
    for (std::size_t i = first; i < end; ++i) scores[order[i]] = score;
  }
  std::copy(scores.begin(), scores.end(), column);
}

}  // namespace

NamedColumns with_intercept(const NamedColumns& covariates, std::int64_t rows) {
  const NamedColumns intercept{{"intercept"},
                               std::vector<double>(static_cast<std::size_t>(rows), 1)};
  return side_by_side(intercept, covariates);
}

NamedColumns residuals(const NamedColumns& traits, const NamedColumns& covariates,
                       std::int64_t rows) {
  auto result = traits;
  auto& left = result.values;
  const auto n = static_cast<int>(rows);
  const auto c = static_cast<int>(covariates.names.size());
  const auto d = static_cast<int>(traits.names.size());
  if (c == 0) return result;
  auto basis = covariates.values;
  std::vector<double> factors(static_cast<std::size_t>(c));
  LAPACKE_dgeqrf(LAPACK_COL_MAJOR, n, c, basis.data(), n, factors.data());
  LAPACKE_dorgqr(LAPACK_COL_MAJOR, n, c, c, basis.data(), n, factors.data());
  std::vector<double> shares(static_cast<std::size_t>(c * d));
  for (int again = 0; again < 2; ++again) {
    cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, c, d, n, 1, basis.data(), n,
                left.data(), n, 0, shares.data(), c);
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, n, d, c, -1, basis.data(), n,
                shares.data(), c, 1, left.data(), n);
  }
  return result;
}

NamedColumns rank_normal_scores(const NamedColumns& columns, std::int64_t rows) {
  auto result = columns;
  const auto n = static_cast<std::size_t>(rows);
  for (std::size_t j = 0; j < columns.names.size(); ++j) {
    replace_by_scores(&result.values[j * n], n);
  }
  return result;
}

void check_traits_and_covariates(const NamedColumns& traits,
                                 const NamedColumns& covariates, std::int64_t rows,
                                 const TraitSources& sources) {
  const auto d = static_cast<std::int64_t>(traits.names.size());
  const auto c = static_cast<std::int64_t>(covariates.names.size());
  if (d == 0) throw InputError("[traits and covariates] expected a trait, found none");
  check_values(traits, rows, "trait", sources.traits);
  check_values(covariates, rows, "covariate", sources.covariates);
  if (rows < d + c + 2) {
    throw InputError(
        fmt::format("{}{}expected at least {} rows for {} and {}, found {}",
                    sources.traits, sources.traits.empty() ? "" : ": ", d + c + 2,
                    counted(d, "trait"), counted(c, "covariate"), rows));
  }
  check_different(covariates, rows, sources.covariates);
  if (!has_constant(covariates, rows)) {
    check_covariates(covariates, rows, sources.covariates);
    check_traits(traits, covariates, rows, sources.traits);
    return;
  }
  // Beside an intercept, what a column adds to it counts.
  const auto varying = standardize(covariates, rows).columns;
  check_covariates(varying, rows, sources.covariates);
  check_traits(standardize(traits, rows).columns, varying, rows, sources.traits);
}

TraitCorrelations trait_correlations(const NamedColumns& traits,
                                     const NamedColumns& covariates,
                                     std::int64_t rows) {
  const auto n = static_cast<int>(rows);
  const auto d = static_cast<int>(traits.names.size());
  const auto width = static_cast<std::size_t>(d);
  auto columns = residuals(traits, covariates, rows).values;
  for (std::size_t j = 0; j < width; ++j) {
    double* column = &columns[j * static_cast<std::size_t>(rows)];
    scale_to_one(column, rows, norm(column, rows));
  }
  TraitCorrelations result{std::vector<double>(width * width), 1};
  cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, d, d, n, 1, columns.data(), n,
              columns.data(), n, 0, result.matrix.data(), d);
  std::vector<double> singular(width), unused(width);
  LAPACKE_dgesvd(LAPACK_COL_MAJOR, 'N', 'N', n, d, columns.data(), n, singular.data(),
                 nullptr, n, nullptr, d, unused.data());
  result.condition = std::pow(singular.front() / singular.back(), 2);
  return result;
}

}  // namespace kinflow
