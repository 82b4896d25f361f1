// Sums of dense and sparse relationship matrices.
#include "kinflow/dependence/relationship_sum.h"

#include <fmt/format.h>

#include "kinflow/array/array.h"
#include "kinflow/core/error.h"
#include "kinflow/dependence/spectral_decomposition.h"

namespace kinflow {
namespace {

constexpr double kSmallestWeight = 1e-9;
constexpr const char* kWho = "RelationshipSum";

const Array* dense(const SumPart& part) { return std::get_if<Array>(&part); }

std::int64_t rows_of(const SumPart& part) {
  if (const Array* matrix = dense(part)) return matrix->size(0);
  return std::get<CompressedRows>(part).rows();
}

/// The components of the checked parts.
Components checked_components(const std::vector<SumPart>& parts,
                              const RelationshipSumOptions& options) {
  if (parts.empty()) {
    throw InputError("[RelationshipSum] expected at least one matrix, received none");
  }
  std::vector<const CompressedRows*> sparse;
  for (const SumPart& part : parts) {
    if (const Array* matrix = dense(part)) {
      check_relationship(matrix->detach());
    } else {
      sparse.push_back(&std::get<CompressedRows>(part));
      check_compressed_rows(*sparse.back(), kWho);
    }
    if (rows_of(part) != rows_of(parts[0])) {
      throw InputError(fmt::format(
          "[RelationshipSum] expected matrices of one size, received {} and {} rows",
          rows_of(parts[0]), rows_of(part)));
    }
  }
  Components result = sparse.size() == parts.size() ? connected_components(sparse)
                                                    : one_component(rows_of(parts[0]));
  for (std::int64_t component = 0; component < result.count(); ++component) {
    if (result.size(component) <= options.largest_component) continue;
    throw InputError(fmt::format(
        "[RelationshipSum] expected at most {} rows that are connected, received {}; "
        "one relationship alone (dense, of low rank or sparse) has no such limit",
        options.largest_component, result.size(component)));
  }
  return result;
}

nd::Device device_of(const std::vector<SumPart>& parts) {
  for (const SumPart& part : parts) {
    if (const Array* matrix = dense(part)) return matrix->device();
  }
  return nd::kCPU;
}

}  // namespace

RelationshipSum::RelationshipSum(const std::vector<SumPart>& parts,
                                 RelationshipSumOptions options)
    : DenseLaw(checked_components(parts, options), device_of(parts)),
      part_count_(static_cast<std::int64_t>(parts.size())) {
  for (const Group& group : groups()) {
    std::vector<Array> of_parts;
    for (const SumPart& part : parts) {
      of_parts.push_back(part_of_group(part, group));
      const auto wrong = find_indefinite(of_parts.back());
      if (!wrong) continue;
      throw InputError(fmt::format(
          "[RelationshipSum] expected positive semidefinite matrices, received in part "
          "{} a component of {} rows (row {}) with smallest eigenvalue {:.6g}",
          of_parts.size(), group.rows.size(1),
          group.rows[wrong->place][0].item<std::int64_t>() + 1, wrong->eigenvalue));
    }
    matrices_.push_back(nd::stack(of_parts));
  }
}

Array RelationshipSum::part_of_group(const SumPart& part, const Group& group) const {
  if (const Array* matrix = dense(part)) {
    return matrix->detach().to(device(), nd::kDouble).unsqueeze(0);
  }
  const std::int64_t m = group.rows.size(1);
  Array result = nd::empty({group.rows.size(0), m, m}, nd::kDouble);
  double* out = result.data_ptr<double>();
  for (const std::int64_t component : group.components) {
    write_component(std::get<CompressedRows>(part), components(), component, kWho, out);
    out += m * m;
  }
  return result.to(device());
}

Array RelationshipSum::covariances(std::size_t group, const Array& parameters) const {
  const Array& matrices = matrices_[group];
  Array result = nd::mm(parameters.narrow(1, 1, part_count_), matrices.flatten(1))
                     .view({parameters.size(0), matrices.size(1), matrices.size(2),
                            matrices.size(3)});
  result.diagonal(0, 2, 3).add_(parameters.narrow(1, 0, 1).unsqueeze(2));
  return result;
}

Array RelationshipSum::slopes(std::size_t group, const Array& /*parameters*/,
                              const Array& components, const Array& x) const {
  const bool are_all = !components.defined() || matrices_[group].size(1) == 1;
  const Array matrices =
      are_all ? matrices_[group] : matrices_[group].index_select(1, components);
  const Array own = x.diagonal(0, 2, 3).sum({1, 2}).unsqueeze(1);
  return nd::cat({own, nd::mm(x.flatten(1), matrices.flatten(1).t())}, 1);
}

Array RelationshipSum::to_unconstrained(const Array& parameters) const {
  return parameters.to(nd::kDouble).clamp_min(kSmallestWeight).log();
}

Array RelationshipSum::from_unconstrained(const Array& unconstrained) const {
  return nd::softmax(unconstrained.to(nd::kDouble), 1).clamp_min(kSmallestWeight);
}

Array RelationshipSum::unconstrained_gradient(const Array& parameters,
                                              const Array& gradient) const {
  const Array mean = (parameters * gradient).sum(1, /*keepdim=*/true);
  return parameters * (gradient - mean);
}

Array RelationshipSum::unconstrained_prior_gradient(const Array& parameters) const {
  return static_cast<double>(parameter_count()) * parameters - 1;
}

Array RelationshipSum::prior_objective(const Array& parameters) const {
  return -checked_parameters(parameters).log().sum(1);
}

Array RelationshipSum::default_parameters() const {
  const std::int64_t count = parameter_count();
  return nd::full({count}, 1 / static_cast<double>(count), nd::kDouble);
}

}  // namespace kinflow
