// Training of a Glow flow on images of which some show the same person.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kinflow/array/array.h"
#include "kinflow/array/tensor_file.h"
#include "kinflow/dependence/blocks.h"
#include "kinflow/engine/options.h"
#include "kinflow/flow/glow/glow_flow.h"

namespace kinflow {

/// Images to train on or to evaluate.
struct ImageRows {
  Array pixels;           ///< [n, C, H, W] uint8, below 2^bits
  std::int64_t bits = 8;  ///< of a pixel
  /// [n] int64: images with the same number show the same person; undefined: all are
  /// independent.
  Array person = {};
};

enum class ImagePrecision {
  float32,
  mixed  ///< the networks' wide products in bfloat16; for GPUs
};

/// Of ImageTrainOptions::clip.
inline constexpr double kSmallestClip = 1e-3;

struct ImageTrainOptions {
  /// baseline, grid (`start` is held) or joint.
  Schedule schedule = Schedule::joint;
  Estimator estimator = Estimator::memory;  ///< memory or pairs
  /// Of those of make_image_law() (image_latents.h).
  BlockCorrelation correlation = BlockCorrelation::per_block;
  std::int64_t epochs = 100;
  std::int64_t batch_size = 64;
  double learning_rate = 0.01;
  double weight_decay = 0.001;
  /// Gradients longer than this many times their usual length are shortened to it.
  double clip = 5;
  double start = 0.1;           ///< of every correlation
  double dependence_rate = 10;  ///< of the correlations, as a multiple of learning_rate
  double prior = 1;             ///< as in SharedTrainOptions
  bool mirror = false;  ///< half of the images, left to right, in every epoch anew
  std::uint64_t seed = 0;
  ImagePrecision precision = ImagePrecision::float32;
  /// Compute the networks again instead of keeping what their gradient needs.
  bool recompute = false;
};

/// Means over the steps of one call of ImageTrainer::run().
struct ImageProgress {
  std::int64_t steps_done = 0;  ///< since the beginning of the training
  /// Of single images, mean over the steps of this call that were taken; NaN for none.
  double train_nll_nats = 0;
  std::int64_t taken = 0;    ///< steps of this call that were not skipped
  double gradient_norm = 0;  ///< before clipping, of the last step
  std::int64_t skipped = 0;  ///< steps since the beginning with non-finite gradients
  /// Over people with several images and over latents; 0 without.
  double mean_correlation = 0;
};

/// One training. On a GPU a step is recorded once and repeated; images, latents and
/// optimiser stay there. The same numbers come out however a training is cut into calls
/// of run(), and when it goes on from state() in another process; on a GPU, where
/// find_device() named it.
class ImageTrainer {
 public:
  ImageTrainer(const ImageRows& rows, const GlowOptions& flow,
               const ImageTrainOptions& options, nd::Device device);
  ~ImageTrainer();

  std::int64_t steps_per_epoch() const;
  std::int64_t total_steps() const;
  std::int64_t steps_done() const;
  bool is_finished() const { return steps_done() >= total_steps(); }

  /// Takes at most this many steps, fewer at the end of the training.
  ImageProgress run(std::int64_t steps);

  const GlowFlow& flow() const;
  /// Correlations of the people with at least two images, in increasing order of their
  /// numbers, the mean over the latents, [m] float64 on the CPU; empty for a baseline.
  Array correlations() const;
  /// Their numbers, [m] int64.
  Array correlated_people() const;
  /// Correlations of latent_groups() (image_latents.h), [G] float64 on the CPU; empty
  /// where latents have no correlations of their own.
  Array latent_correlations() const;
  /// Correlations of the images of somebody new: of every latent [p], or one for all
  /// [1], float64 on the CPU; empty for a baseline.
  Array typical_correlations() const;

  /// All that decides how a training goes on, on the CPU. For the end of an epoch: what
  /// the steps of an unfinished one have left is lost.
  NamedTensors state() const;
  /// InputError, that starts with `source`, for the state of another training.
  void restore(const NamedTensors& state, const std::string& source);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// Negative log-probability in nats of every image by itself, [n] float64 on the CPU:
/// the bound that uniform dequantisation gives, with the same noise for the same seed
/// and place in the set. A uniform law has C H W bits log 2.
Array image_nll(const GlowFlow& flow, const ImageRows& rows, std::uint64_t seed);

/// Latents [n, p] of images, on the CPU in the flow's type; noise as in image_nll().
Array image_latents(const GlowFlow& flow, const ImageRows& rows, std::uint64_t seed);

/// Pixels [m, C, H, W] uint8 of latents [m, p].
Array pixels_from_latents(const GlowFlow& flow, const Array& latents,
                          std::int64_t bits);

}  // namespace kinflow
