// One univariate test for each trait.
#include "kinflow/genetics/single_trait_tests.h"

#include <algorithm>
#include <cmath>

namespace kinflow {

struct SingleTraitTests::Trait {
  Trait(MixedModelData of_trait, TestKind kind)
      : data(std::move(of_trait)), null(fit_mixed_model(data, LikelihoodKind::full)) {
    if (kind == TestKind::score) {
      score = std::make_unique<FixedVarianceTest>(data, null);
    } else {
      wald = std::make_unique<WaldTest>(data, null);
    }
  }

  MixedModelData data;
  MixedModelFit null;
  std::unique_ptr<FixedVarianceTest> score;
  std::unique_ptr<WaldTest> wald;
};

SingleTraitTests::SingleTraitTests(const MixedModelData& data, TestKind kind) {
  for (std::int64_t j = 0; j < data.trait_count(); ++j) {
    traits_.push_back(std::make_unique<Trait>(trait_of(data, j), kind));
  }
}

SingleTraitTests::~SingleTraitTests() = default;

void SingleTraitTests::test(const double* snps, std::int64_t count,
                            SingleTraitResults& results) const {
  const auto m = static_cast<std::size_t>(count);
  results.traits.resize(traits_.size());
  results.largest_log10_p.assign(m, 0);
  results.corrected_log10_p.resize(m);
  for (std::size_t j = 0; j < traits_.size(); ++j) {
    const auto& trait = *traits_[j];
    if (trait.score) {
      trait.score->test(snps, count, results.traits[j]);
    } else {
      trait.wald->test(snps, count, results.traits[j]);
    }
    for (std::size_t s = 0; s < m; ++s) {
      const double log10_p = results.traits[j].log10_p[s];
      if (!(log10_p <= results.largest_log10_p[s])) {
        results.largest_log10_p[s] = log10_p;
      }
    }
  }
  const double correction = std::log10(static_cast<double>(traits_.size()));
  for (std::size_t s = 0; s < m; ++s) {
    const double corrected = results.largest_log10_p[s] - correction;
    results.corrected_log10_p[s] = corrected < 0 ? 0 : corrected;
  }
}

std::vector<MixedModelFit> SingleTraitTests::null_fits() const {
  std::vector<MixedModelFit> fits;
  for (const auto& trait : traits_) fits.push_back(trait->null);
  return fits;
}

}  // namespace kinflow
