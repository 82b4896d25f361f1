// Small images of people, and fits of them that take a fraction of a second.
#pragma once

#include <string>

#include "kinflow/fit/images/image_fit.h"
#include "kinflow/images/simulate_images.h"
#include "tests/data/helpers.h"

namespace kinflow {

inline SimulateImagesOptions small_images(bool rgb = false) {
  return {.images = 80,
          .valid_images = 24,
          .test_images = 30,
          .side = 8,
          .rgb = rgb,
          .largest_person = 12,
          .seed = 3};
}

/// Folders `train`, `valid` and `test` of people's images.
inline std::string write_small_images(const TemporaryFolder& folder, bool rgb = false) {
  write_simulated_images(folder.path("faces"), simulate_images(small_images(rgb)));
  return folder.path("faces");
}

inline GlowOptions small_flow() {
  return {.channels = 1,
          .height = 8,
          .width = 8,
          .scales = 2,
          .steps = 2,
          .dense_channels = 8,
          .dense_layers = 1,
          .dense_growth = 8};
}

inline ImageFitRequest small_image_fit(const std::string& faces) {
  ImageFitRequest request{.data = {.path = faces + "/train"}, .flow = small_flow()};
  request.valid.path = faces + "/valid";
  request.train.epochs = 3;
  request.train.batch_size = 16;
  return request;
}

}  // namespace kinflow
