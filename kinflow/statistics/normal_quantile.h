// Quantiles of the standard normal distribution.
#pragma once

namespace kinflow {

/// The z below which a standard normal variable is with this probability, between 0 and
/// 1: exact to a few units of the last place of the smaller tail.
double normal_quantile(double probability);

}  // namespace kinflow
