// Rotates blocks of SNPs and hands them to the tests of every set.
#include "kinflow/genetics/association_tests.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

#include "kinflow/core/error.h"
#include "kinflow/genetics/score_test.h"
#include "kinflow/genetics/wald_test.h"

namespace kinflow {

/// How the numbers of a fit follow from those that were given.
struct CovariateUnits {
  std::vector<ColumnScale> traits, covariates;
  std::size_t intercept = 0;  ///< the covariate that is constant
  double intercept_value = 1;
  double relationship = 1;  ///< mean of the diagonal
};

namespace {

/// The results of single traits as those of one test.
void merge(const SingleTraitResults& single, SnpResults& merged) {
  const auto traits = single.traits.size();
  const auto snps = single.corrected_log10_p.size();
  merged.resize(static_cast<std::int64_t>(snps), static_cast<std::int64_t>(traits));
  merged.log10_p = single.corrected_log10_p;
  std::fill(merged.chi_square.begin(), merged.chi_square.end(),
            std::numeric_limits<double>::quiet_NaN());
  for (std::size_t t = 0; t < traits; ++t) {
    const auto& one = single.traits[t];
    for (std::size_t s = 0; s < snps; ++s) {
      if (one.log10_p[s] == single.largest_log10_p[s]) {
        merged.chi_square[s] = one.chi_square[s];
      }
    }
    const auto at = static_cast<std::ptrdiff_t>(t * snps);
    std::copy(one.effects.begin(), one.effects.end(), merged.effects.begin() + at);
    std::copy(one.standard_errors.begin(), one.standard_errors.end(),
              merged.standard_errors.begin() + at);
  }
}

std::int64_t people_of(const NamedColumns& covariates) {
  if (covariates.names.empty()) {
    throw InputError(
        "[AssociationTests] expected an intercept, received no covariates");
  }
  return static_cast<std::int64_t>(covariates.values.size() / covariates.names.size());
}

RelationshipEigen centered_eigen(std::vector<double> relationship,
                                 std::int64_t people) {
  center_relationship(relationship, people);
  return eigen_of_relationship(std::move(relationship), people);
}

/// A fit of some of the traits, from `first` on, in the units that were given.
MixedModelFit in_given_units(MixedModelFit fit, const CovariateUnits& units,
                             std::size_t first, double rows) {
  const auto d = static_cast<std::size_t>(fit.canonical.traits);
  const auto c = units.covariates.size();
  auto& canonical = fit.canonical;
  for (std::size_t b = 0; b < d; ++b) {
    const auto& of_b = units.traits[first + b];
    for (std::size_t a = 0; a < d; ++a) {
      const double of_a = units.traits[first + a].deviation;
      fit.variances.genetic[b * d + a] *= of_a * of_b.deviation / units.relationship;
      fit.variances.residual[b * d + a] *= of_a * of_b.deviation;
      canonical.back[b * d + a] *= of_a;
      canonical.to[b * d + a] /= of_b.deviation;
    }
    canonical.ratios[b] /= units.relationship;
    canonical.log_det_residual += 2 * std::log(of_b.deviation);
    fit.log_likelihood -= rows * std::log(of_b.deviation);
    double* coefficients = &fit.coefficients[b * c];
    double constant = of_b.mean;
    for (std::size_t j = 0; j < c; ++j) {
      coefficients[j] *= of_b.deviation / units.covariates[j].deviation;
      constant -= coefficients[j] * units.covariates[j].mean;
    }
    coefficients[units.intercept] += constant / units.intercept_value;
  }
  return fit;
}

/// A model of a fit that is in given units.
NullModel null_model(const std::string& set, std::vector<std::string> traits,
                     MixedModelFit fit, const CovariateUnits& units) {
  NullModel model{.set = set, .traits = std::move(traits), .fit = std::move(fit)};
  const auto& variances = model.fit.variances;
  const auto order = model.traits.size();
  for (std::size_t t = 0; t < order; ++t) {
    const double genetic = variances.genetic[t * order + t] * units.relationship;
    model.heritability.push_back(genetic /
                                 (genetic + variances.residual[t * order + t]));
  }
  return model;
}

CovariateUnits units_of(const NamedColumns& covariates, std::int64_t rows,
                        const std::vector<ColumnScale>& scales, double relationship) {
  const auto n = static_cast<std::size_t>(rows);
  for (std::size_t j = 0; j < covariates.names.size(); ++j) {
    const auto values = std::span(covariates.values).subspan(j * n, n);
    if (std::all_of(values.begin(), values.end(),
                    [&](double value) { return value != 0 && value == values[0]; })) {
      return {{}, scales, j, values[0], relationship};
    }
  }
  throw InputError(
      "[AssociationTests] expected covariates with an intercept, found none");
}

}  // namespace

class AssociationTests::SetTests {
 public:
  SetTests(MixedModelData data, CovariateUnits units, bool is_joint, TestKind kind)
      : data_(std::move(data)), units_(std::move(units)) {
    if (!is_joint) {
      single_ = std::make_unique<SingleTraitTests>(data_, kind);
      return;
    }
    null_ = fit_mixed_model(data_, LikelihoodKind::full);
    if (kind == TestKind::score) {
      score_ = std::make_unique<FixedVarianceTest>(data_, null_);
    } else {
      wald_ = std::make_unique<WaldTest>(data_, null_);
    }
  }

  void test(const double* snps, std::int64_t count, Scratch& scratch,
            SnpResults& results, const std::atomic<bool>* stop) const {
    if (score_) score_->test(snps, count, results);
    if (wald_) wald_->test(snps, count, results, stop);
    if (single_) {
      single_->test(snps, count, scratch.single);
      merge(scratch.single, results);
    }
    const auto m = static_cast<std::size_t>(count);
    for (std::size_t i = 0; i < results.effects.size(); ++i) {
      const double deviation = units_.traits[i / m].deviation;
      results.effects[i] *= deviation;
      results.standard_errors[i] *= deviation;
    }
  }

  void add_null_models(const std::string& name, std::vector<NullModel>& models) const {
    const auto& names = data_.traits.names;
    const auto rows = static_cast<double>(data_.rows);
    if (!single_) {
      models.push_back(
          null_model(name, names, in_given_units(null_, units_, 0, rows), units_));
      return;
    }
    auto fits = single_->null_fits();
    for (std::size_t t = 0; t < fits.size(); ++t) {
      models.push_back(null_model(name, {names[t]},
                                  in_given_units(std::move(fits[t]), units_, t, rows),
                                  units_));
    }
  }

 private:
  MixedModelData data_;
  CovariateUnits units_;
  MixedModelFit null_;
  std::unique_ptr<FixedVarianceTest> score_;
  std::unique_ptr<WaldTest> wald_;
  std::unique_ptr<SingleTraitTests> single_;
};

AssociationTests::AssociationTests(std::vector<double> relationship,
                                   const std::vector<TraitSet>& sets,
                                   const NamedColumns& covariates, TestKind kind)
    : AssociationTests(centered_eigen(std::move(relationship), people_of(covariates)),
                       sets, covariates, kind) {}

AssociationTests::AssociationTests(const RelationshipEigen& eigen,
                                   const std::vector<TraitSet>& sets,
                                   const NamedColumns& covariates, TestKind kind)
    : people_(eigen.rows), rotation_(eigen.vectors, eigen.rows) {
  const auto standard_covariates = standardize(covariates, people_);
  const double mean = std::accumulate(eigen.values.begin(), eigen.values.end(), 0.0) /
                      static_cast<double>(people_);
  auto units = units_of(covariates, people_, standard_covariates.scales, mean);
  for (const auto& set : sets) {
    const auto traits = standardize(set.traits, people_);
    auto data =
        make_mixed_model_data(eigen, traits.columns, standard_covariates.columns);
    for (double& value : data.eigenvalues) value /= mean;
    units.traits = traits.scales;
    tests_.push_back(
        std::make_unique<SetTests>(std::move(data), units, set.is_joint, kind));
    tests_.back()->add_null_models(set.name, null_models_);
  }
}

AssociationTests::~AssociationTests() = default;

void AssociationTests::test(const GenotypeBlock& block, Scratch& scratch,
                            std::vector<SnpResults>& results,
                            const std::atomic<bool>* stop) const {
  const auto count = block.variants();
  scratch.snps.resize(static_cast<std::size_t>(people_ * count));
  rotation_.rotate(block, scratch.rotation, scratch.snps.data());
  results.resize(tests_.size());
  for (std::size_t i = 0; i < tests_.size(); ++i) {
    tests_[i]->test(scratch.snps.data(), count, scratch, results[i], stop);
  }
}

}  // namespace kinflow
