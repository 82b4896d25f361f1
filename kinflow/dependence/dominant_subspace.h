// The eigenvectors of a relationship matrix that stand out, without a decomposition.
#pragma once

#include <cstdint>

#include "kinflow/array/array.h"
#include "kinflow/dependence/relationship_operator.h"

namespace kinflow {

struct DominantSubspaceOptions {
  /// Vectors of the Krylov space that is searched, each of n float64 numbers. A matrix
  /// of at most so many rows is decomposed completely.
  std::int64_t basis = 200;
  std::uint64_t seed = 1;
};

/// k eigenvectors of G, and the mean of all its other eigenvalues.
///
/// As an approximation of G it is Q diag(values) Q' + rest_mean (I - Q Q'). With it in
/// the place of G, C = lambda I + (1 - lambda) G is inverted at the cost of products
/// with Q, for every lambda: a preconditioner that is made once.
struct DominantSubspace {
  Array vectors;     ///< Q [n, k] float64, orthonormal; k may be 0
  Array values;      ///< [k] float64, none negative
  Array residuals;   ///< [k] float64, the lengths of G q - value q
  double rest_mean;  ///< of the n - k other eigenvalues; 0 where k = n

  /// A function of the approximate C of each lambda as outside I + Q diag(inside) Q'.
  struct Function {
    Array inside;   ///< [k, c]
    Array outside;  ///< [c]; 0 where k = n
  };

  std::int64_t rows() const { return vectors.size(0); }
  std::int64_t count() const { return vectors.size(1); }
  bool is_complete() const { return rows() == count(); }
  /// Eigenvalues of C along Q for each lambda: [k, c]. @param lambda [c]
  Array variances(const Array& lambda) const;
  /// Mean eigenvalue of C in the other directions: [c].
  Array rest_variance(const Array& lambda) const;
  /// Inverse of the approximate C.
  Function inverse(const Array& lambda) const;
  /// X without its part along Q: [n, c].
  Array remove_from(const Array& matrix) const;
};

/// function times X, column by column: [n, c]. @param matrix X [n, c]
Array apply(const DominantSubspace& subspace,
            const DominantSubspace::Function& function, const Array& matrix);

/// Searches a block Krylov space of G with complete orthogonalisation: `basis` products
/// with G, O(n basis^2) further operations, two matrices n x basis. Ends early where
/// nothing stands out and G is so sparse that the basis is the dear part. Keeps Ritz
/// vectors that are eigenvectors to about 8 digits, from the largest eigenvalue on, and
/// as many as make a solution by conjugate gradients cheapest. InputError where a Ritz
/// value shows that G is not positive semidefinite.
DominantSubspace find_dominant_subspace(const RelationshipOperator& relationship,
                                        const DominantSubspaceOptions& options = {});

/// InputError where an eigenvalue, or a value between eigenvalues, is negative by more
/// than the rounding of a matrix of n rows; as in decompose_relationship().
void check_not_negative(double smallest, double largest, std::int64_t rows);

}  // namespace kinflow
