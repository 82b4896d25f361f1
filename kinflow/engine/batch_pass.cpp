// By fused kernels on the CPU.
#include "kinflow/engine/batch_pass.h"

#include <vector>

#include "kinflow/array/array.h"
#include "kinflow/core/workers.h"
#include "kinflow/engine/cuda/cuda_backend.h"
#include "kinflow/flow/cpu/fused_flow.h"

namespace kinflow {
namespace {

template <typename Real>
class FusedPass final : public BatchPass {
 public:
  FusedPass(const Flow& flow, const Array& data, const Array& context)
      : flow_(flow),
        fused_(make_plan(flow.options())),
        data_(data.contiguous()),
        context_(context.defined() ? context.contiguous() : context) {
    for (std::int64_t r = 0; r < flow.replicas(); ++r) batches_.emplace_back(fused_);
  }

  LatentResult to_latent(const Array& rows) override {
    const std::int64_t count = rows.size(0);
    LatentResult result{
        .latents = nd::empty({flow_.replicas(), count, data_.size(1)}, data_.options()),
        .log_abs_det = nd::empty({flow_.replicas(), count}, data_.options())};
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

  Array gradient(const Array& latent_slopes, double log_abs_det_slope) override {
    const auto slopes = latent_slopes.contiguous();
    const std::int64_t size = slopes.size(1) * slopes.size(2);
    auto result = nd::empty_like(flow_.values());
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
  Array data_, context_;
  std::vector<FusedBatch<Real>> batches_;
};

}  // namespace

std::unique_ptr<BatchPass> make_batch_pass(const Flow& flow, const Array& data,
                                           const Array& context, Engine engine) {
  if (!data.is_cpu()) return make_device_pass(flow, data, context, engine);
  if (data.scalar_type() == nd::kFloat) {
    return std::make_unique<FusedPass<float>>(flow, data, context);
  }
  return std::make_unique<FusedPass<double>>(flow, data, context);
}

}  // namespace kinflow
