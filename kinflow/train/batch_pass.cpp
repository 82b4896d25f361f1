// By tensors with recorded gradients, or by fused kernels on the CPU.
#include "kinflow/train/batch_pass.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <vector>

#include "kinflow/core/workers.h"
#include "kinflow/flow/fused_flow.h"
#include "kinflow/train/cuda_backend.h"

namespace kinflow {
namespace {

class TensorPass final : public BatchPass {
 public:
  TensorPass(const Flow& flow, const at::Tensor& data, const at::Tensor& context)
      : flow_(flow), data_(data), context_(context) {}

  LatentResult to_latent(const at::Tensor& rows) override {
    const auto take = [&](const at::Tensor& all) {
      if (!all.defined()) return all;
      return all.index_select(0, rows).unsqueeze(0).expand(
          {flow_.replicas(), rows.size(0), all.size(1)});
    };
    const c10::AutoGradMode record(true);
    recorded_ = flow_.to_latent(take(data_), take(context_));
    return {.latents = recorded_.latents.detach(),
            .log_abs_det = recorded_.log_abs_det.detach()};
  }

  at::Tensor gradient(const at::Tensor& latent_slopes,
                      double log_abs_det_slope) override {
    const c10::AutoGradMode record(true);
    const auto scalar = (recorded_.latents * latent_slopes).sum() +
                        log_abs_det_slope * recorded_.log_abs_det.sum();
    recorded_ = {};
    return flow_.gradient_of(scalar);
  }

 private:
  const Flow& flow_;
  at::Tensor data_, context_;
  LatentResult recorded_;
};

template <typename Real>
class FusedPass final : public BatchPass {
 public:
  FusedPass(const Flow& flow, const at::Tensor& data, const at::Tensor& context)
      : flow_(flow),
        fused_(make_plan(flow.options())),
        data_(data.contiguous()),
        context_(context.defined() ? context.contiguous() : context) {
    for (std::int64_t r = 0; r < flow.replicas(); ++r) batches_.emplace_back(fused_);
  }

  LatentResult to_latent(const at::Tensor& rows) override {
    const std::int64_t count = rows.size(0);
    LatentResult result{
        .latents = at::empty({flow_.replicas(), count, data_.size(1)}, data_.options()),
        .log_abs_det = at::empty({flow_.replicas(), count}, data_.options())};
    const RowSet<Real> set{
        .data = data_.data_ptr<Real>(),
        .context = context_.defined() ? context_.data_ptr<Real>() : nullptr,
        .count = count,
        .rows = rows.data_ptr<std::int64_t>()};
    for_replicas([&](std::int64_t r) {
      batches_[static_cast<std::size_t>(r)].to_latent(
          values(r), set, result.latents.data_ptr<Real>() + r * count * data_.size(1),
          result.log_abs_det.data_ptr<Real>() + r * count, shared_workers());
    });
    return result;
  }

  at::Tensor gradient(const at::Tensor& latent_slopes,
                      double log_abs_det_slope) override {
    const auto slopes = latent_slopes.contiguous();
    const std::int64_t size = slopes.size(1) * slopes.size(2);
    auto result = at::empty_like(flow_.values());
    for_replicas([&](std::int64_t r) {
      batches_[static_cast<std::size_t>(r)].gradient(
          values(r), slopes.data_ptr<Real>() + r * size,
          static_cast<Real>(log_abs_det_slope),
          result.data_ptr<Real>() + r * result.size(1), shared_workers());
    });
    return result;
  }

 private:
  const Real* values(std::int64_t replica) const {
    return flow_.values().data_ptr<Real>() + replica * flow_.values().size(1);
  }

  // Several replicas share the cores; a single one has them for its rows.
  template <typename One>
  void for_replicas(const One& one) {
    shared_workers().run(flow_.replicas(),
                         [&](std::int64_t r, std::int64_t /*thread*/) { one(r); });
  }

  const Flow& flow_;
  FusedFlow<Real> fused_;
  at::Tensor data_, context_;
  std::vector<FusedBatch<Real>> batches_;
};

}  // namespace

std::unique_ptr<BatchPass> make_batch_pass(const Flow& flow, const at::Tensor& data,
                                           const at::Tensor& context, Engine engine) {
  if (engine == Engine::fused && !data.is_cpu()) {
    if (auto pass = make_cuda_pass(flow, data, context)) return pass;
  }
  if (engine == Engine::tensor || !data.is_cpu()) {
    return std::make_unique<TensorPass>(flow, data, context);
  }
  if (data.scalar_type() == at::kFloat) {
    return std::make_unique<FusedPass<float>>(flow, data, context);
  }
  return std::make_unique<FusedPass<double>>(flow, data, context);
}

}  // namespace kinflow
