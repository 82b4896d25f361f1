// Location and scale against dense algebra, and what a fixed scale does to parameters.
#include "kinflow/dependence/placement.h"

#include <cmath>

#include "kinflow/dependence/spectral_decomposition.h"
#include "problems.h"

namespace kinflow {
namespace {

using oracle::expect_near;
using oracle::Problem;

TEST(Placement, IsThatOfDenseGeneralisedLeastSquares) {
  for (const Problem& problem :
       oracle::problems_of_every_structure({5, 1, 3}, 2, /*columns=*/3, 7)) {
    const auto found = place(*problem.dependence, problem.parameters, problem.latents);
    const auto precisions = problem.precisions();  // [R, L, n, n]
    for (std::int64_t r = 0; r < problem.replicas(); ++r) {
      for (std::int64_t j = 0; j < problem.columns(); ++j) {
        const Array precision = precisions[r][std::min(j, precisions.size(1) - 1)];
        const Array u = problem.latents[r].select(1, j).to(nd::kDouble);
        const Array mean = nd::mv(precision, u).sum() / precision.sum();
        const Array centred = u - mean;
        const Array variance =
            nd::dot(centred, nd::mv(precision, centred)) / problem.rows();
        expect_near(found.mean[r][j], mean, 1e-8, problem.text());
        expect_near(found.deviation[r][j], variance.sqrt(), 1e-8, problem.text());
      }
    }
  }
}

// Latents of rows that are all related to each other.
struct Related {
  explicit Related(double lambda) {
    Random random(31);
    const std::int64_t rows = 300;
    // Two strong common factors, of which one moves all rows alike, and many weak ones.
    Array factors = oracle::normal({rows, rows}, random);
    factors.select(1, 0) = 25 + 2 * factors.select(1, 0);
    factors.select(1, 1) *= 12;
    const Array matrix = nd::mm(factors, factors.t());
    law = std::make_unique<Relationship>(
        decompose_relationship(matrix / matrix.diagonal().mean()));
    latents = law->sample(nd::tensor({lambda}, nd::kDouble), 2, random).unsqueeze(0);
  }

  double found_in(const Array& moved, bool placed) const {
    const auto start = nd::full({1, 1}, 0.5, nd::kDouble);
    return (placed ? most_likely_placed(*law, moved, start, /*prior=*/0)
                   : law->most_likely(moved, start, /*prior=*/0))
        .item<double>();
  }

  std::unique_ptr<Relationship> law;
  Array latents;
};

TEST(Placement, ParametersDoNotDependOnTheLocationAndScaleOfTheLatents) {
  const Related related(0.3);
  EXPECT_NEAR(related.found_in(related.latents, true),
              related.found_in(0.2 * related.latents + 5, true), 1e-5);
}

TEST(Placement, RowsWithMuchInCommonAreNotTakenForIndependent) {
  const double lambda = 0.15;
  const Related related(lambda);
  EXPECT_NEAR(related.found_in(related.latents, false), lambda, 0.04);
  // A flow gives its training rows mean 0 and variance 1.
  const Array centred = related.latents - related.latents.mean(1, true);
  const Array moved = centred / centred.square().mean(1, true).sqrt();
  EXPECT_GT(related.found_in(moved, false), 2 * lambda);
  EXPECT_NEAR(related.found_in(moved, true), lambda, 0.06);
}

}  // namespace
}  // namespace kinflow
