// What can be wrong with a relationship matrix, found and named.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kinflow/data/relationship_file.h"

namespace kinflow {

struct RelationshipCheckOptions {
  double twin_correlation = 0.95;       ///< more than that is a duplicate or a twin
  std::int64_t listed_pairs = 1000;     ///< twins that are listed; all are counted
  std::int64_t factored_rows = 20'000;  ///< larger components are not factored
  /// A component of a sparse matrix with more rows than this, and a quarter of all, is
  /// giant: sparse algebra will be slow, a higher threshold may break it up.
  std::int64_t giant_rows = 1000;
};

/// Two rows whose entry is large for their diagonals.
struct RelatedPair {
  std::int64_t row = 0, column = 0;
  double correlation = 0;  ///< G_ij / sqrt(G_ii G_jj)
};

enum class Definiteness {
  definite,
  semidefinite,  ///< up to rounding: 1e-8 of the trace on the diagonal makes it
                 ///< definite
  indefinite,
  unknown  ///< a component was too large to be factored, or the diagonal is bad
};

struct RelationshipCheck {
  std::int64_t rows = 0;
  bool is_sparse = false;
  bool has_ids = false;
  std::int64_t related_pairs = 0;  ///< pairs of rows whose entry is not 0
  double mean_diagonal = 0, smallest_diagonal = 0, largest_diagonal = 0;
  std::int64_t bad_diagonals = 0;  ///< diagonal entries that are not positive
  bool is_symmetric = true;        ///< as make_symmetric() wants it
  std::int64_t twin_count = 0;
  std::vector<RelatedPair> twins;
  std::int64_t components = 0;  ///< of rows that entries other than 0 connect
  std::int64_t largest_component = 0;
  bool has_giant_component = false;
  Definiteness definiteness = Definiteness::unknown;
  std::vector<std::int64_t> indefinite_rows;  ///< of the first component that fails
  /// Sentences: what makes the matrix unusable, and what a user should know.
  std::vector<std::string> errors, warnings;
};

/// Checks diagonal, symmetry, twins, components, and definiteness by the Cholesky
/// factor of each component (LAPACK; O(m^3) time and O(m^2) memory for m rows).
RelationshipCheck check_relationship(RelationshipFile file,
                                     const RelationshipCheckOptions& options = {});

/// InputError where a matrix cannot be the G of lambda I + (1 - lambda) G, as one whose
/// small entries were set to 0 may not: it must be positive SEMIdefinite. Eigenvalues
/// of 0, which twins bring, are no fault, since lambda I is added; the smallest may be
/// -1e-8 m times the largest in a component of m rows, which is rounding (the same as
/// where the component is decomposed). The message names the smallest eigenvalue of the
/// first component that fails, and the rows in which its eigenvector is largest.
/// A Cholesky factor decides, and eigenvalues where there is none: O(m^3) time and
/// O(m^2) memory.
/// @param file  symmetric, see make_symmetric()
/// @param largest_component  more rows in a component are refused
void require_positive_semidefinite(const RelationshipFile& file,
                                   std::int64_t largest_component = 5000);

/// Component of every row, numbered from 0 in the order of their first rows.
std::vector<std::int64_t> connected_components(const RelationshipFile& file);

const char* name_of(Definiteness definiteness);

}  // namespace kinflow
