// The paper's simulated data: five shapes in the plane, rows dependent through blocks
// or through a relationship matrix; and rows of relatives in many families.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kinflow/core/result_files.h"

namespace kinflow {

class Random;

/// Sizes of blocks that hold `rows` rows together: 1 + round(Pareto II with shape 0.5),
/// at most `largest_block` and at most what is left.
std::vector<std::int64_t> draw_block_sizes(std::int64_t rows,
                                           std::int64_t largest_block, Random& random);

/// A density in the plane: the image of two standard normal numbers (a, b) under
/// abs (a, |a| - 1 + e^-1.5 b), crescent (a, a^2/2 - 1 + e^-1 b), crescent-cubed
/// (a^3/5 + b, a), sign (a, sign(a) + a + e^-1.5 b), sine-wave (a, sin 5a + e^-1 b).
enum class PlaneShape { abs, crescent, crescent_cubed, sign, sine_wave };

/// "abs", "crescent", "crescent-cubed", "sign", "sine-wave".
std::string plane_shape_name(PlaneShape shape);
/// The shape of that name; throws InputError that lists them.
PlaneShape plane_shape(const std::string& name);

struct PlanePoint {
  double x1 = 0;
  double x2 = 0;
};

/// Image of the standard normal numbers (a, b).
PlanePoint shape_point(PlaneShape shape, double a, double b);
/// Exact log-density in nats at a point.
double shape_log_density(PlaneShape shape, PlanePoint point);
/// Exact differential entropy in nats: the least mean NLL that any model can reach.
double shape_entropy_nats(PlaneShape shape);

enum class SimulatedDependence {
  blocks,
  relationship,  ///< the paper's matrix, in which all are related to all
  families       ///< pedigrees of 3 to 10 people
};
/// "blocks", "relationship", "families".
std::string simulated_dependence_name(SimulatedDependence dependence);

struct SimulateOptions {
  PlaneShape shape = PlaneShape::abs;
  SimulatedDependence dependence = SimulatedDependence::blocks;
  std::int64_t rows = 10000;  ///< at least 2
  std::int64_t valid_rows = 5000;
  std::int64_t test_rows = 5000;
  std::uint64_t seed = 0;
  /// Range of the correlation inside a block, uniform; 0 <= low <= high < 1.
  double lowest_rho = 0.5;
  double highest_rho = 0.99;
  std::int64_t largest_block = 1000;
  /// Share of independent variance under a relationship or in families; uniform on
  /// [0, 1] if not given.
  std::optional<double> lambda = std::nullopt;
};

/// Points are row-major, [n x 2]. Validation and test rows are independent.
struct Simulation {
  SimulateOptions options;
  std::vector<double> train;
  std::vector<double> valid;
  std::vector<double> test;
  double entropy_nats = 0;
  // Blocks:
  std::vector<std::int64_t> block_of_row;  ///< [rows]; the rows of a block are adjacent
  std::vector<std::int64_t> block_sizes;
  std::vector<double> within_block_correlation;  ///< one per block, also of one row
  // Relationship and families: the latents have covariance lambda I + (1 - lambda) G.
  double lambda = 1;
  std::vector<double> relationship;  ///< G, [rows x rows], row-major, unit diagonal
  // Families, whose G follows from their pedigree: the parents of every row, which come
  // before it, or -1; the rows of a family are adjacent.
  std::vector<std::int64_t> father;
  std::vector<std::int64_t> mother;
  std::int64_t families = 0;
};

/// Appendix B of the paper, with block sizes of draw_block_sizes(). G = L L' scaled to
/// unit diagonal, with L lower triangular, 1 on the diagonal and uniform on [0.5, 0.99]
/// below. A family begins with a couple and their child; further people are children of
/// its couples and partners of its children. Throws InputError for options outside
/// their ranges.
Simulation simulate(const SimulateOptions& options);

/// The draw of simulate() before it takes its shape: points are the latents (a, b)
/// themselves, without an entropy, and the same for every shape.
Simulation simulate_latents(const SimulateOptions& options);
/// Latents as simulate_latents() gives them, bent into a shape.
Simulation shaped(Simulation latents, PlaneShape shape);

/// The label of a block in files: g1, g2, ...
std::string simulated_block_label(std::int64_t block);

/// The id of a row in files: r1, r2, ...
std::string simulated_row_id(std::int64_t row);

/// Writes train.csv (x1, x2, and group for blocks, else id), valid.csv, test.csv,
/// truth.json and, for a relationship, relationship.npy with its ids, for families
/// pedigree.tsv into a folder, which is made where it is missing, in place of what is
/// `replaced`. InputError where that fails; then no new folder remains.
void write_simulation(const std::string& directory, const Simulation& simulation,
                      const ResultFiles& replaced = {});
/// All files that write_simulation() may write.
ResultFiles simulation_files(const std::string& directory);

}  // namespace kinflow
