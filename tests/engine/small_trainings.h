// Small trainings that can be repeated with another engine, other replicas beside them
// or other threads.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kinflow/array/array.h"
#include "kinflow/core/random.h"
#include "kinflow/dependence/blocks.h"
#include "kinflow/dependence/independent.h"
#include "kinflow/dependence/per_latent.h"
#include "kinflow/dependence/relationship.h"
#include "kinflow/engine/trainer.h"

namespace kinflow {

inline Array normal_numbers(nd::IntArrayRef shape, std::uint64_t seed,
                            double scale = 1) {
  auto values = nd::empty(shape, nd::kDouble);
  Random random(seed);
  auto* out = values.data_ptr<double>();
  for (std::int64_t i = 0; i < values.numel(); ++i) out[i] = scale * random.normal();
  return values;
}

enum class Structure {
  independent,
  per_block,
  shared,
  per_size,
  pooled,
  relationship,
  per_latent,
  per_block_and_latent,
  relationship_per_latent,
};

inline std::string name_of(Structure structure) {
  const char* const names[] = {"independent",
                               "per block",
                               "shared",
                               "per size",
                               "pooled",
                               "relationship",
                               "per latent",
                               "per block and latent",
                               "relationship per latent"};
  return names[static_cast<int>(structure)];
}

// Blocks of many sizes, one row included, rows in no order.
inline Array mixed_blocks(std::int64_t rows) {
  std::vector<std::int64_t> label;
  for (std::int64_t i = 0; i < rows; ++i) {
    label.push_back(i % 7 == 0 ? 1000 + i : i * i % 23);
  }
  return nd::tensor(label, nd::kLong);
}

// Two bent columns, rows of a block alike, with numbers that float32 holds exactly.
inline Array bent_rows(std::int64_t rows, std::uint64_t seed) {
  const auto block = std::get<1>(nd::_unique2(mixed_blocks(rows), true, true));
  auto data = 0.7 * normal_numbers({rows, 2}, seed) +
              0.6 * normal_numbers({rows, 2}, seed + 1000).index_select(0, block);
  data.select(1, 1) += 0.4 * data.select(1, 0).square() - 0.4;
  return data.to(nd::kFloat).to(nd::kDouble);
}

inline Array dense_relationship(std::int64_t rows) {
  const auto factor = normal_numbers({rows, rows / 2}, 31);
  const auto product = factor.matmul(factor.t());
  const auto scale = product.diagonal().rsqrt();
  return product * scale.unsqueeze(0) * scale.unsqueeze(1);
}

inline std::shared_ptr<const Dependence> make_small_law(Structure structure,
                                                        std::int64_t rows) {
  const auto blocks =
      [&](BlockCorrelation correlation) -> std::shared_ptr<const Dependence> {
    return make_blocks(mixed_blocks(rows), {.correlation = correlation, .columns = 2});
  };
  switch (structure) {
    case Structure::per_block:
      return blocks(BlockCorrelation::per_block);
    case Structure::shared:
      return blocks(BlockCorrelation::shared);
    case Structure::per_size:
      return blocks(BlockCorrelation::per_size);
    case Structure::pooled:
      return blocks(BlockCorrelation::pooled);
    case Structure::relationship:
      return std::make_shared<Relationship>(dense_relationship(rows));
    case Structure::per_latent:
      return blocks(BlockCorrelation::per_latent);
    case Structure::per_block_and_latent:
      return blocks(BlockCorrelation::per_block_and_latent);
    case Structure::relationship_per_latent:
      return std::make_shared<PerLatent>(
          std::make_shared<Relationship>(dense_relationship(rows)), 2);
    default:
      return std::make_shared<Independent>(rows);
  }
}

// What one replica has for itself.
struct ReplicaSetup {
  TrainOptions options;
  std::uint64_t seed = 1;    // of its first weights
  double start = 0.3;        // of its dependence parameters
  double disturbance = 0.2;  // added to the first weights, so that no gradient is 0
};

struct TrainingSetup {
  std::shared_ptr<const Dependence> law;
  std::vector<ReplicaSetup> replicas = {};
  FlowOptions flow = {.dimension = 2, .layers = 2, .hidden = {8}, .bins = 5};
  nd::ScalarType type = nd::kDouble;
  std::int64_t valid_rows = 100;
  bool is_valid_joint = false;  // the validation rows depend on each other, in blocks
  bool calibrates = false;      // the validation rows place the latents
};

// A flow and its trainer. Weights, start and data are those of the setup, rounded to
// float32, so that every arithmetic begins with the same numbers.
class SmallTraining {
 public:
  explicit SmallTraining(const TrainingSetup& setup, Engine engine = Engine::fused)
      : law_(setup.law),
        flow_(make_flow(setup)),
        trainer_(make_trainer(setup, engine)) {}

  Trainer& trainer() { return *trainer_; }
  const Array& values() const { return flow_.values(); }
  void run(std::int64_t epochs) {
    for (std::int64_t i = 0; i < epochs; ++i) trainer().run_epoch();
  }
  void run_to_the_end() {
    while (!trainer().finished()) trainer().run_epoch();
  }
  // [epochs + 1, 4] of a replica: train NLL, validation NLL, rate, typical parameter.
  Array history(std::int64_t replica) {
    std::vector<double> numbers;
    for (const auto& record : trainer().history()) {
      if (record.replica != replica) continue;
      numbers.insert(numbers.end(), {record.train_nll_nats, record.valid_nll_nats,
                                     record.learning_rate, record.typical_parameter});
    }
    return nd::tensor(numbers, nd::kDouble).view({-1, 4});
  }
  Array state(const std::string& name) { return trainer().state().at(name); }

 private:
  static Flow make_flow(const TrainingSetup& setup) {
    std::vector<std::uint64_t> seeds;
    for (const auto& replica : setup.replicas) seeds.push_back(replica.seed);
    Flow made(setup.flow, seeds, setup.type);
    std::vector<Array> first;
    for (const auto& replica : setup.replicas) {
      // The weights of float64 and float32 flows differ by rounding.
      const Flow alone(setup.flow, {replica.seed}, nd::kFloat);
      const auto added = normal_numbers(alone.values().sizes(), 90 + replica.seed,
                                        replica.disturbance);
      first.push_back(alone.values() + added.to(nd::kFloat));
    }
    made.values().copy_(nd::cat(first));
    return made;
  }

  std::unique_ptr<Trainer> make_trainer(const TrainingSetup& setup, Engine engine) {
    const auto replicas = static_cast<std::int64_t>(setup.replicas.size());
    const auto context = [&](std::int64_t rows, std::uint64_t seed) {
      return setup.flow.context == 0 ? Array()
                                     : normal_numbers({rows, setup.flow.context}, seed)
                                           .to(nd::kFloat)
                                           .to(setup.type);
    };
    TrainingData data{
        .train = bent_rows(law_->rows(), 5).to(setup.type),
        .train_context = context(law_->rows(), 6),
        .valid = bent_rows(setup.valid_rows, 7).to(setup.type),
        .valid_context = context(setup.valid_rows, 8),
        .train_log_abs_det = 0.7,
        .valid_log_abs_det = nd::full({setup.valid_rows}, 0.7, nd::kDouble),
        .calibrates = setup.calibrates};
    const auto count = law_->parameter_count();
    if (count > 0) {
      const auto interpreted =
          law_->interpreted(law_->default_parameters().unsqueeze(0)).size(1);
      data.typical_weights = nd::arange(1, interpreted + 1, nd::kDouble).unsqueeze(1);
      data.typical_weights /= data.typical_weights.sum();
    }
    if (setup.is_valid_joint) {
      valid_law_ =
          std::make_shared<Blocks>(nd::arange(setup.valid_rows).floor_divide(2),
                                   BlocksOptions{BlockCorrelation::shared});
      data.valid_law = valid_law_.get();
      data.valid_weights = data.typical_weights;
    }
    std::vector<TrainOptions> options;
    auto start = nd::empty({replicas, count}, nd::kDouble);
    for (std::int64_t r = 0; r < replicas; ++r) {
      const auto& own = setup.replicas[static_cast<std::size_t>(r)];
      options.push_back(own.options);
      start[r].fill_(own.start);
    }
    return std::make_unique<Trainer>(flow_, *law_, std::move(data), options, start,
                                     engine);
  }

  std::shared_ptr<const Dependence> law_, valid_law_;
  Flow flow_;
  std::unique_ptr<Trainer> trainer_;
};

// The largest difference of two tensors. Numbers that are not finite must be so in
// both.
inline double difference_of(const Array& a, const Array& b) {
  if (a.sizes() != b.sizes() || !nd::isnan(a).equal(nd::isnan(b))) return INFINITY;
  if (a.numel() == 0) return 0;
  const auto difference =
      (a.to(nd::kDouble) - b.to(nd::kDouble)).masked_fill(nd::isnan(a), 0);
  return difference.abs().max().item<double>();
}

// Equal bit for bit, where not a number equals itself.
inline bool is_same(const Array& a, const Array& b) {
  return a.scalar_type() == b.scalar_type() && difference_of(a, b) == 0;
}

// Everything that two trainings of one setup, epoch by epoch the same, have in common.
inline void expect_same_training(SmallTraining& a, SmallTraining& b,
                                 const std::string& what) {
  const auto states = a.trainer().state(), others = b.trainer().state();
  ASSERT_EQ(states.size(), others.size()) << what;
  for (const auto& [name, tensor] : states) {
    EXPECT_TRUE(is_same(tensor, others.at(name))) << what << ": " << name;
  }
}

}  // namespace kinflow
