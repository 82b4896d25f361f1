// Work on several threads whose results come in order.
#include "kinflow/core/map_in_order.h"

#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <stdexcept>
#include <string>

namespace kinflow {
namespace {

/// Numbers 0 .. count - 1.
auto counter(int count) {
  return [count, next = 0]() mutable {
    return next < count ? std::optional<int>(next++) : std::nullopt;
  };
}

/// Works longer on some items, so that later ones are done first.
void dawdle(int item) {
  std::this_thread::sleep_for(std::chrono::microseconds(item % 7 == 0 ? 2000 : 50));
}

TEST(MapInOrder, ResultsComeInTheOrderOfTheItemsForAnyNumberOfThreads) {
  std::vector<int> expected(200);
  for (int i = 0; i < 200; ++i) expected[static_cast<std::size_t>(i)] = 3 * i;
  for (const int threads : {1, 2, 5, 300}) {
    std::vector<int> results;
    auto take = counter(200);
    map_in_order(
        threads, [&] { return take(); },
        [](int item) {
          dawdle(item);
          return 3 * item;
        },
        [&](int result) { results.push_back(result); });
    EXPECT_EQ(results, expected) << threads;
  }
}

TEST(MapInOrder, SeveralThreadsWorkAndTheCallerIsOneOfThem) {
  std::mutex lock;
  std::set<std::thread::id> workers;
  auto take = counter(100);
  map_in_order(
      3, [&] { return take(); },
      [&](int item) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        const std::lock_guard guard(lock);
        workers.insert(std::this_thread::get_id());
        return item;
      },
      [](int) {});
  EXPECT_EQ(workers.size(), 3u);
  EXPECT_TRUE(workers.contains(std::this_thread::get_id()));
}

TEST(MapInOrder, NoMoreItemsAreHeldThanThereAreThreads) {
  std::atomic<int> held = 0, most = 0;
  auto take = counter(100);
  map_in_order(
      4,
      [&] {
        auto item = take();
        if (item) most = std::max<int>(most, ++held);
        return item;
      },
      [](int item) {
        dawdle(item);
        return item;
      },
      [&](int) { --held; });
  EXPECT_LE(most, 4);
  EXPECT_EQ(held, 0);
}

/// What was given before the failure, and its message, where the items of `failing`
/// fail at a stage.
std::string outcome(int threads, const std::set<int>& failing, char stage) {
  std::string given;
  auto numbers = counter(60);
  const auto check = [&](int item, char here) {
    if (stage == here && failing.contains(item)) {
      throw std::runtime_error("item " + std::to_string(item));
    }
    return item;
  };
  try {
    map_in_order(
        threads,
        [&] {
          auto item = numbers();
          if (item) check(*item, 't');
          return item;
        },
        [&](int item) {
          dawdle(item);
          return check(item, 'w');
        },
        [&](int item) { given += std::to_string(check(item, 'g')) + " "; });
  } catch (const std::runtime_error& error) {
    return given + error.what();
  }
  return given;
}

TEST(MapInOrder, TheEarliestFailureEndsEverything) {
  for (const int threads : {1, 2, 8}) {
    for (const char stage : {'t', 'w', 'g'}) {
      // Item 7 takes longer than those after it, which fail first.
      EXPECT_EQ(outcome(threads, {7, 8, 9, 10}, stage), "0 1 2 3 4 5 6 item 7")
          << threads << stage;
      EXPECT_EQ(outcome(threads, {0}, stage), "item 0") << threads << stage;
    }
  }
}

}  // namespace
}  // namespace kinflow
