// The multivariate random-intercept normal distribution against dense covariances.
#include "studies/random_intercept.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "kinflow/array/array.h"
#include "kinflow/core/random.h"

namespace kinflow {
namespace {

using Groups = std::vector<std::int64_t>;

Array matrix(const std::vector<double>& values, std::int64_t columns) {
  return nd::tensor(values, nd::kDouble).view({-1, columns});
}

RandomIntercept truth() {
  return {.mean = nd::tensor({1.0, -2.0}, nd::kDouble),
          .between = matrix({0.9, 0.3, 0.3, 0.4}, 2),
          .within = matrix({0.2, -0.1, -0.1, 1.5}, 2)};
}

struct Rows {
  Array data;
  Groups groups;
};

// Rows of groups of the given sizes, drawn from a model of two columns.
Rows drawn(const RandomIntercept& model, const std::vector<std::int64_t>& sizes,
           std::uint64_t seed) {
  Random random(seed);
  const auto between = nd::linalg_cholesky(model.between),
             within = nd::linalg_cholesky(model.within);
  const auto draw = [&] {
    const double first = random.normal();
    return nd::tensor({first, random.normal()}, nd::kDouble);
  };
  std::vector<Array> rows;
  Groups groups;
  for (std::size_t group = 0; group < sizes.size(); ++group) {
    const auto mean = model.mean + between.mv(draw());
    for (std::int64_t row = 0; row < sizes[group]; ++row) {
      rows.push_back(mean + within.mv(draw()));
      groups.push_back(static_cast<std::int64_t>(group));
    }
  }
  return {nd::stack(rows), groups};
}

// Of all rows as one long vector.
double dense_log_density(const RandomIntercept& model, const Rows& rows) {
  const auto n = rows.data.size(0), p = rows.data.size(1);
  auto covariance = nd::zeros({n, p, n, p}, nd::kDouble);
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      auto block = covariance.select(0, i).select(1, j);
      if (rows.groups[static_cast<std::size_t>(i)] ==
          rows.groups[static_cast<std::size_t>(j)]) {
        block += model.between;
      }
      if (i == j) block += model.within;
    }
  }
  const auto dense = covariance.reshape({n * p, n * p});
  const auto deviation = (rows.data - model.mean).reshape({n * p});
  return -0.5 * deviation.dot(nd::inverse(dense).mv(deviation)).item<double>() -
         nd::linalg_cholesky(dense).diagonal().log().sum().item<double>() -
         0.5 * static_cast<double>(n * p) * std::log(2 * std::numbers::pi);
}

Rows some_rows() { return drawn(truth(), {1, 3, 2, 3}, 3); }

TEST(RandomIntercept, JointDensityIsThatOfTheDenseCovariance) {
  const auto rows = some_rows();
  EXPECT_NEAR(joint_log_density(truth(), rows.data, rows.groups),
              dense_log_density(truth(), rows), 1e-10);
}

TEST(RandomIntercept, RowsByThemselvesAreGroupsOfOne) {
  const auto rows = some_rows();
  const auto densities = row_log_density(truth(), rows.data);
  for (std::int64_t row = 0; row < rows.data.size(0); ++row) {
    EXPECT_NEAR(densities[row].item<double>(),
                dense_log_density(truth(), {rows.data.narrow(0, row, 1), Groups{0}}),
                1e-10);
  }
}

TEST(RandomIntercept, GivenRowsConditionTheDenseCovariance) {
  const auto observed = some_rows();
  const auto next = drawn(truth(), {1, 1, 1, 1}, 4);
  const auto found = row_log_density_given(truth(), observed.data, observed.groups,
                                           next.data, next.groups);
  for (std::int64_t row = 0; row < next.data.size(0); ++row) {
    auto all = observed;
    all.data = nd::cat({all.data, next.data.narrow(0, row, 1)});
    all.groups.push_back(row);
    EXPECT_NEAR(found[row].item<double>(),
                dense_log_density(truth(), all) - dense_log_density(truth(), observed),
                1e-10);
  }
}

TEST(RandomIntercept, TheMaximumHasNoGradient) {
  const auto rows = drawn(truth(), std::vector<std::int64_t>(40, 5), 5);
  auto more = drawn(truth(), {1, 2, 7, 11}, 6);
  for (auto& group : more.groups) group += 40;
  const auto data = nd::cat({rows.data, more.data});
  auto groups = rows.groups;
  groups.insert(groups.end(), more.groups.begin(), more.groups.end());
  const auto found = most_likely_random_intercept(data, groups);
  constexpr double kStep = 1e-5;
  const auto slope = [&](const auto& change) {
    auto up = found, down = found;
    change(up, kStep);
    change(down, -kStep);
    return (joint_log_density(up, data, groups) -
            joint_log_density(down, data, groups)) /
           (2 * kStep);
  };
  const auto symmetric = [](const Array& of, int i, int j, double step) {
    auto changed = of.clone();
    changed[i][j] += step;
    if (i != j) changed[j][i] += step;
    return changed;
  };
  for (int i = 0; i < 2; ++i) {
    EXPECT_NEAR(slope([&](RandomIntercept& model, double step) {
                  model.mean = model.mean.clone();
                  model.mean[i] += step;
                }),
                0, 1e-4);
    for (int j = 0; j <= i; ++j) {
      EXPECT_NEAR(slope([&](RandomIntercept& model, double step) {
                    model.between = symmetric(model.between, i, j, step);
                  }),
                  0, 1e-4);
      EXPECT_NEAR(slope([&](RandomIntercept& model, double step) {
                    model.within = symmetric(model.within, i, j, step);
                  }),
                  0, 1e-4);
    }
  }
}

TEST(RandomIntercept, MayHaveColumnsWithoutIntercepts) {
  auto model = truth();
  model.between = matrix({0.9, 0, 0, 1e-12}, 2);
  const auto rows = drawn(model, std::vector<std::int64_t>(20, 4), 9);
  const auto found = most_likely_random_intercept(rows.data, rows.groups);
  EXPECT_GE(nd::linalg_eigvalsh(found.between).min().item<double>(), -1e-12);
  EXPECT_LT(found.between[1][1].item<double>(), 0.4);
  const double best = joint_log_density(found, rows.data, rows.groups);
  EXPECT_GT(best, joint_log_density(model, rows.data, rows.groups));
  // No other covariance of the intercepts is more likely.
  Random random(10);
  for (int trial = 0; trial < 100; ++trial) {
    auto other = found;
    const auto step =
        nd::tensor({random.normal(), random.normal()}, nd::kDouble) * 0.05;
    other.between =
        found.between * (1 + 0.05 * random.normal()) + nd::outer(step, step);
    EXPECT_LE(joint_log_density(other, rows.data, rows.groups), best + 1e-6);
  }
}

TEST(RandomIntercept, FindsWhatRowsWereDrawnFrom) {
  const auto rows = drawn(truth(), std::vector<std::int64_t>(4000, 4), 7);
  const auto found = most_likely_random_intercept(rows.data, rows.groups);
  const auto error = [](const Array& a, const Array& b) {
    return (a - b).abs().max().item<double>();
  };
  EXPECT_LT(error(found.mean, truth().mean), 0.05);
  EXPECT_LT(error(found.between, truth().between), 0.08);
  EXPECT_LT(error(found.within, truth().within), 0.08);
}

}  // namespace
}  // namespace kinflow
