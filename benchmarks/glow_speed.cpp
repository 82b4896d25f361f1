// Training of Glow flows: images a second, the loss of the first steps and the memory
// held, as one line of JSON. On a CPU seconds are those of the processor.
// benchmarks/glow_speed.py runs it in turns with PyTorch.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "benchmarks/measure.h"
#include "kinflow/array/array.h"
#include "kinflow/array/device.h"
#include "kinflow/core/random.h"
#include "kinflow/engine/images/image_trainer.h"
#include "kinflow/flow/cuda/cuda_backend.h"

namespace kinflow {
namespace {

struct Choice {
  std::string device = "cuda", preset = "paper", schedule = "baseline";
  bool mixed = false, recompute = false;
  std::int64_t batch = 64, side = 32, steps = 300, timed = 100, people = 0;
  double rate = 0.001;
};

// Smooth pictures: random waves with a little noise, images of the same person alike.
Array smooth_images(std::int64_t count, std::int64_t side) {
  const auto images = nd::empty({count, 3, side, side}, nd::kByte);
  auto* pixel = images.data_ptr<std::uint8_t>();
  for (std::int64_t image = 0; image < count; ++image) {
    Random random(1, static_cast<std::uint64_t>(image));
    for (int channel = 0; channel < 3; ++channel) {
      const double across = random.uniform(-0.4, 0.4), down = random.uniform(-0.4, 0.4);
      const double phase = random.uniform(0, 6.3), size = random.uniform(20, 80);
      for (std::int64_t i = 0; i < side * side; ++i) {
        const double wave = std::sin(phase + across * static_cast<double>(i % side) +
                                     down * static_cast<double>(i / side));
        *pixel++ = static_cast<std::uint8_t>(
            std::clamp(128 + size * wave + 4 * random.normal(), 0.0, 255.0));
      }
    }
  }
  return images;
}

nlohmann::json measure(const Choice& choice) {
  const auto device = find_device(choice.device);
  const std::int64_t count = 32 * choice.batch;
  ImageRows rows{.pixels = smooth_images(count, choice.side)};
  if (choice.people > 0) rows.person = nd::arange(count) % choice.people;
  const auto before = free_device_memory();
  ImageTrainer trainer(
      rows,
      glow_preset(choice.preset == "paper" ? GlowPreset::paper : GlowPreset::light, 3,
                  choice.side, choice.side),
      {.schedule = choice.schedule == "joint" ? Schedule::joint : Schedule::baseline,
       .epochs = 1000,
       .batch_size = choice.batch,
       .learning_rate = choice.rate,
       .precision = choice.mixed ? ImagePrecision::mixed : ImagePrecision::float32,
       .recompute = choice.recompute},
      device);
  nlohmann::json losses = nlohmann::json::array();
  constexpr std::int64_t kPart = 10;
  for (std::int64_t step = 0; step < choice.steps; step += kPart) {
    losses.push_back(trainer.run(kPart).train_nll_nats);
  }
  std::vector<double> times;
  for (std::int64_t part = 0; part < 5; ++part) {
    const auto work = [&] { trainer.run(choice.timed / 5); };
    times.push_back(device.is_cpu() ? processor_seconds_of(work) : seconds_of(work));
  }
  const auto after = free_device_memory();
  return {{"device", choice.device},
          {"preset", choice.preset},
          {"schedule", choice.schedule},
          {"mixed", choice.mixed},
          {"recompute", choice.recompute},
          {"batch", choice.batch},
          {"side", choice.side},
          {"parameters", trainer.flow().layout().count},
          {"images_per_second",
           static_cast<double>(choice.batch * (choice.timed / 5)) / median(times)},
          {"device_gib", before && after && choice.device == "cuda"
                             ? (*before - *after) / (1 << 30)
                             : 0.0},
          {"losses", losses}};
}

}  // namespace
}  // namespace kinflow

int main(int argc, char** argv) {
  kinflow::Choice choice;
  std::int64_t threads = 1;
  CLI::App app("Speed of the training of Glow flows");
  app.add_option("--device", choice.device);
  app.add_option("--preset", choice.preset);
  app.add_option("--schedule", choice.schedule);
  app.add_flag("--mixed", choice.mixed);
  app.add_flag("--recompute", choice.recompute);
  app.add_option("--batch", choice.batch);
  app.add_option("--side", choice.side);
  app.add_option("--steps", choice.steps, "Steps before the timed ones");
  app.add_option("--timed", choice.timed, "Timed steps, at least 5");
  app.add_option("--people", choice.people, "With --schedule joint");
  app.add_option("--rate", choice.rate);
  app.add_option("--threads", threads);
  CLI11_PARSE(app, argc, argv);
  kinflow::set_threads(threads);
  fmt::print("{}\n", kinflow::measure(choice).dump());
}
