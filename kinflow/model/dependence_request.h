// How rows of a table depend on each other, as the user says it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "kinflow/data/match_rows.h"
#include "kinflow/dependence/blocks.h"
#include "kinflow/engine/names.h"

namespace kinflow {

class JsonReader;

enum class DependenceKind {
  independent,
  blocks,        ///< one group column
  relationship,  ///< one matrix, from a file or from principal components
  time,          ///< a kernel of the time between rows
  sum,           ///< several of the above
  unstructured   ///< every pair of rows has its own correlation
};

enum class TimeKernel {
  exponential,  ///< exp(-gamma |t_i - t_j|)
  gaussian      ///< exp(-gamma (t_i - t_j)^2)
};

enum class RelationshipSolver {
  spectral,  ///< one decomposition, then everything is exact and cheap
  iterative  ///< conjugate gradients, for matrices too large to decompose
};

/// Ranges of DependenceRequest.
inline constexpr double kLargestThreshold = 1e6;
inline constexpr double kSmallestDecay = 1e-12;
inline constexpr double kLargestDecay = 1e12;

/// How the rows of a table depend on each other, as the user says it. Several ways add
/// up; none means independent rows.
struct DependenceRequest {
  std::string group = {};  ///< column of block labels
  /// Of blocks alone. Not given: choose_dependence() chooses.
  std::optional<BlockCorrelation> correlation = {};
  std::vector<std::string> relationships = {};  ///< files of relationship matrices
  /// Files of their rows' ids, one for each; none: those beside them.
  std::vector<std::string> relationship_ids = {};
  RelationshipScale relationship_scale = RelationshipScale::unit_diagonal;
  /// Off-diagonal entries nearer to 0 become 0.
  std::optional<double> sparsify = {};  ///< 0 to kLargestThreshold
  RelationshipSolver solver = RelationshipSolver::spectral;
  /// Table of principal components whose correlation between rows is a relationship.
  std::string components = {};
  /// Columns of ids, individual, or family and individual, by which the rows of files
  /// are found.
  std::vector<std::string> id = {};
  /// In place of ids: row i of a file is row i of the table.
  bool relationship_by_position = false;
  std::string time = {};  ///< column, for a kernel and for splits by time
  std::optional<TimeKernel> time_kernel = {};
  /// gamma, in units of 1 / time (or its square): one value is taken as given, several
  /// are tried by schedule `grid`, none is learned.
  std::vector<double> time_decay = {};
  bool unstructured = false;
  /// Whether every latent has parameters of its own: of any dependence but
  /// `unstructured`. BlockCorrelation::per_latent and per_block_and_latent say so
  /// themselves. Not given: choose_dependence() chooses.
  std::optional<bool> per_latent = {};
  /// Folder for decompositions; empty: that of the matrix, "none": not kept.
  std::string cache = {};
};

const Names<DependenceKind>& dependence_kind_names();
const Names<std::optional<BlockCorrelation>>& block_correlation_names();
const Names<RelationshipScale>& relationship_scale_names();
const Names<TimeKernel>& time_kernel_names();
const Names<RelationshipSolver>& relationship_solver_names();

DependenceKind kind_of(const DependenceRequest& request);
/// Whether latents have parameters of their own, as far as the request says.
bool has_own_latents(const DependenceRequest& request);
/// The ways in which rows depend, in the order of the weights of a sum: "group",
/// "relationship" (of several files "relationship 1", ...), "components", "time".
std::vector<std::string> parts_of(const DependenceRequest& request);
/// True where all of them are sparse matrices or processes in time, of which a row
/// depends on few others.
bool has_few_relatives(const DependenceRequest& request);

/// InputError for choices that exclude or miss each other.
void check_dependence(const DependenceRequest& request);

nlohmann::json to_json(const DependenceRequest& request);
/// Reads what to_json wrote and checks every range.
DependenceRequest dependence_request_from(const JsonReader& json);

/// All files that a request reads, those beside the named ones included.
std::vector<std::string> input_files(const DependenceRequest& request);

}  // namespace kinflow
