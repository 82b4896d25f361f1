// Drawing the paper's simulated data.
#include "kinflow/data/simulate.h"

#include <cblas.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numbers>
#include <string_view>
#include <utility>

#include "kinflow/core/atomic_file.h"
#include "kinflow/core/error.h"
#include "kinflow/core/output_folder.h"
#include "kinflow/core/random.h"
#include "kinflow/data/npy.h"
#include "kinflow/data/sample_ids.h"
#include "kinflow/data/write_table.h"

namespace kinflow {
namespace {

constexpr std::string_view kShapeNames[] = {"abs", "crescent", "crescent-cubed", "sign",
                                            "sine-wave"};
/// Dense matrices of this many rows take 40 GB; more is a slip of the keyboard.
constexpr std::int64_t kMaxRelationshipRows = 50000;
/// Independent streams of random numbers for one seed.
enum Stream : std::uint64_t { kStructure, kTrain, kValid, kTest };

/// b is multiplied by e to this power in the second coordinate.
double log_scale(PlaneShape shape) {
  switch (shape) {
    case PlaneShape::abs:
    case PlaneShape::sign:
      return -1.5;
    case PlaneShape::crescent:
    case PlaneShape::sine_wave:
      return -1;
    case PlaneShape::crescent_cubed:
      break;
  }
  return 0;
}

/// The curve around which the points lie; for crescent-cubed, x1 as a function of x2.
double ridge(PlaneShape shape, double a) {
  switch (shape) {
    case PlaneShape::abs:
      return std::abs(a) - 1;
    case PlaneShape::crescent:
      return a * a / 2 - 1;
    case PlaneShape::crescent_cubed:
      return a * a * a / 5;
    case PlaneShape::sign:
      return static_cast<double>((a > 0) - (a < 0)) + a;
    case PlaneShape::sine_wave:
      break;
  }
  return std::sin(5 * a);
}

void check(bool valid, const std::string& expected) {
  if (!valid) throw InputError("[simulate] expected " + expected);
}

void check_options(const SimulateOptions& options) {
  check(options.rows >= 2, fmt::format("at least 2 rows, received {}", options.rows));
  check(options.valid_rows >= 1 && options.test_rows >= 1,
        fmt::format("at least 1 validation and 1 test row, received {} and {}",
                    options.valid_rows, options.test_rows));
  check(options.lowest_rho >= 0 && options.lowest_rho <= options.highest_rho &&
            options.highest_rho < 1,
        fmt::format("0 <= lowest rho <= highest rho < 1, received {} and {}",
                    options.lowest_rho, options.highest_rho));
  check(options.largest_block >= 1,
        fmt::format("blocks of at least 1 row, received {}", options.largest_block));
  check(!options.lambda || (*options.lambda >= 0 && *options.lambda <= 1),
        fmt::format("lambda between 0 and 1, received {}", options.lambda.value_or(0)));
  check(options.dependence != SimulatedDependence::relationship ||
            options.rows <= kMaxRelationshipRows,
        fmt::format("at most {} rows with a relationship matrix, received {}",
                    kMaxRelationshipRows, options.rows));
}

/// Standard normal numbers, [rows x 2].
std::vector<double> normal_pairs(std::int64_t rows, Random& random) {
  std::vector<double> pairs(static_cast<std::size_t>(rows) * 2);
  for (double& number : pairs) number = random.normal();
  return pairs;
}

/// Bends pairs of standard normal numbers into the shape, in place.
void bend(PlaneShape shape, std::vector<double>& pairs) {
  for (std::size_t i = 0; i < pairs.size(); i += 2) {
    const PlanePoint point = shape_point(shape, pairs[i], pairs[i + 1]);
    pairs[i] = point.x1;
    pairs[i + 1] = point.x2;
  }
}

/// Draws blocks and returns latents with correlation rho_b inside block b.
std::vector<double> latents_in_blocks(Simulation& simulation) {
  const SimulateOptions& options = simulation.options;
  Random structure(options.seed, kStructure);
  simulation.block_sizes =
      draw_block_sizes(options.rows, options.largest_block, structure);
  for (std::size_t b = 0; b < simulation.block_sizes.size(); ++b) {
    simulation.block_of_row.insert(simulation.block_of_row.end(),
                                   static_cast<std::size_t>(simulation.block_sizes[b]),
                                   static_cast<std::int64_t>(b));
    simulation.within_block_correlation.push_back(
        structure.uniform(options.lowest_rho, options.highest_rho));
  }

  Random random(options.seed, kTrain);
  const auto blocks = static_cast<std::int64_t>(simulation.block_sizes.size());
  const std::vector<double> shared = normal_pairs(blocks, random);
  std::vector<double> latents = normal_pairs(options.rows, random);
  for (std::size_t i = 0; i < latents.size(); ++i) {
    const auto block = static_cast<std::size_t>(simulation.block_of_row[i / 2]);
    const double rho = simulation.within_block_correlation[block];
    latents[i] =
        std::sqrt(rho) * shared[2 * block + i % 2] + std::sqrt(1 - rho) * latents[i];
  }
  return latents;
}

/// L L' for a lower triangular L, both [n x n] row-major. Works in blocks and leaves
/// out those products that are 0.
std::vector<double> times_own_transpose(const std::vector<double>& lower,
                                        std::size_t n) {
  constexpr std::size_t kBlock = 384;
  std::vector<double> product(n * n);
  for (std::size_t i = 0; i < n; i += kBlock) {
    const std::size_t rows = std::min(kBlock, n - i);
    for (std::size_t j = 0; j <= i; j += kBlock) {
      const std::size_t columns = std::min(kBlock, n - j);
      cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, static_cast<int>(rows),
                  static_cast<int>(columns), static_cast<int>(j + columns), 1,
                  &lower[i * n], static_cast<int>(n), &lower[j * n],
                  static_cast<int>(n), 0, &product[i * n + j], static_cast<int>(n));
    }
  }
  return product;
}

/// Draws G and lambda and returns latents with covariance lambda I + (1 - lambda) G.
std::vector<double> latents_of_relatives(Simulation& simulation) {
  const SimulateOptions& options = simulation.options;
  const auto n = static_cast<std::size_t>(options.rows);
  Random structure(options.seed, kStructure);
  const double drawn_lambda = structure.uniform();
  const double lambda = options.lambda.value_or(drawn_lambda);
  simulation.lambda = lambda;

  // The rows of L scaled to length 1, so that L L' is a correlation matrix.
  std::vector<double> lower(n * n, 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    double* const row = &lower[i * n];
    double square = 1;
    row[i] = 1;
    for (std::size_t j = 0; j < i; ++j) {
      row[j] = structure.uniform(0.5, 0.99);
      square += row[j] * row[j];
    }
    for (std::size_t j = 0; j <= i; ++j) row[j] /= std::sqrt(square);
  }

  Random random(options.seed, kTrain);
  const std::vector<double> shared = normal_pairs(options.rows, random);
  std::vector<double> latents = normal_pairs(options.rows, random);
  for (std::size_t i = 0; i < n; ++i) {
    double first = 0, second = 0;
    for (std::size_t j = 0; j <= i; ++j) {
      first += lower[i * n + j] * shared[2 * j];
      second += lower[i * n + j] * shared[2 * j + 1];
    }
    const double own = std::sqrt(lambda), common = std::sqrt(1 - lambda);
    latents[2 * i] = own * latents[2 * i] + common * first;
    latents[2 * i + 1] = own * latents[2 * i + 1] + common * second;
  }

  simulation.relationship = times_own_transpose(lower, n);
  for (std::size_t i = 0; i < n; ++i) {
    simulation.relationship[i * n + i] = 1;
    for (std::size_t j = 0; j < i; ++j) {
      simulation.relationship[j * n + i] = simulation.relationship[i * n + j];
    }
  }
  return latents;
}

/// Adds a family to the pedigree.
/// @param people  at least 1
void add_family(std::int64_t people, Random& random, Simulation& simulation) {
  struct Couple {
    std::int64_t father, mother;
  };
  auto& father = simulation.father;
  auto& mother = simulation.mother;
  const auto add = [&](std::int64_t of_father, std::int64_t of_mother) {
    father.push_back(of_father);
    mother.push_back(of_mother);
    return std::ssize(father) - 1;
  };
  std::vector<Couple> couples;
  std::vector<std::int64_t> single;  // children without a partner
  const auto end = std::ssize(father) + people;
  const auto first = add(-1, -1);
  if (people > 1) couples.push_back({first, add(-1, -1)});
  while (std::ssize(father) < end) {
    // A partner needs a place for a child.
    constexpr double kPartners = 0.3;
    const bool joins = !single.empty() && std::ssize(father) + 2 <= end &&
                       random.uniform() < kPartners;
    if (joins) {
      const auto partner = add(-1, -1);
      couples.push_back({single.back(), partner});
      single.pop_back();
    }
    const auto& parents =
        joins ? couples.back()
              : couples[static_cast<std::size_t>(random.below(std::ssize(couples)))];
    single.push_back(add(parents.father, parents.mother));
  }
}

/// Draws families and lambda and returns latents with covariance lambda I + (1 -
/// lambda) A, where A is the relationship by pedigree: half of each parent, and as much
/// of a child's own as makes its variance 1.
std::vector<double> latents_in_families(Simulation& simulation) {
  constexpr std::int64_t kSmallest = 3, kLargest = 10;
  const SimulateOptions& options = simulation.options;
  Random structure(options.seed, kStructure);
  const double drawn_lambda = structure.uniform();
  simulation.lambda = options.lambda.value_or(drawn_lambda);
  while (std::ssize(simulation.father) < options.rows) {
    const auto size = kSmallest + structure.below(kLargest - kSmallest + 1);
    const auto left = options.rows - std::ssize(simulation.father);
    add_family(std::min(size, left), structure, simulation);
    ++simulation.families;
  }
  Random random(options.seed, kTrain);
  auto inherited = normal_pairs(options.rows, random);
  auto latents = normal_pairs(options.rows, random);
  const double own = std::sqrt(simulation.lambda),
               common = std::sqrt(1 - simulation.lambda);
  for (std::size_t i = 0; i < latents.size(); ++i) {
    const auto row = i / 2, column = i % 2;
    if (simulation.father[row] >= 0) {
      const auto of_father = 2 * static_cast<std::size_t>(simulation.father[row]),
                 of_mother = 2 * static_cast<std::size_t>(simulation.mother[row]);
      inherited[i] =
          (inherited[of_father + column] + inherited[of_mother + column]) / 2 +
          std::sqrt(0.5) * inherited[i];
    }
    latents[i] = own * latents[i] + common * inherited[i];
  }
  return latents;
}

/// A line for everyone: id, father, mother.
std::string pedigree_lines(const Simulation& simulation) {
  std::string text = "IID\tFATHER\tMOTHER\n";
  const auto parent = [](std::int64_t row) {
    return row < 0 ? std::string("0") : simulated_row_id(row);
  };
  for (std::size_t row = 0; row < simulation.father.size(); ++row) {
    text +=
        fmt::format("{}\t{}\t{}\n", simulated_row_id(static_cast<std::int64_t>(row)),
                    parent(simulation.father[row]), parent(simulation.mother[row]));
  }
  return text;
}

std::vector<double> independent_points(const SimulateOptions& options,
                                       std::int64_t rows, Stream stream) {
  Random random(options.seed, stream);
  return normal_pairs(rows, random);
}

void write_files(const std::string& directory, const Simulation& simulation) {
  const SimulateOptions& options = simulation.options;
  const bool blocks = options.dependence == SimulatedDependence::blocks;
  const auto path = [&](const std::string& name) {
    return (std::filesystem::path(directory) / name).string();
  };
  const std::vector<std::string> names = {"x1", "x2"};

  nlohmann::ordered_json truth = {
      {"shape", plane_shape_name(options.shape)},
      {"dependence", simulated_dependence_name(options.dependence)},
      {"seed", options.seed},
      {"entropy_nats", simulation.entropy_nats},
      {"rows", options.rows},
      {"valid_rows", options.valid_rows},
      {"test_rows", options.test_rows},
  };
  std::vector<TextColumn> text_columns;
  if (blocks) {
    truth["blocks"] = simulation.block_sizes.size();
    auto& rho = truth["rho"] = nlohmann::ordered_json::object();
    auto& sizes = truth["block_sizes"] = nlohmann::ordered_json::object();
    for (std::size_t b = 0; b < simulation.block_sizes.size(); ++b) {
      const std::string label = simulated_block_label(static_cast<std::int64_t>(b));
      rho[label] = simulation.within_block_correlation[b];
      sizes[label] = simulation.block_sizes[b];
    }
    text_columns.push_back({.name = "group", .cells = {}});
    for (const std::int64_t block : simulation.block_of_row) {
      text_columns[0].cells.push_back(simulated_block_label(block));
    }
  } else {
    truth["lambda"] = simulation.lambda;
    text_columns.push_back({.name = "id", .cells = {}});
    std::vector<SampleId> ids;
    for (std::int64_t row = 0; row < options.rows; ++row) {
      ids.push_back(sample_id("", simulated_row_id(row)));
      text_columns[0].cells.push_back(ids.back().individual);
    }
    if (options.dependence == SimulatedDependence::families) {
      truth["families"] = simulation.families;
      write_file_atomically(path("pedigree.tsv"), pedigree_lines(simulation));
    } else {
      write_file_atomically(path("relationship.npy.id"), sample_id_lines(ids));
      write_npy(path("relationship.npy"), {options.rows, options.rows},
                simulation.relationship);
    }
  }
  write_table(path("train.csv"), names, simulation.train, text_columns);
  write_table(path("valid.csv"), names, simulation.valid);
  write_table(path("test.csv"), names, simulation.test);
  write_file_atomically(path("truth.json"), truth.dump(2) + "\n");
}

}  // namespace

std::vector<std::int64_t> draw_block_sizes(std::int64_t rows,
                                           std::int64_t largest_block, Random& random) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t left = rows; left > 0; left -= sizes.back()) {
    const double pareto = std::pow(1 - random.uniform(), -2) - 1;
    const auto largest = static_cast<double>(std::min(largest_block, left));
    sizes.push_back(
        static_cast<std::int64_t>(std::min(1 + std::round(pareto), largest)));
  }
  return sizes;
}

std::string plane_shape_name(PlaneShape shape) {
  return std::string(kShapeNames[static_cast<std::size_t>(shape)]);
}

PlaneShape plane_shape(const std::string& name) {
  const auto found = std::find(std::begin(kShapeNames), std::end(kShapeNames), name);
  if (found == std::end(kShapeNames)) {
    throw InputError(fmt::format(
        "[simulate] expected a shape out of {}, received '{}'",
        fmt::join(std::begin(kShapeNames), std::end(kShapeNames), ", "), name));
  }
  return static_cast<PlaneShape>(found - std::begin(kShapeNames));
}

PlanePoint shape_point(PlaneShape shape, double a, double b) {
  const double along = a;
  const double across = ridge(shape, a) + std::exp(log_scale(shape)) * b;
  if (shape == PlaneShape::crescent_cubed) return {.x1 = across, .x2 = along};
  return {.x1 = along, .x2 = across};
}

double shape_log_density(PlaneShape shape, PlanePoint point) {
  if (shape == PlaneShape::crescent_cubed) std::swap(point.x1, point.x2);
  const double a = point.x1;
  const double b = (point.x2 - ridge(shape, a)) / std::exp(log_scale(shape));
  return -std::log(2 * std::numbers::pi) - (a * a + b * b) / 2 - log_scale(shape);
}

double shape_entropy_nats(PlaneShape shape) {
  return std::log(2 * std::numbers::pi) + 1 + log_scale(shape);
}

Simulation simulate_latents(const SimulateOptions& options) {
  check_options(options);
  Simulation simulation;
  simulation.options = options;
  switch (options.dependence) {
    case SimulatedDependence::blocks:
      simulation.train = latents_in_blocks(simulation);
      break;
    case SimulatedDependence::relationship:
      simulation.train = latents_of_relatives(simulation);
      break;
    case SimulatedDependence::families:
      simulation.train = latents_in_families(simulation);
      break;
  }
  simulation.valid = independent_points(options, options.valid_rows, kValid);
  simulation.test = independent_points(options, options.test_rows, kTest);
  return simulation;
}

Simulation shaped(Simulation latents, PlaneShape shape) {
  latents.options.shape = shape;
  latents.entropy_nats = shape_entropy_nats(shape);
  for (auto* points : {&latents.train, &latents.valid, &latents.test}) {
    bend(shape, *points);
  }
  return latents;
}

Simulation simulate(const SimulateOptions& options) {
  return shaped(simulate_latents(options), options.shape);
}

std::string simulated_block_label(std::int64_t block) {
  return fmt::format("g{}", block + 1);
}

std::string simulated_row_id(std::int64_t row) { return fmt::format("r{}", row + 1); }

std::string simulated_dependence_name(SimulatedDependence dependence) {
  switch (dependence) {
    case SimulatedDependence::blocks:
      return "blocks";
    case SimulatedDependence::relationship:
      return "relationship";
    case SimulatedDependence::families:
      break;
  }
  return "families";
}

void write_simulation(const std::string& directory, const Simulation& simulation,
                      const ResultFiles& replaced) {
  fill_folder(
      directory, [&] { write_files(directory, simulation); }, replaced);
}

ResultFiles simulation_files(const std::string& directory) {
  ResultFiles files;
  for (const char* name : {"train.csv", "valid.csv", "test.csv", "truth.json",
                           "relationship.npy", "relationship.npy.id", "pedigree.tsv"}) {
    files.push_back((std::filesystem::path(directory) / name).string());
  }
  return files;
}

}  // namespace kinflow
