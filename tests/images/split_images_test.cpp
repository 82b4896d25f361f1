// Splits by person, and one image of each.
#include "kinflow/images/split_images.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/data/helpers.h"

namespace kinflow {
namespace {

/// Person p has p % 5 + 1 images, spread over the set.
ImageSet people(std::int64_t count) {
  ImageSet set{.channels = 1, .height = 1, .width = 1};
  for (std::int64_t round = 0; round < 5; ++round) {
    for (std::int64_t p = 0; p < count; ++p) {
      if (p % 5 < round) continue;
      set.person.push_back(p);
      set.person_of_image.push_back(std::to_string(p));
      set.pixels.push_back(static_cast<std::uint8_t>(p));
    }
  }
  return set;
}

std::set<std::int64_t> people_of(const ImageSet& set,
                                 const std::vector<std::int64_t>& images) {
  std::set<std::int64_t> found;
  for (const auto i : images) found.insert(set.person[static_cast<std::size_t>(i)]);
  return found;
}

TEST(ImagesByPerson, HaveEveryImageOnceUnderItsPerson) {
  const auto set = people(7);
  const auto images = images_by_person(set);
  const auto counts = images_per_person(set);
  const auto names = names_of_people(set);
  ASSERT_EQ(images.size(), 7u);
  ASSERT_EQ(names.size(), 7u);
  for (std::size_t p = 0; p < 7; ++p) {
    EXPECT_EQ(names[p], std::to_string(p));
    EXPECT_EQ(counts[p], static_cast<std::int64_t>(p) % 5 + 1);
    EXPECT_EQ(std::ssize(images[p]), counts[p]);
    EXPECT_TRUE(std::is_sorted(images[p].begin(), images[p].end()));
    EXPECT_EQ(people_of(set, images[p]),
              std::set<std::int64_t>{static_cast<std::int64_t>(p)});
  }
}

TEST(SplitImages, PeopleAreWholeAndPartsHaveTheirShares) {
  const auto set = people(200);
  const auto parts =
      split_images(set, {.valid_fraction = 0.2, .test_fraction = 0.3, .seed = 4});
  std::size_t images = 0, persons = 0;
  std::set<std::int64_t> all;
  for (const auto* part : {&parts.train, &parts.valid, &parts.test}) {
    const auto inside = people_of(set, *part);
    images += part->size();
    persons += inside.size();
    all.insert(inside.begin(), inside.end());
  }
  EXPECT_EQ(images, 600u);
  EXPECT_EQ(persons, 200u);  // nobody is in two parts
  EXPECT_EQ(all.size(), 200u);
  EXPECT_NEAR(static_cast<double>(parts.valid.size()), 120, 3);
  EXPECT_NEAR(static_cast<double>(parts.test.size()), 180, 3);
  const auto again =
      split_images(set, {.valid_fraction = 0.2, .test_fraction = 0.3, .seed = 4});
  const auto other =
      split_images(set, {.valid_fraction = 0.2, .test_fraction = 0.3, .seed = 5});
  EXPECT_EQ(again.test, parts.test);
  EXPECT_NE(other.test, parts.test);
}

TEST(SplitImages, FewerPeopleThanPartsAreRefused) {
  EXPECT_NE(input_error_of([] {
              split_images(people(2), {.valid_fraction = 0.2, .test_fraction = 0.2});
            }).find("at least 3 groups"),
            std::string::npos);
}

TEST(OneImagePerPerson, TakesEachPersonOnceAndEachImageEquallyOften) {
  const auto set = people(10);
  std::map<std::int64_t, int> taken;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const auto chosen = one_image_per_person(set, seed);
    ASSERT_EQ(chosen.size(), 10u);
    ASSERT_TRUE(std::is_sorted(chosen.begin(), chosen.end()));
    ASSERT_EQ(people_of(set, chosen).size(), 10u);
    for (const auto i : chosen) ++taken[i];
  }
  // Person 4 has five images: 400 times each, give or take five deviations of 18.
  int images = 0;
  for (std::int64_t i = 0; i < set.images(); ++i) {
    if (set.person[static_cast<std::size_t>(i)] != 4) continue;
    ++images;
    EXPECT_NEAR(taken[i], 400, 90);
  }
  EXPECT_EQ(images, 5);
  EXPECT_EQ(one_image_per_person(set, 7), one_image_per_person(set, 7));
}

}  // namespace
}  // namespace kinflow
