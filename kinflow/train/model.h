// A trained model: preprocessing, flow, learned dependence and the record of its run,
// in one file that holds no code.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "kinflow/dependence/dependence.h"
#include "kinflow/flow/flow.h"
#include "kinflow/flow/standardization.h"

namespace kinflow {

/// What a model learned about the dependence of its training rows.
struct LearnedDependence {
  std::string kind = "independent";  ///< "independent", "blocks", "relationship"
  std::string column;                ///< of the groups, for blocks
  /// For blocks: labels, sizes and correlations of the training blocks with at least
  /// two rows. For a relationship: lambda alone.
  std::vector<std::string> labels;
  std::vector<std::int64_t> sizes;
  std::vector<double> parameters;

  /// The parameter for rows that were not in the training data: lambda; for blocks the
  /// mean correlation, each block weighted by its size - 1 (its number of repeats).
  double typical_parameter() const;
  /// typical_parameter() for rows that depend in the way of `kind`, or `instead` where
  /// it is given. InputError where the model learned about another kind, and for a
  /// value outside the range of the kind.
  double parameter_for(const std::string& kind, std::optional<double> instead) const;
  /// The correlation of each block by its label; that of parameter_for("blocks",
  /// instead) for unknown ones, and for all where `instead` is given.
  std::vector<double> correlations_of(const std::vector<std::string>& blocks,
                                      std::optional<double> instead) const;
};

/// True for a correlation in [0, 1), or a lambda in (0, 1].
bool is_in_range(const std::string& kind, double parameter);

/// A flow for one data set, with one replica.
struct Model {
  std::vector<std::string> columns;
  std::vector<std::string> context_columns;
  Standardization standardization;
  Standardization context_standardization;  ///< empty tensors without context
  std::unique_ptr<Flow> flow;               ///< R = 1
  LearnedDependence dependence;
  nlohmann::json record;  ///< how it was trained; free form

  at::ScalarType type() const { return flow->values().scalar_type(); }

  /// Log-density in nats of every row by itself, [n] float64.
  /// @param data [n, p] float64, original units  @param context [n, c] or undefined
  at::Tensor row_log_density(const at::Tensor& data, const at::Tensor& context) const;
  /// Latents [n, p] and log-determinants [n], float64, the standardisation's included.
  LatentResult to_latent(const at::Tensor& data, const at::Tensor& context) const;
  /// Data in original units [n, p] float64 from latents [n, p].
  at::Tensor from_latent(const at::Tensor& latents, const at::Tensor& context) const;
};

/// Log-density in nats of all rows together under a dependence with parameters [k].
double joint_log_density(const Dependence& dependence, const at::Tensor& parameters,
                         const LatentResult& latents);

/// Writes a safetensors file with a versioned JSON description in its metadata.
void save_model(const std::string& path, const Model& model);
/// Reads it back, bit for bit. Throws InputError for anything else than such a file.
/// @param arithmetic  of the flow; not given: the type it was trained in. A trained
/// flow
///     contracts by factors of a thousand between clusters of data, so that single
///     precision loses the way back from latents; double precision keeps it.
Model load_model(const std::string& path, at::Device device = at::kCPU,
                 std::optional<at::ScalarType> arithmetic = {});

}  // namespace kinflow
