// Simulated rows as training, validation and test rows with their dependence.
#include "studies/simulated_sets.h"

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <utility>

#include "kinflow/array/array.h"
#include "kinflow/array/device.h"
#include "kinflow/array/device_stream.h"
#include "kinflow/data/pedigree.h"
#include "kinflow/dependence/independent.h"
#include "kinflow/evaluate/recovered_correlations.h"

namespace kinflow {
namespace {

constexpr std::int64_t kColumns = 2;

Array points(const std::vector<double>& flat) {
  return nd::tensor(flat, nd::kDouble).view({-1, kColumns});
}

constexpr const char* kSource = "simulated relationship";

DependenceRequest request_for(SimulatedDependence dependence) {
  DependenceRequest request;
  if (dependence == SimulatedDependence::blocks) {
    request.group = "group";
  } else {
    request.relationships = {kSource};
    request.relationship_by_position = true;
    request.cache = "none";
  }
  return request;
}

RelationshipFile relationship_of(Simulation& latents) {
  if (latents.options.dependence == SimulatedDependence::families) {
    Pedigree pedigree{.source = kSource,
                      .ids = {},
                      .listed = latents.options.rows,
                      .father = latents.father,
                      .mother = latents.mother};
    for (std::int64_t row = 0; row < latents.options.rows; ++row) {
      pedigree.ids.push_back(sample_id("", simulated_row_id(row)));
    }
    return pedigree_relationship(pedigree);
  }
  RelationshipFile file;
  file.source = kSource;
  file.rows = latents.options.rows;
  file.dense = std::exchange(latents.relationship, {});
  return file;
}

// The latents of one seed, and how its rows depend on each other.
class SeedData {
 public:
  SeedData(const SimulateOptions& options, const std::string& device, Logger& logger)
      : device_(find_device(device)), logger_(logger) {
    request_ = request_for(options.dependence);
    latents_ = simulate_latents(options);
    relations_.rows = options.rows;
    for (const auto block : latents_.block_of_row) {
      relations_.labels.push_back(simulated_block_label(block));
    }
    if (options.dependence == SimulatedDependence::blocks) return;
    relations_.relationships.push_back(relationship_of(latents_));
    FitRows rows;
    rows.train.data = nd::zeros({relations_.rows, kColumns}, nd::kDouble);
    rows.relations = relations_;
    dependence_ = make(Schedule::joint, rows);
    const auto lambda = nd::full({1, 1}, latents_.lambda, nd::kDouble).to(device_);
    const double kappa = dependence_.law->row_worth(lambda).sum().item<double>();
    floor_nats_ = kColumns / 2.0 * std::log1p(1 / kappa);
  }

  const Simulation& latents() const { return latents_; }
  const DependenceRequest& dependence() const { return request_; }
  double floor_nats() const { return floor_nats_; }

  StudyRows rows_for(const Method& method, const Simulation& simulation) const {
    const auto& request = method.runs.front();
    StudyRows ready;
    auto& rows = ready.rows;
    rows.columns = {"x1", "x2"};
    rows.train.data = points(simulation.train);
    rows.train.labels = relations_.labels;
    rows.relations.rows = relations_.rows;
    if (kind_of(request.data.dependence) != DependenceKind::independent) {
      rows.relations = relations_;
    }
    if (method.one_table) {
      for (std::int64_t row = 0; row < relations_.rows; ++row) {
        rows.train.kept_rows.push_back(row);
      }
      return ready;
    }
    rows.valid.data = points(simulation.valid);
    rows.has_valid_table = true;
    const auto schedule = request.train.schedule;
    ready.dependence = schedule != Schedule::baseline && dependence_.law
                           ? dependence_
                           : make(schedule, rows);
    return ready;
  }

 private:
  FittedDependence make(Schedule schedule, FitRows& rows) const {
    auto made = make_fitted_dependence(request_, schedule, rows, device_, logger_);
    wait_for_stream(device_);
    return made;
  }

  nd::Device device_;
  Logger& logger_;
  DependenceRequest request_;
  Simulation latents_;
  RowRelations relations_;
  // Of a relationship, whose decomposition all shapes share; made before several
  // threads ask for it.
  FittedDependence dependence_;
  double floor_nats_ = 0;
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
  settings.one_table = plan.one_table;
  settings.paper_bound = paper_bound(shape);
  StudySet set;
  set.name = simulated_set_name(plan.prefix, shape, settings.seed);
  set.rows_for = [seed, simulation](const Method& method) {
    return seed->rows_for(method, *simulation);
  };
  set.test.data = points(simulation->test);
  set.methods = plan.methods(settings);
  set.labels = repeated_blocks(*simulation).labels;
  set.floor_nats = seed->floor_nats();
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
                          *last =
                              std::make_shared<SeedData>(options, plan.device, logger);
                        }
                        return make_set(*last, plan, shape);
                      }});
    }
  }
  return sets;
}

}  // namespace kinflow
