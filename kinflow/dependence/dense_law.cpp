// Likelihood, gradients, estimators, draws and conditional laws from C and its
// derivatives, for all components of one size at once.
#include "kinflow/dependence/dense_law.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

#include "kinflow/core/device_stream.h"
#include "kinflow/core/error.h"
#include "kinflow/core/random.h"
#include "kinflow/core/size.h"
#include "kinflow/core/tensor_numbers.h"

namespace kinflow {
namespace {

/// Numbers [R, n, c] of rows [count, m]: [R, count, m, c].
at::Tensor take_rows(const at::Tensor& numbers, const at::Tensor& rows) {
  return numbers.index_select(1, rows.flatten())
      .view({numbers.size(0), rows.size(0), rows.size(1), numbers.size(2)});
}

/// A batch's numbers [R, b, c] by component: [R, s, w, c], 0 in the padding.
at::Tensor take_batch(const at::Tensor& numbers, const at::Tensor& positions) {
  return take_rows(at::constant_pad_nd(numbers, {0, 0, 0, 1}), positions);
}

/// The rows of symmetric matrices [R, count, m, m] that a batch asks for: [R, s, w, m].
at::Tensor rows_of(const at::Tensor& matrices, const at::Tensor& components,
                   const at::Tensor& places) {
  const std::int64_t m = matrices.size(3);
  const at::Tensor rows = (components.unsqueeze(1) * m + places).flatten();
  return matrices.flatten(1, 2).index_select(1, rows).view(
      {matrices.size(0), places.size(0), places.size(1), m});
}

/// Of these rows, the columns of the batch: [R, s, w, w].
at::Tensor columns_of(const at::Tensor& rows, const at::Tensor& places) {
  const std::int64_t s = places.size(0), w = places.size(1);
  return rows.gather(3, places.view({1, s, 1, w}).expand({rows.size(0), s, w, w}));
}

/// The weight of every pair of w rows: 1 on the diagonal, [w, w].
at::Tensor pair_weights(double weight, const at::Tensor& positions,
                        const at::Tensor& numbers) {
  return at::eye(positions.size(1), numbers.options()) * (1 - weight) + weight;
}

at::Tensor transposed(const at::Tensor& matrices) { return matrices.transpose(-2, -1); }

}  // namespace

/// Keeps the latents alone; rows of C^-1 are at hand.
class DenseLaw::Memory final : public LatentMemory {
 public:
  explicit Memory(const DenseLaw& law) : LatentMemory(law.rows()), law_(law) {}

  void update(const at::Tensor& rows, const at::Tensor& latents) override {
    exchange_rows(rows, latents);
  }

  at::Tensor precision_rows(const at::Tensor& parameters,
                            const at::Tensor& rows) const override {
    const auto known = law_.inverse(parameters);
    const std::int64_t b = rows.size(0), p = latents_.size(2);
    const at::Tensor all = law_.here(latents_);
    at::Tensor result = at::empty({all.size(0), b + 1, p}, all.options());
    for (const BatchPart& part : law_.parts(rows)) {
      const at::Tensor rows_in =
          law_.groups_[part.group].rows.index_select(0, part.components);
      const at::Tensor product = at::matmul(
          rows_of(known->precision[part.group], part.components, part.places),
          take_rows(all, rows_in));
      result.index_copy_(1, part.positions.flatten(), product.flatten(1, 2));
    }
    return result.narrow(1, 0, b).to(latents_.device());
  }

  at::Tensor parameter_gradient(const at::Tensor& parameters) const override {
    return law_.parameter_gradient(parameters, latents_);
  }

 private:
  const DenseLaw& law_;
};

DenseLaw::DenseLaw(Components components, at::Device device)
    : components_(std::move(components)), device_(device) {
  std::map<std::int64_t, std::vector<std::int64_t>> numbers_of_size;
  for (std::int64_t number = 0; number < components_.count(); ++number) {
    numbers_of_size[components_.size(number)].push_back(number);
  }
  group_of_component_.resize(to_size(components_.count()));
  place_in_group_.resize(to_size(components_.count()));
  for (auto& [size, numbers] : numbers_of_size) {
    const auto count = static_cast<std::int64_t>(numbers.size());
    at::Tensor rows = at::empty({count, size}, at::kLong);
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

at::Tensor DenseLaw::here(const at::Tensor& tensor) const {
  return tensor.to(device_, at::kDouble);
}

at::Tensor DenseLaw::parameters_here(const at::Tensor& parameters) const {
  return here(checked_parameters(parameters).detach());
}

at::Tensor DenseLaw::one_replica_here(const at::Tensor& parameters) const {
  return here(checked_one_replica(parameters)).unsqueeze(0);
}

at::Tensor DenseLaw::cholesky(std::size_t group, const at::Tensor& parameters) const {
  const auto [factor, info] = at::linalg_cholesky_ex(covariances(group, parameters));
  const at::Tensor failed = at::nonzero(info);
  if (failed.size(0) > 0) {
    const at::Tensor of_replica = parameters[failed[0][0].item<std::int64_t>()].cpu();
    throw NumericalError(fmt::format(
        "[{}] C is not positive definite at the parameters {}", kind(),
        fmt::join(of_replica.data_ptr<double>(),
                  of_replica.data_ptr<double>() + of_replica.numel(), ", ")));
  }
  return factor;
}

/// Another thread may have made it, whose queue would take its memory back too early.
void DenseLaw::keep_for_stream(const Inverse& inverse) const {
  if (device_.is_cpu()) return;
  const auto stream = c10::impl::VirtualGuardImpl(device_.type()).getStream(device_);
  for (const auto& precision : inverse.precision) precision.record_stream(stream);
  for (const auto* tensor :
       {&inverse.parameters, &inverse.log_det, &inverse.log_det_slopes}) {
    tensor->record_stream(stream);
  }
}

std::shared_ptr<const DenseLaw::Inverse> DenseLaw::inverse(
    const at::Tensor& parameters) const {
  const at::Tensor wanted = parameters_here(parameters);
  const std::lock_guard lock(mutex_);
  if (last_ && last_->parameters.sizes() == wanted.sizes() &&
      at::equal(last_->parameters, wanted)) {
    keep_for_stream(*last_);
    return last_;
  }
  last_.reset();
  auto found =
      std::make_shared<Inverse>(Inverse{wanted.clone(),
                                        {},
                                        at::zeros({wanted.size(0)}, wanted.options()),
                                        at::zeros_like(wanted)});
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    const at::Tensor factor = cholesky(group, wanted);
    found->log_det += 2 * factor.diagonal(0, 2, 3).log().sum({1, 2});
    // LAPACK stores columns, but a batch takes rows.
    found->precision.push_back(at::cholesky_inverse(factor).contiguous());
    found->log_det_slopes +=
        slopes(group, wanted, at::Tensor(), found->precision.back());
  }
  // Other threads, which have queues of their own, may take it at once.
  wait_for_stream(device_);
  last_ = found;
  return found;
}

std::vector<DenseLaw::BatchPart> DenseLaw::parts(const at::Tensor& rows) const {
  const std::int64_t b = rows.size(0);
  if (b == 0) return {};
  const auto whole_numbers = at::TensorOptions(device_).dtype(at::kLong);
  if (component_count() == 1) {
    // Without a look at the rows, which would stall a GPU.
    return {{0, at::zeros({1}, whole_numbers), rows.to(device_).unsqueeze(0),
             at::arange(b, whole_numbers).unsqueeze(0)}};
  }
  const at::Tensor row = rows.cpu().contiguous();
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
    at::Tensor components = at::empty({s}, at::kLong);
    at::Tensor places = at::zeros({s, w}, at::kLong);
    at::Tensor positions_in = at::full({s, w}, b, at::kLong);
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

at::Tensor DenseLaw::log_det(const at::Tensor& parameters) const {
  return inverse(parameters)->log_det.to(parameters.device());
}

at::Tensor DenseLaw::precision_times(const at::Tensor& parameters,
                                     const at::Tensor& latents) const {
  const at::Tensor all = here(checked_latents(parameters, latents, rows()));
  const auto known = inverse(parameters);
  at::Tensor result = at::empty_like(all);
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    const at::Tensor& rows_in = groups_[group].rows;
    const at::Tensor product =
        at::matmul(known->precision[group], take_rows(all, rows_in));
    result.index_copy_(1, rows_in.flatten(), product.flatten(1, 2));
  }
  return result.to(latents.device());
}

at::Tensor DenseLaw::parameter_gradient(const at::Tensor& parameters,
                                        const at::Tensor& latents) const {
  // With W = C^-1 U the trace changes by -tr(W' dC W).
  const at::Tensor weighted = here(precision_times(parameters, latents));
  const auto known = inverse(parameters);
  at::Tensor twice = static_cast<double>(latents.size(2)) * known->log_det_slopes;
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    const at::Tensor w = take_rows(weighted, groups_[group].rows);
    twice -=
        slopes(group, known->parameters, at::Tensor(), at::matmul(w, transposed(w)));
  }
  return (0.5 * twice).to(parameters.device());
}

at::Tensor DenseLaw::pairs_rows(const at::Tensor& parameters, const at::Tensor& rows,
                                const at::Tensor& latents) const {
  const std::int64_t b = rows.size(0);
  const at::Tensor batch = here(checked_latents(parameters, latents, b));
  const auto known = inverse(parameters);
  at::Tensor result = at::empty({batch.size(0), b + 1, batch.size(2)}, batch.options());
  for (const BatchPart& part : parts(rows)) {
    const at::Tensor weights = pair_weights(pair_weight(b), part.positions, batch);
    const at::Tensor among =
        columns_of(rows_of(known->precision[part.group], part.components, part.places),
                   part.places);
    const at::Tensor product =
        at::matmul(weights * among, take_batch(batch, part.positions));
    result.index_copy_(1, part.positions.flatten(), product.flatten(1, 2));
  }
  return result.narrow(1, 0, b).to(latents.device());
}

at::Tensor DenseLaw::pairs_parameter_gradient(const at::Tensor& parameters,
                                              const at::Tensor& rows,
                                              const at::Tensor& latents) const {
  // A = C^-1 changes by -A dC A; the trace over the batch's pairs is a product of dC
  // with the batch's rows of A, mixed by the weighted products of latents.
  const std::int64_t b = rows.size(0);
  const at::Tensor batch = here(checked_latents(parameters, latents, b));
  const auto known = inverse(parameters);
  const double scale = static_cast<double>(this->rows()) / static_cast<double>(b);
  at::Tensor twice = static_cast<double>(batch.size(2)) * known->log_det_slopes;
  for (const BatchPart& part : parts(rows)) {
    const at::Tensor u = take_batch(batch, part.positions);
    const at::Tensor products = pair_weights(pair_weight(b), part.positions, batch) *
                                at::matmul(u, transposed(u));
    const at::Tensor precision =
        rows_of(known->precision[part.group], part.components, part.places);
    twice -= scale *
             slopes(part.group, known->parameters, part.components,
                    at::matmul(transposed(precision), at::matmul(products, precision)));
  }
  return (0.5 * twice).to(parameters.device());
}

std::unique_ptr<LatentMemory> DenseLaw::make_memory() const {
  return std::make_unique<Memory>(*this);
}

at::Tensor DenseLaw::sample(const at::Tensor& parameters, std::int64_t columns,
                            Random& random) const {
  const at::Tensor one = one_replica_here(parameters);
  const at::Tensor normal =
      here(normal_numbers({rows(), columns}, random)).unsqueeze(0);
  at::Tensor draw = at::empty_like(normal);
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    const at::Tensor& rows_in = groups_[group].rows;
    const at::Tensor drawn =
        at::matmul(cholesky(group, one), take_rows(normal, rows_in));
    draw.index_copy_(1, rows_in.flatten(), drawn.flatten(1, 2));
  }
  return draw.squeeze(0).cpu();
}

at::Tensor DenseLaw::covariance(const at::Tensor& parameters) const {
  const at::Tensor one = one_replica_here(parameters);
  if (component_count() == 1) {
    return covariances(0, one).squeeze(0).to(parameters.device());
  }
  at::Tensor result = at::zeros({rows(), rows()}, one.options());
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    const at::Tensor& rows_in = groups_[group].rows;
    result.index_put_({rows_in.unsqueeze(2), rows_in.unsqueeze(1)},
                      covariances(group, one).squeeze(0));
  }
  return result.unsqueeze(0).to(parameters.device());
}

std::vector<DenseLaw::Observation> DenseLaw::observe(const at::Tensor& parameters,
                                                     const at::Tensor& observed) const {
  std::vector<Observation> result;
  for (BatchPart& part : parts(observed)) {
    const at::Tensor all = covariances(part.group, parameters);
    const at::Tensor real = (part.positions < observed.size(0)).to(at::kDouble);
    const at::Tensor with_all =
        rows_of(all, part.components, part.places) * real.unsqueeze(2);
    const at::Tensor among =
        (columns_of(with_all, part.places) * real.unsqueeze(1)).squeeze(0) +
        at::diag_embed(1 - real);
    const auto [factor, info] = at::linalg_cholesky_ex(among);
    if (info.any().item<bool>()) {
      throw NumericalError(fmt::format(
          "[{}] the covariance of the {} observed rows is not positive definite",
          kind(), observed.size(0)));
    }
    const at::Tensor rows_in =
        groups_[part.group].rows.index_select(0, part.components).flatten();
    const at::Tensor covariance = all.squeeze(0).index_select(0, part.components);
    result.push_back(
        {std::move(part), rows_in, with_all.squeeze(0), factor, covariance});
  }
  return result;
}

ConditionalLaw DenseLaw::condition(const at::Tensor& parameters,
                                   const at::Tensor& observed,
                                   const at::Tensor& latents) const {
  if (component_count() == 1) {
    return Dependence::condition(parameters, observed, latents);
  }
  const ConditionalRows alone = condition_rows(parameters, observed, latents);
  const at::Tensor unknown = alone.rows.cpu();
  at::Tensor place = at::full({rows()}, -1, at::kLong);
  place.index_copy_(0, unknown, at::arange(unknown.size(0), at::kLong));
  at::Tensor result =
      at::zeros({unknown.size(0), unknown.size(0)}, alone.variance.options());
  const auto fill = [&](const at::Tensor& rows_in, const at::Tensor& of_rows) {
    const at::Tensor to = place.index_select(0, rows_in.cpu());
    const at::Tensor kept = at::nonzero(to >= 0).squeeze(1);
    const at::Tensor places = to.index_select(0, kept).to(result.device());
    const at::Tensor which = kept.to(of_rows.device());
    result.index_put_(
        {places.unsqueeze(1), places.unsqueeze(0)},
        of_rows.index_select(0, which).index_select(1, which).to(result.device()));
  };
  const at::Tensor one = one_replica_here(parameters);
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    const at::Tensor all = covariances(group, one).squeeze(0);
    for (std::int64_t c = 0; c < all.size(0); ++c) {
      fill(groups_[group].rows[c], all[c]);
    }
  }
  for (const Observation& given : observe(one, observed)) {
    const at::Tensor whitened =
        at::linalg_solve_triangular(given.cholesky, given.with_all, /*upper=*/false);
    const at::Tensor rest =
        given.covariance - at::matmul(transposed(whitened), whitened);
    const at::Tensor rows_in = given.rows.view({rest.size(0), rest.size(1)});
    for (std::int64_t c = 0; c < rest.size(0); ++c) fill(rows_in[c], rest[c]);
  }
  return {alone.rows, alone.mean, result.unsqueeze(0)};
}

ConditionalRows DenseLaw::condition_rows(const at::Tensor& parameters,
                                         const at::Tensor& observed,
                                         const at::Tensor& latents) const {
  const at::Tensor unknown = checked_unknown_rows(observed, latents);
  const at::Tensor one = one_replica_here(parameters);
  const at::Tensor known = here(latents).unsqueeze(0);
  at::Tensor mean = at::zeros({rows(), latents.size(1)}, known.options());
  at::Tensor variance = at::empty({rows()}, known.options());
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    variance.index_copy_(0, groups_[group].rows.flatten(),
                         covariances(group, one).diagonal(0, 2, 3).flatten());
  }
  for (const Observation& given : observe(one, observed)) {
    const at::Tensor whitened =
        at::linalg_solve_triangular(given.cholesky, given.with_all, /*upper=*/false);
    const at::Tensor whitened_latents = at::linalg_solve_triangular(
        given.cholesky, take_batch(known, given.part.positions).squeeze(0),
        /*upper=*/false);
    mean.index_copy_(0, given.rows,
                     at::matmul(transposed(whitened), whitened_latents).flatten(0, 1));
    variance.index_add_(0, given.rows, -whitened.square().sum(1).flatten());
  }
  const at::Device device = latents.device();
  return {unknown, mean.to(device).index_select(0, unknown),
          variance.to(device).index_select(0, unknown).unsqueeze(1)};
}

at::Tensor DenseLaw::sample_given(const at::Tensor& parameters,
                                  const at::Tensor& observed, const at::Tensor& latents,
                                  Random& random) const {
  // As in the base class: a draw, corrected by the regression on what it has wrong.
  checked_unknown_rows(observed, latents);
  const at::Tensor one = one_replica_here(parameters);
  const at::Tensor seen = observed.to(device_);
  const at::Tensor known = here(latents);
  at::Tensor draw = here(sample(parameters, latents.size(1), random));
  const at::Tensor error = (known - draw.index_select(0, seen)).unsqueeze(0);
  for (const Observation& given : observe(one, observed)) {
    const at::Tensor solved = at::cholesky_solve(
        take_batch(error, given.part.positions).squeeze(0), given.cholesky);
    draw.index_add_(0, given.rows,
                    at::matmul(transposed(given.with_all), solved).flatten(0, 1));
  }
  return draw.index_copy_(0, seen, known).cpu();
}

}  // namespace kinflow
