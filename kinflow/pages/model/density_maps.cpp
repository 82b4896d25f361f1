// Grids of densities.
#include "kinflow/pages/model/density_maps.h"

#include <algorithm>
#include <cmath>

#include "kinflow/array/array.h"
#include "kinflow/pages/packed_numbers.h"

namespace kinflow {
namespace {

Array cell_centres(const Range& range, std::int64_t side) {
  const double step = (range.second - range.first) / static_cast<double>(side);
  return (nd::arange(side, nd::kDouble) + 0.5) * step + range.first;
}

Array grid_of_points(const Range& x, const Range& y, std::int64_t side) {
  return nd::stack({cell_centres(x, side).repeat({side}),
                    cell_centres(y, side).repeat_interleave(side)},
                   1);
}

}  // namespace

std::vector<double> density_on_grid(const Model& model, const Range& x, const Range& y,
                                    std::int64_t side) {
  const auto density =
      model.row_log_density(grid_of_points(x, y, side), {}).exp().contiguous();
  return {density.data_ptr<double>(), density.data_ptr<double>() + density.numel()};
}

std::vector<double> density_on_grid(
    const std::function<double(double, double)>& density, const Range& x,
    const Range& y, std::int64_t side) {
  const auto points = grid_of_points(x, y, side).contiguous();
  const auto* point = points.data_ptr<double>();
  std::vector<double> values;
  for (std::int64_t i = 0; i < side * side; ++i) {
    values.push_back(density(point[2 * i], point[2 * i + 1]));
  }
  return values;
}

nlohmann::json map_bytes(const std::vector<double>& densities, double largest) {
  std::vector<std::uint8_t> map;
  for (const double value : densities) {
    const double share = largest > 0 ? std::sqrt(value / largest) : 0;
    map.push_back(static_cast<std::uint8_t>(
        std::lround(255 * std::clamp(std::isfinite(share) ? share : 0.0, 0.0, 1.0))));
  }
  return packed_bytes(map);
}

double nearly_largest(std::vector<double> densities) {
  constexpr double kShare = 0.999;
  const auto place =
      densities.begin() +
      static_cast<std::ptrdiff_t>(kShare * static_cast<double>(densities.size() - 1));
  std::nth_element(densities.begin(), place, densities.end());
  return *place;
}

}  // namespace kinflow
