// Images drawn from a model: of new people, and further ones of people whose images are
// known.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kinflow/array/array.h"
#include "kinflow/images/image_set.h"
#include "kinflow/model/images/image_model.h"

namespace kinflow {

struct ImageDrawOptions {
  std::int64_t count = 1;  ///< of new people, or of images of each known person
  /// Standard deviation of the latents as a multiple of what was learned; given images,
  /// around their conditional mean.
  double temperature = 1;
  std::uint64_t seed = 0;
};

/// Latents of new people, [count, columns] float32; those of a smaller count are the
/// first of a larger one.
Array draw_latents(std::int64_t columns, const ImageDrawOptions& options);

/// Images of new people, one of each: pixels [n, C, H, W] uint8 below 2^bits. Those of
/// a smaller count are the first of a larger one.
Array draw_images(const ImageModel& model, const ImageDrawOptions& options);

/// `count` further images of every person of a set, by the conditional law of their
/// latents given those of the known images: pixels [people x count, C, H, W], person by
/// person. The correlation of somebody with several training images is their own, that
/// of others the typical one; where latents have correlations of their own, these.
/// InputError for a model that learned none.
/// @param instead  a correlation in place of the learned ones; empty: none
Array draw_images_given(const ImageModel& model, const ImageSet& known,
                        const std::vector<double>& instead,
                        const ImageDrawOptions& options);

/// Pixels below 2^bits spread over 0 to 255, as files of images have them; reading them
/// with as many bits gives them back.
Array spread_to_eight_bits(const Array& pixels, std::int64_t bits);

}  // namespace kinflow
