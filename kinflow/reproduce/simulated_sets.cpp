// Simulated rows as training, validation and test rows with their dependence.
#include "kinflow/reproduce/simulated_sets.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <memory>
#include <utility>

#include "kinflow/core/device.h"
#include "kinflow/core/device_stream.h"
#include "kinflow/dependence/independent.h"
#include "kinflow/evaluate/recovered_correlations.h"
#include "kinflow/train/fold_plan.h"

namespace kinflow {
namespace {

constexpr std::int64_t kColumns = 2;

at::Tensor points(const std::vector<double>& flat) {
  return at::tensor(flat, at::kDouble).view({-1, kColumns});
}

DependenceRequest request_for(SimulatedDependence dependence) {
  DependenceRequest request;
  if (dependence == SimulatedDependence::blocks) {
    request.group = "group";
  } else {
    request.relationships = {"simulated relationship"};
    request.relationship_by_position = true;
    request.cache = "none";
  }
  return request;
}

// The latents of one seed, and how its rows depend on each other.
class SeedData {
 public:
  SeedData(const SimulateOptions& options, const std::string& device, Logger& logger)
      : device_(find_device(device)), logger_(logger) {
    data_.dependence = request_for(options.dependence);
    latents_ = simulate_latents(options);
    relations_.rows = options.rows;
    for (const auto block : latents_.block_of_row) {
      relations_.labels.push_back(simulated_block_label(block));
    }
    if (latents_.relationship.empty()) return;
    RelationshipFile file;
    file.source = "simulated relationship";
    file.rows = options.rows;
    file.dense = std::exchange(latents_.relationship, {});
    relations_.relationships.push_back(std::move(file));
  }

  const Simulation& latents() const { return latents_; }
  const DependenceRequest& dependence() const { return data_.dependence; }

  // Decomposes matrices before several threads ask for them.
  void prepare(bool holds_out) {
    if (relations_.relationships.empty()) return;
    if (holds_out) {
      auto rows = row_numbers();
      hold_out(split_request(), latents_.options.seed, rows);
      held_out_numbers_ = {rows.train.data, rows.valid.data};
      held_out_dependence_ = make(Schedule::joint, rows);
    }
    FitRows rows;
    rows.train.data = at::zeros({relations_.rows, kColumns}, at::kDouble);
    rows.relations = std::exchange(relations_, {});
    relations_.rows = rows.relations.rows;
    dependence_ = make(Schedule::joint, rows);
  }

  StudyRows rows_for(const Method& method, const Simulation& simulation) const {
    const auto schedule = method.runs.front().train.schedule;
    StudyRows ready;
    auto& rows = ready.rows;
    rows.columns = {"x1", "x2"};
    rows.train.data = points(simulation.train);
    if (held_out_dependence_.law && method.holds_out) {
      const auto take = [&](const at::Tensor& numbers) {
        return rows.train.data.index_select(0, numbers.select(1, 0).to(at::kLong));
      };
      rows.valid.data = take(held_out_numbers_.second);
      rows.train.data = take(held_out_numbers_.first);
      ready.dependence = held_out_dependence_;
      return ready;
    }
    rows.relations = relations_;
    rows.train.labels = relations_.labels;
    if (method.holds_out) {
      hold_out(split_request(), simulation.options.seed, rows);
    } else {
      rows.valid.data = points(simulation.valid);
      rows.has_valid_table = true;
    }
    ready.dependence = schedule != Schedule::baseline && dependence_.law
                           ? dependence_
                           : make(schedule, rows);
    return ready;
  }

 private:
  DataRequest split_request() const {
    auto request = data_;
    request.split_by =
        data_.dependence.group.empty() ? HoldOutBy::rows : HoldOutBy::group;
    return request;
  }

  // Rows whose one number is their place.
  FitRows row_numbers() const {
    FitRows rows;
    rows.train.data = at::arange(relations_.rows, at::kDouble).unsqueeze(1);
    rows.relations = relations_;
    return rows;
  }

  FittedDependence make(Schedule schedule, FitRows& rows) const {
    auto made =
        make_fitted_dependence(data_.dependence, schedule, rows, device_, logger_);
    wait_for_stream(device_);
    return made;
  }

  at::Device device_;
  Logger& logger_;
  DataRequest data_;
  Simulation latents_;
  RowRelations relations_;
  // Of a relationship, whose decomposition all shapes share.
  FittedDependence dependence_, held_out_dependence_;
  std::pair<at::Tensor, at::Tensor> held_out_numbers_;  // training, validation
};

StudySet make_set(const std::shared_ptr<const SeedData>& seed,
                  const SimulatedPlan& plan, PlaneShape shape) {
  const auto simulation =
      std::make_shared<const Simulation>(shaped(seed->latents(), shape));
  MethodSettings settings;
  settings.dependence = seed->dependence();
  settings.seed = simulation->options.seed;
  settings.device = plan.device;
  settings.threads = plan.threads;
  settings.quick = plan.quick;
  settings.paper_bound = paper_bound(shape);
  StudySet set;
  set.name = simulated_set_name(plan.prefix, shape, settings.seed);
  set.rows_for = [seed, simulation](const Method& method) {
    return seed->rows_for(method, *simulation);
  };
  set.test.data = points(simulation->test);
  set.methods = plan.methods(settings);
  set.labels = repeated_blocks(*simulation).labels;
  return set;
}

}  // namespace

double paper_bound(PlaneShape shape) {
  switch (shape) {
    case PlaneShape::abs:
    case PlaneShape::sine_wave:
      return 4.5;
    case PlaneShape::sign:
      return 5;
    case PlaneShape::crescent:
      return 8;
    case PlaneShape::crescent_cubed:
      return 16;
  }
  return 0;
}

std::string simulated_set_name(const std::string& prefix, PlaneShape shape,
                               std::uint64_t seed) {
  return fmt::format("{}-{}-{}", prefix, plane_shape_name(shape), seed);
}

std::vector<PlannedSet> plan_simulated_sets(const SimulatedPlan& plan, Logger& logger) {
  // The seed that was made last; sets are made in the order of the plan.
  const auto last = std::make_shared<std::shared_ptr<const SeedData>>();
  std::vector<PlannedSet> sets;
  for (const auto seed : plan.seeds) {
    for (const auto shape : plan.shapes) {
      sets.push_back({.name = simulated_set_name(plan.prefix, shape, seed),
                      .make = [last, plan, seed, shape, &logger] {
                        if (!*last || (*last)->latents().options.seed != seed) {
                          last->reset();
                          auto options = plan.simulation;
                          options.seed = seed;
                          auto made =
                              std::make_shared<SeedData>(options, plan.device, logger);
                          made->prepare(/*holds_out=*/!plan.quick);
                          *last = std::move(made);
                        }
                        return make_set(*last, plan, shape);
                      }});
    }
  }
  return sets;
}

}  // namespace kinflow
