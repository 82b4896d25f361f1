// Traces of products of inverses, from the gradient of log det C alone.
#include "kinflow/model/share_information.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "kinflow/array/array.h"
#include "kinflow/dependence/per_latent.h"

namespace kinflow {
namespace {

// Own shares nearer to 0 or 1 have the information of these.
constexpr double kEdgeOfShares = 1e-3;
// Own shares nearer to each other are taken as a difference quotient.
constexpr double kAlikeShares = 1e-4;
// Step of the differences in weights.
constexpr double kWeightStep = 1e-3;

// What has one column of latents under C.
const Dependence& law_of_column(const Dependence& law) {
  const auto* folded = dynamic_cast<const FoldedLatents*>(&law);
  return folded != nullptr ? folded->inner() : law;
}

// tr C^-1 dC/dtheta, [k]: twice the slope of the objective where latents are 0.
Array slope_of_log_det(const Dependence& law, const std::vector<double>& values,
                       nd::Device device) {
  const auto parameters = nd::tensor(values, nd::kDouble).unsqueeze(0).to(device);
  const auto zero = nd::zeros({1, law.rows(), 1}, parameters.options());
  return 2 * law.parameter_gradient(parameters, zero)[0].cpu();
}

// C = lambda I + (1 - lambda) G of a column.
struct OneShare {
  double lambda;
  double decay;  // of time
  bool operator==(const OneShare&) const = default;
};

double trace_of_block_precision(const LearnedDependence& learned, std::int64_t rows,
                                double lambda) {
  auto singles = static_cast<double>(rows);
  double sum = 0;
  for (const auto size : learned.sizes) {
    const auto m = static_cast<double>(size);
    singles -= m;
    sum += (m - 1) / lambda + 1 / (lambda + (1 - lambda) * m);
  }
  return sum + singles;
}

// tr C^-1. C = I - (1 - lambda)(I - G), so the slope of log det C has it.
double trace_of_precision(const Dependence& law, const LearnedDependence& learned,
                          const OneShare& share, nd::Device device) {
  if (learned.kind == DependenceKind::blocks) {
    return trace_of_block_precision(learned, law.rows(), share.lambda);
  }
  const auto& own = law_of_column(law);
  std::vector<double> values{share.lambda};
  if (own.parameter_count() == 2) values.push_back(share.decay);
  const auto slope = slope_of_log_det(own, values, device)[0].item<double>();
  return static_cast<double>(law.rows()) + (1 - share.lambda) * slope;
}

std::vector<OneShare> one_share_of_each(const Dependence& law,
                                        const LearnedDependence& learned,
                                        std::int64_t columns) {
  std::vector<OneShare> shares;
  const auto of_latents = shares_of_latents(learned, columns);
  for (const double own : of_latents.front()) {
    shares.push_back({std::clamp(own, kEdgeOfShares, 1 - kEdgeOfShares), 0});
  }
  // Products of latents are known where all have the same G.
  if (learned.kind == DependenceKind::time) {
    const double decay = learned.mean_parameters().back();
    for (auto& share : shares) share.decay = decay;
  }
  if (law.has_costly_parameters()) {
    OneShare mean{0, shares.front().decay};
    for (const auto& share : shares) {
      mean.lambda += share.lambda / static_cast<double>(columns);
    }
    std::fill(shares.begin(), shares.end(), mean);
  }
  return shares;
}

// tr C_j^-1 C_l^-1 by partial fractions: both are functions of one G.
double trace_of_product(const OneShare& j, double of_j, const OneShare& l,
                        double of_l) {
  return ((1 - j.lambda) * of_j - (1 - l.lambda) * of_l) / (l.lambda - j.lambda);
}

Array products_of_one_share(const Dependence& law, const LearnedDependence& learned,
                            std::int64_t columns, nd::Device device) {
  const auto shares = one_share_of_each(law, learned, columns);
  const auto trace = [&](const OneShare& share) {
    return trace_of_precision(law, learned, share, device);
  };
  const auto p = shares.size();
  const auto n = static_cast<double>(law.rows());
  std::vector<double> traces(p), squares(p);
  for (std::size_t j = 0; j < p; ++j) {
    if (j > 0 && shares[j] == shares[0]) {
      traces[j] = traces[0];
      squares[j] = squares[0];
      continue;
    }
    traces[j] = trace(shares[j]);
    auto low = shares[j], high = shares[j];
    low.lambda -= kAlikeShares / 2;
    high.lambda += kAlikeShares / 2;
    squares[j] = trace_of_product(low, trace(low), high, trace(high));
  }
  auto products = nd::empty({columns, columns, 2, 2}, nd::kDouble);
  auto* out = products.data_ptr<double>();
  for (std::size_t j = 0; j < p; ++j) {
    for (std::size_t l = 0; l < p; ++l) {
      const double a = shares[j].lambda, b = shares[l].lambda;
      const double both =
          std::abs(a - b) < kAlikeShares
              ? squares[j]
              : trace_of_product(shares[j], traces[j], shares[l], traces[l]);
      // C^-1 G = (I - lambda C^-1) / (1 - lambda).
      const double mixed = (traces[j] - b * both) / (1 - b);
      const double shared =
          (n - a * traces[j] - b * traces[l] + a * b * both) / ((1 - a) * (1 - b));
      for (const double value : {both, mixed, mixed, shared}) *out++ = value;
    }
  }
  return products;
}

// tr C^-1 G_r C^-1 G_s of a sum, with I as G_0: minus the derivatives of tr C^-1 G_r.
Array products_of_sum(const Dependence& law, const LearnedDependence& learned,
                      std::int64_t columns, nd::Device device) {
  auto weights = learned.mean_parameters();
  for (auto& weight : weights) weight = std::max(weight, 2 * kWeightStep);
  std::vector<Array> slopes;
  for (auto& weight : weights) {
    const auto slope_after = [&](double step) {
      const double before = std::exchange(weight, weight + step);
      const auto slope = slope_of_log_det(law_of_column(law), weights, device);
      weight = before;
      return slope;
    };
    slopes.push_back((slope_after(-kWeightStep) - slope_after(kWeightStep)) /
                     (2 * kWeightStep));
  }
  const auto products = nd::stack(slopes);
  return (0.5 * (products + products.t()))
      .expand({columns, columns, products.size(0), products.size(1)});
}

}  // namespace

std::vector<std::vector<double>> shares_of_latents(const LearnedDependence& learned,
                                                   std::int64_t columns) {
  const bool is_sum = learned.kind == DependenceKind::sum;
  std::vector<std::vector<double>> shares(is_sum ? learned.parts.size() + 1 : 2);
  for (std::int64_t column = 0; column < columns; ++column) {
    const auto latent = learned.latents > 1 ? column : 0;
    if (is_sum) {
      const auto weights = learned.parameters_of(latent);
      const auto sum = std::accumulate(weights.begin(), weights.end(), 0.0);
      for (std::size_t r = 0; r < shares.size(); ++r) {
        shares[r].push_back(weights[r] / sum);
      }
      continue;
    }
    const auto typical = learned.typical_parameter_of(latent);
    const auto own = learned.kind == DependenceKind::blocks ? 1 - typical : typical;
    shares[0].push_back(own);
    shares[1].push_back(1 - own);
  }
  return shares;
}

Array share_information(const Dependence& law, const LearnedDependence& learned,
                        std::int64_t columns, nd::Device device) {
  auto products = learned.kind == DependenceKind::sum
                      ? products_of_sum(law, learned, columns, device).clone()
                      : products_of_one_share(law, learned, columns, device);
  products.diagonal(0, 0, 1).mul_(0.5);
  return products;
}

}  // namespace kinflow
