// Simulation of the rows, and trainers around them.
#include "speed_problems.h"

#include <cmath>
#include <vector>

#include "kinflow/array/array.h"
#include "kinflow/data/simulate.h"
#include "kinflow/dependence/blocks.h"
#include "kinflow/dependence/independent.h"

namespace kinflow {
namespace {

constexpr std::int64_t kValidRows = 64;

Array standardised(const Array& rows) {
  return ((rows - rows.mean(0)) / rows.std(0)).to(nd::kFloat).contiguous();
}

}  // namespace

FlowOptions small_spline_flow() {
  return {.kind = FlowKind::spline,
          .dimension = 2,
          .layers = 3,
          .hidden = {64, 64},
          .bins = 16,
          .bound = 5};
}

FlowOptions deep_affine_flow() {
  return {
      .kind = FlowKind::affine, .dimension = 30, .layers = 16, .hidden = {128, 128}};
}

PlaneRows plane_training_rows() {
  const Simulation simulation =
      simulate({.rows = kEpochRows, .valid_rows = 1, .test_rows = 1});
  return {.rows = standardised(nd::tensor(simulation.train).view({kEpochRows, 2})),
          .blocks = nd::tensor(simulation.block_of_row)};
}

Array plane_rows(std::int64_t count) {
  Random random(1, stream(Purpose::simulation));
  std::vector<double> values;
  for (std::int64_t i = 0; i < count; ++i) {
    const double a = random.normal(), b = random.normal();
    const auto [x1, x2] = shape_point(PlaneShape::abs, a, b);
    values.push_back(x1);
    values.push_back(x2);
  }
  return standardised(nd::tensor(values).view({count, 2}));
}

Array chained_rows(std::int64_t count, std::int64_t columns) {
  Random random(2, stream(Purpose::simulation));
  std::vector<double> values;
  for (std::int64_t i = 0; i < count; ++i) {
    double last = 0;
    for (std::int64_t j = 0; j < columns; ++j) {
      last = std::sin(2 * last) + 0.5 * random.normal();
      values.push_back(last);
    }
  }
  return standardised(nd::tensor(values).view({count, columns}));
}

Array standard_normal_rows(std::int64_t rows, std::int64_t columns, nd::ScalarType type,
                           Random& random) {
  Array result = nd::empty({rows, columns}, nd::kDouble);
  auto* out = result.data_ptr<double>();
  for (std::int64_t i = 0; i < result.numel(); ++i) out[i] = random.normal();
  return result.to(type);
}

EndlessTraining::EndlessTraining(const FlowOptions& options, RowsAre rows_are)
    : flow_(std::make_unique<Flow>(options, std::vector<std::uint64_t>{0})) {
  TrainOptions train{{.schedule = Schedule::baseline,
                      .epochs = kManySteps,
                      .batch_size = kBatchRows,
                      .patience = kManySteps},
                     {.learning_rate = 1e-3}};
  law_ = std::make_unique<Independent>(kEpochRows);
  if (options.kind == FlowKind::affine) {
    rows_ = chained_rows(kEpochRows, options.dimension);
  } else {
    const PlaneRows plane = plane_training_rows();
    rows_ = plane.rows;
    if (rows_are == RowsAre::in_blocks) {
      train.schedule = Schedule::joint;
      train.estimator = Estimator::memory;
      law_ = std::make_unique<Blocks>(plane.blocks);
    }
  }
  const Array start = nd::full({1, law_->parameter_count()}, 0.3, nd::kDouble);
  // Rows that are trained on: a long training never gets worse on them.
  trainer_ = std::make_unique<Trainer>(
      *flow_, *law_,
      TrainingData{.train = rows_, .valid = rows_.narrow(0, 0, kValidRows)}, train,
      start);
}

}  // namespace kinflow
