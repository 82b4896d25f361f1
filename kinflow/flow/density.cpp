// Latents and densities of many rows: by fused kernels on the CPU, elsewhere by
// arrays.
#include "kinflow/flow/density.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "kinflow/array/array.h"
#include "kinflow/core/error.h"
#include "kinflow/core/workers.h"
#include "kinflow/flow/cpu/fused_flow.h"
#include "kinflow/flow/cuda/cuda_backend.h"

namespace kinflow {
namespace {

// Rows whose intermediate results stay in the second-level cache.
constexpr std::int64_t kRowsAtOnce = 2048;

// The array version, piece by piece: one(rows, context) for consecutive pieces of
// [R or 1, n, ...] arrays.
template <typename One>
void for_each_piece(const Flow& flow, const Array& rows, const Array& context,
                    const One& one) {
  const std::int64_t total = rows.size(1);
  for (std::int64_t start = 0; start < total; start += kRowsAtOnce) {
    const std::int64_t count = std::min(kRowsAtOnce, total - start);
    const auto piece = [&](const Array& all) {
      return all.narrow(1, start, count).expand({flow.replicas(), count, all.size(2)});
    };
    one(piece(rows), context.defined() ? piece(context) : Array());
  }
}

Array with_replica_axis(const Array& tensor) {
  return tensor.defined() ? tensor.unsqueeze(0) : tensor;
}

LatentResult latents_by_arrays(const Flow& flow, const Array& data,
                               const Array& context) {
  std::vector<Array> latents, log_abs_dets;
  for_each_piece(flow, with_replica_axis(data), with_replica_axis(context),
                 [&](const Array& rows, const Array& steering) {
                   auto result = flow.to_latent(rows, steering);
                   latents.push_back(std::move(result.latents));
                   log_abs_dets.push_back(std::move(result.log_abs_det));
                 });
  return {.latents = nd::cat(latents, 1), .log_abs_det = nd::cat(log_abs_dets, 1)};
}

Array data_by_arrays(const Flow& flow, const Array& latents, const Array& context) {
  std::vector<Array> pieces;
  for_each_piece(flow, latents, with_replica_axis(context),
                 [&](const Array& rows, const Array& steering) {
                   pieces.push_back(flow.from_latent(rows, steering));
                 });
  return nd::cat(pieces, 1);
}

template <typename Real>
RowSet<Real> row_set(const Array& data, const Array& context) {
  return {.data = data.data_ptr<Real>(),
          .context = context.defined() ? context.data_ptr<Real>() : nullptr,
          .count = data.size(0)};
}

// Kernels take what they are given. @param rows [..., n, p]
void check_shapes(const Flow& flow, const Array& rows, const Array& context) {
  const auto& options = flow.options();
  const bool has_context = context.defined() && context.numel() > 0;
  const bool fits = rows.size(-1) == options.dimension &&
                    has_context == (options.context > 0 && rows.size(-2) > 0) &&
                    (!has_context || (context.size(-2) == rows.size(-2) &&
                                      context.size(-1) == options.context));
  if (fits) return;
  throw InputError(fmt::format(
      "[Flow] expected rows [n, {}] with context [n, {}], received [{}] with [{}]",
      options.dimension, options.context, fmt::join(rows.sizes(), ", "),
      context.defined() ? fmt::format("{}", fmt::join(context.sizes(), ", ")) : ""));
}

// Several replicas share the cores; a single one has them for its rows.
template <typename One>
void for_replicas(std::int64_t replicas, const One& one) {
  if (replicas == 1) return one(0, shared_workers());
  Workers alone(1);
  shared_workers().run(replicas, [&](std::int64_t replica, std::int64_t /*thread*/) {
    one(replica, alone);
  });
}

Array contiguous(const Array& tensor) {
  return tensor.defined() ? tensor.contiguous() : tensor;
}

template <typename Real>
LatentResult latents_by_kernels(const Flow& flow, const Array& data,
                                const Array& context) {
  const FusedFlow<Real> fused(make_plan(flow.options()));
  const auto rows = row_set<Real>(data, context);
  LatentResult result{
      .latents =
          nd::empty({flow.replicas(), data.size(0), data.size(1)}, data.options()),
      .log_abs_det = nd::empty({flow.replicas(), data.size(0)}, data.options())};
  const std::int64_t n = data.size(0), p = data.size(1);
  for_replicas(flow.replicas(), [&](std::int64_t r, Workers& workers) {
    fused.to_latent(flow.values().data_ptr<Real>() + r * flow.values().size(1), rows,
                    result.latents.data_ptr<Real>() + r * n * p,
                    result.log_abs_det.data_ptr<Real>() + r * n, workers);
  });
  return result;
}

template <typename Real>
Array data_by_kernels(const Flow& flow, const Array& latents, const Array& context) {
  const FusedFlow<Real> fused(make_plan(flow.options()));
  auto data = nd::empty_like(latents);
  for_replicas(flow.replicas(), [&](std::int64_t r, Workers& workers) {
    fused.from_latent(flow.values().data_ptr<Real>() + r * flow.values().size(1),
                      row_set<Real>(latents[r], context),
                      data.data_ptr<Real>() + r * latents[r].numel(), workers);
  });
  return data;
}

}  // namespace

Array standard_normal_log_density(const Array& latents) {
  const double constant =
      0.5 * std::log(2 * std::numbers::pi) * static_cast<double>(latents.size(-1));
  return latents.square().sum(-1).mul(-0.5).sub(constant);
}

Array row_log_density(const Flow& flow, const Array& data, const Array& context) {
  if (!data.is_cpu()) {
    if (auto density = row_log_density_by_cuda(flow, data, context)) return *density;
  }
  const auto result = all_latents(flow, data, context);
  return standard_normal_log_density(result.latents) + result.log_abs_det;
}

LatentResult all_latents(const Flow& flow, const Array& data, const Array& context) {
  check_shapes(flow, data, context);
  if (!data.is_cpu()) {
    const auto result = latents_by_cuda(flow, data, context);
    return result ? *result : latents_by_arrays(flow, data, context);
  }
  return data.scalar_type() == nd::kFloat
             ? latents_by_kernels<float>(flow, data.contiguous(), contiguous(context))
             : latents_by_kernels<double>(flow, data.contiguous(), contiguous(context));
}

Array all_data(const Flow& flow, const Array& latents, const Array& context) {
  check_shapes(flow, latents, context);
  if (!latents.is_cpu()) {
    const auto data = data_by_cuda(flow, latents, context);
    return data ? *data : data_by_arrays(flow, latents, context);
  }
  return latents.scalar_type() == nd::kFloat
             ? data_by_kernels<float>(flow, latents.contiguous(), contiguous(context))
             : data_by_kernels<double>(flow, latents.contiguous(), contiguous(context));
}

}  // namespace kinflow
