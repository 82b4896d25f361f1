// Latents by the law of blocks, mapped back to images.
#include "kinflow/evaluate/image_draws.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include "kinflow/core/random.h"
#include "kinflow/train/images/image_latents.h"

namespace kinflow {
namespace {

// Latents that are mapped at once.
constexpr std::int64_t kChunk = 512;

at::Tensor images_of(const ImageModel& model, const at::Tensor& latents) {
  std::vector<at::Tensor> parts;
  for (const auto& chunk : latents.split(kChunk)) {
    parts.push_back(pixels_from_latents(*model.flow, chunk, model.bits()));
  }
  return at::cat(parts);
}

// Latents [count, p] of further images of one person.
at::Tensor draw_of_person(const ImageModel& model, const DependenceRequest& request,
                          const std::string& person, const at::Tensor& known,
                          const std::vector<double>& instead,
                          const ImageDrawOptions& options, Random& random) {
  const auto images = known.size(0), rows = images + options.count;
  const bool by_latent = instead.empty() && !model.latent_correlations.empty();
  const auto law = make_image_law(
      at::zeros({rows}, at::kLong),
      by_latent ? BlockCorrelation::per_latent : BlockCorrelation::per_block,
      model.flow->options());
  const std::vector<std::string> labels(static_cast<std::size_t>(rows), person);
  const auto parameters = by_latent ? at::tensor(model.latent_correlations, at::kDouble)
                                    : model.dependence.parameters_for_new_rows(
                                          request, *law, labels, instead);
  const auto observed = at::arange(images, at::kLong);
  const auto mean = law->condition_rows(parameters, observed, known).mean;
  const auto drawn = law->sample_given(parameters, observed, known, random)
                         .narrow(0, images, options.count);
  return mean + options.temperature * (drawn - mean);
}

}  // namespace

at::Tensor draw_latents(std::int64_t columns, const ImageDrawOptions& options) {
  const auto latents = at::empty({options.count, columns}, at::kFloat);
  for (std::int64_t i = 0; i < options.count; ++i) {
    Random random(options.seed, stream(Purpose::draws, i));
    auto* row = latents[i].data_ptr<float>();
    for (std::int64_t k = 0; k < columns; ++k) {
      row[k] = static_cast<float>(options.temperature * random.normal());
    }
  }
  return latents;
}

at::Tensor draw_images(const ImageModel& model, const ImageDrawOptions& options) {
  const c10::NoGradGuard no_grad;
  return images_of(model, draw_latents(dimension(model.flow->options()), options));
}

at::Tensor draw_images_given(const ImageModel& model, const ImageSet& known,
                             const std::vector<double>& instead,
                             const ImageDrawOptions& options) {
  const c10::NoGradGuard no_grad;
  DependenceRequest group;
  group.group = "person";
  const auto request = model.dependence.request_for_new_rows(group, instead);
  const auto seen = image_latents(*model.flow, rows_of(known), options.seed);
  std::vector<at::Tensor> latents;
  std::int64_t person = 0;
  for (const auto& images : images_by_person(known)) {
    Random random(options.seed, stream(Purpose::draws, person++));
    const auto own = seen.index_select(0, at::tensor(images, at::kLong));
    latents.push_back(
        draw_of_person(model, request,
                       known.person_of_image[static_cast<std::size_t>(images.front())],
                       own.to(at::kDouble), instead, options, random)
            .to(at::kFloat));
  }
  return images_of(model, at::cat(latents));
}

at::Tensor spread_to_eight_bits(const at::Tensor& pixels, std::int64_t bits) {
  if (bits == 8) return pixels;
  const double largest = static_cast<double>((std::int64_t{1} << bits) - 1);
  return (pixels.to(at::kDouble) * (255 / largest)).round().to(at::kByte);
}

}  // namespace kinflow
