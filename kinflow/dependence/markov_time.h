// Rows at points in time whose dependence decays exponentially: C = lambda I +
// (1 - lambda) G with G_ij = exp(-gamma |t_i - t_j|).
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "kinflow/array/array.h"
#include "kinflow/dependence/decay_rate.h"
#include "kinflow/dependence/dependence.h"

namespace kinflow {

struct MarkovTimeOptions {
  /// gamma, in units of 1 / time. Where it is not given it is learned.
  std::optional<double> decay_rate = std::nullopt;
  /// A memory of more rows takes the parameters' gradient from stretches of about so
  /// many rows, in turn; see MarkovTime.
  std::int64_t stretch_rows = 16384;
};

/// G is the covariance of a stationary Markov process (Ornstein-Uhlenbeck) in time, so
/// a row's latent is a state of the process with variance 1 - lambda plus noise of its
/// own with variance lambda. A Kalman filter over the rows in order of time gives log
/// det C and the quadratic form, a smoother C^-1 U, their derivatives the gradient: O(n
/// p), in any order of the rows, exact, and without G^-1, so that times may be equal.
///
/// Parameters: lambda in (0, 1) and, where it is learned, gamma > 0.
///
/// A batch needs few of the other rows: the influence of a row dies out with the
/// product of the filter's gains, and rows beyond the point where it falls below 1e-18
/// are left out. So batches cost O(b p) times the length of the memory of the filter,
/// at most O(n p). The memory's gradient in the parameters is exact up to
/// MarkovTimeOptions::stretch_rows rows. Above it is that of one stretch of consecutive
/// rows given all rows before, times the number of stretches; every update moves to
/// the next stretch, and the mean over all stretches is the exact gradient.
/// log_det() and pairs_parameter_gradient() cost O(n), without a factor p.
///
/// Computes on the CPU. Arguments on other devices are copied there, results back.
class MarkovTime final : public DecayLaw<Dependence> {
 public:
  /// InputError where times are not finite numbers [n] or the rate is not positive.
  /// @param times [n], in any order; equal ones are welcome
  explicit MarkovTime(const Array& times, MarkovTimeOptions options = {});

  std::int64_t rows() const override {
    return static_cast<std::int64_t>(row_at_.size());
  }
  std::int64_t parameter_count() const override { return options_.decay_rate ? 1 : 2; }
  std::string kind() const override { return "markov-time"; }

  const MarkovTimeOptions& options() const { return options_; }
  /// [n] float64, as given.
  const Array& times() const { return times_; }

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
  /// The global optimum of the likelihood curve of lambda. Where gamma is learned the
  /// likelihood may have several maxima: a grid over both parameters finds them, and
  /// the search of the base class goes on from the highest. A few hundred times O(n p).
  Array most_likely(const Array& latents, const Array& start,
                    double prior) const override;

  /// gamma is 1 / (mean time between rows).
  Array default_parameters() const override;

  Array sample(const Array& parameters, std::int64_t columns,
               Random& random) const override;
  Array covariance(const Array& parameters) const override;
  /// O(n m) for m unknown rows.
  ConditionalLaw condition(const Array& parameters, const Array& observed,
                           const Array& latents) const override;
  /// These two: O(n p).
  ConditionalRows condition_rows(const Array& parameters, const Array& observed,
                                 const Array& latents) const override;
  Array sample_given(const Array& parameters, const Array& observed,
                     const Array& latents, Random& random) const override;

 private:
  class Memory;

  /// lambda and gamma of one replica.
  struct Setting {
    double own_share;
    double decay_rate;
  };
  /// Consecutive places in the order of time, [begin, end), and which of them a batch
  /// asks for, as pairs of a place and a position in the batch.
  struct Window {
    std::int64_t begin;
    std::int64_t end;
    std::vector<std::pair<std::int64_t, std::int64_t>> wanted;
  };

  /// The parts of the objective.
  struct Sums {
    double log_det;
    double quadratic;
  };

  std::vector<Setting> settings(const Array& parameters) const;
  /// Latents [R, n, p] in order of time.
  Array in_order(const Array& latents) const;
  /// The first place whose row has influence on the row at `place`, not before `stop`;
  /// and one past the last such place, not after `stop`.
  std::int64_t first_influence(const Setting& setting, std::int64_t place,
                               std::int64_t stop) const;
  std::int64_t last_influence(const Setting& setting, std::int64_t place,
                              std::int64_t stop) const;
  /// Windows, in order, outside of which no row has influence on the rows named.
  std::vector<Window> windows(const Setting& setting, const Array& rows) const;
  /// C^-1 U of a window alone, in place: `latents` [end - begin, p] becomes the result.
  void solve(const Setting& setting, std::int64_t begin, std::int64_t end,
             double* latents, std::int64_t columns) const;
  /// @param latents [n, columns] in order of time; none are read where columns is 0
  Sums sums(const Setting& setting, const double* latents, std::int64_t columns) const;
  /// Values of gamma at equal steps of its logarithm, from those that make all rows
  /// dependent to those that make almost all independent; one where all times are
  /// equal, because then it does not matter.
  std::vector<double> decay_rate_grid() const;
  /// Parameters [candidates, 2] near which the likelihood may have its maximum.
  /// @param latents [n, columns] in order of time  @param start [1, 2]
  Array likely_places(const double* latents, std::int64_t columns, const Array& start,
                      double prior) const;
  /// Adds the gradient of the objective that the rows from `counted` to `end` bring,
  /// given those from `begin` to `counted`.
  /// @param latents of the places from `begin` on, in order of time
  void add_gradient(const Setting& setting, std::int64_t begin, std::int64_t counted,
                    std::int64_t end, const double* latents, std::int64_t columns,
                    double* gradient) const;
  /// (1 - lambda) G x for x [n, c]: the expected states where x = C^-1 u.
  Array common_covariance_times(const Setting& setting, const Array& x) const;
  /// Variance of every row's state given the observed rows other than itself: [n].
  Array state_variances(const Setting& setting, const Array& observed) const;
  /// The rows' regression on observed ones times what is given for these: [n, c].
  Array regress(const Array& parameters, const Array& observed,
                const Array& values) const;

  MarkovTimeOptions options_;
  Array times_;                             // [n]
  std::vector<std::int64_t> row_at_;        // [n], rows in order of time
  std::vector<std::int64_t> place_of_row_;  // [n]
  std::vector<double> gap_after_;           // [n], time to the next row; the last is 0
};

}  // namespace kinflow
