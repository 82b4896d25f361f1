// A trained model: preprocessing, one flow or a mixture of several, learned dependence
// and the record of its run, in one file that holds no code.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "kinflow/array/array.h"
#include "kinflow/data/categories.h"
#include "kinflow/data/minus_nine.h"
#include "kinflow/dependence/dependence.h"
#include "kinflow/flow/calibration.h"
#include "kinflow/flow/flow.h"
#include "kinflow/flow/standardization.h"
#include "kinflow/model/learned_dependence.h"

namespace kinflow {

/// Members of a model at most.
inline constexpr std::int64_t kLargestEnsemble = 1000;

/// Flows of one architecture, a replica for each member of a model, and how they see
/// rows.
struct ModelPart {
  Standardization standardization;
  Standardization context_standardization;  ///< empty arrays without context
  std::unique_ptr<Flow> flow;

  std::int64_t members() const { return flow->replicas(); }
  /// Some of its members, in the order given.
  ModelPart select(const std::vector<std::int64_t>& members, nd::Device device) const;
  /// Log-densities in nats of every row by itself, [K, n] float64; the arguments are
  /// those of Model::row_log_density().
  Array row_log_densities(const Array& data, const Array& context) const;
  /// Latents [K, n, p] and log-determinants [K, n], float64, the standardisation's
  /// included.
  LatentResult latents(const Array& data, const Array& context) const;
};

/// The law of one data set: a mixture with equal weights of K members. A member is a
/// flow with dependence parameters of its own; columns and the structure of the
/// dependence are common to all.
struct Model {
  std::vector<std::string> columns = {};
  std::vector<std::string> context_columns = {};
  CategoryLevels context_levels = {};  ///< of the context columns that are text
  /// Their members one after the other are those of the model. Of a model whose flows
  /// were trained on the same rows there is one, with the best member first.
  std::vector<ModelPart> parts = {};
  /// Flows for the density and draws of rows by themselves, in place of the members:
  /// some of these, and others that were trained as if rows were independent. Empty
  /// where the members serve.
  std::vector<ModelPart> row_parts = {};
  /// Of each member's latents, where independent rows gave one.
  std::optional<Calibration> calibration = {};
  LearnedDependence dependence;  ///< with the parameters of the first member
  /// One flow of all rows, where a single map to latents is needed and the members have
  /// seen parts of the rows only; not given: the first member serves.
  std::optional<ModelPart> map = {};
  /// Dependence parameters of the members after the first, each as many as
  /// `dependence` has.
  std::vector<std::vector<double>> further_parameters = {};
  nlohmann::json record = {};  ///< how it was trained; free form
  /// Of tables that the model is used on, as that of the training table.
  MinusNineRule minus_nine = {.content_decides = false};

  nd::ScalarType type() const { return parts.at(0).flow->values().scalar_type(); }
  std::int64_t members() const;
  /// Of the columns, or none.
  const std::vector<ColumnBounds>& bounds() const {
    return parts.at(0).standardization.bounds;
  }
  /// The dependence with the parameters of a member.
  LearnedDependence dependence_of(std::int64_t member) const;
  /// A member by itself, as a model of one without a record.
  Model member(std::int64_t member) const;
  /// The flows for rows by themselves, each as a model of one.
  std::vector<Model> row_members() const;
  /// The map, or the first member, in the same way.
  Model single() const;

  /// Log-density in nats of every row by itself under the mixture, [n] float64.
  /// @param data [n, p] float64, original units  @param context [n, c] or undefined, as
  ///     read_rows() gives it for the context columns and their levels
  Array row_log_density(const Array& data, const Array& context) const;
  /// A flow of a part, as a model of independent rows.
  Model alone(const ModelPart& part, std::int64_t place) const;
  /// Latents [K, n, p] and log-determinants [K, n] of all members, float64, the
  /// standardisation's included.
  LatentResult member_latents(const Array& data, const Array& context) const;
  /// The same by single() alone, [n, p] and [n].
  LatentResult to_latent(const Array& data, const Array& context) const;
  /// Data in original units [n, p] float64 from latents [n, p] of single().
  Array from_latent(const Array& latents, const Array& context) const;
};

/// The log-density of a mixture with equal weights from those of its K members:
/// [K, ...] -> [...].
Array mixture_log_density(const Array& log_densities);

/// Log-density in nats of all rows together under a dependence with parameters [k].
/// @param latents  [n, p] and [n], of one member
double joint_log_density(const Dependence& dependence, const Array& parameters,
                         const LatentResult& latents);

/// Writes a safetensors file with a versioned JSON description in its metadata.
void save_model(const std::string& path, const Model& model);
/// Reads it back, bit for bit. Throws InputError for anything else than such a file.
/// @param arithmetic  of the flow; not given: the type it was trained in. A trained
/// flow
///     contracts by factors of a thousand between clusters of data, so that single
///     precision loses the way back from latents; double precision keeps it.
Model load_model(const std::string& path, nd::Device device = nd::kCPU,
                 std::optional<nd::ScalarType> arithmetic = {});

}  // namespace kinflow
