// The legend of a panel: the names of its layers beside samples of how they are drawn.
#pragma once

#include <vector>

#include "kinflow/report/canvas.h"
#include "kinflow/report/plot_layer.h"

namespace kinflow {

/// Names the layers that have a name, in the corner of the area with the fewest data.
/// Layers of the same name share one entry, e.g. a line, its points and its error bars.
/// @param text_size  in points of the figure
void draw_legend(Canvas& canvas, const PlotArea& area,
                 const std::vector<PlotLayer>& layers, double text_size);

/// Whether draw_legend() would neither hide nor touch points, lines or error bars.
bool legend_is_clear(const PlotArea& area, const std::vector<PlotLayer>& layers,
                     double text_size);

}  // namespace kinflow
