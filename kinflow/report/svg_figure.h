// The panels of a figure as SVG: lines and words stay sharp at any size.
#pragma once

#include <string>
#include <vector>

#include "kinflow/report/figure.h"

namespace kinflow {

/// The panels of draw_figure(), with the same checks, as the text of an SVG file whose
/// unit is a point. Densities are rectangles of a coarser grid; `scale` has no effect.
std::string svg_figure(const std::vector<Panel>& panels,
                       const FigureOptions& options = {});

}  // namespace kinflow
