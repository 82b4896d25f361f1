// Rotates blocks of SNPs and hands them to the tests of every set.
#include "kinflow/genetics/association_tests.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "kinflow/genetics/score_test.h"
#include "kinflow/genetics/wald_test.h"

namespace kinflow {
namespace {

/// The results of single traits as those of one test.
void merge(const SingleTraitResults& single, SnpResults& merged) {
  const auto traits = single.traits.size();
  const auto snps = single.corrected_p.size();
  merged.resize(static_cast<std::int64_t>(snps), static_cast<std::int64_t>(traits));
  merged.p_value = single.corrected_p;
  std::fill(merged.chi_square.begin(), merged.chi_square.end(),
            std::numeric_limits<double>::quiet_NaN());
  for (std::size_t t = 0; t < traits; ++t) {
    const auto& one = single.traits[t];
    for (std::size_t s = 0; s < snps; ++s) {
      if (one.p_value[s] == single.smallest_p[s]) {
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
  return static_cast<std::int64_t>(covariates.values.size() / covariates.names.size());
}

RelationshipEigen centered_eigen(std::vector<double> relationship,
                                 std::int64_t people) {
  center_relationship(relationship, people);
  return eigen_of_relationship(std::move(relationship), people);
}

}  // namespace

class AssociationTests::SetTests {
 public:
  SetTests(MixedModelData data, bool is_joint, TestKind kind) : data_(std::move(data)) {
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
            SnpResults& results) const {
    if (score_) score_->test(snps, count, results);
    if (wald_) wald_->test(snps, count, results);
    if (!single_) return;
    single_->test(snps, count, scratch.single);
    merge(scratch.single, results);
  }

  void add_null_models(const std::string& name, std::vector<NullModel>& models) const {
    const auto& names = data_.traits.names;
    if (!single_) {
      models.push_back({name, names, null_});
      return;
    }
    auto fits = single_->null_fits();
    for (std::size_t t = 0; t < fits.size(); ++t) {
      models.push_back({name, {names[t]}, std::move(fits[t])});
    }
  }

 private:
  MixedModelData data_;
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
  for (const auto& set : sets) {
    tests_.push_back(std::make_unique<SetTests>(
        make_mixed_model_data(eigen, set.traits, covariates), set.is_joint, kind));
    tests_.back()->add_null_models(set.name, null_models_);
  }
}

AssociationTests::~AssociationTests() = default;

void AssociationTests::test(const GenotypeBlock& block, Scratch& scratch,
                            std::vector<SnpResults>& results) const {
  const auto count = block.variants();
  scratch.snps.resize(static_cast<std::size_t>(people_ * count));
  rotation_.rotate(block, scratch.rotation, scratch.snps.data());
  results.resize(tests_.size());
  for (std::size_t i = 0; i < tests_.size(); ++i) {
    tests_[i]->test(scratch.snps.data(), count, scratch, results[i]);
  }
}

}  // namespace kinflow
