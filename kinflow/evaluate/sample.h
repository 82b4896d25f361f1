// Draws from a model: independent rows, dependent rows, and rows given observed ones.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kinflow/core/random.h"
#include "kinflow/train/fit_data.h"
#include "kinflow/train/model.h"

namespace kinflow {

/// Rows in original units, with a block label each where they were drawn in blocks.
struct SampledRows {
  at::Tensor data;                  ///< [n, p] float64
  std::vector<std::string> labels;  ///< [n] or empty
};

/// Independent rows; with a context model one row per row of `context` [n, c].
SampledRows sample_rows(const Model& model, std::int64_t rows,
                        const at::Tensor& context, Random& random);

/// Rows in new blocks of the given sizes; within a block they have the correlation
/// `correlation`. Blocks are labelled new1, new2, ...
SampledRows sample_blocks(const Model& model, const std::vector<std::int64_t>& sizes,
                          double correlation, Random& random);

/// Rows that depend through a relationship matrix [n, n].
SampledRows sample_relationship(const Model& model, const at::Tensor& relationship,
                                double lambda, Random& random);

/// `rows` further rows of every block of the observed rows, given these.
/// @param correlations  of the blocks in the order in which their labels first appear
SampledRows sample_given_blocks(const Model& model, const TableRows& observed,
                                std::int64_t rows,
                                const std::vector<double>& correlations,
                                Random& random);

/// Further rows given observed ones under a relationship matrix of both, the observed
/// rows first.
SampledRows sample_given_relationship(const Model& model, const TableRows& observed,
                                      const at::Tensor& relationship, double lambda,
                                      Random& random);

}  // namespace kinflow
