// Rows related by a matrix that is too large to decompose: C = lambda I +
// (1 - lambda) G.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kinflow/array/array.h"
#include "kinflow/dependence/conjugate_gradients.h"
#include "kinflow/dependence/dependence.h"
#include "kinflow/dependence/dominant_subspace.h"
#include "kinflow/dependence/lanczos_quadrature.h"
#include "kinflow/dependence/likelihood_curve.h"
#include "kinflow/dependence/relationship_operator.h"

namespace kinflow {

struct IterativeRelationshipOptions {
  /// Vectors of the space in which eigenvectors that stand out are searched; see
  /// DominantSubspaceOptions. At most 10^8 numbers are spent on them.
  std::int64_t basis = 200;
  /// Random vectors from which log det C is estimated: its error falls like one over
  /// the root of their number.
  std::int64_t probes = 32;
  /// Most products with G for each probe. They end earlier where, at lambda = 0.01,
  /// the error of the quadrature is a tenth of that of the probes.
  std::int64_t quadrature_steps = 128;
  /// Of solutions, as the relative residual of each column, and of draws.
  double tolerance = 1e-8;
  /// Most products with G for one solution or one draw.
  std::int64_t max_iterations = 1000;
  /// A memory solves anew when rows in this share of all have been overwritten, ...
  double memory_share = 0.25;
  /// ... or the logit of a lambda has moved by this much.
  double memory_logit = 0.1;
  std::uint64_t seed = 1;
};

/// An estimate of log det C.
struct LogDetEstimate {
  double value;
  /// Half the width of a 95% interval: the sum of both parts below and of what the
  /// eigenvectors' residuals can add.
  double error;
  double probe_error;       ///< from the spread over the probes
  double quadrature_error;  ///< the width of the quadrature's enclosure
};

/// How good the results of an IterativeRelationship are.
struct IterativeAccuracy {
  double lambda;
  LogDetEstimate log_det;
  std::int64_t rows;
  std::int64_t eigenvectors;  ///< that are known, all others being iterated over
  std::int64_t probes;
  std::int64_t quadrature_steps;
  double tolerance;

  /// One line for a log.
  std::string text() const;
};

/// C = lambda I + (1 - lambda) G with G known by its products and lambda in (0, 1) the
/// one parameter, as in Relationship.
///
/// The eigenvectors of G that stand out are found once and treated exactly. In the
/// other directions C^-1 U comes from conjugate gradients, exact up to the tolerance,
/// and log det C from the spectral measures of random probes, which do not depend on
/// lambda: after set-up any lambda costs a few thousand logarithms. The estimate's
/// first three moments are the exact ones of G. log_det() and gradients use this
/// estimate, log_det_estimate() gives its error. No convergence is a NumericalError.
///
/// A solution costs some ten to some hundred products with G, more the nearer lambda is
/// to 0. Works on the device of the operator; arguments on others are copied.
class IterativeRelationship final : public Dependence {
 public:
  /// InputError where a negative eigenvalue shows or an option is out of range. Not
  /// every matrix that is not positive semidefinite is found out here: one that a
  /// solution stumbles upon later is a NumericalError.
  explicit IterativeRelationship(
      std::shared_ptr<const RelationshipOperator> relationship,
      IterativeRelationshipOptions options = {});

  std::int64_t rows() const override { return relationship_->rows(); }
  std::int64_t parameter_count() const override { return 1; }
  std::string kind() const override { return "iterative-relationship"; }

  const RelationshipOperator& relationship() const { return *relationship_; }
  const DominantSubspace& dominant_subspace() const { return subspace_; }

  /// log det C at one lambda, with its error.
  LogDetEstimate log_det_estimate(double lambda) const;
  IterativeAccuracy accuracy(double lambda) const;
  /// The accuracy at the middle of the range.
  std::string description() const override { return accuracy(0.5).text(); }
  /// C^-1 times columns that each have a lambda of their own, with the iterations and
  /// the residual. @param right [n, c] float64  @param lambda [c]
  /// @param tolerance on the relative residual  @param start [n, c], or undefined for 0
  Solution solve(const Array& right, const Array& lambda, double tolerance,
                 const Array& start = {}) const;

  Array log_det(const Array& parameters) const override;
  Array precision_times(const Array& parameters, const Array& latents) const override;
  Array parameter_gradient(const Array& parameters,
                           const Array& latents) const override;
  /// Costs one solution for the latents and a quadrature from each row of the batch.
  Array pairs_rows(const Array& parameters, const Array& rows,
                   const Array& latents) const override;
  Array pairs_parameter_gradient(const Array& parameters, const Array& rows,
                                 const Array& latents) const override;
  Array most_likely(const Array& latents, const Array& start,
                    double prior) const override;
  /// A memory that solves for all rows now and then; in between, what changed goes
  /// through an approximation of C^-1: O(b k p) for a batch.
  std::unique_ptr<LatentMemory> make_memory() const override;
  /// By a polynomial in C that is its root up to the tolerance.
  Array sample(const Array& parameters, std::int64_t columns,
               Random& random) const override;
  Array covariance(const Array& parameters) const override;
  /// Solutions for the latents and for each unknown row.
  ConditionalLaw condition(const Array& parameters, const Array& observed,
                           const Array& latents) const override;
  /// The same solutions, 256 unknown rows at a time: O(n) memory for each.
  ConditionalRows condition_rows(const Array& parameters, const Array& observed,
                                 const Array& latents) const override;
  Array sample_given(const Array& parameters, const Array& observed,
                     const Array& latents, Random& random) const override;

  /// The objective of one replica's latents as a sum over directions, for all lambda
  /// at once: costs one Lanczos recursion. @param latents [n, p]
  std::vector<SpectralTerm> likelihood_terms(const Array& latents) const;

 private:
  class Memory;

  /// Diagonals of C^-1 and of its derivative in lambda: [b, R] each.
  struct DiagonalElements {
    Array precision;
    Array slope;
  };
  /// Means over all directions outside the dominant subspace: [c] each, 0 where there
  /// are none.
  struct RestMeans {
    Array precision;  ///< of C^-1
    Array slope;      ///< of C^-1 (I - G) C^-1
  };
  /// The observed rows' part of C, and the rows.
  struct Observation {
    Array observed;  ///< [q]
    Array unknown;   ///< [m], increasing
    Array latents;   ///< [q, p]
    Array lambda;    ///< [1]
    ShiftedSystem system;
  };

  void make_probes();
  /// Weights that give sums over the probes' nodes the exact moments of G.
  void match_moments();
  /// 1, x and x^2 at the nodes, x in units of largest_of_rest_: [3, N, m].
  Array moment_functions() const;
  /// log(lambda + (1 - lambda) node) over all nodes: [N, m].
  static Array log_variances(const Array& nodes, double lambda);

  /// lambda of every column of latents that stand side by side, [R p], on the device.
  Array lambda_of_columns(const Array& parameters, std::int64_t columns) const;
  /// (lambda I + (1 - lambda) G) X, column by column.
  Array times(const Array& matrix, const Array& lambda) const;
  /// C^-1 U of every replica, side by side: [n, R p].
  /// @param latents [R, n, p], on the device
  Array solve_replicas(const Array& parameters, const Array& latents) const;
  /// tr(X' (I - G) X) for each replica, X [n, R p] side by side: [R]. It is minus the
  /// derivative in lambda of tr(U' C^-1 U) for X = C^-1 U.
  Array form_of_slope(const Array& solution, std::int64_t replicas) const;
  /// Derivative of log det C in lambda, for each replica: [R].
  Array log_det_slope(const Array& parameters) const;
  /// @param lambda [c], on the device
  RestMeans rest_means(const Array& lambda) const;
  /// The batch's latents [R, b, p] among zeros: [R, n, p].
  Array padded(const Array& rows, const Array& latents) const;
  DiagonalElements diagonal_elements(const Array& parameters, const Array& rows) const;
  Observation observe(const Array& parameters, const Array& observed,
                      const Array& latents) const;
  /// C_OO^-1 times right [q, c]: [q, c].
  Array solve_observed(const Observation& given, const Array& right) const;
  /// C_MO C_OO^-1 times right [q, c]: [m, c].
  Array regress(const Observation& given, const Array& right) const;

  std::shared_ptr<const RelationshipOperator> relationship_;
  IterativeRelationshipOptions options_;
  DominantSubspace subspace_;
  double largest_eigenvalue_ = 0;
  double largest_of_rest_ = 0;  // not below rounding of largest_eigenvalue_
  // What is known outside the subspace, on the CPU; empty where that is all of it.
  SpectralMeasures probes_;     // [N, m]
  SpectralMeasures enclosing_;  // [N, m + 1], the other end of the enclosure
  Array counts_;                // [N, m], weights / N with the exact moments
  Array moments_inverse_;       // [3, 3], of the moment functions' products
};

}  // namespace kinflow
