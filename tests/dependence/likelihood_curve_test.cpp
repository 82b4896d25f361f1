// Likelihood curves of one parameter: optima of known curves.
#include "kinflow/dependence/likelihood_curve.h"

#include "problems.h"

namespace kinflow {
namespace {

TEST(LikelihoodCurve, FindsTheLowerOfTwoValleys) {
  const auto valleys = [](double x) {
    const double a = x - 0.2, b = x - 0.7;
    return CurvePoint{a * a * b * b + 0.001 * x, 2 * a * b * b + 2 * a * a * b + 0.001};
  };
  const double x = minimize_on_unit_interval(valleys);
  EXPECT_NEAR(x, 0.2, 0.01);
  EXPECT_NEAR(valleys(x).slope, 0, 1e-10);
}

TEST(LikelihoodCurve, StaysInsideTheIntervalWhereTheCurveIsMonotone) {
  const double low = minimize_on_unit_interval([](double x) {
    return CurvePoint{x, 1};
  });
  const double high = minimize_on_unit_interval([](double x) {
    return CurvePoint{-x, -1};
  });
  EXPECT_NEAR(low, 1e-9, 1e-20);
  EXPECT_NEAR(high, 1 - 1e-9, 1e-15);
}

TEST(LikelihoodCurve, PriorAloneHasItsOptimumInTheMiddle) {
  const auto flat = [](double) { return CurvePoint{0, 0}; };
  EXPECT_NEAR(most_likely_share(flat, 3), 0.5, 1e-10);
}

TEST(LikelihoodCurve, SpectralObjectiveIsThatOfTheRelationship) {
  Random random(111);
  const Array factor = oracle::normal({6, 2}, random);
  const Relationship law(decompose_factor(factor));
  const Array latents = oracle::normal({1, 6, 3}, random);
  const Array rotated = nd::mm(law.eigenvectors().t(), latents[0]);
  const Array along = rotated.square().sum(1);
  std::vector<SpectralTerm> terms;
  for (std::int64_t k = 0; k < 2; ++k) {
    terms.push_back({law.eigenvalues()[k].item<double>(), 1, along[k].item<double>()});
  }
  terms.push_back({0, 4, (latents.square().sum() - along.sum()).item<double>()});
  const CurvePoint point = spectral_objective(terms, 3, 0.3);
  const Array lambda = nd::full({1, 1}, 0.3, nd::kDouble);
  EXPECT_NEAR(point.value, law.objective(lambda, latents).item<double>(), 1e-12);
  EXPECT_NEAR(point.slope, law.parameter_gradient(lambda, latents).item<double>(),
              1e-11);
}

}  // namespace
}  // namespace kinflow
