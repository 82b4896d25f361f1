// Sections of a page that need the model: densities, draws, latents, dependence, rows
// with the lowest density.
#pragma once

#include <limits>
#include <nlohmann/json.hpp>

#include "kinflow/array/array.h"
#include "kinflow/model/model.h"
#include "kinflow/pages/model/run_sample.h"
#include "kinflow/pages/run_record.h"

namespace kinflow {

/// Adds them to a document of run_document(), with what they add to its words, headline
/// numbers and what to watch. What cannot be made says why; nothing is thrown for a
/// table, a model or a file that is missing or broken.
void add_model_sections(const RunRecord& run, nlohmann::json& document);

/// The learned density of two columns as a map, or pairs of any number of columns, with
/// rows and draws.
nlohmann::json density_section(const Model& model, const RunSample& sample);

/// Latents of held-out rows beside the normal distribution, and whether the dependence
/// goes away: `latents` and `adjusted`. The latter is null for rows without dependence.
struct LatentSections {
  nlohmann::json latents, adjusted;
  /// Correlation of related rows in the latents and once the dependence is taken out;
  /// NaN where nothing is known.
  double before = std::numeric_limits<double>::quiet_NaN();
  double after = std::numeric_limits<double>::quiet_NaN();
};
LatentSections latent_sections(const Model& model, const RunSample& sample);

/// Every group's learned correlation over its size.
nlohmann::json groups_section(const LearnedDependence& learned,
                              const nlohmann::json& record);

/// The strength of each latent with its interval; null where all latents share it.
nlohmann::json latents_strength_section(const LearnedDependence& learned,
                                        const nlohmann::json& record);

/// Every group's correlation, or the likelihood of a single parameter; null where there
/// is neither.
nlohmann::json strength_section(const Model& model, const RunSample& sample);

/// The rows with the lowest density. `watch` gets a line where there are more than the
/// model expects.
nlohmann::json lowest_section(const Model& model, const RunSample& sample,
                              nlohmann::json& watch);

/// Draws of independent rows, [n, p] in original units; context from `rows` in turn.
Array draw_rows(const Model& model, const TableRows& rows, std::int64_t count);

}  // namespace kinflow
