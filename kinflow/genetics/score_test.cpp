// Sums over rows for blocks of SNPs.
#include "kinflow/genetics/score_test.h"

#include <cblas.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kinflow/core/size.h"
#include "kinflow/genetics/univariate_model.h"

namespace kinflow {
namespace {

// SNPs whose squares are in memory at a time.
constexpr std::int64_t kBlock = 128;

}  // namespace

FixedVarianceTest::FixedVarianceTest(const MixedModelData& data,
                                     const MixedModelFit& null)
    : rows_(data.rows),
      traits_(data.trait_count()),
      covariates_(data.covariate_count()),
      back_(null.canonical.back) {
  if (traits_ == 1 && null.kind == LikelihoodKind::full) {
    f_degrees_ = static_cast<double>(rows_ - covariates_ - 1);
  }
  MixedModelData canonical = data;
  const auto n = static_cast<int>(rows_), d = static_cast<int>(traits_);
  cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, n, d, d, 1,
              data.traits.values.data(), n, null.canonical.to.data(), d, 0,
              canonical.traits.values.data(), n);
  std::vector<double> bases;
  for (std::int64_t j = 0; j < traits_; ++j) {
    const auto single = trait_of(canonical, j);
    RatioPlace place;
    UnivariateModel(single, null.kind).go_to(null.canonical.ratios[to_size(j)], place);
    linear_.insert(linear_.end(), place.residuals.begin(), place.residuals.end());
    weights_.insert(weights_.end(), place.weights.begin(), place.weights.end());
    bases.insert(bases.end(), place.basis.begin(), place.basis.end());
  }
  linear_.insert(linear_.end(), bases.begin(), bases.end());
}

void FixedVarianceTest::test(const double* snps, std::int64_t count,
                             SnpResults& results) const {
  results.resize(count, traits_);
  for (std::int64_t first = 0; first < count; first += kBlock) {
    test_block(snps + first * rows_, first, std::min(kBlock, count - first), results);
  }
}

void FixedVarianceTest::test_block(const double* snps, std::int64_t first,
                                   std::int64_t count, SnpResults& results) const {
  const auto n = static_cast<int>(rows_), m = static_cast<int>(count);
  const auto d = static_cast<int>(traits_);
  const auto columns = traits_ * (1 + covariates_);
  const auto snps_in_results = static_cast<std::int64_t>(results.log10_p.size());
  std::vector<double> squares(to_size(rows_ * count));
  for (std::size_t i = 0; i < squares.size(); ++i) squares[i] = snps[i] * snps[i];
  // Rows of these are columns of SNPs.
  std::vector<double> products(to_size(columns * count)),
      precisions(to_size(count * traits_));
  cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, static_cast<int>(columns), m, n,
              1, linear_.data(), n, snps, n, 0, products.data(),
              static_cast<int>(columns));
  cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, d, m, n, 1, weights_.data(), n,
              squares.data(), n, 0, precisions.data(), d);
  std::vector<double> canonical_effects(to_size(traits_));
  for (std::int64_t s = 0; s < count; ++s) {
    const double* of_snp = &products[to_size(s * columns)];
    double* precision = &precisions[to_size(s * traits_)];
    double chi_square = 0;
    bool is_determined = false;
    for (std::int64_t j = 0; j < traits_; ++j) {
      double left = precision[j];
      const double* shares = of_snp + traits_ + j * covariates_;
      for (std::int64_t k = 0; k < covariates_; ++k) left -= shares[k] * shares[k];
      if (!(left > kLeastLeftOfSnp * precision[j])) is_determined = true;
      canonical_effects[to_size(j)] = of_snp[j] / left;
      chi_square += of_snp[j] * canonical_effects[to_size(j)];
      precision[j] = left;
    }
    const auto at = first + s;
    if (is_determined) chi_square = std::numeric_limits<double>::quiet_NaN();
    results.chi_square[to_size(at)] = chi_square;
    results.log10_p[to_size(at)] = f_degrees_ > 0
                                       ? log10_p_of_f(chi_square, f_degrees_)
                                       : log10_p_of_chi_square(chi_square, d);
    for (std::int64_t a = 0; a < traits_; ++a) {
      double effect = is_determined ? chi_square : 0, variance = effect;
      for (std::int64_t j = 0; j < traits_; ++j) {
        const double share = back_[to_size(j * traits_ + a)];
        effect += share * canonical_effects[to_size(j)];
        variance += share * share / precision[j];
      }
      results.effects[to_size(a * snps_in_results + at)] = effect;
      results.standard_errors[to_size(a * snps_in_results + at)] = std::sqrt(variance);
    }
  }
}

}  // namespace kinflow
