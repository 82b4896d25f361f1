// Images drawn from a model.
#include "kinflow/evaluate/image_draws.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "kinflow/array/array.h"
#include "kinflow/evaluate/frechet.h"
#include "kinflow/evaluate/image_evaluation.h"
#include "kinflow/images/prepare_image.h"
#include "kinflow/images/split_images.h"
#include "tests/engine/images/small_images.h"
#include "tests/random_arrays.h"

namespace kinflow {
namespace {

ImageModel model_of(LearnedDependence dependence = {}) {
  return {.flow = std::make_unique<GlowFlow>(small_flow(), 7),
          .prepare = {},
          .dependence = std::move(dependence),
          .record = {}};
}

LearnedDependence two_people() {
  return {.kind = DependenceKind::blocks,
          .column = "person",
          .labels = {"Ada", "Bo"},
          .sizes = {3, 2},
          .parameters = {0.999999, 1e-6}};
}

/// The first images of the test set, one of each of these people.
ImageSet images_of(const std::vector<std::string>& people) {
  auto set = select_images(simulate_images(small_images()).test, [&] {
    std::vector<std::int64_t> first;
    for (std::size_t i = 0; i < people.size(); ++i) {
      first.push_back(static_cast<std::int64_t>(i));
    }
    return first;
  }());
  set.person_of_image = people;
  return set;
}

double difference(const Array& left, const Array& right) {
  return (left.to(nd::kDouble) - right.to(nd::kDouble)).abs().mean().item<double>();
}

TEST(ImageDraws, FewerAreTheFirstOfMore) {
  const auto model = model_of();
  const auto five = draw_images(model, {.count = 5, .seed = 2});
  EXPECT_EQ(five.sizes(), (nd::IntArrayRef{5, 1, 8, 8}));
  EXPECT_TRUE(
      nd::equal(five.narrow(0, 0, 3), draw_images(model, {.count = 3, .seed = 2})));
  EXPECT_FALSE(nd::equal(five, draw_images(model, {.count = 5, .seed = 3})));
}

TEST(ImageDraws, TemperatureZeroIsOneImage) {
  const auto drawn = draw_images(model_of(), {.count = 4, .temperature = 0});
  EXPECT_TRUE(nd::equal(drawn[0], drawn[3]));
}

TEST(ImageDraws, ACorrelationNearOneGivesTheKnownImageBack) {
  const auto model = model_of(two_people());
  const auto known = images_of({"Ada", "Bo", "Cy"});
  const auto drawn =
      draw_images_given(model, known, {}, {.count = 2, .temperature = 0});
  ASSERT_EQ(drawn.size(0), 6);
  const auto pixels = rows_of(known).pixels;
  // Ada's correlation is almost 1, Bo's almost 0, that of others the typical one.
  EXPECT_LT(difference(drawn[0], pixels[0]), 1.01);
  EXPECT_LT(difference(drawn[1], pixels[0]), 1.01);
  EXPECT_GT(difference(drawn[2], pixels[1]), 5);
  EXPECT_GT(difference(drawn[4], pixels[2]), 1.01);
}

TEST(ImageDraws, AGivenCorrelationStandsForTheLearnedOnes) {
  const auto model = model_of();
  const auto known = images_of({"Bo"});
  const auto drawn =
      draw_images_given(model, known, {0.999999}, {.count = 1, .temperature = 0});
  EXPECT_LT(difference(drawn[0], rows_of(known).pixels[0]), 1.01);
  const auto message =
      input_error_of([&] { draw_images_given(model, known, {}, {.count = 1}); });
  EXPECT_NE(message.find("--parameter"), std::string::npos) << message;
}

TEST(ImageDraws, LatentsHaveTheirOwnCorrelations) {
  // Everything is known of the channels of the first scale and nothing of the second's.
  auto learned = two_people();
  learned.parameters = {0.5, 0.5};
  auto model = model_of(learned);
  model.latent_correlations.assign(16, 1e-9);
  std::fill_n(model.latent_correlations.begin(), 8, 1 - 1e-9);
  const auto known = images_of({"Ada", "Zoe"});
  const auto drawn = draw_images_given(model, known, {}, {.count = 40, .seed = 4});
  const auto before = image_latents(*model.flow, rows_of(known), 4);
  const auto after =
      image_latents(*model.flow, {.pixels = drawn, .bits = 8}, 4).view({2, 40, 64});
  const auto change =
      (after - before.unsqueeze(1)).square().mean(nd::IntArrayRef{0, 1});
  EXPECT_LT(change.narrow(0, 0, 32).mean().item<double>(),
            0.1 * change.narrow(0, 32, 32).mean().item<double>());
  // A correlation that is given stands for all of them.
  const auto same =
      draw_images_given(model, known, {1 - 1e-9}, {.count = 1, .seed = 4});
  EXPECT_LT(difference(same, rows_of(known).pixels), 1.01);
}

TEST(ImageDraws, SpreadBitsAreReadBack) {
  for (std::int64_t bits = 1; bits <= 8; ++bits) {
    const auto values = nd::arange(std::int64_t{1} << bits, nd::kByte);
    const auto spread = spread_to_eight_bits(values, bits);
    EXPECT_EQ(spread[-1].item<std::int64_t>(), 255);
    EXPECT_TRUE(
        nd::equal(spread.to(nd::kLong).floor_divide(std::int64_t{1} << (8 - bits)),
                  values.to(nd::kLong)))
        << bits;
  }
}

TEST(ImageEvaluation, IndividualsAreOneImageForEachPerson) {
  const auto model = model_of();
  const auto set = simulate_images(small_images()).train;
  const auto result = evaluate_images(model, set, {.samples = 40});
  EXPECT_EQ(result.people, set.people());
  EXPECT_EQ(result.scores.likelihood.images, set.images());
  EXPECT_EQ(result.scores.indiv_likelihood.images, set.people());
  EXPECT_NEAR(result.scores.likelihood.mean_nll_nats,
              -result.log_density_nats.mean().item<double>(), 1e-9);
  EXPECT_NE(result.scores.likelihood.mean_nll_nats,
            result.scores.indiv_likelihood.mean_nll_nats);
  ASSERT_TRUE(result.scores.distances.has_value());
  EXPECT_EQ(result.scores.distances->generated_images, 40);
  EXPECT_FALSE(evaluate_images(model, set, {}).scores.distances.has_value());
}

TEST(ImageEvaluation, GivenFeaturesAreComparedInPlaceOfDraws) {
  const auto model = model_of();
  const auto set = simulate_images(small_images()).train;
  const ImageFeatures features{.name = "own",
                               .real = normal({set.images(), 5}, 1),
                               .generated = normal({50, 5}, 2)};
  const auto scores =
      evaluate_images(model, set, {.seed = 3, .features = &features}).scores;
  ASSERT_TRUE(scores.distances.has_value());
  EXPECT_EQ(scores.distances->features, "own");
  EXPECT_EQ(scores.distances->generated_images, 50);
  EXPECT_EQ(scores.distances->frechet, image_distances(features).frechet);
  const auto one_each = nd::tensor(one_image_per_person(set, 3), nd::kLong);
  ASSERT_EQ(scores.indiv_distances.has_value(), set.people() >= PrdOptions{}.clusters);
  if (!scores.indiv_distances) return;
  EXPECT_EQ(scores.indiv_distances->real_images, set.people());
  EXPECT_EQ(
      scores.indiv_distances->frechet,
      frechet_distance(features.real.index_select(0, one_each), features.generated));
}

}  // namespace
}  // namespace kinflow
