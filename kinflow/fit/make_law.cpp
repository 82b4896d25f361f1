// One place that knows all structures.
#include "kinflow/fit/make_law.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "kinflow/array/array.h"
#include "kinflow/core/error.h"
#include "kinflow/core/log.h"
#include "kinflow/data/table.h"
#include "kinflow/dependence/decomposition_cache.h"
#include "kinflow/dependence/families.h"
#include "kinflow/dependence/gaussian_time.h"
#include "kinflow/dependence/independent.h"
#include "kinflow/dependence/iterative_relationship.h"
#include "kinflow/dependence/markov_time.h"
#include "kinflow/dependence/per_latent.h"
#include "kinflow/dependence/relationship.h"
#include "kinflow/dependence/relationship_matrices.h"
#include "kinflow/dependence/relationship_sum.h"
#include "kinflow/dependence/unstructured.h"

namespace kinflow {
namespace {

Array to_tensor(RelationshipFile file, nd::ScalarType type = nd::kDouble) {
  const auto rows = file.rows;
  auto values = to_dense(std::move(file));
  return nd::from_blob(values.data(), {rows, rows}, nd::kDouble).to(type, false, true);
}

Array block_tensor(const std::vector<std::string>& labels) {
  return nd::tensor(number_blocks(labels).block_of_row, nd::kLong);
}

Array time_tensor(const std::vector<double>& times) {
  return nd::tensor(times, nd::kDouble);
}

std::unique_ptr<Dependence> make_spectral(const SpectralDecomposition& parts,
                                          nd::Device device) {
  return std::make_unique<Relationship>(
      SpectralDecomposition{.eigenvectors = parts.eigenvectors.to(device),
                            .eigenvalues = parts.eigenvalues.to(device)});
}

// Adds the file's name to what a law has to say about its matrix.
template <typename Make>
auto with_source(const std::string& source, const Make& make) {
  try {
    return make();
  } catch (const InputError& error) {
    throw InputError(source + ": " + error.what());
  }
}

// Conjugate gradients on G as it is, a dense one in single precision.
std::unique_ptr<Dependence> make_iterative(RelationshipFile file, nd::Device device) {
  std::shared_ptr<const RelationshipOperator> relationship;
  if (file.is_sparse()) {
    relationship = std::make_shared<SparseRelationshipOperator>(std::move(file.sparse));
  } else {
    relationship = std::make_shared<DenseRelationshipOperator>(
        to_tensor(std::move(file), nd::kFloat).to(device));
  }
  return std::make_unique<IterativeRelationship>(std::move(relationship));
}

DecompositionCache cache_of(const DependenceRequest& request,
                            const std::string& matrix_file) {
  auto cache = cache_beside(matrix_file);
  if (!request.cache.empty()) cache.folder = request.cache;
  if (request.cache == "none") cache.folder.clear();
  return cache;
}

std::unique_ptr<Dependence> make_relationship(const DependenceRequest& request,
                                              RelationshipFile file, nd::Device device,
                                              Logger& logger) {
  const auto source = file.source;
  return with_source(source, [&]() -> std::unique_ptr<Dependence> {
    if (request.solver == RelationshipSolver::iterative) {
      return make_iterative(std::move(file), device);
    }
    if (file.is_sparse()) return std::make_unique<Families>(file.sparse);
    return make_spectral(decompose_cached(to_tensor(std::move(file)).to(device),
                                          cache_of(request, source), logger),
                         device);
  });
}

// The decay is kept in a range that suits times of this scale.
constexpr double kSmallestGap = 1e-9;
constexpr double kLargestGap = 1e9;

// InputError where times are so far apart, or so near, that no decay could be learned.
void check_time_scale(const std::vector<double>& times) {
  const auto [first, last] = std::minmax_element(times.begin(), times.end());
  const double gap = (*last - *first) / static_cast<double>(times.size());
  if (gap == 0 || (gap >= kSmallestGap && gap <= kLargestGap)) return;
  throw InputError(
      fmt::format("--time: expected a mean time between rows from {:g} to {:g}, found "
                  "{:.3g}; take another unit of time",
                  kSmallestGap, kLargestGap, gap));
}

std::unique_ptr<Dependence> make_time(const DependenceRequest& request,
                                      const std::vector<double>& times,
                                      nd::Device device) {
  check_time_scale(times);
  const bool is_given = request.time_decay.size() == 1;
  if (request.time_kernel == TimeKernel::exponential) {
    return std::make_unique<MarkovTime>(
        time_tensor(times),
        MarkovTimeOptions{.decay_rate = is_given
                                            ? std::optional(request.time_decay.front())
                                            : std::nullopt});
  }
  if (!is_given) return std::make_unique<GaussianTime>(time_tensor(times).to(device));
  require_decomposable(static_cast<std::int64_t>(times.size()));
  return make_spectral(
      decompose_relationship(
          gaussian_time_relationship(time_tensor(times), request.time_decay.front())
              .to(device)),
      device);
}

std::unique_ptr<Dependence> make_sum(const DependenceRequest& request,
                                     RowRelations relations, nd::Device device) {
  const bool is_dense =
      relations.components.defined() || request.time_kernel ||
      std::any_of(relations.relationships.begin(), relations.relationships.end(),
                  [](const RelationshipFile& file) { return !file.is_sparse(); });
  if (is_dense && relations.rows > kLargestFactorized) {
    throw InputError(fmt::format(
        "expected at most {} rows for a sum with a dense part, found {}; sparse parts, "
        "and one dependence alone, have no such limit",
        kLargestFactorized, relations.rows));
  }
  std::vector<SumPart> parts;
  if (!relations.labels.empty()) {
    parts.emplace_back(block_rows(block_tensor(relations.labels)));
  }
  for (auto& file : relations.relationships) {
    if (file.is_sparse()) {
      parts.emplace_back(std::move(file.sparse));
    } else {
      parts.emplace_back(to_tensor(std::move(file)));
    }
  }
  if (relations.components.defined()) {
    const auto factor = principal_component_factor(relations.components);
    parts.emplace_back(factor.matmul(factor.t()));
  }
  if (request.time_kernel) {
    const auto times = time_tensor(relations.times);
    const double decay = request.time_decay.front();
    parts.emplace_back(*request.time_kernel == TimeKernel::exponential
                           ? markov_time_relationship(times, decay)
                           : gaussian_time_relationship(times, decay));
  }
  for (auto& part : parts) {
    if (auto* matrix = std::get_if<Array>(&part)) *matrix = matrix->to(device);
  }
  return std::make_unique<RelationshipSum>(parts);
}

// The law that all columns share.
std::unique_ptr<Dependence> make_shared_law(const DependenceRequest& request,
                                            RowRelations relations,
                                            std::int64_t columns, nd::Device device,
                                            Logger& logger) {
  switch (kind_of(request)) {
    case DependenceKind::independent:
      return std::make_unique<Independent>(relations.rows);
    case DependenceKind::blocks:
      return make_blocks(
          block_tensor(relations.labels).to(device),
          {.correlation = request.correlation.value_or(BlockCorrelation::per_block),
           .columns = columns});
    case DependenceKind::relationship:
      if (relations.components.defined()) {
        return with_source(request.components, [&] {
          return make_spectral(
              decompose_factor(principal_component_factor(relations.components)),
              device);
        });
      }
      return make_relationship(request, std::move(relations.relationships.front()),
                               device, logger);
    case DependenceKind::time:
      return make_time(request, relations.times, device);
    case DependenceKind::sum:
      return make_sum(request, std::move(relations), device);
    case DependenceKind::unstructured:
      return std::make_unique<Unstructured>(relations.rows);
  }
  return nullptr;
}

}  // namespace

std::unique_ptr<Dependence> make_law(const DependenceRequest& request,
                                     RowRelations relations, std::int64_t columns,
                                     nd::Device device, Logger& logger) {
  auto law = make_shared_law(request, std::move(relations), columns, device, logger);
  if (!request.per_latent.value_or(false)) return law;
  return std::make_unique<PerLatent>(std::move(law), columns);
}

}  // namespace kinflow
