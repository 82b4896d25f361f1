// Laws of training and held-out rows.
#include "kinflow/fit/fitted_dependence.h"

#include <cmath>
#include <utility>

#include "kinflow/array/array.h"
#include "kinflow/array/array_numbers.h"
#include "kinflow/data/table.h"
#include "kinflow/dependence/blocks.h"
#include "kinflow/dependence/independent.h"
#include "kinflow/dependence/per_latent.h"
#include "kinflow/fit/make_law.h"

namespace kinflow {
namespace {

// Decays that schedule `grid` tries where none are given, as multiples of the law's own
// start.
const std::vector<double> kDecayGrid = {0.01, 0.1, 1};

// Labels and sizes of the blocks with at least two rows, in the order of the blocks.
void describe_blocks(const BlockNumbers& blocks, LearnedDependence& learned) {
  for (std::size_t block = 0; block < blocks.label_of_block.size(); ++block) {
    if (blocks.size_of_block[block] < 2) continue;
    learned.labels.push_back(blocks.label_of_block[block]);
    learned.sizes.push_back(blocks.size_of_block[block]);
  }
}

// Every parameter's weight in the mean correlation, [k, 1]: the repeats of its blocks.
Array repeat_weights(const Blocks& law) {
  const auto is_repeated = law.parameter_of_block().ge(0);
  const auto parameter = law.parameter_of_block().masked_select(is_repeated);
  const auto repeats = law.sizes().masked_select(is_repeated).sub(1).to(nd::kDouble);
  const auto weights = nd::zeros({law.parameter_count()}, repeats.options())
                           .index_add(0, parameter, repeats);
  return (weights / weights.sum()).unsqueeze(1);
}

// Selects the first parameter, [k, 1]; of an unstructured law none is typical.
Array typical_weights(DependenceKind kind, std::int64_t count) {
  auto weights = nd::zeros({count, 1}, nd::kDouble);
  if (kind != DependenceKind::unstructured) weights[0] = 1;
  return weights;
}

// The start of a law that all columns share with the value of the one that stands for
// the dependence.
Array with_typical(const Array& start, DependenceKind kind, double value) {
  auto parameters = start.clone();
  if (kind == DependenceKind::blocks) return parameters.fill_(value);
  if (kind == DependenceKind::unstructured) return parameters;
  parameters[0] = value;
  if (kind == DependenceKind::sum) {
    parameters.narrow(0, 1, parameters.size(0) - 1)
        .fill_((1 - value) / static_cast<double>(parameters.size(0) - 1));
  }
  return parameters;
}

// The same of any law: all latents begin alike.
Array start_at(const Dependence& law, DependenceKind kind, double value) {
  if (const auto* effects = dynamic_cast<const BlockAndLatentEffects*>(&law)) {
    auto parameters = law.default_parameters();
    parameters
        .narrow(0, effects->block_effects(),
                parameters.size(0) - effects->block_effects())
        .fill_(std::log(value / (1 - value)));
    return parameters;
  }
  if (const auto* folded = dynamic_cast<const FoldedLatents*>(&law)) {
    return with_typical(folded->inner().default_parameters(), kind, value)
        .repeat({law.distinct_latents()});
  }
  return with_typical(law.default_parameters(), kind, value);
}

// Weights [k, c] of a column's parameters as those of all: the mean over the columns,
// [p * k, c].
Array mean_over_latents(const Array& weights, std::int64_t latents) {
  return weights.repeat({latents, 1}) / static_cast<double>(latents);
}

// Gives held-out rows their law, unless nothing is known of them or no two of them
// depend on each other.
void add_valid_law(FittedDependence& made, DependenceRequest request,
                   RowRelations relations, std::int64_t columns, nd::Device device,
                   Logger& logger) {
  const auto kind = made.learned.kind;
  if (relations.rows == 0 || kind == DependenceKind::unstructured) return;
  // Held-out blocks are other ones, with the typical correlation of each latent.
  const bool by_latent = kind == DependenceKind::blocks && has_own_latents(request);
  request.correlation =
      by_latent ? BlockCorrelation::per_latent : BlockCorrelation::shared;
  auto law = make_law(request, std::move(relations), columns, device, logger);
  if (law->parameter_count() == 0) return;
  made.valid_law = std::move(law);
  made.valid_weights =
      kind == DependenceKind::blocks
          ? nd::kron(nd::eye(made.law->distinct_latents(), nd::kDouble).to(device),
                     repeat_weights(*blocks_of(*made.law)))
          : nd::eye(made.law->parameter_count(), nd::kDouble).to(device);
}

}  // namespace

Array FittedDependence::start(const DependenceRequest& request,
                              const TrainOptions& options) const {
  const auto own = law->default_parameters();
  const auto count = law->parameter_count();
  if (count == 0) {
    // Folds of one table have as many replicas, whether their rows have repeats or not.
    const auto starts =
        options.schedule == Schedule::grid ? std::ssize(options.grid) : 1;
    return nd::empty({starts, 0}, nd::kDouble);
  }
  if (options.schedule != Schedule::grid) {
    return start_at(*law, learned.kind, options.start).unsqueeze(0);
  }
  auto decays = request.time_decay;
  const bool with_decay = learned.kind == DependenceKind::time && count == 2;
  if (with_decay && decays.empty()) {
    for (const double factor : kDecayGrid) {
      decays.push_back(factor * own[1].item<double>());
    }
  }
  std::vector<Array> starts;
  for (const double value : options.grid) {
    auto start = with_typical(own, learned.kind, value);
    if (!with_decay) starts.push_back(start);
    for (std::size_t i = 0; with_decay && i < decays.size(); ++i) {
      start = start.clone();
      start[1] = decays[i];
      starts.push_back(start);
    }
  }
  return nd::stack(starts);
}

LearnedDependence FittedDependence::with_parameters(const Array& parameters) const {
  auto result = learned;
  const auto values = law->interpreted(parameters.unsqueeze(0))[0];
  if (const auto* blocks = blocks_of(*law)) {
    const auto of_block = blocks->parameter_of_block();
    result.parameters = numbers_of(
        values.view({law->distinct_latents(), -1})
            .index_select(
                1, of_block.masked_select(of_block.ge(0)).to(parameters.device())));
  } else {
    result.parameters = numbers_of(values);
  }
  // Where the decay was given it is no parameter of the law.
  auto& kept = result.parameters;
  if (learned.kind == DependenceKind::time && std::ssize(kept) == learned.latents) {
    for (auto at = kept.begin(); at != kept.end(); ++at) {
      at = kept.insert(at + 1, learned.time_decay);
    }
  }
  return result;
}

FittedDependence FittedDependence::for_each_latent(std::int64_t columns) const {
  auto own = *this;
  own.law = std::make_shared<PerLatent>(law, columns);
  own.learned.latents = columns;
  own.typical_weights = mean_over_latents(typical_weights, columns);
  if (valid_law) {
    own.valid_law = std::make_shared<PerLatent>(valid_law, columns);
    own.valid_weights =
        nd::eye(own.law->parameter_count(), nd::kDouble).to(valid_weights.device());
  }
  return own;
}

FittedDependence make_fitted_dependence(const DependenceRequest& given,
                                        Schedule schedule, FitRows& rows,
                                        nd::Device device, Logger& logger) {
  FittedDependence made;
  auto request = given;
  if (schedule == Schedule::grid) {
    request.correlation = BlockCorrelation::shared;
    request.per_latent = false;
  }
  auto& learned = made.learned;
  learned.kind =
      schedule == Schedule::baseline ? DependenceKind::independent : kind_of(request);
  if (learned.kind == DependenceKind::independent) {
    made.law = std::make_unique<Independent>(rows.relations.rows);
    return made;
  }
  learned.column = request.group;
  if (learned.kind == DependenceKind::sum) learned.parts = parts_of(request);
  if (request.time_kernel) {
    learned.time_kernel = *request.time_kernel;
    if (request.time_decay.size() == 1) learned.time_decay = request.time_decay.front();
    learned.times_are_dates = rows.relations.times_are_dates;
  }
  const auto labels = rows.relations.labels;
  const auto columns = rows.train.data.size(1);
  made.law = make_law(request, std::move(rows.relations), columns, device, logger);
  const auto count = made.law->parameter_count();
  const auto latents = made.law->distinct_latents();
  learned.latents = latents;
  if (const auto* blocks = blocks_of(*made.law)) {
    describe_blocks(number_blocks(labels), learned);
    if (count > 0) {
      made.typical_weights = mean_over_latents(repeat_weights(*blocks), latents);
    }
  } else {
    made.typical_weights =
        mean_over_latents(typical_weights(learned.kind, count / latents), latents)
            .to(device);
  }
  if (count > 0) {
    add_valid_law(made, request, std::move(rows.valid_relations), columns, device,
                  logger);
  }
  return made;
}

}  // namespace kinflow
