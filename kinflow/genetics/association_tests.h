// Tests of SNPs against several sets of traits of the same related people.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kinflow/genetics/genotype_rotation.h"
#include "kinflow/genetics/mixed_model.h"
#include "kinflow/genetics/named_columns.h"
#include "kinflow/genetics/relationship_eigen.h"
#include "kinflow/genetics/single_trait_tests.h"
#include "kinflow/genetics/snp_results.h"

namespace kinflow {

/// Traits that are tested together, or each by itself.
struct TraitSet {
  std::string name;
  NamedColumns traits;  ///< [people x traits]
  /// False: a model for each trait; the p-value of a SNP is the smallest one times the
  /// number of traits (Bonferroni), the chi-square that of the same trait.
  bool is_joint = true;
};

/// What was found without any SNP, in the units of the traits, covariates and
/// relationship that were given.
struct NullModel {
  std::string set;
  std::vector<std::string> traits;
  MixedModelFit fit;  ///< by ML
  /// Of each trait the share of Vg + Ve that is Vg, with a relationship whose diagonal
  /// has mean 1.
  std::vector<double> heritability = {};
};

/// The null models of sets of traits that share a relationship, and tests of SNPs.
/// Traits and covariates are standardized and the relationship gets a mean diagonal of
/// 1 for it, so that no test depends on their units.
class AssociationTests {
 public:
  /// @param relationship  [people x people] symmetric; is centred and decomposed
  /// @param covariates    with the intercept, a constant column
  /// InputError where there is no intercept, and as in make_mixed_model_data() and
  /// eigen_of_relationship().
  AssociationTests(std::vector<double> relationship, const std::vector<TraitSet>& sets,
                   const NamedColumns& covariates, TestKind kind);
  /// The same with the decomposition of a relationship that is centred already.
  AssociationTests(const RelationshipEigen& eigen, const std::vector<TraitSet>& sets,
                   const NamedColumns& covariates, TestKind kind);
  ~AssociationTests();

  std::int64_t people() const { return people_; }
  const std::vector<NullModel>& null_models() const { return null_models_; }

  /// Memory of a thread.
  struct Scratch {
    GenotypeRotation::Scratch rotation;
    std::vector<double> snps;
    SingleTraitResults single;
  };
  /// Threads may call it at the same time, each with a scratch of its own; BLAS should
  /// then compute in the calling thread.
  /// A missing genotype is the mean of the others.
  /// @param results  one for each set
  /// @param stop  Interrupted where it becomes true during Wald tests, of which a block
  ///     may take long
  void test(const GenotypeBlock& block, Scratch& scratch,
            std::vector<SnpResults>& results,
            const std::atomic<bool>* stop = nullptr) const;

 private:
  class SetTests;

  std::int64_t people_;
  GenotypeRotation rotation_;
  std::vector<std::unique_ptr<SetTests>> tests_;
  std::vector<NullModel> null_models_;
};

}  // namespace kinflow
