// Rows drawn in groups that share a part of their latents, and what their columns then
// have in common.
#pragma once

#include <cstdint>

#include "kinflow/array/array.h"
#include "kinflow/core/random.h"

namespace kinflow {

inline constexpr std::int64_t kRowsOfDrawnGroup = 4;

/// Every column's normal scores among the rows, by rank: [n, q].
Array normal_scores_among(const Array& rows);

/// Covariances of the parts of latents; those that are not positive semidefinite stand
/// for the nearest one that is.
struct LatentParts {
  Array shared;  ///< [p, p], the same part for all rows of a group
  Array own;     ///< [p, p]
};

/// Standard normal numbers of G groups whose sample moments are exactly those of the
/// distribution, between groups and inside them. So covariances of columns that are
/// linear in the latents have no Monte Carlo error.
struct GroupNumbers {
  Array of_groups;  ///< [G, p], their mean is 0
  Array of_rows;    ///< [G, m, p], their mean in a group is 0
};

/// 512 groups, more for many columns.
GroupNumbers draw_group_numbers(std::int64_t columns, Random& random);

/// Latents [G m, p]; rows of a group follow each other.
Array latents_of_groups(const GroupNumbers& numbers, const LatentParts& parts);

/// Of columns as they are, and after these of their normal scores: q = 2p.
struct GroupMoments {
  Array variance;         ///< [q]
  Array shared_variance;  ///< [q], unbiased, so that it may be negative
  Array shared;           ///< [q, q], undefined where pairs were not asked for
};
GroupMoments moments_of_groups(const Array& data, bool with_pairs);

}  // namespace kinflow
