// Sparse relationship matrices: set-up from compressed rows, draws and conditional
// laws.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <lapacke.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <numeric>
#include <utility>

#include "kinflow/core/error.h"
#include "kinflow/core/random.h"
#include "kinflow/dependence/families.h"

namespace kinflow {
namespace {

/// Components above this size are decomposed one after the other, each with all
/// threads; those below in parallel.
constexpr std::int64_t kLargeComponent = 256;
constexpr std::int64_t kComponentsPerTask = 64;
/// As in decompose_relationship().
constexpr double kRounding = 1e-8;
constexpr double kAsymmetry = 1e-8;

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

/// The representative of i's set; halves the paths on the way.
std::int64_t representative(std::vector<std::int64_t>& parent, std::int64_t i) {
  while (parent[index(i)] != i) {
    parent[index(i)] = parent[index(parent[index(i)])];
    i = parent[index(i)];
  }
  return i;
}

}  // namespace

void check_compressed_rows(const CompressedRows& matrix, const std::string& name) {
  const auto& starts = matrix.row_starts;
  if (starts.size() < 2 || starts.front() != 0 ||
      !std::is_sorted(starts.begin(), starts.end()) ||
      index(starts.back()) != matrix.columns.size() ||
      matrix.columns.size() != matrix.values.size()) {
    throw InputError(fmt::format(
        "[{}] expected at least one row, row starts that increase from 0 to the number "
        "of elements, and as many columns as values",
        name));
  }
  const auto n = static_cast<std::int64_t>(starts.size()) - 1;
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t e = starts[index(i)]; e < starts[index(i + 1)]; ++e) {
      const std::int64_t j = matrix.columns[index(e)];
      if (j < 0 || j >= n) {
        throw InputError(
            fmt::format("[{}] expected columns from 1 to {}, received {} in row {}",
                        name, n, j + 1, i + 1));
      }
      if (!std::isfinite(matrix.values[index(e)])) {
        throw InputError(fmt::format(
            "[{}] expected finite numbers, received {} in row {}, column {}", name,
            matrix.values[index(e)], i + 1, j + 1));
      }
    }
  }
}

Families::Families(const CompressedRows& relationship, FamiliesOptions options) {
  check_compressed_rows(relationship, "Families");
  find_components(relationship);
  if (const std::int64_t largest = rows_of_largest_component();
      largest > options.largest_component) {
    throw InputError(fmt::format(
        "[Families] expected families of at most {} rows, received one of {} rows that "
        "are all connected; a higher threshold for small elements would split it, a "
        "factor of low rank or a dense matrix would serve it",
        options.largest_component, largest));
  }
  eigenvalues_.resize(component_of_row_.size());
  const Component& last = components_.back();
  eigenvectors_.resize(index(last.vectors + last.size * last.size));
  at::parallel_for(0, component_count(), kComponentsPerTask,
                   [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t f = begin; f < end; ++f) {
                       if (components_[index(f)].size <= kLargeComponent) {
                         decompose(relationship, f);
                       }
                     }
                   });
  for (std::int64_t f = 0; f < component_count(); ++f) {
    if (components_[index(f)].size > kLargeComponent) decompose(relationship, f);
  }
  number_eigenvalues();
}

void Families::find_components(const CompressedRows& relationship) {
  const auto n = static_cast<std::int64_t>(relationship.row_starts.size()) - 1;
  std::vector<std::int64_t> parent(index(n));
  std::iota(parent.begin(), parent.end(), 0);
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t e = relationship.row_starts[index(i)];
         e < relationship.row_starts[index(i + 1)]; ++e) {
      if (relationship.values[index(e)] == 0) continue;
      const std::int64_t a = representative(parent, i);
      const std::int64_t b = representative(parent, relationship.columns[index(e)]);
      // The smaller row stands for both, so that it is a component's first row.
      parent[index(std::max(a, b))] = std::min(a, b);
    }
  }
  component_of_row_.resize(index(n));
  place_of_row_.resize(index(n));
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t first = representative(parent, i);
    if (first == i) {
      component_of_row_[index(i)] = component_count();
      components_.push_back({.first = 0, .size = 0, .vectors = 0});
    } else {
      component_of_row_[index(i)] = component_of_row_[index(first)];
    }
    place_of_row_[index(i)] = components_[index(component_of_row_[index(i)])].size++;
  }
  std::int64_t first = 0, vectors = 0;
  for (Component& component : components_) {
    component.first = first;
    component.vectors = vectors;
    first += component.size;
    vectors += component.size * component.size;
  }
  row_at_.resize(index(n));
  for (std::int64_t i = 0; i < n; ++i) {
    row_at_[index(component_of(i).first + place_of_row_[index(i)])] = i;
  }
}

void Families::decompose(const CompressedRows& relationship, std::int64_t number) {
  const Component& component = components_[index(number)];
  const std::int64_t m = component.size;
  std::vector<double> dense(index(m * m), 0);
  std::vector<char> is_set(index(m * m), 0);
  double largest_element = 0;
  for (std::int64_t i = 0; i < m; ++i) {
    const std::int64_t row = row_at_[index(component.first + i)];
    for (std::int64_t e = relationship.row_starts[index(row)];
         e < relationship.row_starts[index(row + 1)]; ++e) {
      const std::int64_t column = relationship.columns[index(e)];
      const double value = relationship.values[index(e)];
      if (value == 0) continue;
      const std::size_t place = index(i * m + place_of_row_[index(column)]);
      if (is_set[place]) {
        throw InputError(fmt::format(
            "[Families] expected every element once, received row {}, column {} twice",
            row + 1, column + 1));
      }
      is_set[place] = 1;
      dense[place] = value;
      largest_element = std::max(largest_element, std::abs(value));
    }
  }
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < i; ++j) {
      const double below = dense[index(i * m + j)], above = dense[index(j * m + i)];
      if (std::abs(below - above) <= kAsymmetry * largest_element) continue;
      const std::int64_t row = row_at_[index(component.first + i)] + 1;
      const std::int64_t column = row_at_[index(component.first + j)] + 1;
      throw InputError(fmt::format(
          "[Families] expected a symmetric matrix with both triangles, received {} in "
          "row {}, column {} and {} in row {}, column {}",
          below, row, column, above, column, row));
    }
  }
  double* values = eigenvalues_.data() + component.first;
  double* vectors = eigenvectors_.data() + component.vectors;
  if (m == 1) {
    values[0] = dense[0];
    vectors[0] = 1;
  } else {
    const auto size = static_cast<lapack_int>(m);
    const lapack_int info =
        LAPACKE_dsyevd(LAPACK_COL_MAJOR, 'V', 'L', size, dense.data(), size, values);
    if (info != 0) {
      throw NumericalError(fmt::format(
          "[Families] the spectral decomposition of a family of {} rows failed "
          "(dsyevd: {})",
          m, info));
    }
    // LAPACK's columns become rows.
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t k = 0; k < m; ++k) {
        vectors[i * m + k] = dense[index(k * m + i)];
      }
    }
  }
  if (values[0] < -kRounding * static_cast<double>(m) * std::max(values[m - 1], 0.0)) {
    std::vector<std::int64_t> some;
    for (std::int64_t i = 0; i < std::min<std::int64_t>(m, 8); ++i) {
      some.push_back(row_at_[index(component.first + i)] + 1);
    }
    throw InputError(fmt::format(
        "[Families] expected a positive semidefinite matrix, received a family of {} "
        "rows (row {}{}) with smallest eigenvalue {:.6g}",
        m, fmt::join(some, ", "), m > 8 ? ", ..." : "", values[0]));
  }
  for (std::int64_t k = 0; k < m; ++k) values[k] = std::max(values[k], 0.0);
}

void Families::number_eigenvalues() {
  std::vector<double> distinct = eigenvalues_;
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  distinct_ = at::tensor(distinct, at::kDouble);
  distinct_counts_ = at::zeros_like(distinct_);
  distinct_index_.resize(eigenvalues_.size());
  for (std::size_t k = 0; k < eigenvalues_.size(); ++k) {
    distinct_index_[k] =
        std::lower_bound(distinct.begin(), distinct.end(), eigenvalues_[k]) -
        distinct.begin();
    ++distinct_counts_.data_ptr<double>()[distinct_index_[k]];
  }
}

at::Tensor Families::component_rows(const Component& component) const {
  return at::tensor(at::ArrayRef<std::int64_t>(row_at_.data() + component.first,
                                               index(component.size)),
                    at::kLong);
}

Relationship Families::component_law(const Component& component) const {
  const auto copy = [](const double* numbers, at::IntArrayRef shape) {
    return at::from_blob(const_cast<double*>(numbers), shape, at::kDouble).clone();
  };
  return Relationship(SpectralDecomposition{
      .eigenvectors = copy(eigenvectors_.data() + component.vectors,
                           {component.size, component.size}),
      .eigenvalues = copy(eigenvalues_.data() + component.first, {component.size})});
}

at::Tensor Families::sample(const at::Tensor& parameters, std::int64_t columns,
                            Random& random) const {
  const at::Tensor one = checked_one_replica(parameters).cpu();
  const at::Tensor deviation = variances(one.unsqueeze(0)).sqrt();
  at::Tensor normal = standard_normal(rows(), columns, random);
  at::Tensor draw = at::zeros_like(normal);
  for (const Component& component : components_) {
    for (std::int64_t i = 0; i < component.size; ++i) {
      const std::int64_t row = row_at_[index(component.first + i)];
      double* out = draw.data_ptr<double>() + row * columns;
      for (std::int64_t k = 0; k < component.size; ++k) {
        const std::int64_t at_k = component.first + k;
        const double scale = eigenvectors_of_row(row)[k] *
                             deviation.data_ptr<double>()[distinct_index_[index(at_k)]];
        const double* in = normal.data_ptr<double>() + at_k * columns;
        for (std::int64_t c = 0; c < columns; ++c) out[c] += scale * in[c];
      }
    }
  }
  return draw;
}

at::Tensor Families::covariance(const at::Tensor& parameters) const {
  const at::Tensor one = checked_one_replica(parameters).cpu();
  at::Tensor result = at::zeros({rows(), rows()}, at::kDouble);
  for (const Component& component : components_) {
    const at::Tensor rows_in = component_rows(component);
    result.index_put_({rows_in.unsqueeze(1), rows_in.unsqueeze(0)},
                      component_law(component).covariance(one));
  }
  return result.to(parameters.device());
}

std::vector<Families::Observed> Families::observed_components(
    const at::Tensor& observed) const {
  std::map<std::int64_t, Observed> found;
  const auto* rows_in = observed.data_ptr<std::int64_t>();
  for (std::int64_t j = 0; j < observed.size(0); ++j) {
    const std::int64_t number = component_of_row_[index(rows_in[j])];
    Observed& of_component = found[number];
    of_component.component = number;
    of_component.places.push_back(place_of_row_[index(rows_in[j])]);
    of_component.positions.push_back(j);
  }
  std::vector<Observed> result;
  for (auto& [number, of_component] : found) result.push_back(std::move(of_component));
  return result;
}

ConditionalLaw Families::condition(const at::Tensor& parameters,
                                   const at::Tensor& observed,
                                   const at::Tensor& latents) const {
  const at::Tensor unknown = checked_unknown_rows(observed, latents).cpu();
  const at::Tensor one = checked_one_replica(parameters).cpu();
  const at::Tensor known = latents.to(at::kCPU, at::kDouble);
  const std::int64_t m = unknown.size(0);
  at::Tensor place = at::full({rows()}, -1, at::kLong);
  place.index_copy_(0, unknown, at::arange(m, at::kLong));
  at::Tensor mean = at::zeros({m, known.size(1)}, at::kDouble);
  at::Tensor covariance = at::zeros({m, m}, at::kDouble);
  std::vector<char> is_done(components_.size(), 0);
  const auto fill = [&](std::int64_t number, const at::Tensor& places,
                        const at::Tensor& of_places) {
    is_done[index(number)] = 1;
    const Component& component = components_[index(number)];
    const ConditionalLaw law =
        component_law(component).condition(one, places, of_places);
    if (law.rows.size(0) == 0) return;
    const at::Tensor to =
        place.index_select(0, component_rows(component).index_select(0, law.rows));
    mean.index_copy_(0, to, law.mean);
    covariance.index_put_({to.unsqueeze(1), to.unsqueeze(0)}, law.covariance);
  };
  for (const Observed& part : observed_components(observed.cpu().contiguous())) {
    fill(part.component, at::tensor(part.places, at::kLong),
         known.index_select(0, at::tensor(part.positions, at::kLong)));
  }
  for (std::int64_t number = 0; number < component_count(); ++number) {
    if (is_done[index(number)]) continue;
    fill(number, at::empty({0}, at::kLong), at::empty({0, known.size(1)}, at::kDouble));
  }
  const at::Device device = latents.device();
  return {unknown.to(device), mean.to(device), covariance.to(device)};
}

at::Tensor Families::sample_given(const at::Tensor& parameters,
                                  const at::Tensor& observed, const at::Tensor& latents,
                                  Random& random) const {
  checked_unknown_rows(observed, latents);
  const at::Tensor one = checked_one_replica(parameters).cpu();
  const at::Tensor known = latents.to(at::kCPU, at::kDouble);
  at::Tensor draw = sample(one, known.size(1), random);
  for (const Observed& part : observed_components(observed.cpu().contiguous())) {
    const Component& component = components_[index(part.component)];
    const at::Tensor drawn = component_law(component).sample_given(
        one, at::tensor(part.places, at::kLong),
        known.index_select(0, at::tensor(part.positions, at::kLong)), random);
    draw.index_copy_(0, component_rows(component), drawn);
  }
  return draw;
}

}  // namespace kinflow
