// How many parameters the dependence of a fit has, where the request leaves it open:
// the rows choose, before any training.
#pragma once

#include <cstddef>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "kinflow/fit/fit.h"
#include "kinflow/fit/fitted_dependence.h"

namespace kinflow {

/// One of the dependences that were compared, the simpler before the richer.
struct DependenceCandidate {
  std::string name;
  double nll_nats = 0;        ///< of a row, of all columns
  double difference = 0;      ///< of that to the lowest, at least 0
  double standard_error = 0;  ///< of the difference; 0 where it has none
};

struct DependenceChoice {
  DependenceRequest request;                         ///< with nothing left open
  std::vector<DependenceCandidate> candidates = {};  ///< empty: nothing was compared
  std::size_t place = 0;                             ///< of what was chosen among them
  std::string chosen = {};                           ///< the same in words
  std::string judged_by = {};  ///< what the numbers are, for the user

  /// One line on the choice and its evidence; empty where nothing was left open.
  std::string line() const;
};
nlohmann::json to_json(const DependenceChoice& choice);

/// Whether the request leaves the correlations of blocks open.
bool leaves_blocks_open(const FitRequest& request);

struct ChosenDependence {
  FittedDependence dependence;
  DependenceChoice choice = {};  ///< without words where nothing was left open
};
/// The dependence of the rows of some runs, as their requests say it or, where they
/// leave something open, as the rows choose; the requests then say so too.
/// @param runs  of one group_key()
/// @param make  makes the dependence that a request says
ChosenDependence choose_dependence(
    std::vector<FitRequest>& runs, const TableRows& rows,
    const std::function<FittedDependence(const DependenceRequest&)>& make);

/// One correlation for all blocks, one for each latent, one for each block, or an
/// effect of both: how likely are latents of blocks that were held out? A block of
/// which nothing is known has a correlation from the distribution that the others
/// suggest. The simplest wins whose difference to the best is below 0.001 nats a row or
/// two standard errors.
///
/// No flow is trained: in its place stand normal scores of the columns, rotated to
/// where the dependence is.
/// @param rows  for training
DependenceChoice choose_correlation(const FitRequest& request, const TableRows& rows);

/// Shared parameters or those of each latent: the higher likelihood less the number of
/// parameters, for the same scores.
DependenceChoice choose_for_latents(const FitRequest& request, const TableRows& rows,
                                    const FittedDependence& shared);

}  // namespace kinflow
