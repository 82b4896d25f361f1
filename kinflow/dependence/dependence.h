// How rows depend on each other: the law of the n x n row covariance C of the latents
// U ~ MatrixNormal(0, C, I_p).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kinflow/array/array.h"

namespace kinflow {

class BatchEstimator;
struct EstimatorChoice;
class Random;

/// The last known latents of all rows, with the statistics that make rows of C^-1 U and
/// the exact gradient in the parameters cheap after every batch.
///
/// The latents alone are the state: reset(latents()) gives the same memory again, less
/// the rounding that many updates have left in the statistics.
class LatentMemory {
 public:
  virtual ~LatentMemory();
  /// Forgets everything and takes a copy of these latents, in their own floating type.
  /// Memories of blocks keep their arrays where they are when the shape stays, so that
  /// recorded work goes on with them.
  /// @param latents [R, n, p]
  virtual void reset(const Array& latents);
  /// Overwrites some rows. @param rows [b] int64, distinct  @param latents [R, b, p]
  virtual void update(const Array& rows, const Array& latents) = 0;
  /// Rows of C^-1 U of the remembered latents: [R, b, p] float64.
  /// @param parameters [R, k] as in Dependence
  virtual Array precision_rows(const Array& parameters, const Array& rows) const = 0;
  /// Exact gradient of Dependence::objective of the remembered latents: [R, k] float64.
  virtual Array parameter_gradient(const Array& parameters) const = 0;
  /// The remembered latents, [R, n, p].
  const Array& latents() const { return latents_; }

 protected:
  /// Writes the batch's latents into latents_ and returns the rows' previous ones,
  /// [R, b, p] float64.
  Array exchange_rows(const Array& rows, const Array& latents);

  /// Copies values into an array, without moving it where shape and type agree.
  static void set_in_place(Array& kept, const Array& values);

  explicit LatentMemory(std::int64_t rows) : rows_(rows) {}

  std::int64_t rows_;
  Array latents_;
};

/// A parameter in (0, 1) from its logit, kept in [1e-9, 1 - 1e-9].
double share_from_unconstrained(double unconstrained);

/// The law of unknown rows given observed ones: each column of the unknown latents is
/// normal with its column of `mean` and its `covariance`.
struct ConditionalLaw {
  Array rows;        ///< [m] int64, the unknown rows in increasing order
  Array mean;        ///< [m, p] float64
  Array covariance;  ///< [L, m, m] float64, L as in distinct_latents()
};

/// The law of each unknown row by itself given all observed rows.
struct ConditionalRows {
  Array rows;      ///< [m] int64, the unknown rows in increasing order
  Array mean;      ///< [m, p] float64
  Array variance;  ///< [m, L] float64, L as in distinct_latents()
};

/// A copy in the CPU's memory, float64 and contiguous, for structures that loop over
/// rows.
Array on_cpu(const Array& tensor);

/// A structure of C over n rows with k parameters (correlations, variance shares).
///
/// The structure is fixed; the parameters are an argument, a float64 array [R, k] on
/// their natural scale, one row for each of R replicas. Latents are [R, n, p] of any
/// floating type; all algebra and all results are float64. With k = 0 the parameters
/// are a [R, 0] array.
///
/// All columns of the latents have the same C, unless each has one of its own
/// (per_latent.h). Then the structure knows p, and what follows is of all columns
/// together: traces are sums over the columns, log det C is their mean.
///
/// A structure lives on the device of the arrays that it was made from, and its
/// arguments must be there too. Shapes are checked; that parameters lie inside their
/// range is the caller's duty, because looking at them would stall a GPU.
class Dependence {
 public:
  virtual ~Dependence();

  virtual std::int64_t rows() const = 0;
  /// k; 0 for independent rows.
  virtual std::int64_t parameter_count() const = 0;
  /// Short name used in model files: "independent", "blocks", "relationship".
  virtual std::string kind() const = 0;

  /// L: how many columns of the latents have a C of their own. 1 where all have the
  /// same, for any number of columns; p where each has its own.
  virtual std::int64_t distinct_latents() const { return 1; }
  /// The numbers that the parameters stand for, which a model keeps and a person reads:
  /// [R, q]. The default is the parameters themselves.
  virtual Array interpreted(const Array& parameters) const;

  /// log det C, the mean over the columns: [R].
  virtual Array log_det(const Array& parameters) const = 0;
  /// C^-1 U: [R, n, p].
  virtual Array precision_times(const Array& parameters,
                                const Array& latents) const = 0;
  /// What each row is worth, C^-1 1: [R, n]. The sum is the number of independent rows
  /// that tell as much about a mean; weights of generalised least squares. The mean
  /// over the columns.
  Array row_worth(const Array& parameters) const;
  /// The same of each column: [R, n, L].
  Array row_worth_by_latent(const Array& parameters) const;
  /// tr(U' C^-1 U): [R].
  virtual Array quadratic(const Array& parameters, const Array& latents) const;
  /// -log p(U) without the constant: p/2 log det C + 1/2 tr(U' C^-1 U): [R].
  Array objective(const Array& parameters, const Array& latents) const;
  /// log p(U) of all rows together: [R].
  Array log_density(const Array& parameters, const Array& latents) const;
  /// Exact gradient of objective() in the parameters: [R, k].
  virtual Array parameter_gradient(const Array& parameters,
                                   const Array& latents) const = 0;

  /// Estimate of the batch's rows of C^-1 U from the pairs inside the batch: [R, b, p].
  ///
  /// With A = C^-1 row i of the result is
  ///     g_i = A_ii u_i + (n - 1)/(b - 1) sum_{j in batch, j != i} A_ij u_j.
  /// The average of g_i over all batches of b rows that hold i is row i of C^-1 U, so
  /// the average of n/b sum_{i in batch} v_i . g_i over all batches is tr(V' C^-1 U)
  /// for every fixed V [n, p]. A batch of one row has no pairs: g_i = A_ii u_i.
  /// @param rows [b] int64, distinct  @param latents [R, b, p], the batch's own
  virtual Array pairs_rows(const Array& parameters, const Array& rows,
                           const Array& latents) const = 0;
  /// Estimate of parameter_gradient() from the pairs inside the batch: [R, k].
  ///
  /// The log-determinant's part is exact; the trace's part is the derivative of
  ///     n/(2b) sum_{i in batch} u_i . g_i,   g_i as in pairs_rows(), latents fixed.
  /// Its average over all batches of b >= 2 rows is parameter_gradient().
  virtual Array pairs_parameter_gradient(const Array& parameters, const Array& rows,
                                         const Array& latents) const = 0;
  /// An empty memory, to be filled by reset(). It must not outlive this object.
  virtual std::unique_ptr<LatentMemory> make_memory() const = 0;
  /// The estimates that a training takes of every batch (batch_estimator.h). The
  /// default makes them from the memory and the pairs above. It must not outlive this
  /// object.
  /// @param choices  what each of the R replicas needs
  /// @param type     of the latents that will come; where it is float32 the estimates
  ///                 may have no more digits than that
  virtual std::unique_ptr<BatchEstimator> make_estimator(
      const std::vector<EstimatorChoice>& choices, nd::ScalarType type) const;

  /// Parameters on an unbounded scale for an optimiser, and back. The default is the
  /// logit: every parameter lies in (0, 1) and is kept in [1e-9, 1 - 1e-9].
  virtual Array to_unconstrained(const Array& parameters) const;
  virtual Array from_unconstrained(const Array& unconstrained) const;
  /// Gradient on the unbounded scale from the one in the parameters.
  virtual Array unconstrained_gradient(const Array& parameters,
                                       const Array& gradient) const;

  /// Gradient on the unbounded scale of minus the logarithm of a weak prior, which
  /// keeps an optimiser from the ends of the parameters' range: [R, k]. The default is
  /// a Beta(2, 2) density of every parameter in (0, 1).
  virtual Array unconstrained_prior_gradient(const Array& parameters) const;
  /// Minus the logarithm of that prior, up to a constant: [R].
  virtual Array prior_objective(const Array& parameters) const;
  /// Parameters to start from where nothing is known: [k] float64 on the CPU. The
  /// default is 1/2 for each.
  virtual Array default_parameters() const;

  /// The parameters that minimise objective() + prior * prior_objective(): [R, k]. With
  /// prior = 0 they make the latents most likely. NumericalError where the search does
  /// not converge.
  ///
  /// The default is a quasi-Newton search on the unbounded scale, from the start to the
  /// minimum next to it, one replica after the other: tens of evaluations of
  /// objective() and parameter_gradient(). Structures that find the lowest minimum of
  /// all by their likelihood curve need no start and look at its shape only.
  /// @param latents [R, n, p]  @param start [R, k]
  virtual Array most_likely(const Array& latents, const Array& start,
                            double prior) const;
  /// One line about the structure for a log; empty where there is nothing to say.
  virtual std::string description() const { return {}; }
  /// Whether every new value of the parameters costs far more than a batch of a
  /// training, so that it pays to change them less often.
  virtual bool has_costly_parameters() const { return false; }
  /// Whether objective() is a sum of functions of one parameter each.
  virtual bool has_separate_parameters() const { return parameter_count() <= 1; }
  /// How many parameters are at an end of their range where rows are independent.
  /// Nothing where C = I is not at an end of the range alone, or where a parameter has
  /// no meaning there. The default knows structures of one parameter.
  virtual std::optional<std::int64_t> edges_of_independence() const;

  /// Draws U ~ MatrixNormal(0, C, I_p): [n, p] float64 on the CPU.
  /// @param parameters [k], one replica
  virtual Array sample(const Array& parameters, std::int64_t columns,
                       Random& random) const = 0;
  /// C as dense float64 matrices [L, n, n], for oracles and small problems.
  /// @param parameters [k]
  virtual Array covariance(const Array& parameters) const = 0;
  /// Law of all other rows given the latents of some rows, from the dense C: O(n^2)
  /// memory. NumericalError where the observed rows' C is not positive definite.
  /// @param parameters [k]  @param observed [q] int64, distinct  @param latents [q, p]
  virtual ConditionalLaw condition(const Array& parameters, const Array& observed,
                                   const Array& latents) const;
  /// The same for each row by itself, without what it has in common with other unknown
  /// rows. The default takes the diagonal of condition().
  virtual ConditionalRows condition_rows(const Array& parameters, const Array& observed,
                                         const Array& latents) const;
  /// A draw of all n rows whose observed rows have the given latents: [n, p] float64 on
  /// the CPU. Costs as condition() does.
  virtual Array sample_given(const Array& parameters, const Array& observed,
                             const Array& latents, Random& random) const;

 protected:
  /// The arguments in float64; InputError where they do not have the shape named.
  /// Parameters of all replicas, [R, k].
  Array checked_parameters(const Array& parameters) const;
  /// Parameters of one replica, [k].
  Array checked_one_replica(const Array& parameters) const;
  /// Latents [R, row_count, p] for parameters [R, k].
  Array checked_latents(const Array& parameters, const Array& latents,
                        std::int64_t row_count) const;
  /// The rows that are not observed, [m] int64 in increasing order; InputError where
  /// the observed rows are not distinct rows [q] int64 with latents [q, p].
  Array checked_unknown_rows(const Array& observed, const Array& latents) const;
  /// Weight (n - 1)/(b - 1) of the pairs of a batch of b rows; 0 for b = 1.
  double pair_weight(std::int64_t batch) const;
};

}  // namespace kinflow
