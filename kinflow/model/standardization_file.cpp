// Means, deviations, normal scores, bounds and decorrelations in and out of files.
#include "kinflow/model/standardization_file.h"

#include <vector>

#include "kinflow/array/array.h"
#include "kinflow/core/error.h"

namespace kinflow {
namespace {

void add_scores(const std::string& name, const std::vector<NormalScores>& scores,
                NamedTensors& tensors) {
  if (scores.empty()) return;
  const auto stacked = [&](const auto& of) {
    std::vector<Array> rows;
    for (const auto& one : scores) rows.push_back(nd::tensor(of(one), nd::kDouble));
    return nd::stack(rows);
  };
  tensors[name + ".knots"] = stacked([](const auto& one) { return one.scores; });
  tensors[name + ".values"] = stacked([](const auto& one) { return one.values; });
  tensors[name + ".slopes"] = stacked([](const auto& one) { return one.slopes; });
  tensors[name + ".growth"] = stacked([](const auto& one) {
    return std::vector<double>{one.lower_growth, one.upper_growth};
  });
}

std::vector<NormalScores> scores_from(const NamedTensors& tensors,
                                      const std::string& name, std::int64_t columns,
                                      const std::string& path) {
  const auto found = tensors.find(name + ".knots");
  if (found == tensors.end()) return {};
  const auto knots = found->second.dim() == 2 ? found->second.size(1) : 0;
  const auto read = [&](const char* part, std::int64_t count) {
    return expect_tensor(tensors, name + part, {columns, count}, nd::kDouble, path);
  };
  const auto scores = read(".knots", knots), values = read(".values", knots),
             slopes = read(".slopes", knots), growth = read(".growth", 2);
  const auto all = [](const Array& holds) { return holds.all().item<bool>(); };
  const auto increase = [&](const Array& of) { return all(of.diff(1, 1).gt(0)); };
  const bool is_sound = knots >= 2 && all(nd::isfinite(scores.abs() + values.abs())) &&
                        increase(scores) && increase(values) && all(slopes.gt(0)) &&
                        all(nd::isfinite(slopes)) && all(growth.ge(0)) &&
                        all(nd::isfinite(growth));
  if (!is_sound) {
    throw InputError(path + ": tensors '" + name +
                     ".*': expected increasing knots and values, positive slopes and a "
                     "growth of at least 0");
  }
  const auto row = [](const Array& matrix, std::int64_t column) {
    const auto own = matrix[column].contiguous();
    return std::vector<double>(own.data_ptr<double>(),
                               own.data_ptr<double>() + own.numel());
  };
  std::vector<NormalScores> result;
  for (std::int64_t column = 0; column < columns; ++column) {
    result.push_back({.scores = row(scores, column),
                      .values = row(values, column),
                      .slopes = row(slopes, column),
                      .lower_growth = growth[column][0].item<double>(),
                      .upper_growth = growth[column][1].item<double>()});
  }
  return result;
}

Array bounds_tensor(const std::vector<ColumnBounds>& bounds) {
  std::vector<double> numbers;
  for (const auto& [low, high] : bounds) {
    numbers.insert(numbers.end(), {low, high});
  }
  return nd::tensor(numbers, nd::kDouble).view({-1, 2});
}

std::vector<ColumnBounds> bounds_from(const NamedTensors& tensors,
                                      const std::string& name, std::int64_t columns,
                                      const std::string& path) {
  if (tensors.count(name) == 0) return {};
  const auto numbers = expect_tensor(tensors, name, {columns, 2}, nd::kDouble, path);
  std::vector<ColumnBounds> bounds;
  for (std::int64_t column = 0; column < columns; ++column) {
    bounds.push_back({.low = numbers[column][0].item<double>(),
                      .high = numbers[column][1].item<double>()});
    if (bounds.back().are_sound()) continue;
    throw InputError(path + ": tensor '" + name +
                     "': expected lower bounds below upper ones");
  }
  return bounds;
}

}  // namespace

void check_location(const Array& mean, const Array& deviation, const std::string& name,
                    const std::string& path) {
  if (deviation.gt(0).all().item<bool>() &&
      nd::isfinite(mean + deviation).all().item<bool>()) {
    return;
  }
  throw InputError(path + ": tensors '" + name +
                   ".*': expected finite means and positive deviations");
}

void add_standardization(const std::string& name, const Standardization& by,
                         NamedTensors& tensors) {
  tensors[name + ".mean"] = by.mean;
  tensors[name + ".deviation"] = by.deviation;
  if (by.decorrelation.defined()) tensors[name + ".decorrelation"] = by.decorrelation;
  add_scores(name + ".scores", by.scores, tensors);
  if (!by.bounds.empty()) tensors[name + ".bounds"] = bounds_tensor(by.bounds);
}

Standardization standardization_from(const NamedTensors& tensors,
                                     const std::string& name, std::int64_t columns,
                                     const std::string& path) {
  Standardization standardization{
      .mean = expect_tensor(tensors, name + ".mean", {columns}, nd::kDouble, path),
      .deviation =
          expect_tensor(tensors, name + ".deviation", {columns}, nd::kDouble, path)};
  check_location(standardization.mean, standardization.deviation, name, path);
  standardization.scores = scores_from(tensors, name + ".scores", columns, path);
  standardization.bounds = bounds_from(tensors, name + ".bounds", columns, path);
  const auto matrix = name + ".decorrelation";
  if (tensors.count(matrix) > 0) {
    const auto factor =
        expect_tensor(tensors, matrix, {columns, columns}, nd::kDouble, path);
    if (!nd::isfinite(factor).all().item<bool>() ||
        !factor.diagonal().gt(0).all().item<bool>() ||
        !nd::equal(factor, factor.tril())) {
      throw InputError(path + ": tensor '" + matrix +
                       "': expected a finite lower triangular matrix with a positive "
                       "diagonal");
    }
    standardization.decorrelation = factor;
  }
  return standardization;
}

}  // namespace kinflow
