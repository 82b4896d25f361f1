// Returns of stock pairs, ready for a study: rows, their dependences, and the methods.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kinflow/data/prices.h"
#include "studies/methods.h"

namespace kinflow {

/// Returns of all pairs, cut in time.
struct StockData {
  PairReturns returns;
  Split parts;
};

namespace stock_method {
// The paper's protocol: returns as they are, then scaled to mean 0 and deviation 1.
inline constexpr const char* kBaselineCalibrated = "baseline, then calibrated";
inline constexpr const char* kBaselineMore = "baseline, 12 times the trainings";
inline constexpr const char* kScaled = ", scaled";  ///< ends the names of the second
// kinflow's own, each before the name of a way of training.
inline constexpr const char* kIndependent = "independent: ";
inline constexpr const char* kPair = "pair: ";
inline constexpr const char* kDay = "day: ";
inline constexpr const char* kTime = "time: ";
inline constexpr const char* kSum = "pair + time: grid";
inline constexpr const char* kSumCalibrated = "pair + time: grid, then calibrated";
inline constexpr const char* kFixed = "pair: rho held at 0, calibrated";
}  // namespace stock_method

/// gamma of the kernel of time in the sum, per day.
inline constexpr double kSumDecay = 0.005;
/// w_0 of the sum.
std::vector<double> sum_grid();

/// One set for each seed of weights and row order; the rows are the same. With
/// settings.quick there are fewer methods; see stocks.cpp.
/// @param settings  device, threads, quick
std::vector<PlannedSet> plan_stock_sets(const std::shared_ptr<const StockData>& data,
                                        const MethodSettings& settings,
                                        const std::vector<std::uint64_t>& seeds,
                                        Logger& logger);

}  // namespace kinflow
