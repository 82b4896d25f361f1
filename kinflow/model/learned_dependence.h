// What a model learned about the dependence of its training rows.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "kinflow/array/array.h"
#include "kinflow/model/dependence_request.h"

namespace kinflow {

class Dependence;
class JsonReader;

struct LearnedDependence {
  DependenceKind kind = DependenceKind::independent;
  std::string column = {};  ///< of the groups, where there are some
  /// For blocks: labels, sizes and correlations of the training blocks with at least
  /// two rows.
  std::vector<std::string> labels = {};
  std::vector<std::int64_t> sizes = {};
  /// For time, and sums with time. The decay is a parameter of time, and given for a
  /// sum.
  TimeKernel time_kernel = TimeKernel::exponential;
  double time_decay = 0;
  /// Whether the decay is one per day of dates, or per unit of numbers; nothing without
  /// times, and in models of earlier versions.
  std::optional<bool> times_are_dates = {};
  std::vector<std::string> parts = {};  ///< of a sum, as in parts_of()
  /// 1 where all latents share the parameters, else their number.
  std::int64_t latents = 1;
  /// Blocks: the correlation of each label. Relationship: lambda. Time: lambda and
  /// gamma. Sum: the weight of what rows do not share, then that of each part.
  /// Unstructured: those of the law of the training rows. Where each latent has its
  /// own, all those of one latent follow each other.
  std::vector<double> parameters = {};

  /// Those of one latent.
  std::vector<double> parameters_of(std::int64_t latent) const;
  /// Their mean over the latents.
  std::vector<double> mean_parameters() const;
  /// One number that stands for the strength of the dependence: lambda, a sum's first
  /// weight, or for blocks the mean correlation, each block weighted by its size - 1
  /// (its number of repeats). The mean over the latents; 0 where there is none.
  double typical_parameter() const;
  /// The same of one latent.
  double typical_parameter_of(std::int64_t latent) const;
  /// What that number is called: "rho", "lambda", "own share"; empty where there is
  /// none.
  std::string typical_name() const;

  /// Rows of an unstructured dependence.
  std::int64_t unstructured_rows() const;
  /// One line for a person.
  std::string summary() const;

  /// How many rows belong to groups of the training data that have a correlation of
  /// their own.
  std::int64_t rows_of_known_blocks(const std::vector<std::string>& labels) const;
  /// The request for rows that were not in the training data, completed by what was
  /// learned: the kernel and the decay of time. InputError where rows depend in another
  /// way than the training rows, unless `instead` gives the parameters.
  /// @param instead  parameters in place of the learned ones; empty: none
  DependenceRequest request_for_new_rows(DependenceRequest request,
                                         const std::vector<double>& instead) const;
  /// InputError where times of new rows are numbers and those of the training rows
  /// were dates, or the other way round: a decay holds for one of them.
  void check_times(bool are_dates) const;
  /// The parameters [k] of a law made for new rows by such a request. For blocks with a
  /// label of the training data that block's correlation, for others the typical one.
  /// InputError for values outside their range, and where the law of an unstructured
  /// dependence has another number of rows.
  /// @param labels  of the rows, for blocks
  Array parameters_for_new_rows(const DependenceRequest& request, const Dependence& law,
                                const std::vector<std::string>& labels,
                                const std::vector<double>& instead) const;
};

/// All but the parameters, which model files keep as an array.
nlohmann::json to_json(const LearnedDependence& learned);
/// Reads what to_json wrote; InputError where something is off.
LearnedDependence learned_dependence_from(const JsonReader& json,
                                          const std::string& source);

/// InputError, with `source` in front, where parameters are not as many as the kind
/// has, or outside their range.
void check_parameters(const LearnedDependence& learned, const std::string& source);

}  // namespace kinflow
