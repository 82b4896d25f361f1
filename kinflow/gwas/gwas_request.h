// What an association study is asked to do.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kinflow/fit/fit.h"
#include "kinflow/genetics/clump.h"
#include "kinflow/genetics/people_tables.h"
#include "kinflow/genetics/relationship_from_snps.h"
#include "kinflow/genetics/single_trait_tests.h"
#include "kinflow/genetics/variant_filters.h"

namespace kinflow {

enum class TraitTransform {
  flow,         ///< latents of a flow
  rank_normal,  ///< normal scores of the ranks of every trait
  none
};

/// What becomes of covariates before a flow. The tests have them in any case.
enum class CovariateUse {
  residuals,  ///< the traits are what a regression on them leaves
  context     ///< the flow is conditioned on them
};

/// The traits that a flow sees, less their covariates.
enum class FlowInput {
  raw,
  rank_normal  ///< normal scores of the ranks of every trait
};

/// Which files are read and who and what takes part.
struct GwasData {
  std::string bfile;
  PeopleFilters people;
  /// Counted among the people who are analysed.
  VariantFilters variants;
  /// Of two variants whose r2 is larger one goes, see prune_by_linkage().
  std::optional<double> prune_r2;
  double prune_kb = 500;
  PeopleTableRequest traits;
  PeopleTableRequest covariates;  ///< without a path: none
  /// File of the relationship, or GCTA's prefix; empty: from the variants.
  std::string relationship;
  std::string relationship_ids;  ///< file of its rows' ids; empty: the one beside it
  /// In place of ids: its rows are those of the .fam, in this order.
  bool relationship_by_position = false;
  /// How a relationship from the variants is made.
  SnpRelationshipKind kind = SnpRelationshipKind::centered;
  /// A variant is tested with a relationship from all other chromosomes: computed, or
  /// read from PREFIX.chrN where `relationship` is a prefix.
  bool leave_chromosome_out = false;
};

struct GwasRequest {
  GwasData data;
  TraitTransform transform = TraitTransform::flow;
  CovariateUse covariate_use = CovariateUse::residuals;
  FlowInput flow_input = FlowInput::rank_normal;
  /// How the flow is trained. The table, its columns and the relationship are filled
  /// in; with schedule `baseline` rows are independent.
  FitRequest flow;
  TestKind test = TestKind::score;
  /// Also test every trait by itself, as rank-normal residuals.
  bool single = false;
  ClumpOptions clump;
  bool zipped = false;  ///< gzip the table of tests
  std::int64_t threads = 1;
  std::string out;         ///< prefix of all files that are written
  bool overwrite = false;  ///< in place of an earlier study with this prefix
};

}  // namespace kinflow
