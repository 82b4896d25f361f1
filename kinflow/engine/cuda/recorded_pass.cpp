// Recorded gradients of a flow's layers.
#include "kinflow/engine/cuda/recorded_pass.h"

#include <torch/csrc/autograd/autograd.h>

namespace kinflow {
namespace {

class RecordedPass final : public BatchPass {
 public:
  RecordedPass(const Flow& flow, const Array& data, const Array& context)
      : flow_(flow), data_(data), context_(context) {}

  LatentResult to_latent(const Array& rows) override {
    const auto take = [&](const Array& all) {
      if (!all.defined()) return all;
      return all.index_select(0, rows).unsqueeze(0).expand(
          {flow_.replicas(), rows.size(0), all.size(1)});
    };
    set_recording(true);
    recorded_ = flow_.to_latent(take(data_), take(context_));
    set_recording(false);
    return {.latents = recorded_.latents.detach(),
            .log_abs_det = recorded_.log_abs_det.detach()};
  }

  Array gradient(const Array& latent_slopes, double log_abs_det_slope) override {
    const auto scalar = (recorded_.latents * latent_slopes).sum() +
                        log_abs_det_slope * recorded_.log_abs_det.sum();
    recorded_ = {};
    auto gradients = torch::autograd::grad({scalar}, flow_.views());
    for (auto& gradient : gradients) {
      gradient = gradient.reshape({flow_.replicas(), -1});
    }
    return nd::cat(gradients, 1);
  }

 private:
  void set_recording(bool records) const {
    for (const auto& view : flow_.views()) view.requires_grad_(records);
  }

  const Flow& flow_;
  Array data_, context_;
  LatentResult recorded_;
};

}  // namespace

std::unique_ptr<BatchPass> make_recorded_pass(const Flow& flow, const Array& data,
                                              const Array& context) {
  return std::make_unique<RecordedPass>(flow, data, context);
}

}  // namespace kinflow
