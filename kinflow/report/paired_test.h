// Statistics of repeated runs: means with standard errors, and the paired t-test.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kinflow {

/// A mean and how far it may be from that of endlessly many values.
struct MeanAndError {
  std::size_t count = 0;
  double mean = 0;
  double standard_error = 0;  ///< deviation (with n - 1) / sqrt(n); NaN of one value
};

/// InputError where there is no value or one is not finite.
MeanAndError mean_and_standard_error(const std::vector<double>& values);
/// Its mean.
inline double mean_of(const std::vector<double>& values) {
  return mean_and_standard_error(values).mean;
}

/// The outcome of a paired t-test. Differences are `higher` minus `lower`, so a
/// positive one speaks for the claim.
struct PairedTest {
  std::size_t pairs = 0;
  double mean_difference = 0;
  double standard_error = 0;  ///< of the mean difference
  double t = 0;               ///< infinite where all differences are equal but not 0
  double degrees_of_freedom = 0;  ///< pairs - 1, or groups - 1
  double p_value = 1;             ///< one-sided
};

/// Tests the claim that `lower` has the smaller mean; a small p value speaks for it.
/// Where all differences are equal the p value is 0, 1/2 or 1 by their sign. InputError
/// where the lengths differ, there are fewer than 2 pairs, or a difference is not
/// finite.
/// @param lower, higher  element i of both belongs together, e.g. has the same seed
PairedTest paired_test(const std::vector<double>& lower,
                       const std::vector<double>& higher);

/// The same where pairs of one group may depend on each other, as images of one person
/// do: the mean is that over pairs, and its error that of sums over groups. With one
/// pair in each group it is the test above. InputError where there are fewer than 2
/// groups.
/// @param group  of each pair, any labels
PairedTest paired_test_of_groups(const std::vector<double>& lower,
                                 const std::vector<double>& higher,
                                 const std::vector<std::int64_t>& group);

}  // namespace kinflow
