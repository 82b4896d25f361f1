// A batch of images through a Glow flow and its gradient back, by hand: no graph is
// recorded, all large arrays are used again by every batch.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "kinflow/array/array.h"
#include "kinflow/flow/glow/dense_network.h"
#include "kinflow/flow/glow/glow_flow.h"

namespace kinflow {

struct GlowPassOptions {
  enum class Keep {
    nothing,     ///< for to_latent() and from_latent() alone
    inputs,      ///< of the steps: backward() computes the networks again
    activations  ///< all that backward() needs
  };
  /// Of the wide products: the flow's own type, or bfloat16 with a float32 flow.
  /// Everything else, log-determinants too, is in the flow's type.
  nd::ScalarType arithmetic = nd::kFloat;
  Keep keep = Keep::activations;
};

/// Batches of one size through one flow, whose values may change between them. No call
/// but from_latent() waits for a GPU, so that work can be recorded and repeated.
class GlowPass {
 public:
  /// The flow must outlive this object.
  GlowPass(const GlowFlow& flow, std::int64_t images, GlowPassOptions options = {});
  ~GlowPass();

  std::int64_t images() const { return images_; }

  /// Latents [b, p] and log-determinants [b] of images [b, C, H, W].
  LatentResult to_latent(const Array& images);
  /// Gradient in the flow's values, [P], of a function of the last batch: it has these
  /// slopes in the latents [b, p] and this one in every log-determinant. The array is
  /// overwritten by the next call.
  const Array& backward(const Array& latent_slopes, double log_abs_det_slope);

  Array from_latent(const Array& latents);

  /// GlowFlow::initialize(). @param values  the flow's own
  void initialize_activation_norm(const Array& images, Array& values);

 private:
  // What backward() needs of one step, as matrices with a row for each pixel.
  struct Step {
    Array input, mixed, changes;
  };
  struct Scale {
    PixelGrid grid;
    ChannelMaps maps = {};
    std::vector<DenseParameters> networks = {}, gradients = {};
    std::vector<DenseActivations> activations = {};  // of each step, or one for all
    std::unique_ptr<DenseWorkspace> workspace = {};
    std::vector<Step> steps = {};

    DenseActivations& activations_of(std::size_t step) {
      return activations[activations.size() == 1 ? 0 : step];
    }
  };

  bool keeps() const { return options_.keep != GlowPassOptions::Keep::nothing; }
  Array forward_step(Scale& scale, std::size_t step, const Array& input);
  Array backward_step(Scale& scale, std::size_t step, const Array& slopes,
                      double log_abs_det_slope);
  // [b, h, w, c] at the entry of a scale from what the scale before left; what goes to
  // the latents is added to `parts`.
  Array enter_scale(std::size_t scale, const Array& images,
                    std::vector<Array>& parts) const;
  // The parts of latents [b, p] that enter_scale() split off, by scale, and the rest.
  std::vector<Array> split_latents(const Array& latents) const;
  void refresh_wide();

  const GlowFlow& flow_;
  std::int64_t images_;
  GlowPassOptions options_;
  Array wide_;           // the wide products' parameters in the arithmetic's type
  Array gradient_;       // [P]
  Array wide_gradient_;  // as wide_; a view of gradient_ where the types agree
  Array log_abs_det_;    // [1, b]
  std::vector<Scale> scales_;
};

}  // namespace kinflow
