// Sparse relationship matrices: set-up from compressed rows, draws and conditional
// laws.
#include <cblas.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <lapacke.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "kinflow/array/array.h"
#include "kinflow/array/array_numbers.h"
#include "kinflow/core/error.h"
#include "kinflow/core/random.h"
#include "kinflow/core/size.h"
#include "kinflow/dependence/families.h"
#include "kinflow/dependence/spectral_decomposition.h"

namespace kinflow {
namespace {

/// Components above this size are decomposed one after the other, each with all
/// threads; those below in parallel.
constexpr std::int64_t kLargeComponent = 256;
constexpr std::int64_t kSampledComponentsPerTask = 64;

}  // namespace

Families::Families(const CompressedRows& relationship, FamiliesOptions options) {
  check_compressed_rows(relationship, "Families");
  members_ = connected_components({&relationship});
  std::int64_t vectors = 0;
  for (std::int64_t f = 0; f < members_.count(); ++f) {
    const std::int64_t size = members_.size(f);
    components_.push_back(
        {.first = members_.first[to_size(f)], .size = size, .vectors = vectors});
    vectors += size * size;
  }
  if (const std::int64_t largest = rows_of_largest_component();
      largest > options.largest_component) {
    throw InputError(fmt::format(
        "[Families] expected families of at most {} rows, received one of {} rows that "
        "are all connected; a higher threshold for small elements would split it, a "
        "factor of low rank or a dense matrix would serve it",
        options.largest_component, largest));
  }
  eigenvalues_.resize(members_.row_at.size());
  eigenvectors_.resize(to_size(vectors));
  nd::parallel_for(0, component_count(), kSampledComponentsPerTask,
                   [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t f = begin; f < end; ++f) {
                       if (components_[to_size(f)].size <= kLargeComponent) {
                         decompose(relationship, f);
                       }
                     }
                   });
  for (std::int64_t f = 0; f < component_count(); ++f) {
    if (components_[to_size(f)].size > kLargeComponent) decompose(relationship, f);
  }
  number_eigenvalues();
}

void Families::decompose(const CompressedRows& relationship, std::int64_t number) {
  const Component& component = components_[to_size(number)];
  const std::int64_t m = component.size;
  std::vector<double> dense(to_size(m * m));
  write_component(relationship, members_, number, "Families", dense.data());
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
        vectors[i * m + k] = dense[to_size(k * m + i)];
      }
    }
  }
  if (values[0] <
      -kEigenvalueRounding * static_cast<double>(m) * std::max(values[m - 1], 0.0)) {
    std::vector<std::int64_t> some;
    for (std::int64_t i = 0; i < std::min<std::int64_t>(m, 8); ++i) {
      some.push_back(members_.row_at[to_size(component.first + i)] + 1);
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
  distinct_ = nd::tensor(distinct, nd::kDouble);
  distinct_counts_ = nd::zeros_like(distinct_);
  distinct_index_.resize(eigenvalues_.size());
  for (std::size_t k = 0; k < eigenvalues_.size(); ++k) {
    distinct_index_[k] =
        std::lower_bound(distinct.begin(), distinct.end(), eigenvalues_[k]) -
        distinct.begin();
    ++distinct_counts_.data_ptr<double>()[distinct_index_[k]];
  }
}

Array Families::component_rows(const Component& component) const {
  const auto* first = members_.row_at.data() + component.first;
  return nd::tensor(std::vector<std::int64_t>(first, first + component.size),
                    nd::kLong);
}

Relationship Families::component_law(const Component& component) const {
  const auto copy = [](const double* numbers, nd::IntArrayRef shape) {
    return nd::from_blob(const_cast<double*>(numbers), shape, nd::kDouble).clone();
  };
  return Relationship(SpectralDecomposition{
      .eigenvectors = copy(eigenvectors_.data() + component.vectors,
                           {component.size, component.size}),
      .eigenvalues = copy(eigenvalues_.data() + component.first, {component.size})});
}

Array Families::sample(const Array& parameters, std::int64_t columns,
                       Random& random) const {
  const Array one = checked_one_replica(parameters).cpu();
  const Array deviation = variances(one.unsqueeze(0)).sqrt();
  Array normal = normal_numbers({rows(), columns}, random);
  Array draw = nd::zeros_like(normal);
  for (const Component& component : components_) {
    for (std::int64_t i = 0; i < component.size; ++i) {
      const std::int64_t row = members_.row_at[to_size(component.first + i)];
      double* out = draw.data_ptr<double>() + row * columns;
      for (std::int64_t k = 0; k < component.size; ++k) {
        const std::int64_t at_k = component.first + k;
        const double scale =
            eigenvectors_of_row(row)[k] *
            deviation.data_ptr<double>()[distinct_index_[to_size(at_k)]];
        const double* in = normal.data_ptr<double>() + at_k * columns;
        for (std::int64_t c = 0; c < columns; ++c) out[c] += scale * in[c];
      }
    }
  }
  return draw;
}

Array Families::covariance(const Array& parameters) const {
  const Array one = checked_one_replica(parameters).cpu();
  Array result = nd::zeros({rows(), rows()}, nd::kDouble);
  for (const Component& component : components_) {
    const Array rows_in = component_rows(component);
    result.index_put_({rows_in.unsqueeze(1), rows_in.unsqueeze(0)},
                      component_law(component).covariance(one)[0]);
  }
  return result.unsqueeze(0).to(parameters.device());
}

std::vector<Families::Observed> Families::observed_components(
    const Array& observed) const {
  std::map<std::int64_t, Observed> found;
  const auto* rows_in = observed.data_ptr<std::int64_t>();
  for (std::int64_t j = 0; j < observed.size(0); ++j) {
    const std::int64_t number = members_.component_of_row[to_size(rows_in[j])];
    Observed& of_component = found[number];
    of_component.component = number;
    of_component.places.push_back(members_.place_of_row[to_size(rows_in[j])]);
    of_component.positions.push_back(j);
  }
  std::vector<Observed> result;
  for (auto& [number, of_component] : found) result.push_back(std::move(of_component));
  return result;
}

ConditionalLaw Families::condition(const Array& parameters, const Array& observed,
                                   const Array& latents) const {
  const Array unknown = checked_unknown_rows(observed, latents).cpu();
  const Array one = checked_one_replica(parameters).cpu();
  const Array known = latents.to(nd::kCPU, nd::kDouble);
  const std::int64_t m = unknown.size(0);
  Array place = nd::full({rows()}, -1, nd::kLong);
  place.index_copy_(0, unknown, nd::arange(m, nd::kLong));
  Array mean = nd::zeros({m, known.size(1)}, nd::kDouble);
  Array covariance = nd::zeros({m, m}, nd::kDouble);
  std::vector<char> is_done(components_.size(), 0);
  const auto fill = [&](std::int64_t number, const Array& places,
                        const Array& of_places) {
    is_done[to_size(number)] = 1;
    const Component& component = components_[to_size(number)];
    const ConditionalLaw law =
        component_law(component).condition(one, places, of_places);
    if (law.rows.size(0) == 0) return;
    const Array to =
        place.index_select(0, component_rows(component).index_select(0, law.rows));
    mean.index_copy_(0, to, law.mean);
    covariance.index_put_({to.unsqueeze(1), to.unsqueeze(0)}, law.covariance[0]);
  };
  for (const Observed& part : observed_components(observed.cpu().contiguous())) {
    fill(part.component, nd::tensor(part.places, nd::kLong),
         known.index_select(0, nd::tensor(part.positions, nd::kLong)));
  }
  for (std::int64_t number = 0; number < component_count(); ++number) {
    if (is_done[to_size(number)]) continue;
    fill(number, nd::empty({0}, nd::kLong), nd::empty({0, known.size(1)}, nd::kDouble));
  }
  const nd::Device device = latents.device();
  return {unknown.to(device), mean.to(device), covariance.unsqueeze(0).to(device)};
}

ConditionalRows Families::condition_rows(const Array& parameters, const Array& observed,
                                         const Array& latents) const {
  const Array unknown = checked_unknown_rows(observed, latents).cpu();
  const Array one = checked_one_replica(parameters).cpu();
  const Array known = latents.to(nd::kCPU, nd::kDouble).contiguous();
  const Array variances_in = variances(one.unsqueeze(0));
  Array mean = nd::zeros({rows(), known.size(1)}, nd::kDouble);
  Array variance = nd::zeros({rows()}, nd::kDouble);
  // The diagonal of C, which stays where no relative is observed.
  for (std::int64_t row = 0; row < rows(); ++row) {
    const Component& component = component_of(row);
    const double* vectors = eigenvectors_of_row(row);
    const auto* which = distinct_index_.data() + component.first;
    for (std::int64_t k = 0; k < component.size; ++k) {
      variance.data_ptr<double>()[row] +=
          vectors[k] * vectors[k] * variances_in.data_ptr<double>()[which[k]];
    }
  }
  // Everything else by BLAS, without arrays, whose overhead would be most of the time.
  const std::int64_t p = known.size(1);
  std::vector<double> scaled, among, sides;
  for (const Observed& part : observed_components(observed.cpu().contiguous())) {
    const Component& component = components_[to_size(part.component)];
    const double* vectors = eigenvectors_.data() + component.vectors;
    const auto* which = distinct_index_.data() + component.first;
    const std::int64_t m = component.size;
    const auto w = static_cast<std::int64_t>(part.places.size());
    scaled.resize(to_size(w * m));
    for (std::int64_t a = 0; a < w; ++a) {
      for (std::int64_t k = 0; k < m; ++k) {
        scaled[to_size(a * m + k)] = vectors[part.places[to_size(a)] * m + k] *
                                     variances_in.data_ptr<double>()[which[k]];
      }
    }
    // Side by side: C of observed with all rows, and the observed latents.
    const std::int64_t width = m + p;
    sides.resize(to_size(w * width));
    const auto size = [](std::int64_t i) { return static_cast<int>(i); };
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, size(w), size(m), size(m), 1,
                scaled.data(), size(m), vectors, size(m), 0, sides.data(), size(width));
    among.resize(to_size(w * w));
    for (std::int64_t a = 0; a < w; ++a) {
      std::copy_n(known.data_ptr<double>() + part.positions[to_size(a)] * p, p,
                  sides.data() + a * width + m);
      for (std::int64_t b = 0; b < w; ++b) {
        among[to_size(a * w + b)] = sides[to_size(a * width + part.places[to_size(b)])];
      }
    }
    // The upper triangle of LAPACK's columns is the lower one of rows.
    if (LAPACKE_dpotrf(LAPACK_COL_MAJOR, 'U', static_cast<lapack_int>(w), among.data(),
                       static_cast<lapack_int>(w)) != 0) {
      throw NumericalError(fmt::format(
          "[families] the covariance of {} observed rows of a family is not positive "
          "definite",
          w));
    }
    cblas_dtrsm(CblasRowMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit,
                size(w), size(width), 1, among.data(), size(w), sides.data(),
                size(width));
    for (std::int64_t i = 0; i < m; ++i) {
      const std::int64_t row = members_.row_at[to_size(component.first + i)];
      for (std::int64_t a = 0; a < w; ++a) {
        const double* side = sides.data() + a * width;
        variance.data_ptr<double>()[row] -= side[i] * side[i];
        for (std::int64_t c = 0; c < p; ++c) {
          mean.data_ptr<double>()[row * p + c] += side[i] * side[m + c];
        }
      }
    }
  }
  const nd::Device device = latents.device();
  return {unknown.to(device), mean.index_select(0, unknown).to(device),
          variance.index_select(0, unknown).unsqueeze(1).to(device)};
}

Array Families::sample_given(const Array& parameters, const Array& observed,
                             const Array& latents, Random& random) const {
  checked_unknown_rows(observed, latents);
  const Array one = checked_one_replica(parameters).cpu();
  const Array known = latents.to(nd::kCPU, nd::kDouble);
  Array draw = sample(one, known.size(1), random);
  for (const Observed& part : observed_components(observed.cpu().contiguous())) {
    const Component& component = components_[to_size(part.component)];
    const Array drawn = component_law(component).sample_given(
        one, nd::tensor(part.places, nd::kLong),
        known.index_select(0, nd::tensor(part.positions, nd::kLong)), random);
    draw.index_copy_(0, component_rows(component), drawn);
  }
  return draw;
}

}  // namespace kinflow
