// Spectral decompositions that are kept on disk, because they take minutes.
#pragma once

#include <cstdint>
#include <string>

#include "kinflow/array/array.h"
#include "kinflow/core/log.h"
#include "kinflow/dependence/spectral_decomposition.h"

namespace kinflow {

/// Where decompositions are kept: files FOLDER/STEM.eigen-HASH.safetensors, 8 n^2 bytes
/// each, with the hash of the decomposed matrix in 16 hexadecimal digits.
struct DecompositionCache {
  std::string folder;  ///< "": nothing is kept
  std::string stem;    ///< the name of the matrix's file
  /// Smaller matrices are decomposed each time, in about a tenth of a second.
  std::int64_t smallest_rows = 1000;
  /// Of one stem; the least recently used go. A fit takes up to two, for the rows that
  /// are trained on and for those held out.
  std::int64_t kept_files = 4;
};

/// "DIRECTORY/G.grm.bin" as the folder DIRECTORY and the stem G.grm.bin.
DecompositionCache cache_beside(const std::string& matrix_file);

/// decompose_relationship() on the matrix's device, or its result of an earlier time,
/// on that device too. From 2,000 rows the
/// logger is told before the work what it will take.
///
/// A file is used only if it is whole (a hash over its numbers), is a spectral
/// decomposition (increasing eigenvalues, Q'Q y = y) and is one of this matrix
/// (Q'G x = D Q'x), with two random vectors each, in O(n^2). Any other file of that
/// name is computed anew and replaced, with a warning. Where nothing can be written the
/// logger is told, and the work goes on.
/// @param relationship G [n, n] float64, as it is decomposed: matched, scaled and split
SpectralDecomposition decompose_cached(const Array& relationship,
                                       const DecompositionCache& cache, Logger& logger);

}  // namespace kinflow
