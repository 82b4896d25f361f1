// Latents by the law of blocks, mapped back to images.
#include "kinflow/evaluate/image_draws.h"

#include "kinflow/array/array.h"
#include "kinflow/core/random.h"
#include "kinflow/engine/images/image_latents.h"

namespace kinflow {
namespace {

// Latents that are mapped at once.
constexpr std::int64_t kChunk = 512;

Array images_of(const ImageModel& model, const Array& latents) {
  std::vector<Array> parts;
  for (const auto& chunk : latents.split(kChunk)) {
    parts.push_back(pixels_from_latents(*model.flow, chunk, model.bits()));
  }
  return nd::cat(parts);
}

// Latents [count, p] of further images of one person.
Array draw_of_person(const ImageModel& model, const DependenceRequest& request,
                     const std::string& person, const Array& known,
                     const std::vector<double>& instead,
                     const ImageDrawOptions& options, Random& random) {
  const auto images = known.size(0), rows = images + options.count;
  const bool by_latent = instead.empty() && !model.latent_correlations.empty();
  const auto law = make_image_law(
      nd::zeros({rows}, nd::kLong),
      by_latent ? BlockCorrelation::per_latent : BlockCorrelation::per_block,
      model.flow->options());
  const std::vector<std::string> labels(static_cast<std::size_t>(rows), person);
  const auto parameters = by_latent ? nd::tensor(model.latent_correlations, nd::kDouble)
                                    : model.dependence.parameters_for_new_rows(
                                          request, *law, labels, instead);
  const auto observed = nd::arange(images, nd::kLong);
  const auto mean = law->condition_rows(parameters, observed, known).mean;
  const auto drawn = law->sample_given(parameters, observed, known, random)
                         .narrow(0, images, options.count);
  return mean + options.temperature * (drawn - mean);
}

}  // namespace

Array draw_latents(std::int64_t columns, const ImageDrawOptions& options) {
  const auto latents = nd::empty({options.count, columns}, nd::kFloat);
  for (std::int64_t i = 0; i < options.count; ++i) {
    Random random(options.seed, stream(Purpose::draws, i));
    auto* row = latents[i].data_ptr<float>();
    for (std::int64_t k = 0; k < columns; ++k) {
      row[k] = static_cast<float>(options.temperature * random.normal());
    }
  }
  return latents;
}

Array draw_images(const ImageModel& model, const ImageDrawOptions& options) {
  return images_of(model, draw_latents(dimension(model.flow->options()), options));
}

Array draw_images_given(const ImageModel& model, const ImageSet& known,
                        const std::vector<double>& instead,
                        const ImageDrawOptions& options) {
  DependenceRequest group;
  group.group = "person";
  const auto request = model.dependence.request_for_new_rows(group, instead);
  const auto seen = image_latents(*model.flow, rows_of(known), options.seed);
  std::vector<Array> latents;
  std::int64_t person = 0;
  for (const auto& images : images_by_person(known)) {
    Random random(options.seed, stream(Purpose::draws, person++));
    const auto own = seen.index_select(0, nd::tensor(images, nd::kLong));
    latents.push_back(
        draw_of_person(model, request,
                       known.person_of_image[static_cast<std::size_t>(images.front())],
                       own.to(nd::kDouble), instead, options, random)
            .to(nd::kFloat));
  }
  return images_of(model, nd::cat(latents));
}

Array spread_to_eight_bits(const Array& pixels, std::int64_t bits) {
  if (bits == 8) return pixels;
  const double largest = static_cast<double>((std::int64_t{1} << bits) - 1);
  return (pixels.to(nd::kDouble) * (255 / largest)).round().to(nd::kByte);
}

}  // namespace kinflow
