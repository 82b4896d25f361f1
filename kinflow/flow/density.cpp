// Row densities, piece by piece.
#include "kinflow/flow/density.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace kinflow {
namespace {

// Rows whose intermediate results stay in the second-level cache.
constexpr std::int64_t kRowsAtOnce = 2048;

// Calls use(rows, context) for consecutive pieces of [R or 1, n, ...] tensors.
template <typename Use>
void for_each_piece(const Flow& flow, const at::Tensor& rows, const at::Tensor& context,
                    const Use& use) {
  const c10::NoGradGuard no_grad;
  const std::int64_t total = rows.size(1);
  for (std::int64_t start = 0; start < total; start += kRowsAtOnce) {
    const std::int64_t count = std::min(kRowsAtOnce, total - start);
    const auto piece = [&](const at::Tensor& all) {
      return all.narrow(1, start, count).expand({flow.replicas(), count, all.size(2)});
    };
    use(piece(rows), context.defined() ? piece(context) : at::Tensor());
  }
}

at::Tensor with_replica_axis(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.unsqueeze(0) : tensor;
}

}  // namespace

at::Tensor standard_normal_log_density(const at::Tensor& latents) {
  const double constant =
      0.5 * std::log(2 * std::numbers::pi) * static_cast<double>(latents.size(-1));
  return latents.square().sum(-1).mul(-0.5).sub(constant);
}

at::Tensor row_log_density(const Flow& flow, const at::Tensor& data,
                           const at::Tensor& context) {
  std::vector<at::Tensor> pieces;
  for_each_piece(flow, with_replica_axis(data), with_replica_axis(context),
                 [&](const at::Tensor& rows, const at::Tensor& steering) {
                   const auto result = flow.to_latent(rows, steering);
                   pieces.push_back(standard_normal_log_density(result.latents) +
                                    result.log_abs_det);
                 });
  return at::cat(pieces, 1);
}

LatentResult all_latents(const Flow& flow, const at::Tensor& data,
                         const at::Tensor& context) {
  std::vector<at::Tensor> latents, log_abs_dets;
  for_each_piece(flow, with_replica_axis(data), with_replica_axis(context),
                 [&](const at::Tensor& rows, const at::Tensor& steering) {
                   auto result = flow.to_latent(rows, steering);
                   latents.push_back(std::move(result.latents));
                   log_abs_dets.push_back(std::move(result.log_abs_det));
                 });
  return {.latents = at::cat(latents, 1), .log_abs_det = at::cat(log_abs_dets, 1)};
}

at::Tensor all_data(const Flow& flow, const at::Tensor& latents,
                    const at::Tensor& context) {
  std::vector<at::Tensor> pieces;
  for_each_piece(flow, latents, with_replica_axis(context),
                 [&](const at::Tensor& rows, const at::Tensor& steering) {
                   pieces.push_back(flow.from_latent(rows, steering));
                 });
  return at::cat(pieces, 1);
}

}  // namespace kinflow
