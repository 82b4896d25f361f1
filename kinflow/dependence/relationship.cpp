// A relationship matrix through its spectral decomposition.
#include "kinflow/dependence/relationship.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <lapacke.h>

#include <cstdint>
#include <limits>
#include <utility>

#include "kinflow/core/error.h"

namespace kinflow {
namespace {

/// Eigenvalues from -kRounding n times the largest up to 0 are taken for 0.
constexpr double kRounding = 1e-8;
/// Differences between G_ij and G_ji up to this share of the largest element are
/// taken for rounding.
constexpr double kAsymmetry = 1e-8;

/// Refuses what has no spectral decomposition with real eigenvalues.
void check_relationship(const at::Tensor& matrix) {
  if (matrix.dim() != 2 || matrix.size(0) != matrix.size(1) || matrix.size(0) == 0) {
    throw InputError(
        fmt::format("[Relationship] expected a square matrix, received [{}]",
                    fmt::join(matrix.sizes(), ", ")));
  }
  const std::int64_t n = matrix.size(0);
  if (1 + 6 * n + 2 * n * n > std::numeric_limits<lapack_int>::max()) {
    throw InputError(fmt::format(
        "[Relationship] expected at most 32,766 rows in a dense matrix, received {}",
        n));
  }
  const auto place = [n](const at::Tensor& flags_or_sizes) {
    const std::int64_t index =
        flags_or_sizes.to(at::kDouble).argmax().item<std::int64_t>();
    return std::pair(index / n, index % n);
  };
  const at::Tensor finite = matrix.isfinite();
  if (!finite.all().item<bool>()) {
    const auto [row, column] = place(finite.logical_not());
    throw InputError(fmt::format(
        "[Relationship] expected finite numbers, received {} in row {}, column {}",
        matrix[row][column].item<double>(), row + 1, column + 1));
  }
  const at::Tensor difference = (matrix - matrix.t()).abs();
  if (difference.max().item<double>() >
      kAsymmetry * matrix.abs().max().item<double>()) {
    const auto [row, column] = place(difference);
    throw InputError(fmt::format(
        "[Relationship] expected a symmetric matrix, received {} in row {}, column {} "
        "and {} in row {}, column {}",
        matrix[row][column].item<double>(), row + 1, column + 1,
        matrix[column][row].item<double>(), column + 1, row + 1));
  }
}

/// Latents [R, b, p] as a matrix [b, R p].
at::Tensor side_by_side(const at::Tensor& latents) {
  return latents.transpose(0, 1).reshape({latents.size(1), -1});
}

}  // namespace

SpectralDecomposition decompose_relationship(const at::Tensor& relationship) {
  const at::Tensor matrix = relationship.detach().to(at::kCPU, at::kDouble);
  check_relationship(matrix);
  const std::int64_t n = matrix.size(0);
  at::Tensor vectors = matrix.clone(at::MemoryFormat::Contiguous);
  at::Tensor values = at::empty({n}, vectors.options());
  const auto size = static_cast<lapack_int>(n);
  const lapack_int info =
      LAPACKE_dsyevd(LAPACK_COL_MAJOR, 'V', 'L', size, vectors.data_ptr<double>(), size,
                     values.data_ptr<double>());
  if (info == LAPACK_WORK_MEMORY_ERROR) {
    throw NumericalError(fmt::format(
        "[Relationship] not enough memory to decompose a matrix of {} rows", n));
  }
  if (info != 0) {
    throw NumericalError(fmt::format(
        "[Relationship] the spectral decomposition did not converge (dsyevd: {})",
        info));
  }
  const double smallest = values[0].item<double>();
  const double largest = values[n - 1].item<double>();
  if (smallest < -kRounding * static_cast<double>(n) * largest) {
    throw InputError(fmt::format(
        "[Relationship] expected a positive semidefinite matrix, received one that is "
        "not positive semidefinite: smallest eigenvalue {:.6g}",
        smallest));
  }
  // LAPACK's columns are the rows of a row-major tensor.
  return {vectors.t().contiguous().to(relationship.device()),
          values.clamp_min(0).to(relationship.device())};
}

void check_positive_semidefinite(const at::Tensor& relationship) {
  // The trace is at most n times the largest eigenvalue: what it adds is rounding.
  const at::Tensor diagonal = relationship.diagonal();
  const double rounding = kRounding * diagonal.sum().item<double>();
  const at::Tensor raised = relationship + at::diag(at::full_like(diagonal, rounding));
  const auto [factor, info] = at::linalg_cholesky_ex(raised);
  if (info.item<int>() != 0) decompose_relationship(relationship);
}

/// Keeps the latents rotated into the eigenvectors' coordinates; a batch adds the
/// rotation of what changed in its rows.
class Relationship::Memory final : public LatentMemory {
 public:
  explicit Memory(const Relationship& relationship)
      : LatentMemory(relationship.rows()), relationship_(relationship) {}

  void reset(const at::Tensor& latents) override {
    LatentMemory::reset(latents);
    rotated_ = relationship_.rotate(latents_.to(at::kDouble));
  }

  void update(const at::Tensor& rows, const at::Tensor& latents) override {
    const at::Tensor before = exchange_rows(rows, latents);
    const at::Tensor after = latents_.index_select(1, rows).to(at::kDouble);
    const at::Tensor vectors = relationship_.eigenvectors().index_select(0, rows);
    rotated_.view({rows_, -1}).addmm_(vectors.t(), side_by_side(after - before));
  }

  at::Tensor precision_rows(const at::Tensor& parameters,
                            const at::Tensor& rows) const override {
    const at::Tensor vectors = relationship_.eigenvectors().index_select(0, rows);
    return relationship_.rows_of_precision_times(parameters, vectors, rotated_);
  }

  at::Tensor parameter_gradient(const at::Tensor& parameters) const override {
    return relationship_.gradient_from_rotated(parameters, rotated_);
  }

 private:
  const Relationship& relationship_;
  at::Tensor rotated_;
};

Relationship::Relationship(const at::Tensor& relationship)
    : Relationship(decompose_relationship(relationship)) {}

Relationship::Relationship(SpectralDecomposition decomposition)
    : decomposition_(std::move(decomposition)) {
  const at::Tensor& vectors = decomposition_.eigenvectors;
  const at::Tensor& values = decomposition_.eigenvalues;
  if (values.dim() != 1 || vectors.dim() != 2 || vectors.size(0) != values.size(0) ||
      vectors.size(1) != values.size(0) || values.size(0) == 0) {
    throw InputError(
        fmt::format("[Relationship] expected eigenvectors [n, n] and eigenvalues [n], "
                    "received [{}] "
                    "and [{}]",
                    fmt::join(vectors.sizes(), ", "), fmt::join(values.sizes(), ", ")));
  }
  if (!(values >= 0).all().item<bool>()) {
    throw InputError(fmt::format(
        "[Relationship] expected eigenvalues of at least 0, received {:.6g}",
        values.min().item<double>()));
  }
  decomposition_.eigenvectors = vectors.to(at::kDouble).contiguous();
  decomposition_.eigenvalues = values.to(at::kDouble).contiguous();
}

at::Tensor Relationship::variances(const at::Tensor& parameters) const {
  const at::Tensor own_share = checked_parameters(parameters).t();
  return own_share + (1 - own_share) * eigenvalues().unsqueeze(1);
}

at::Tensor Relationship::rotate(const at::Tensor& latents) const {
  return at::mm(eigenvectors().t(), side_by_side(latents))
      .view({rows(), latents.size(0), latents.size(2)});
}

at::Tensor Relationship::rows_of_precision_times(const at::Tensor& parameters,
                                                 const at::Tensor& vectors,
                                                 const at::Tensor& rotated) const {
  const at::Tensor scaled = rotated / variances(parameters).unsqueeze(2);
  return at::mm(vectors, scaled.view({rows(), -1}))
      .view({vectors.size(0), rotated.size(1), rotated.size(2)})
      .transpose(0, 1);
}

at::Tensor Relationship::gradient_from_rotated(const at::Tensor& parameters,
                                               const at::Tensor& rotated) const {
  const at::Tensor variance = variances(parameters);
  const at::Tensor slope = (1 - eigenvalues()).unsqueeze(1) / variance;
  const double columns = static_cast<double>(rotated.size(2));
  return 0.5 *
         (slope * (columns - rotated.square().sum(2) / variance)).sum(0).unsqueeze(1);
}

at::Tensor Relationship::log_det(const at::Tensor& parameters) const {
  return variances(parameters).log().sum(0);
}

at::Tensor Relationship::precision_times(const at::Tensor& parameters,
                                         const at::Tensor& latents) const {
  const at::Tensor rotated = rotate(checked_latents(parameters, latents, rows()));
  return rows_of_precision_times(parameters, eigenvectors(), rotated);
}

at::Tensor Relationship::quadratic(const at::Tensor& parameters,
                                   const at::Tensor& latents) const {
  const at::Tensor rotated = rotate(checked_latents(parameters, latents, rows()));
  return (rotated.square().sum(2) / variances(parameters)).sum(0);
}

at::Tensor Relationship::parameter_gradient(const at::Tensor& parameters,
                                            const at::Tensor& latents) const {
  return gradient_from_rotated(parameters,
                               rotate(checked_latents(parameters, latents, rows())));
}

at::Tensor Relationship::pairs_rows(const at::Tensor& parameters,
                                    const at::Tensor& rows,
                                    const at::Tensor& latents) const {
  // With A = C^-1 the batch needs A_bb U_b = Q_b diag(1/v) (Q_b' U_b), two thin
  // products, and the diagonal of A_bb; A_bb itself would cost b/p times as much.
  const at::Tensor batch = checked_latents(parameters, latents, rows.size(0));
  const at::Tensor vectors = eigenvectors().index_select(0, rows);
  const at::Tensor rotated = at::mm(vectors.t(), side_by_side(batch))
                                 .view({this->rows(), batch.size(0), batch.size(2)});
  const at::Tensor diagonal =
      at::mm(vectors.square(), variances(parameters).reciprocal()).t().unsqueeze(2);
  const double weight = pair_weight(rows.size(0));
  return weight * rows_of_precision_times(parameters, vectors, rotated) +
         (1 - weight) * diagonal * batch;
}

at::Tensor Relationship::pairs_parameter_gradient(const at::Tensor& parameters,
                                                  const at::Tensor& rows,
                                                  const at::Tensor& latents) const {
  const at::Tensor batch = checked_latents(parameters, latents, rows.size(0));
  const at::Tensor vectors = eigenvectors().index_select(0, rows);
  const at::Tensor rotated = at::mm(vectors.t(), side_by_side(batch))
                                 .view({this->rows(), batch.size(0), batch.size(2)});
  const at::Tensor variance = variances(parameters);
  const at::Tensor log_slope = (1 - eigenvalues()).unsqueeze(1) / variance;
  const at::Tensor inverse_slope = -log_slope / variance;

  const at::Tensor all_pairs = (inverse_slope * rotated.square().sum(2)).sum(0);
  const at::Tensor diagonal =
      (at::mm(vectors.square(), inverse_slope).t() * batch.square().sum(2)).sum(1);
  const double weight = pair_weight(rows.size(0));
  const double scale =
      static_cast<double>(this->rows()) / static_cast<double>(rows.size(0));
  const double columns = static_cast<double>(batch.size(2));
  return 0.5 * (columns * log_slope.sum(0) +
                scale * (weight * all_pairs + (1 - weight) * diagonal))
                   .unsqueeze(1);
}

std::unique_ptr<LatentMemory> Relationship::make_memory() const {
  return std::make_unique<Memory>(*this);
}

at::Tensor Relationship::sample(const at::Tensor& parameters, std::int64_t columns,
                                Random& random) const {
  const at::Tensor variance = variances(checked_one_replica(parameters).unsqueeze(0));
  const at::Tensor normal = standard_normal(rows(), columns, random);
  return at::mm(eigenvectors(), variance.sqrt() * normal.to(variance.device())).cpu();
}

at::Tensor Relationship::covariance(const at::Tensor& parameters) const {
  const at::Tensor variance = variances(checked_one_replica(parameters).unsqueeze(0));
  return at::mm(eigenvectors() * variance.t(), eigenvectors().t());
}

}  // namespace kinflow
