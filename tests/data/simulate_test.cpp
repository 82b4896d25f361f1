// The simulators recover what they were told: densities, correlations, block sizes.
#include "kinflow/data/simulate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "kinflow/core/random.h"
#include "kinflow/data/npy.h"
#include "kinflow/data/read_relationship.h"
#include "kinflow/data/table.h"
#include "tests/data/helpers.h"

namespace kinflow {
namespace {

constexpr PlaneShape kShapes[] = {PlaneShape::abs, PlaneShape::crescent,
                                  PlaneShape::crescent_cubed, PlaneShape::sign,
                                  PlaneShape::sine_wave};

/// The latents behind points of the shape abs, which keeps a = x1.
double latent(const std::vector<double>& points, std::size_t row, int coordinate) {
  const double a = points[2 * row], x2 = points[2 * row + 1];
  return coordinate == 0 ? a : (x2 - std::abs(a) + 1) * std::exp(1.5);
}

TEST(PlaneShape, NamesAreReadBack) {
  for (const PlaneShape shape : kShapes) {
    EXPECT_EQ(plane_shape(plane_shape_name(shape)), shape);
  }
  EXPECT_EQ(plane_shape_name(PlaneShape::crescent_cubed), "crescent-cubed");
  EXPECT_EQ(input_error_of([] { plane_shape("moon"); }),
            "[simulate] expected a shape out of abs, crescent, crescent-cubed, sign, "
            "sine-wave, received 'moon'");
}

TEST(PlaneShape, PointsFollowThePaper) {
  const double a = -0.7, b = 0.4;
  const auto expect = [&](PlaneShape shape, double x1, double x2) {
    const PlanePoint point = shape_point(shape, a, b);
    EXPECT_DOUBLE_EQ(point.x1, x1);
    EXPECT_DOUBLE_EQ(point.x2, x2);
  };
  expect(PlaneShape::abs, a, 0.7 - 1 + std::exp(-1.5) * b);
  expect(PlaneShape::sign, a, -1 + a + std::exp(-1.5) * b);
  expect(PlaneShape::crescent, a, a * a / 2 - 1 + std::exp(-1.0) * b);
  expect(PlaneShape::sine_wave, a, std::sin(5 * a) + std::exp(-1.0) * b);
  expect(PlaneShape::crescent_cubed, a * a * a / 5 + b, a);
}

TEST(PlaneShape, EntropiesAreThoseOfThePaper) {
  const double expected[] = {1.337877, 1.837877, 2.837877, 1.337877, 1.837877};
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_NEAR(shape_entropy_nats(kShapes[i]), expected[i], 1e-6);
  }
}

TEST(PlaneShape, EntropyIsMinusTheMeanLogDensity) {
  for (const PlaneShape shape : kShapes) {
    constexpr int kDraws = 200000;
    Random random(7);
    double sum = 0, squares = 0;
    for (int i = 0; i < kDraws; ++i) {
      const double a = random.normal(), b = random.normal();
      const double nll = -shape_log_density(shape, shape_point(shape, a, b));
      sum += nll;
      squares += nll * nll;
    }
    const double mean = sum / kDraws;
    const double error = std::sqrt((squares / kDraws - mean * mean) / kDraws);
    EXPECT_NEAR(mean, shape_entropy_nats(shape), 4 * error) << plane_shape_name(shape);
  }
}

TEST(PlaneShape, DensitiesIntegrateToOne) {
  for (const PlaneShape shape : kShapes) {
    const double step = 0.02;
    double sum = 0;
    for (double x1 = -20; x1 < 20; x1 += step) {
      for (double x2 = -8; x2 < 12; x2 += step) {
        sum += std::exp(shape_log_density(shape, {.x1 = x1, .x2 = x2}));
      }
    }
    EXPECT_NEAR(sum * step * step, 1, 1e-3) << plane_shape_name(shape);
  }
}

TEST(Simulate, BlocksCoverTheRowsWithThePapersSizes) {
  for (std::uint64_t seed = 4000; seed < 4010; ++seed) {
    const Simulation simulation = simulate({.seed = seed});
    const auto& sizes = simulation.block_sizes;
    EXPECT_EQ(std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}), 10000);
    EXPECT_GT(sizes.size(), 70u);
    EXPECT_LT(sizes.size(), 300u);
    for (std::size_t b = 0; b < sizes.size(); ++b) {
      EXPECT_GE(sizes[b], 1);
      EXPECT_LE(sizes[b], 1000);
      EXPECT_GE(simulation.within_block_correlation[b], 0.5);
      EXPECT_LE(simulation.within_block_correlation[b], 0.99);
      EXPECT_EQ(std::count(simulation.block_of_row.begin(),
                           simulation.block_of_row.end(), static_cast<std::int64_t>(b)),
                sizes[b]);
    }
  }
}

TEST(Simulate, BlockSizesFollowTheParetoLaw) {
  // P(size = 1) = P(Pareto II < 1/2) = 1 - (3/2)^(-1/2).
  const Simulation simulation = simulate({.rows = 2'000'000, .seed = 3});
  const auto& sizes = simulation.block_sizes;
  const auto blocks = static_cast<double>(sizes.size());
  const auto share = [&](std::int64_t size) {
    return static_cast<double>(std::count(sizes.begin(), sizes.end(), size)) / blocks;
  };
  EXPECT_NEAR(share(1), 1 - std::pow(1.5, -0.5), 0.01);
  EXPECT_NEAR(share(2), std::pow(1.5, -0.5) - std::pow(2.5, -0.5), 0.01);
  EXPECT_NEAR(share(1000), std::pow(999.5, -0.5), 0.005);
}

TEST(Simulate, TheCorrelationInsideBlocksIsRecovered) {
  const double rho = 0.7;
  const Simulation simulation = simulate({.rows = 400000,
                                          .seed = 1,
                                          .lowest_rho = rho,
                                          .highest_rho = rho,
                                          .largest_block = 4});
  double products = 0, squares = 0;
  int pairs = 0;
  for (std::size_t i = 0; i + 1 < simulation.block_of_row.size(); ++i) {
    if (simulation.block_of_row[i] != simulation.block_of_row[i + 1]) continue;
    for (const int c : {0, 1}) {
      products += latent(simulation.train, i, c) * latent(simulation.train, i + 1, c);
      squares += std::pow(latent(simulation.train, i, c), 2);
      ++pairs;
    }
  }
  EXPECT_NEAR(products / pairs, rho, 0.01);
  EXPECT_NEAR(squares / pairs, 1, 0.01);
}

TEST(Simulate, DifferentBlocksAndCoordinatesAreIndependent) {
  const Simulation simulation =
      simulate({.rows = 200000, .seed = 2, .largest_block = 1});
  double neighbours = 0, coordinates = 0;
  const std::size_t n = simulation.block_of_row.size();
  for (std::size_t i = 0; i + 1 < n; ++i) {
    neighbours += latent(simulation.train, i, 0) * latent(simulation.train, i + 1, 0);
    coordinates += latent(simulation.train, i, 0) * latent(simulation.train, i, 1);
  }
  EXPECT_NEAR(neighbours / static_cast<double>(n), 0, 0.01);
  EXPECT_NEAR(coordinates / static_cast<double>(n), 0, 0.01);
}

TEST(Simulate, TheFactorOfTheRelationshipMatrixIsUniform) {
  const std::size_t n = 60;
  const auto g =
      simulate({.dependence = SimulatedDependence::relationship, .rows = n, .seed = 5})
          .relationship;
  // The Cholesky factor of G has the rows of L scaled to length 1.
  std::vector<double> factor(n * n, 0.0);
  double total = 0;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = g[i * n + j];
      for (std::size_t k = 0; k < j; ++k) sum -= factor[i * n + k] * factor[j * n + k];
      factor[i * n + j] = i == j ? std::sqrt(sum) : sum / factor[j * n + j];
    }
    for (std::size_t j = 0; j < i; ++j) {
      const double entry = factor[i * n + j] / factor[i * n + i];
      ASSERT_GE(entry, 0.5 - 1e-6);
      ASSERT_LE(entry, 0.99 + 1e-6);
      total += entry;
    }
  }
  EXPECT_NEAR(total / (n * (n - 1) / 2.0), (0.5 + 0.99) / 2, 0.02);
}

TEST(Simulate, LargeRelationshipMatricesAreCorrelationsOfTheExpectedSize) {
  const std::size_t n = 900;
  const auto g =
      simulate({.dependence = SimulatedDependence::relationship, .rows = n, .seed = 5})
          .relationship;
  // With l uniform: (L L')_ij is about j E[l]^2 + E[l], (L L')_ii about 1 + i E[l^2].
  const double mean = 0.745, square = mean * mean + 0.49 * 0.49 / 12;
  for (std::size_t i = 0; i < n; ++i) {
    ASSERT_EQ(g[i * n + i], 1);
    for (std::size_t j = 0; j < i; ++j) {
      ASSERT_EQ(g[i * n + j], g[j * n + i]);
      const auto a = static_cast<double>(i), b = static_cast<double>(j);
      const double expected =
          (b * mean * mean + mean) / std::sqrt((1 + a * square) * (1 + b * square));
      if (j < 100) continue;
      ASSERT_NEAR(g[i * n + j], expected, 0.04) << i << " " << j;
    }
  }
}

TEST(Simulate, RelativesHaveTheCovarianceOfLambdaAndG) {
  // Over many seeds: the mean of u_i u_j - C_ij is 0.
  double correlation = 0, variance = 0;
  int draws = 0;
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    const Simulation simulation =
        simulate({.dependence = SimulatedDependence::relationship,
                  .rows = 3,
                  .valid_rows = 1,
                  .test_rows = 1,
                  .seed = seed,
                  .lambda = 0.3});
    EXPECT_EQ(simulation.lambda, 0.3);
    for (const int c : {0, 1}) {
      correlation += latent(simulation.train, 1, c) * latent(simulation.train, 2, c) -
                     0.7 * simulation.relationship[5];
      variance += std::pow(latent(simulation.train, 2, c), 2) - 1;
      ++draws;
    }
  }
  EXPECT_NEAR(correlation / draws, 0, 0.05);
  EXPECT_NEAR(variance / draws, 0, 0.06);
}

TEST(Simulate, LambdaIsUniform) {
  double sum = 0;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    sum += simulate({.dependence = SimulatedDependence::relationship,
                     .rows = 2,
                     .valid_rows = 1,
                     .test_rows = 1,
                     .seed = seed})
               .lambda;
  }
  EXPECT_NEAR(sum / 500, 0.5, 0.05);
}

TEST(Simulate, TheSeedDecidesAndTheSetsDiffer) {
  const Simulation first = simulate({.rows = 100, .seed = 9});
  EXPECT_EQ(first.train, simulate({.rows = 100, .seed = 9}).train);
  EXPECT_NE(first.train, simulate({.rows = 100, .seed = 10}).train);
  EXPECT_NE(first.valid, first.test);
  EXPECT_EQ(first.valid.size(), 10000u);
}

TEST(Simulate, OptionsOutOfRangeAreRefused) {
  EXPECT_EQ(input_error_of([] { simulate({.rows = 0}); }),
            "[simulate] expected at least 2 rows, received 0");
  input_error_of([] { simulate({.rows = 1}); });
  input_error_of([] { simulate({.rows = -5}); });
  input_error_of([] { simulate({.valid_rows = 0}); });
  input_error_of([] { simulate({.lowest_rho = 0.9, .highest_rho = 0.8}); });
  input_error_of([] { simulate({.highest_rho = 1}); });
  input_error_of([] { simulate({.largest_block = 0}); });
  input_error_of([] { simulate({.lambda = 1.5}); });
  input_error_of([] { simulate({.lambda = NAN}); });
  input_error_of([] {
    simulate({.dependence = SimulatedDependence::relationship, .rows = 1'000'000});
  });
}

TEST(WriteSimulation, BlocksReadBack) {
  const TemporaryFolder folder;
  const Simulation simulation = simulate(
      {.shape = PlaneShape::sign, .rows = 500, .valid_rows = 20, .test_rows = 30});
  const std::string path = folder.path("deep/folder");
  write_simulation(path, simulation);
  const Table train = read_table(path + "/train.csv");
  EXPECT_EQ(train.names(), (std::vector<std::string>{"x1", "x2", "group"}));
  EXPECT_EQ(numeric_matrix(train, {"x1", "x2"}).values, simulation.train);
  const BlockNumbers blocks = number_blocks(labels(train, "group"));
  EXPECT_EQ(blocks.block_of_row, simulation.block_of_row);
  EXPECT_EQ(read_table(path + "/valid.csv").rows(), 20);
  EXPECT_EQ(read_table(path + "/test.csv").rows(), 30);
  const auto truth = nlohmann::json::parse(content_of(path + "/truth.json"));
  EXPECT_EQ(truth["shape"], "sign");
  EXPECT_EQ(truth["dependence"], "blocks");
  EXPECT_EQ(truth["entropy_nats"], simulation.entropy_nats);
  EXPECT_EQ(truth["blocks"], blocks.label_of_block.size());
  EXPECT_EQ(truth["rho"][blocks.label_of_block[1]],
            simulation.within_block_correlation[1]);
  EXPECT_EQ(truth["block_sizes"]["g1"], simulation.block_sizes[0]);
}

TEST(WriteSimulation, RelationshipsReadBack) {
  const TemporaryFolder folder;
  const Simulation simulation =
      simulate({.dependence = SimulatedDependence::relationship, .rows = 40});
  write_simulation(folder.path(), simulation);
  EXPECT_EQ(read_table(folder.path("train.csv")).names(),
            (std::vector<std::string>{"x1", "x2", "id"}));
  const auto file = read_relationship(folder.path("relationship.npy"));
  EXPECT_EQ(to_dense(file), simulation.relationship);
  const auto ids = labels(read_table(folder.path("train.csv")), "id");
  ASSERT_EQ(file.ids.size(), ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i)
    EXPECT_EQ(file.ids[i].individual, ids[i]);
  const auto truth = nlohmann::json::parse(content_of(folder.path("truth.json")));
  EXPECT_EQ(truth["lambda"], simulation.lambda);
}

TEST(WriteSimulation, AFolderThatCannotBeMadeIsRefused) {
  const TemporaryFolder folder;
  const std::string file = folder.write("file", "");
  const Simulation simulation = simulate({.rows = 2});
  EXPECT_EQ(input_error_of([&] { write_simulation(file, simulation); }),
            file + ": cannot make the folder (Not a directory)");
  EXPECT_EQ(input_error_of([&] { write_simulation(file + "/in", simulation); }),
            file + "/in: cannot make the folder (Not a directory)");
}

TEST(Simulate, FamiliesAreSmallPedigreesWithTheirCovariance) {
  const SimulateOptions options{.dependence = SimulatedDependence::families,
                                .rows = 60'000,
                                .valid_rows = 1,
                                .test_rows = 1,
                                .seed = 3,
                                .lambda = 0.4};
  const auto simulation = simulate_latents(options);
  ASSERT_EQ(simulation.father.size(), 60'000u);
  EXPECT_EQ(simulation.lambda, 0.4);
  // Means of products of first latents: of a person, a parent and a child, the two
  // parents, and full siblings next to each other.
  double own = 0, parent = 0, couple = 0, siblings = 0;
  double children = 0, pairs = 0;
  const auto at = [&](std::int64_t row) {
    return simulation.train[2 * static_cast<std::size_t>(row)];
  };
  for (std::int64_t row = 0; row < options.rows; ++row) {
    const auto father = simulation.father[static_cast<std::size_t>(row)];
    const auto mother = simulation.mother[static_cast<std::size_t>(row)];
    own += at(row) * at(row);
    ASSERT_EQ(father < 0, mother < 0);
    if (father < 0) continue;
    ASSERT_LT(father, row);
    ASSERT_LT(mother, row);
    ASSERT_LT(row - std::min(father, mother), 10);
    ++children;
    parent += at(row) * at(father);
    couple += at(father) * at(mother);
    if (simulation.father[static_cast<std::size_t>(row - 1)] != father ||
        simulation.mother[static_cast<std::size_t>(row - 1)] != mother) {
      continue;
    }
    ++pairs;
    siblings += at(row) * at(row - 1);
  }
  EXPECT_NEAR(own / 60'000, 1, 0.02);
  EXPECT_NEAR(parent / children, 0.3, 0.02);
  EXPECT_NEAR(siblings / pairs, 0.3, 0.03);
  EXPECT_NEAR(couple / children, 0, 0.02);
  EXPECT_NEAR(60'000.0 / static_cast<double>(simulation.families), 6.5, 0.1);
}

}  // namespace
}  // namespace kinflow
