// Rows related by a sparse matrix that falls apart into families: C = lambda I +
// (1 - lambda) G.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kinflow/array/array.h"
#include "kinflow/dependence/components.h"
#include "kinflow/dependence/relationship.h"

namespace kinflow {

struct FamiliesOptions {
  /// A connected component of more rows is refused: its decomposition needs three
  /// matrices of its size and time that grows with the third power.
  std::int64_t largest_component = 5000;
};

/// C = lambda I + (1 - lambda) G with a sparse G given and lambda in (0, 1) the one
/// parameter, as in Relationship.
///
/// Rows that are connected by non-zero elements of G make a component (a family). Each
/// component of m rows is decomposed once, as a dense matrix: O(sum of m^3) time, O(sum
/// of m^2) memory. Everything is exact. All rows cost O(sum of m^2 p), a batch
/// O(b m p), and lambda costs what there are distinct eigenvalues: a few where families
/// look alike.
///
/// Computes on the CPU. Arguments on other devices are copied there, results back.
class Families final : public Dependence {
 public:
  /// InputError where G is not finite, symmetric and positive semidefinite, holds an
  /// element twice, or has a component above the limit.
  /// @param relationship G [n, n], both triangles, the elements of a row in any order
  explicit Families(const CompressedRows& relationship, FamiliesOptions options = {});

  std::int64_t rows() const override {
    return static_cast<std::int64_t>(members_.row_at.size());
  }
  std::int64_t parameter_count() const override { return 1; }
  std::string kind() const override { return "families"; }

  std::int64_t component_count() const {
    return static_cast<std::int64_t>(components_.size());
  }
  /// [n], numbered in the order of their first rows.
  const std::vector<std::int64_t>& component_of_row() const {
    return members_.component_of_row;
  }
  std::int64_t rows_of_largest_component() const;
  std::string description() const override;
  std::int64_t distinct_eigenvalues() const { return distinct_.size(0); }

  Array log_det(const Array& parameters) const override;
  Array precision_times(const Array& parameters, const Array& latents) const override;
  Array quadratic(const Array& parameters, const Array& latents) const override;
  Array parameter_gradient(const Array& parameters,
                           const Array& latents) const override;
  Array pairs_rows(const Array& parameters, const Array& rows,
                   const Array& latents) const override;
  Array pairs_parameter_gradient(const Array& parameters, const Array& rows,
                                 const Array& latents) const override;
  std::unique_ptr<LatentMemory> make_memory() const override;
  /// The global optimum of the likelihood curve, in [1e-9, 1 - 1e-9].
  Array most_likely(const Array& latents, const Array& start,
                    double prior) const override;
  Array sample(const Array& parameters, std::int64_t columns,
               Random& random) const override;
  Array covariance(const Array& parameters) const override;
  /// Works family by family; the result's covariance is [m, m] all the same.
  ConditionalLaw condition(const Array& parameters, const Array& observed,
                           const Array& latents) const override;
  /// These two work family by family: O(n p) for families of bounded size.
  ConditionalRows condition_rows(const Array& parameters, const Array& observed,
                                 const Array& latents) const override;
  Array sample_given(const Array& parameters, const Array& observed,
                     const Array& latents, Random& random) const override;

 private:
  class Memory;

  /// A component's place in the arrays over all components.
  struct Component {
    std::int64_t first;    ///< of its rows and eigenvalues
    std::int64_t size;     ///< m
    std::int64_t vectors;  ///< of its eigenvectors Q, m x m: row i of Q follows i - 1
  };
  /// Observed rows of one component: places among the component's rows, and places in
  /// the list of observed rows.
  struct Observed {
    std::int64_t component;
    std::vector<std::int64_t> places;
    std::vector<std::int64_t> positions;
  };

  void decompose(const CompressedRows& relationship, std::int64_t number);
  void number_eigenvalues();

  const Component& component_of(std::int64_t row) const {
    return components_[static_cast<std::size_t>(
        members_.component_of_row[static_cast<std::size_t>(row)])];
  }
  /// The row's numbers in the m eigenvectors of its component.
  const double* eigenvectors_of_row(std::int64_t row) const;
  /// lambda + (1 - lambda) d for each distinct eigenvalue d: [R, distinct], on the CPU.
  Array variances(const Array& parameters) const;
  /// Q'U, component by component: [R, n, p], in the order of the eigenvalues.
  Array rotate(const Array& latents) const;
  /// Squares of rotated latents, added up over equal eigenvalues: [R, distinct].
  Array squares(const Array& rotated) const;
  Array gradient_from_squares(const Array& parameters, const Array& squares,
                              std::int64_t columns) const;
  /// The law of one component alone.
  Relationship component_law(const Component& component) const;
  /// The rows of one component, [m] int64.
  Array component_rows(const Component& component) const;
  /// The components that hold observed rows, with these rows.
  std::vector<Observed> observed_components(const Array& observed) const;
  /// For all groups of the batch's rows that share a component, `visit` gets the
  /// component and the group's positions in the batch.
  template <typename Visit>
  void for_each_group(const Array& rows, const Visit& visit) const;

  Components members_;
  std::vector<Component> components_;
  std::vector<double> eigenvalues_;           // [n], in order of components
  std::vector<double> eigenvectors_;          // sum of m^2
  std::vector<std::int64_t> distinct_index_;  // [n], of each eigenvalue
  Array distinct_;                            // [distinct] float64, increasing
  Array distinct_counts_;                     // [distinct] float64
};

}  // namespace kinflow
