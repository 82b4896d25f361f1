// The pictures of a page as files.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "kinflow/report/figure.h"

namespace kinflow {

/// The picture of a section.
struct PageFigure {
  std::string name = {};  ///< "2-latents": the number of the section and its type
  std::vector<Panel> panels{};
  FigureOptions options{};
  std::string png{};  ///< in place of panels: a picture that is one already
};

/// Pictures of the sections of a document: densities, pairs, latents, dependence,
/// strength, learning curves, genomes, quantiles, sheets. Tables, and what only a
/// reader's choices make a picture, have none.
std::vector<PageFigure> page_figures(const nlohmann::json& document);

/// Paths of the files, NAME.svg or NAME.png in a folder.
std::vector<std::string> figure_paths(const std::vector<PageFigure>& figures,
                                      const std::string& directory,
                                      const std::string& ending);
/// Writes them, in a folder that is made where it is missing.
/// @param ending  ".svg" or ".png"; sheets of images are PNG only
void write_figures(const std::vector<PageFigure>& figures, const std::string& directory,
                   const std::string& ending);

}  // namespace kinflow
