// Likelihood, gradients, estimators, draws and conditional laws from C and its
// derivatives, for all components of one size at once.
#include "kinflow/dependence/dense_law.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

#include "kinflow/array/array.h"
#include "kinflow/array/array_numbers.h"
#include "kinflow/array/device_stream.h"
#include "kinflow/core/error.h"
#include "kinflow/core/random.h"
#include "kinflow/core/size.h"

namespace kinflow {
namespace {

/// Numbers [R, n, c] of rows [count, m]: [R, count, m, c].
Array take_rows(const Array& numbers, const Array& rows) {
  return numbers.index_select(1, rows.flatten())
      .view({numbers.size(0), rows.size(0), rows.size(1), numbers.size(2)});
}

/// A batch's numbers [R, b, c] by component: [R, s, w, c], 0 in the padding.
Array take_batch(const Array& numbers, const Array& positions) {
  return take_rows(nd::constant_pad_nd(numbers, {0, 0, 0, 1}), positions);
}

/// The rows of symmetric matrices [R, count, m, m] that a batch asks for: [R, s, w, m].
Array rows_of(const Array& matrices, const Array& components, const Array& places) {
  const std::int64_t m = matrices.size(3);
  const Array rows = (components.unsqueeze(1) * m + places).flatten();
  return matrices.flatten(1, 2).index_select(1, rows).view(
      {matrices.size(0), places.size(0), places.size(1), m});
}

/// Of these rows, the columns of the batch: [R, s, w, w].
Array columns_of(const Array& rows, const Array& places) {
  const std::int64_t s = places.size(0), w = places.size(1);
  return rows.gather(3, places.view({1, s, 1, w}).expand({rows.size(0), s, w, w}));
}

/// The weight of every pair of w rows: 1 on the diagonal, [w, w].
Array pair_weights(double weight, const Array& positions, const Array& numbers) {
  return nd::eye(positions.size(1), numbers.options()) * (1 - weight) + weight;
}

Array transposed(const Array& matrices) { return matrices.transpose(-2, -1); }

}  // namespace

/// Keeps the latents alone; rows of C^-1 are at hand.
class DenseLaw::Memory final : public LatentMemory {
 public:
  explicit Memory(const DenseLaw& law) : LatentMemory(law.rows()), law_(law) {}

  void update(const Array& rows, const Array& latents) override {
    exchange_rows(rows, latents);
  }

  Array precision_rows(const Array& parameters, const Array& rows) const override {
    const auto known = law_.inverse(parameters);
    const std::int64_t b = rows.size(0), p = latents_.size(2);
    const Array all = law_.here(latents_);
    Array result = nd::empty({all.size(0), b + 1, p}, all.options());
    for (const BatchPart& part : law_.parts(rows)) {
      const Array rows_in =
          law_.groups_[part.group].rows.index_select(0, part.components);
      const Array product = nd::matmul(
          rows_of(known->precision[part.group], part.components, part.places),
          take_rows(all, rows_in));
      result.index_copy_(1, part.positions.flatten(), product.flatten(1, 2));
    }
    return result.narrow(1, 0, b).to(latents_.device());
  }

  Array parameter_gradient(const Array& parameters) const override {
    return law_.parameter_gradient(parameters, latents_);
  }

 private:
  const DenseLaw& law_;
};

DenseLaw::DenseLaw(Components components, nd::Device device)
    : components_(std::move(components)), device_(device) {
  std::map<std::int64_t, std::vector<std::int64_t>> numbers_of_size;
  for (std::int64_t number = 0; number < components_.count(); ++number) {
    numbers_of_size[components_.size(number)].push_back(number);
  }
  group_of_component_.resize(to_size(components_.count()));
  place_in_group_.resize(to_size(components_.count()));
  for (auto& [size, numbers] : numbers_of_size) {
    const auto count = static_cast<std::int64_t>(numbers.size());
    Array rows = nd::empty({count, size}, nd::kLong);
    for (std::int64_t place = 0; place < count; ++place) {
      const std::size_t number = to_size(numbers[to_size(place)]);
      group_of_component_[number] = groups_.size();
      place_in_group_[number] = place;
      std::copy_n(components_.row_at.data() + components_.first[number], size,
                  rows.data_ptr<std::int64_t>() + place * size);
    }
    groups_.push_back({std::move(numbers), rows.to(device)});
  }
}

bool DenseLaw::has_costly_parameters() const {
  const auto largest = static_cast<double>(rows_of_largest_component());
  return static_cast<double>(rows()) * largest * largest > 1e7;
}

std::int64_t DenseLaw::rows_of_largest_component() const {
  return groups_.back().rows.size(1);
}

Array DenseLaw::here(const Array& tensor) const {
  return tensor.to(device_, nd::kDouble);
}

Array DenseLaw::parameters_here(const Array& parameters) const {
  return here(checked_parameters(parameters).detach());
}

Array DenseLaw::one_replica_here(const Array& parameters) const {
  return here(checked_one_replica(parameters)).unsqueeze(0);
}

Array DenseLaw::cholesky(std::size_t group, const Array& parameters) const {
  const auto [factor, info] = nd::linalg_cholesky_ex(covariances(group, parameters));
  const Array failed = nd::nonzero(info);
  if (failed.size(0) > 0) {
    const Array of_replica = parameters[failed[0][0].item<std::int64_t>()].cpu();
    throw NumericalError(fmt::format(
        "[{}] C is not positive definite at the parameters {}", kind(),
        fmt::join(of_replica.data_ptr<double>(),
                  of_replica.data_ptr<double>() + of_replica.numel(), ", ")));
  }
  return factor;
}

/// Another thread may have made it, whose queue would take its memory back too early.
void DenseLaw::keep_inverse(const Inverse& inverse) const {
  for (const auto& precision : inverse.precision) keep_for_stream(precision);
  for (const auto* array :
       {&inverse.parameters, &inverse.log_det, &inverse.log_det_slopes}) {
    keep_for_stream(*array);
  }
}

std::shared_ptr<const DenseLaw::Inverse> DenseLaw::inverse(
    const Array& parameters) const {
  const Array wanted = parameters_here(parameters);
  const std::lock_guard lock(mutex_);
  if (last_ && last_->parameters.sizes() == wanted.sizes() &&
      nd::equal(last_->parameters, wanted)) {
    keep_inverse(*last_);
    return last_;
  }
  last_.reset();
  auto found =
      std::make_shared<Inverse>(Inverse{wanted.clone(),
                                        {},
                                        nd::zeros({wanted.size(0)}, wanted.options()),
                                        nd::zeros_like(wanted)});
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    const Array factor = cholesky(group, wanted);
    found->log_det += 2 * factor.diagonal(0, 2, 3).log().sum({1, 2});
    // LAPACK stores columns, but a batch takes rows.
    found->precision.push_back(nd::cholesky_inverse(factor).contiguous());
    found->log_det_slopes += slopes(group, wanted, Array(), found->precision.back());
  }
  // Other threads, which have queues of their own, may take it at once.
  wait_for_stream(device_);
  last_ = found;
  return found;
}

std::vector<DenseLaw::BatchPart> DenseLaw::parts(const Array& rows) const {
  const std::int64_t b = rows.size(0);
  if (b == 0) return {};
  const auto whole_numbers = nd::TensorOptions(device_).dtype(nd::kLong);
  if (component_count() == 1) {
    // Without a look at the rows, which would stall a GPU.
    return {{0, nd::zeros({1}, whole_numbers), rows.to(device_).unsqueeze(0),
             nd::arange(b, whole_numbers).unsqueeze(0)}};
  }
  const Array row = rows.cpu().contiguous();
  const auto* row_at = row.data_ptr<std::int64_t>();
  // Positions in the batch, by group and place in the group.
  std::map<std::size_t, std::map<std::int64_t, std::vector<std::int64_t>>> found;
  for (std::int64_t position = 0; position < b; ++position) {
    const auto component =
        to_size(components_.component_of_row[to_size(row_at[position])]);
    found[group_of_component_[component]][place_in_group_[component]].push_back(
        position);
  }
  std::vector<BatchPart> result;
  for (const auto& [group, positions_of_place] : found) {
    std::size_t widest = 0;
    for (const auto& [place, positions] : positions_of_place) {
      widest = std::max(widest, positions.size());
    }
    const auto s = static_cast<std::int64_t>(positions_of_place.size());
    const auto w = static_cast<std::int64_t>(widest);
    Array components = nd::empty({s}, nd::kLong);
    Array places = nd::zeros({s, w}, nd::kLong);
    Array positions_in = nd::full({s, w}, b, nd::kLong);
    std::int64_t i = 0;
    for (const auto& [place, positions] : positions_of_place) {
      components.data_ptr<std::int64_t>()[i] = place;
      for (std::size_t j = 0; j < positions.size(); ++j) {
        const std::int64_t at_j = i * w + static_cast<std::int64_t>(j);
        places.data_ptr<std::int64_t>()[at_j] =
            components_.place_of_row[to_size(row_at[positions[j]])];
        positions_in.data_ptr<std::int64_t>()[at_j] = positions[j];
      }
      ++i;
    }
    result.push_back(
        {group, components.to(device_), places.to(device_), positions_in.to(device_)});
  }
  return result;
}

Array DenseLaw::log_det(const Array& parameters) const {
  return inverse(parameters)->log_det.to(parameters.device());
}

Array DenseLaw::precision_times(const Array& parameters, const Array& latents) const {
  const Array all = here(checked_latents(parameters, latents, rows()));
  const auto known = inverse(parameters);
  Array result = nd::empty_like(all);
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    const Array& rows_in = groups_[group].rows;
    const Array product = nd::matmul(known->precision[group], take_rows(all, rows_in));
    result.index_copy_(1, rows_in.flatten(), product.flatten(1, 2));
  }
  return result.to(latents.device());
}

Array DenseLaw::parameter_gradient(const Array& parameters,
                                   const Array& latents) const {
  // With W = C^-1 U the trace changes by -tr(W' dC W).
  const Array weighted = here(precision_times(parameters, latents));
  const auto known = inverse(parameters);
  Array twice = static_cast<double>(latents.size(2)) * known->log_det_slopes;
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    const Array w = take_rows(weighted, groups_[group].rows);
    twice -= slopes(group, known->parameters, Array(), nd::matmul(w, transposed(w)));
  }
  return (0.5 * twice).to(parameters.device());
}

Array DenseLaw::pairs_rows(const Array& parameters, const Array& rows,
                           const Array& latents) const {
  const std::int64_t b = rows.size(0);
  const Array batch = here(checked_latents(parameters, latents, b));
  const auto known = inverse(parameters);
  Array result = nd::empty({batch.size(0), b + 1, batch.size(2)}, batch.options());
  for (const BatchPart& part : parts(rows)) {
    const Array weights = pair_weights(pair_weight(b), part.positions, batch);
    const Array among =
        columns_of(rows_of(known->precision[part.group], part.components, part.places),
                   part.places);
    const Array product =
        nd::matmul(weights * among, take_batch(batch, part.positions));
    result.index_copy_(1, part.positions.flatten(), product.flatten(1, 2));
  }
  return result.narrow(1, 0, b).to(latents.device());
}

Array DenseLaw::pairs_parameter_gradient(const Array& parameters, const Array& rows,
                                         const Array& latents) const {
  // A = C^-1 changes by -A dC A; the trace over the batch's pairs is a product of dC
  // with the batch's rows of A, mixed by the weighted products of latents.
  const std::int64_t b = rows.size(0);
  const Array batch = here(checked_latents(parameters, latents, b));
  const auto known = inverse(parameters);
  const double scale = static_cast<double>(this->rows()) / static_cast<double>(b);
  Array twice = static_cast<double>(batch.size(2)) * known->log_det_slopes;
  for (const BatchPart& part : parts(rows)) {
    const Array u = take_batch(batch, part.positions);
    const Array products = pair_weights(pair_weight(b), part.positions, batch) *
                           nd::matmul(u, transposed(u));
    const Array precision =
        rows_of(known->precision[part.group], part.components, part.places);
    twice -= scale *
             slopes(part.group, known->parameters, part.components,
                    nd::matmul(transposed(precision), nd::matmul(products, precision)));
  }
  return (0.5 * twice).to(parameters.device());
}

std::unique_ptr<LatentMemory> DenseLaw::make_memory() const {
  return std::make_unique<Memory>(*this);
}

Array DenseLaw::sample(const Array& parameters, std::int64_t columns,
                       Random& random) const {
  const Array one = one_replica_here(parameters);
  const Array normal = here(normal_numbers({rows(), columns}, random)).unsqueeze(0);
  Array draw = nd::empty_like(normal);
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    const Array& rows_in = groups_[group].rows;
    const Array drawn = nd::matmul(cholesky(group, one), take_rows(normal, rows_in));
    draw.index_copy_(1, rows_in.flatten(), drawn.flatten(1, 2));
  }
  return draw.squeeze(0).cpu();
}

Array DenseLaw::covariance(const Array& parameters) const {
  const Array one = one_replica_here(parameters);
  if (component_count() == 1) {
    return covariances(0, one).squeeze(0).to(parameters.device());
  }
  Array result = nd::zeros({rows(), rows()}, one.options());
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    const Array& rows_in = groups_[group].rows;
    result.index_put_({rows_in.unsqueeze(2), rows_in.unsqueeze(1)},
                      covariances(group, one).squeeze(0));
  }
  return result.unsqueeze(0).to(parameters.device());
}

std::vector<DenseLaw::Observation> DenseLaw::observe(const Array& parameters,
                                                     const Array& observed) const {
  std::vector<Observation> result;
  for (BatchPart& part : parts(observed)) {
    const Array all = covariances(part.group, parameters);
    const Array real = (part.positions < observed.size(0)).to(nd::kDouble);
    const Array with_all =
        rows_of(all, part.components, part.places) * real.unsqueeze(2);
    const Array among =
        (columns_of(with_all, part.places) * real.unsqueeze(1)).squeeze(0) +
        nd::diag_embed(1 - real);
    const auto [factor, info] = nd::linalg_cholesky_ex(among);
    if (info.any().item<bool>()) {
      throw NumericalError(fmt::format(
          "[{}] the covariance of the {} observed rows is not positive definite",
          kind(), observed.size(0)));
    }
    const Array rows_in =
        groups_[part.group].rows.index_select(0, part.components).flatten();
    const Array covariance = all.squeeze(0).index_select(0, part.components);
    result.push_back(
        {std::move(part), rows_in, with_all.squeeze(0), factor, covariance});
  }
  return result;
}

ConditionalLaw DenseLaw::condition(const Array& parameters, const Array& observed,
                                   const Array& latents) const {
  if (component_count() == 1) {
    return Dependence::condition(parameters, observed, latents);
  }
  const ConditionalRows alone = condition_rows(parameters, observed, latents);
  const Array unknown = alone.rows.cpu();
  Array place = nd::full({rows()}, -1, nd::kLong);
  place.index_copy_(0, unknown, nd::arange(unknown.size(0), nd::kLong));
  Array result =
      nd::zeros({unknown.size(0), unknown.size(0)}, alone.variance.options());
  const auto fill = [&](const Array& rows_in, const Array& of_rows) {
    const Array to = place.index_select(0, rows_in.cpu());
    const Array kept = nd::nonzero(to >= 0).squeeze(1);
    const Array places = to.index_select(0, kept).to(result.device());
    const Array which = kept.to(of_rows.device());
    result.index_put_(
        {places.unsqueeze(1), places.unsqueeze(0)},
        of_rows.index_select(0, which).index_select(1, which).to(result.device()));
  };
  const Array one = one_replica_here(parameters);
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    const Array all = covariances(group, one).squeeze(0);
    for (std::int64_t c = 0; c < all.size(0); ++c) {
      fill(groups_[group].rows[c], all[c]);
    }
  }
  for (const Observation& given : observe(one, observed)) {
    const Array whitened =
        nd::linalg_solve_triangular(given.cholesky, given.with_all, /*upper=*/false);
    const Array rest = given.covariance - nd::matmul(transposed(whitened), whitened);
    const Array rows_in = given.rows.view({rest.size(0), rest.size(1)});
    for (std::int64_t c = 0; c < rest.size(0); ++c) fill(rows_in[c], rest[c]);
  }
  return {alone.rows, alone.mean, result.unsqueeze(0)};
}

ConditionalRows DenseLaw::condition_rows(const Array& parameters, const Array& observed,
                                         const Array& latents) const {
  const Array unknown = checked_unknown_rows(observed, latents);
  const Array one = one_replica_here(parameters);
  const Array known = here(latents).unsqueeze(0);
  Array mean = nd::zeros({rows(), latents.size(1)}, known.options());
  Array variance = nd::empty({rows()}, known.options());
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    variance.index_copy_(0, groups_[group].rows.flatten(),
                         covariances(group, one).diagonal(0, 2, 3).flatten());
  }
  for (const Observation& given : observe(one, observed)) {
    const Array whitened =
        nd::linalg_solve_triangular(given.cholesky, given.with_all, /*upper=*/false);
    const Array whitened_latents = nd::linalg_solve_triangular(
        given.cholesky, take_batch(known, given.part.positions).squeeze(0),
        /*upper=*/false);
    mean.index_copy_(0, given.rows,
                     nd::matmul(transposed(whitened), whitened_latents).flatten(0, 1));
    variance.index_add_(0, given.rows, -whitened.square().sum(1).flatten());
  }
  const nd::Device device = latents.device();
  return {unknown, mean.to(device).index_select(0, unknown),
          variance.to(device).index_select(0, unknown).unsqueeze(1)};
}

Array DenseLaw::sample_given(const Array& parameters, const Array& observed,
                             const Array& latents, Random& random) const {
  // As in the base class: a draw, corrected by the regression on what it has wrong.
  checked_unknown_rows(observed, latents);
  const Array one = one_replica_here(parameters);
  const Array seen = observed.to(device_);
  const Array known = here(latents);
  Array draw = here(sample(parameters, latents.size(1), random));
  const Array error = (known - draw.index_select(0, seen)).unsqueeze(0);
  for (const Observation& given : observe(one, observed)) {
    const Array solved = nd::cholesky_solve(
        take_batch(error, given.part.positions).squeeze(0), given.cholesky);
    draw.index_add_(0, given.rows,
                    nd::matmul(transposed(given.with_all), solved).flatten(0, 1));
  }
  return draw.index_copy_(0, seen, known).cpu();
}

}  // namespace kinflow
