// Likelihood, gradients and estimators of sparse relationship matrices, component by
// component.
#include "kinflow/dependence/families.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "kinflow/array/array.h"
#include "kinflow/core/counted.h"
#include "kinflow/core/size.h"
#include "kinflow/dependence/likelihood_curve.h"

namespace kinflow {
namespace {

/// Components that a thread takes at a time.
constexpr std::int64_t kComponentsPerTask = 512;

/// rotated[k] += vectors[k] * latents for m rows of p numbers.
void add_rotation(const double* vectors, std::int64_t m, const double* latents,
                  std::int64_t p, double* rotated) {
  for (std::int64_t k = 0; k < m; ++k, rotated += p) {
    for (std::int64_t c = 0; c < p; ++c) rotated[c] += vectors[k] * latents[c];
  }
}

/// The sum over k of vectors[k] / variances[which[k]] * rotated[k]: p numbers.
void rotate_back(const double* vectors, const double* variances,
                 const std::int64_t* which, std::int64_t m, const double* rotated,
                 std::int64_t p, double* result) {
  for (std::int64_t k = 0; k < m; ++k, rotated += p) {
    const double weight = vectors[k] / variances[which[k]];
    for (std::int64_t c = 0; c < p; ++c) result[c] += weight * rotated[c];
  }
}

double sum_of_squares(const double* numbers, std::int64_t count) {
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += numbers[i] * numbers[i];
  return sum;
}

}  // namespace

/// Keeps the latents rotated into the coordinates of each component's eigenvectors, and
/// their squares summed over equal eigenvalues.
class Families::Memory final : public LatentMemory {
 public:
  explicit Memory(const Families& families)
      : LatentMemory(families.rows()), families_(families) {}

  void reset(const Array& latents) override {
    LatentMemory::reset(latents);
    rotated_ = families_.rotate(on_cpu(latents_));
    squares_ = families_.squares(rotated_);
  }

  void update(const Array& rows, const Array& latents) override {
    const Array before = exchange_rows(rows, latents);
    const Array after = latents_.index_select(1, rows).to(nd::kDouble);
    const Array change = on_cpu(after - before);
    const Array row = rows.cpu().contiguous();
    const std::int64_t batch = row.size(0), p = change.size(2);
    const auto* rows_in = row.data_ptr<std::int64_t>();
    for (std::int64_t r = 0; r < change.size(0); ++r) {
      const double* changed = change.data_ptr<double>() + r * batch * p;
      double* squares = squares_.data_ptr<double>() + r * squares_.size(1);
      for (std::int64_t j = 0; j < batch; ++j, changed += p) {
        const Component& component = families_.component_of(rows_in[j]);
        const double* vectors = families_.eigenvectors_of_row(rows_in[j]);
        const auto* which = families_.distinct_index_.data() + component.first;
        double* rotated =
            rotated_.data_ptr<double>() + (r * rows_ + component.first) * p;
        for (std::int64_t k = 0; k < component.size; ++k, rotated += p) {
          for (std::int64_t c = 0; c < p; ++c) {
            const double step = vectors[k] * changed[c];
            squares[which[k]] += step * (2 * rotated[c] + step);
            rotated[c] += step;
          }
        }
      }
    }
  }

  Array precision_rows(const Array& parameters, const Array& rows) const override {
    const Array variances = families_.variances(parameters);
    const Array row = rows.cpu().contiguous();
    const std::int64_t replicas = rotated_.size(0), p = rotated_.size(2);
    Array result = nd::zeros({replicas, row.size(0), p}, nd::kDouble);
    double* out = result.data_ptr<double>();
    for (std::int64_t r = 0; r < replicas; ++r) {
      for (std::int64_t j = 0; j < row.size(0); ++j, out += p) {
        const std::int64_t i = row.data_ptr<std::int64_t>()[j];
        const Component& component = families_.component_of(i);
        rotate_back(families_.eigenvectors_of_row(i),
                    variances.data_ptr<double>() + r * variances.size(1),
                    families_.distinct_index_.data() + component.first, component.size,
                    rotated_.data_ptr<double>() + (r * rows_ + component.first) * p, p,
                    out);
      }
    }
    return result.to(latents_.device());
  }

  Array parameter_gradient(const Array& parameters) const override {
    return families_.gradient_from_squares(parameters, squares_, latents_.size(2));
  }

 private:
  const Families& families_;
  Array rotated_;  // [R, n, p]
  Array squares_;  // [R, distinct]
};

const double* Families::eigenvectors_of_row(std::int64_t row) const {
  const Component& component = component_of(row);
  return eigenvectors_.data() + component.vectors +
         members_.place_of_row[to_size(row)] * component.size;
}

std::string Families::description() const {
  return fmt::format("{}, the largest of {}",
                     counted(component_count(), "family", "families"),
                     counted(rows_of_largest_component(), "row"));
}

std::int64_t Families::rows_of_largest_component() const {
  std::int64_t largest = 0;
  for (const Component& component : components_) {
    largest = std::max(largest, component.size);
  }
  return largest;
}

Array Families::variances(const Array& parameters) const {
  const Array own_share = on_cpu(checked_parameters(parameters));
  return own_share + (1 - own_share) * distinct_;
}

Array Families::rotate(const Array& latents) const {
  Array rotated = nd::zeros_like(latents);
  const std::int64_t p = latents.size(2);
  for (std::int64_t r = 0; r < latents.size(0); ++r) {
    const double* in = latents.data_ptr<double>() + r * rows() * p;
    double* out = rotated.data_ptr<double>() + r * rows() * p;
    nd::parallel_for(
        0, component_count(), kComponentsPerTask,
        [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t f = begin; f < end; ++f) {
            const Component& component = components_[to_size(f)];
            const double* vectors = eigenvectors_.data() + component.vectors;
            for (std::int64_t i = 0; i < component.size; ++i) {
              const std::int64_t row = members_.row_at[to_size(component.first + i)];
              add_rotation(vectors + i * component.size, component.size, in + row * p,
                           p, out + component.first * p);
            }
          }
        });
  }
  return rotated;
}

Array Families::squares(const Array& rotated) const {
  const std::int64_t p = rotated.size(2);
  Array result = nd::zeros({rotated.size(0), distinct_.size(0)}, nd::kDouble);
  const double* in = rotated.data_ptr<double>();
  for (std::int64_t r = 0; r < rotated.size(0); ++r) {
    double* out = result.data_ptr<double>() + r * result.size(1);
    for (std::int64_t k = 0; k < rows(); ++k, in += p) {
      out[distinct_index_[to_size(k)]] += sum_of_squares(in, p);
    }
  }
  return result;
}

Array Families::gradient_from_squares(const Array& parameters, const Array& squares,
                                      std::int64_t columns) const {
  const Array variance = variances(parameters);
  const Array numbers = static_cast<double>(columns) * distinct_counts_;
  const Array slopes = (1 - distinct_) / variance * (numbers - squares / variance);
  return (0.5 * slopes.sum(1, /*keepdim=*/true)).to(parameters.device());
}

Array Families::log_det(const Array& parameters) const {
  return nd::mv(variances(parameters).log(), distinct_counts_).to(parameters.device());
}

Array Families::precision_times(const Array& parameters, const Array& latents) const {
  const Array all = on_cpu(checked_latents(parameters, latents, rows()));
  const Array variance = variances(parameters);
  const Array rotated = rotate(all);
  const std::int64_t p = all.size(2);
  Array result = nd::zeros_like(all);
  for (std::int64_t r = 0; r < all.size(0); ++r) {
    const double* in = rotated.data_ptr<double>() + r * rows() * p;
    double* out = result.data_ptr<double>() + r * rows() * p;
    const double* variances_in = variance.data_ptr<double>() + r * variance.size(1);
    nd::parallel_for(
        0, component_count(), kComponentsPerTask,
        [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t f = begin; f < end; ++f) {
            const Component& component = components_[to_size(f)];
            const double* vectors = eigenvectors_.data() + component.vectors;
            for (std::int64_t i = 0; i < component.size; ++i) {
              rotate_back(vectors + i * component.size, variances_in,
                          distinct_index_.data() + component.first, component.size,
                          in + component.first * p, p,
                          out + members_.row_at[to_size(component.first + i)] * p);
            }
          }
        });
  }
  return result.to(latents.device());
}

Array Families::quadratic(const Array& parameters, const Array& latents) const {
  const Array all = on_cpu(checked_latents(parameters, latents, rows()));
  return (squares(rotate(all)) / variances(parameters)).sum(1).to(latents.device());
}

Array Families::parameter_gradient(const Array& parameters,
                                   const Array& latents) const {
  const Array all = on_cpu(checked_latents(parameters, latents, rows()));
  return gradient_from_squares(parameters, squares(rotate(all)), all.size(2));
}

template <typename Visit>
void Families::for_each_group(const Array& rows, const Visit& visit) const {
  const Array row = rows.cpu().contiguous();
  std::vector<std::pair<std::int64_t, std::int64_t>> order;
  order.reserve(to_size(row.size(0)));
  for (std::int64_t j = 0; j < row.size(0); ++j) {
    order.emplace_back(
        members_.component_of_row[to_size(row.data_ptr<std::int64_t>()[j])], j);
  }
  std::sort(order.begin(), order.end());
  std::vector<std::int64_t> positions;
  for (std::size_t i = 0; i < order.size(); ++i) {
    positions.push_back(order[i].second);
    if (i + 1 < order.size() && order[i + 1].first == order[i].first) continue;
    visit(components_[to_size(order[i].first)], positions);
    positions.clear();
  }
}

Array Families::pairs_rows(const Array& parameters, const Array& rows,
                           const Array& latents) const {
  const Array batch = on_cpu(checked_latents(parameters, latents, rows.size(0)));
  const Array variance = variances(parameters);
  const Array row = rows.cpu().contiguous();
  const std::int64_t b = row.size(0), p = batch.size(2);
  const double weight = pair_weight(b);
  Array result = nd::zeros_like(batch);
  std::vector<double> rotated;
  for (std::int64_t r = 0; r < batch.size(0); ++r) {
    const double* in = batch.data_ptr<double>() + r * b * p;
    double* out = result.data_ptr<double>() + r * b * p;
    const double* variances_in = variance.data_ptr<double>() + r * variance.size(1);
    for_each_group(row, [&](const Component& component,
                            const std::vector<std::int64_t>& positions) {
      const auto* which = distinct_index_.data() + component.first;
      const auto vectors = [&](std::int64_t j) {
        return eigenvectors_of_row(row.data_ptr<std::int64_t>()[j]);
      };
      rotated.assign(to_size(component.size * p), 0);
      for (const std::int64_t j : positions) {
        add_rotation(vectors(j), component.size, in + j * p, p, rotated.data());
      }
      for (const std::int64_t j : positions) {
        rotate_back(vectors(j), variances_in, which, component.size, rotated.data(), p,
                    out + j * p);
        double diagonal = 0;
        for (std::int64_t k = 0; k < component.size; ++k) {
          diagonal += vectors(j)[k] * vectors(j)[k] / variances_in[which[k]];
        }
        for (std::int64_t c = j * p; c < (j + 1) * p; ++c) {
          out[c] = weight * out[c] + (1 - weight) * diagonal * in[c];
        }
      }
    });
  }
  return result.to(latents.device());
}

Array Families::pairs_parameter_gradient(const Array& parameters, const Array& rows,
                                         const Array& latents) const {
  const Array batch = on_cpu(checked_latents(parameters, latents, rows.size(0)));
  const Array variance = variances(parameters);
  const Array inverse_slope = (distinct_ - 1) / variance.square();
  const Array row = rows.cpu().contiguous();
  const std::int64_t b = row.size(0), p = batch.size(2);
  const double weight = pair_weight(b);
  Array trace_slope = nd::zeros({batch.size(0)}, nd::kDouble);
  std::vector<double> rotated;
  for (std::int64_t r = 0; r < batch.size(0); ++r) {
    const double* in = batch.data_ptr<double>() + r * b * p;
    const double* slope = inverse_slope.data_ptr<double>() + r * variance.size(1);
    double& sum = trace_slope.data_ptr<double>()[r];
    for_each_group(row, [&](const Component& component,
                            const std::vector<std::int64_t>& positions) {
      const auto* which = distinct_index_.data() + component.first;
      rotated.assign(to_size(component.size * p), 0);
      for (const std::int64_t j : positions) {
        const double* vectors = eigenvectors_of_row(row.data_ptr<std::int64_t>()[j]);
        add_rotation(vectors, component.size, in + j * p, p, rotated.data());
        double diagonal = 0;
        for (std::int64_t k = 0; k < component.size; ++k) {
          diagonal += vectors[k] * vectors[k] * slope[which[k]];
        }
        sum += (1 - weight) * diagonal * sum_of_squares(in + j * p, p);
      }
      for (std::int64_t k = 0; k < component.size; ++k) {
        sum += weight * slope[which[k]] * sum_of_squares(rotated.data() + k * p, p);
      }
    });
  }
  const Array log_det_slope = nd::mv((1 - distinct_) / variance, distinct_counts_);
  const double scale =
      static_cast<double>(this->rows()) / static_cast<double>(rows.size(0));
  return (0.5 * (static_cast<double>(p) * log_det_slope + scale * trace_slope))
      .unsqueeze(1)
      .to(parameters.device());
}

Array Families::most_likely(const Array& latents, const Array& start,
                            double prior) const {
  Array result = nd::empty(checked_parameters(start).sizes(), nd::kDouble);
  const Array all = on_cpu(checked_latents(result, latents, rows()));
  const Array square = squares(rotate(all));
  const std::int64_t count = distinct_.size(0);
  for (std::int64_t r = 0; r < all.size(0); ++r) {
    std::vector<SpectralTerm> terms;
    for (std::int64_t k = 0; k < count; ++k) {
      terms.push_back({distinct_.data_ptr<double>()[k],
                       distinct_counts_.data_ptr<double>()[k],
                       square.data_ptr<double>()[r * count + k]});
    }
    result.data_ptr<double>()[r] =
        most_likely_lambda(terms, static_cast<double>(all.size(2)), prior);
  }
  return result.to(start.device());
}

std::unique_ptr<LatentMemory> Families::make_memory() const {
  return std::make_unique<Memory>(*this);
}

}  // namespace kinflow
