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
#include "kinflow/train/learned_dependence.h"

namespace kinflow {

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
