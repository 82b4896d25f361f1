// The people, variants and relationships of an association study.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kinflow/data/relationship_file.h"
#include "kinflow/genetics/genotypes.h"
#include "kinflow/genetics/sexed_genotypes.h"
#include "kinflow/gwas/gwas_request.h"

namespace kinflow {

/// Variants that are tested with the same covariates.
struct TestedPart {
  /// With the sex of the .fam beside the covariates that are given: of X, where alleles
  /// are counted by sex, so that a trait that differs by sex would seem associated.
  bool adds_sex = false;
  std::vector<std::int64_t> variants;
};

/// Variants that are tested with the same relationship.
struct VariantGroup {
  /// Of the chromosome that is left out; empty: none is, because that of the variants
  /// has no part in the relationship or all have the same.
  std::string name;
  std::vector<TestedPart> parts;  ///< none is empty

  std::int64_t tested() const;
};

/// What was read and chosen, checked against each other.
class GwasInputs {
 public:
  /// Reads all files and chooses. InputError as all of these readers, and where a trait
  /// is a covariate too, traits and covariates are not independent, a relationship does
  /// not fit the people or is not positive semidefinite, and there is one chromosome
  /// only to leave out.
  explicit GwasInputs(const GwasData& data);

  const GwasData& data() const { return data_; }
  /// What a user should know of the tables, one line each.
  const std::vector<std::string>& notes() const { return notes_; }
  const Genotypes& genotypes() const { return *genotypes_; }
  /// Candidates before tables and the relationship had their say.
  const Chosen& candidates() const { return candidates_; }
  const AnalysedPeople& people() const { return people_; }
  std::int64_t count() const {
    return static_cast<std::int64_t>(people_.people.size());
  }
  /// All steps that people were lost in.
  const std::vector<FilterStep>& people_steps() const { return people_steps_; }
  const Chosen& variants() const { return variants_; }
  /// The variants in the order in which they are tested.
  const std::vector<VariantGroup>& groups() const { return groups_; }
  std::int64_t tested() const;
  /// The intercept and the covariates of a part.
  NamedColumns covariates_of(const TestedPart& part) const;
  /// Variants behind the relationship; none where it comes from a file.
  const std::vector<std::int64_t>& relationship_variants() const {
    return relationship_variants_;
  }
  /// The step that left other chromosomes out of a relationship from the variants.
  const FilterStep& not_in_relationship() const { return not_in_relationship_; }
  /// What sex leaves out of the tests of X, Y and MT.
  const HaploidCalls& haploid_calls() const { return haploid_calls_; }
  std::vector<SampleId> ids() const;
  /// Files of genotypes and relationships that the tests depend on.
  std::vector<std::string> files() const;

  /// The relationship of all chromosomes, of the people who are analysed, symmetric.
  /// Made once, and given up by visit_groups(). InputError as in the constructor where
  /// it is read now, with leave_chromosome_out.
  const RelationshipFile& relationship();
  bool relationship_is_computed() const { return data_.relationship.empty(); }
  /// Calls visit(group, relationship) for every group in turn, with the relationship
  /// [people x people] that its variants are tested with. Groups that `is_wanted` does
  /// not want are left out.
  void visit_groups(
      const std::function<bool(const VariantGroup&)>& is_wanted,
      const std::function<void(const VariantGroup&, std::vector<double>)>& visit);

 private:
  /// The candidates who are in the relationship that is given.
  std::vector<std::int64_t> related_candidates();
  void choose_people_with_tables(const std::vector<std::int64_t>& candidates);
  void choose_all_variants();
  void make_groups();
  /// The variants in one part, or in two where there are some of X and sex is to be
  /// added.
  std::vector<TestedPart> parts_of(const std::vector<std::int64_t>& variants) const;
  /// The sex of the people, where it varies and the covariates do not have it.
  void find_sex();
  void check_relationships();
  std::string file_of(const VariantGroup& group) const;
  /// True for names of one chromosome, such as 1 and chr1.
  bool is_same(const std::string& left, const std::string& right) const;
  /// A file cut to the people who are analysed.
  RelationshipFile of_analysed(const RelationshipFile& file) const;
  RelationshipSums& sums();

  GwasData data_;
  std::unique_ptr<Genotypes> genotypes_;
  Chosen candidates_;
  std::vector<std::string> notes_;
  AnalysedPeople people_;
  std::vector<FilterStep> people_steps_;
  Chosen variants_;
  std::vector<std::int64_t> relationship_variants_;
  FilterStep not_in_relationship_;
  HaploidCalls haploid_calls_;
  NamedColumns sex_;  // a column to add for variants of X; without: none is to be
  std::vector<VariantGroup> groups_;
  std::optional<RelationshipSums> sums_;   // of relationship_variants_ once asked for
  std::optional<RelationshipFile> given_;  // as in the file
  std::optional<RelationshipFile> relationship_;  // of the people who are analysed
};

}  // namespace kinflow
