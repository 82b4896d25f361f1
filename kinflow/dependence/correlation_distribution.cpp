// Marginal likelihood of blocks by quadrature over their common effect.
#include "kinflow/dependence/correlation_distribution.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "kinflow/dependence/minimize.h"

namespace kinflow {
namespace {

const double kLogTwoPi = std::log(2 * std::numbers::pi);
// Correlations keep this distance from 0 and 1.
constexpr double kSmallest = 1e-9;
// Where the search begins.
constexpr double kFirstLogit = -0.5;
constexpr double kFirstLogDeviation = -0.7;

// Nodes of a standard normal variable and the logarithms of their weights.
struct Nodes {
  std::vector<double> places, log_weights;

  explicit Nodes(bool vary) {
    constexpr int kSide = 24;
    constexpr double kStep = 0.15;
    const int side = vary ? kSide : 0;
    double sum = 0;
    for (int i = -side; i <= side; ++i) {
      places.push_back(i * kStep);
      log_weights.push_back(-0.5 * places.back() * places.back());
      sum += std::exp(log_weights.back());
    }
    for (auto& weight : log_weights) weight -= std::log(sum);
  }
};

// Of one column of a block: log-density and its derivative in the logit of rho.
struct Term {
  double value = 0, slope = 0;
};

Term term_of(double rows, double along, double across, double logit) {
  const double share = 1 / (1 + std::exp(-logit));
  const double rho = std::clamp(share, kSmallest, 1 - kSmallest);
  const double first = 1 + rho * (rows - 1), rest = 1 - rho;
  const double value =
      -0.5 * (rows * kLogTwoPi + std::log(first) + (rows - 1) * std::log(rest) +
              along / first + across / rest);
  const double in_rho =
      -0.5 * (rows - 1) * (1 / first - 1 / rest) +
      0.5 * ((rows - 1) * along / (first * first) - across / (rest * rest));
  return {value, in_rho * rho * (1 - rho)};
}

// The gradient of the sum of all log-densities.
struct Slopes {
  std::vector<double> of_latent;
  double log_deviation = 0;
};

std::vector<double> densities(const BlockSums& sums,
                              const CorrelationDistribution& distribution,
                              Slopes* slopes) {
  const Nodes nodes(distribution.deviation_of_blocks > 0);
  const auto count = nodes.places.size();
  const auto p = static_cast<std::size_t>(sums.columns);
  std::vector<Term> terms(count * p);
  std::vector<double> logs(count), result;
  for (std::size_t b = 0; b < sums.blocks(); ++b) {
    double largest = -std::numeric_limits<double>::infinity();
    for (std::size_t k = 0; k < count; ++k) {
      logs[k] = nodes.log_weights[k];
      const double effect = distribution.deviation_of_blocks * nodes.places[k];
      for (std::size_t j = 0; j < p; ++j) {
        auto& term = terms[k * p + j];
        term = term_of(sums.rows[b], sums.along[b * p + j], sums.across[b * p + j],
                       distribution.of_latent[j] + effect);
        logs[k] += term.value;
      }
      largest = std::max(largest, logs[k]);
    }
    double sum = 0;
    for (auto& log : logs) sum += log = std::exp(log - largest);
    result.push_back(largest + std::log(sum));
    if (slopes == nullptr) continue;
    for (std::size_t k = 0; k < count; ++k) {
      const double weight = logs[k] / sum;
      const double effect = distribution.deviation_of_blocks * nodes.places[k];
      for (std::size_t j = 0; j < p; ++j) {
        const double slope = weight * terms[k * p + j].slope;
        slopes->of_latent[j] += slope;
        slopes->log_deviation += slope * effect;
      }
    }
  }
  return result;
}

}  // namespace

BlockSums sum_by_block(const double* latents, std::int64_t columns,
                       const std::vector<std::int64_t>& block_of_row) {
  const auto p = static_cast<std::size_t>(columns);
  std::int64_t last = -1;
  for (const auto block : block_of_row) last = std::max(last, block);
  const auto blocks = static_cast<std::size_t>(last + 1);
  std::vector<double> rows(blocks, 0), sums(blocks * p, 0), squares(blocks * p, 0);
  for (std::size_t i = 0; i < block_of_row.size(); ++i) {
    if (block_of_row[i] < 0) continue;
    const auto b = static_cast<std::size_t>(block_of_row[i]);
    rows[b] += 1;
    for (std::size_t j = 0; j < p; ++j) {
      const double u = latents[i * p + j];
      sums[b * p + j] += u;
      squares[b * p + j] += u * u;
    }
  }
  BlockSums result{.columns = columns, .rows = {}, .along = {}, .across = {}};
  for (std::size_t b = 0; b < blocks; ++b) {
    if (rows[b] < 2) continue;
    result.rows.push_back(rows[b]);
    for (std::size_t j = 0; j < p; ++j) {
      const double along = sums[b * p + j] * sums[b * p + j] / rows[b];
      result.along.push_back(along);
      result.across.push_back(std::max(0.0, squares[b * p + j] - along));
    }
  }
  return result;
}

CorrelationDistribution most_likely_distribution(const BlockSums& sums,
                                                 const CorrelationDifferences& has) {
  const auto p = static_cast<std::size_t>(sums.columns);
  const std::size_t logits = has.between_latents ? p : 1;
  const auto at_place = [&](const std::vector<double>& place) {
    CorrelationDistribution distribution;
    for (std::size_t j = 0; j < p; ++j) {
      distribution.of_latent.push_back(place[has.between_latents ? j : 0]);
    }
    if (has.between_blocks) distribution.deviation_of_blocks = std::exp(place[logits]);
    return distribution;
  };
  std::vector<double> start(logits, kFirstLogit);
  if (has.between_blocks) start.push_back(kFirstLogDeviation);
  // Per block, so that the end of the search means the same for few and many.
  const double scale = 1 / std::max<double>(1, static_cast<double>(sums.blocks()));
  const auto found = minimize(
      [&](const std::vector<double>& place, std::vector<double>& slope) {
        Slopes slopes{.of_latent = std::vector<double>(p, 0)};
        double sum = 0;
        for (const double density : densities(sums, at_place(place), &slopes)) {
          sum -= scale * density;
        }
        slope.assign(place.size(), 0);
        for (std::size_t j = 0; j < p; ++j) {
          slope[has.between_latents ? j : 0] -= scale * slopes.of_latent[j];
        }
        if (has.between_blocks) slope[logits] = -scale * slopes.log_deviation;
        return sum;
      },
      start, {.largest_slope = 1e-4, .longest_step = 1, .iterations = 60});
  return at_place(found.place);
}

std::vector<double> log_densities(const BlockSums& sums,
                                  const CorrelationDistribution& distribution) {
  return densities(sums, distribution, nullptr);
}

}  // namespace kinflow
