// Where the latents of dependent images lie.
#pragma once

#include <ATen/core/Tensor.h>

#include "kinflow/train/images/image_trainer.h"

namespace kinflow {

/// The most likely mean of the latents given the flow and the correlations,
/// 1' C^-1 U / 1' C^-1 1, [p] float64: the plain mean where images are independent.
///
/// Steps of a training come slowly to a flow whose latents have mean 0: images of one
/// person tell hardly more of the mean than one of them, while they tell as much as
/// ever about everything else.
/// @param latents  [n, p] of the training images
/// @param correlations  of the people with at least two images, in increasing order of
///                      their numbers; empty: images are independent
at::Tensor most_likely_mean(const at::Tensor& latents, const at::Tensor& person,
                            const at::Tensor& correlations);

/// Negative log-probabilities, [n] float64, under a law of latents with that mean in
/// place of 0; noise as in image_nll().
at::Tensor image_nll_around(const at::Tensor& mean, const GlowFlow& flow,
                            const ImageRows& rows, std::uint64_t seed);

}  // namespace kinflow
