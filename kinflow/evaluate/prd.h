// Precision and recall of a distribution against another (Sajjadi et al. 2018).
#pragma once

#include <cstdint>
#include <vector>

#include "kinflow/array/array.h"

namespace kinflow {

/// Pairs of precision (how much of the generated law lies in the real one) and recall
/// (how much of the real law the generated one covers), from small to large precision.
struct PrdCurve {
  std::vector<double> precision;
  std::vector<double> recall;  ///< as many
};

/// The largest F_beta of a curve for four weights of recall against precision.
struct PrdScores {
  double f_8 = 0;        ///< mostly recall
  double f_one_8th = 0;  ///< mostly precision
  double f_4 = 0;        ///< more recall
  double f_one_4th = 0;  ///< more precision
};

struct PrdOptions {
  std::int64_t clusters = 20;
  std::int64_t clusterings = 10;  ///< curves of so many clusterings are averaged
  std::int64_t restarts = 3;      ///< of each k-means
  std::int64_t angles = 1001;
  std::uint64_t seed = 1;
};

/// The curve of two laws on the same finite set, here clusters:
///   precision(s) = sum_i min(s P_i, Q_i),  recall(s) = precision(s) / s
/// with s the tangent of equally spaced angles between 0 and 90 degrees.
/// @param real, generated  P and Q: weights of at least 0 with a positive sum, as many
///     in both; they are divided by their sums. Else InputError.
PrdCurve prd_curve(const std::vector<double>& real,
                   const std::vector<double>& generated, std::int64_t angles = 1001);

/// The largest (1 + beta^2) p r / (beta^2 p + r) of a curve; beta > 0.
double best_f_score(const PrdCurve& curve, double beta);

PrdScores prd_scores(const PrdCurve& curve);

/// The curve of two sets of features: k-means on the union of equally many of each (the
/// larger set gives a random part, another one for each clustering), the laws over
/// clusters, and the mean of the curves of several clusterings.
/// @param real, generated  [n, d] and [m, d] on one device, finite, n and m at least
///     `clusters`; else InputError
PrdCurve precision_recall(const Array& real, const Array& generated,
                          const PrdOptions& options = {});

}  // namespace kinflow
