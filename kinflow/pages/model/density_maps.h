// Densities in the plane as bytes, several of them on one scale.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kinflow/model/model.h"

namespace kinflow {

using Range = std::pair<double, double>;

/// Densities at the centres of side x side cells, row by row from the low end of y.
std::vector<double> density_on_grid(const Model& model, const Range& x, const Range& y,
                                    std::int64_t side);
/// The same of any function of a point.
std::vector<double> density_on_grid(
    const std::function<double(double, double)>& density, const Range& x,
    const Range& y, std::int64_t side);

/// Square roots of densities as bytes: 255 stands for `largest` and more.
nlohmann::json map_bytes(const std::vector<double>& densities, double largest);
/// What nearly all densities of a grid lie below, so that a spike does not bleach the
/// rest.
double nearly_largest(std::vector<double> densities);

}  // namespace kinflow
