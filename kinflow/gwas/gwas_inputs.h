// The people, variants and relationships of an association study.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kinflow/core/log.h"
#include "kinflow/data/relationship_file.h"
#include "kinflow/genetics/genotypes.h"
#include "kinflow/gwas/gwas_request.h"

namespace kinflow {

/// Variants that are tested with the same relationship.
struct VariantGroup {
  std::string name;  ///< of the chromosome that is left out; empty: none is
  std::vector<std::int64_t> variants;
};

/// What was read and chosen, checked against each other.
class GwasInputs {
 public:
  /// Reads tables and genotypes and chooses. InputError as all of these readers, and
  /// where a trait is a covariate too, or traits and covariates are not independent.
  GwasInputs(const GwasData& data, Logger& logger);

  const GwasData& data() const { return data_; }
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
  /// Variants behind the relationship; none where it comes from a file.
  const std::vector<std::int64_t>& relationship_variants() const {
    return relationship_variants_;
  }
  std::vector<SampleId> ids() const;

  /// The relationship of all chromosomes, of the people who are analysed, symmetric.
  /// Made once, and given up by visit_groups().
  const RelationshipFile& relationship();
  /// Makes it positive semidefinite, see make_semidefinite().
  double repair_relationship();
  bool relationship_is_computed() const { return data_.relationship.empty(); }
  /// Calls visit(group, relationship) for every group in turn, with the relationship
  /// [people x people] that its variants are tested with. Groups that `is_wanted` does
  /// not want are left out.
  void visit_groups(
      const std::function<bool(const VariantGroup&)>& is_wanted,
      const std::function<void(const VariantGroup&, std::vector<double>)>& visit);

 private:
  void read_given_relationship();
  RelationshipFile chosen_rows(const RelationshipFile& file) const;
  void choose_people_with_tables(Logger& logger);
  void choose_all_variants();
  void make_groups();
  RelationshipSums& sums();

  GwasData data_;
  std::unique_ptr<Genotypes> genotypes_;
  Chosen candidates_;
  AnalysedPeople people_;
  std::vector<FilterStep> people_steps_;
  Chosen variants_;
  std::vector<std::int64_t> relationship_variants_;
  std::vector<VariantGroup> groups_;
  std::optional<RelationshipSums> sums_;          // of relationship_variants_
  std::optional<RelationshipFile> given_;         // as in the file
  std::optional<RelationshipFile> relationship_;  // of the people who are analysed
};

}  // namespace kinflow
