// The team of threads: who runs which turn, exceptions, loops inside loops.
#include "kinflow/core/workers.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace kinflow {
namespace {

constexpr std::int64_t kThreads[] = {1, 2, 3, 5};

std::size_t place(std::int64_t i) { return static_cast<std::size_t>(i); }

void dawdle() { std::this_thread::sleep_for(std::chrono::microseconds(200)); }

TEST(Workers, EveryTurnIsRunExactlyOnce) {
  for (const auto threads : kThreads) {
    Workers workers(threads);
    EXPECT_EQ(workers.threads(), threads);
    for (const std::int64_t turns : {0, 1, 2, 3, 7, 1000}) {
      std::vector<std::atomic<int>> runs(place(turns));
      workers.run(turns, [&](std::int64_t turn, std::int64_t /*thread*/) {
        ++runs.at(place(turn));
      });
      for (const auto& count : runs) EXPECT_EQ(count, 1) << threads << ' ' << turns;
    }
  }
}

TEST(Workers, WhatTurnsWroteIsThereWhenRunReturns) {
  // Plain numbers, not atomic ones: run() itself must bring them to the caller.
  Workers workers(3);
  std::vector<std::int64_t> results(500);
  for (std::int64_t round = 0; round < 50; ++round) {
    workers.run(500, [&](std::int64_t turn, std::int64_t /*thread*/) {
      results[place(turn)] += round * turn;
    });
  }
  for (std::int64_t i = 0; i < 500; ++i) EXPECT_EQ(results[place(i)], 1225 * i);
}

TEST(Workers, TurnsAtTheSameTimeHaveDifferentThreadNumbers) {
  for (const auto threads : kThreads) {
    Workers workers(threads);
    std::vector<std::atomic<int>> at_work(place(threads));
    std::atomic<int> clashes = 0;
    workers.run(60, [&](std::int64_t /*turn*/, std::int64_t thread) {
      auto& mine = at_work.at(place(thread));
      if (mine.fetch_add(1) != 0) ++clashes;
      dawdle();
      mine.fetch_sub(1);
    });
    EXPECT_EQ(clashes, 0) << threads;
  }
}

TEST(Workers, AllThreadsWorkTogetherAndTheCallerIsOneOfThem) {
  Workers workers(3);
  // No turn ends before three have begun, which needs three threads.
  std::atomic<int> begun = 0;
  std::mutex lock;
  std::set<std::thread::id> ids;
  workers.run(3, [&](std::int64_t /*turn*/, std::int64_t /*thread*/) {
    ++begun;
    while (begun < 3) std::this_thread::yield();
    const std::lock_guard guard(lock);
    ids.insert(std::this_thread::get_id());
  });
  EXPECT_EQ(ids.size(), 3U);
  EXPECT_EQ(ids.count(std::this_thread::get_id()), 1U);
}

TEST(Workers, AnExceptionOfATurnReachesTheCallerAndTheTeamGoesOn) {
  for (const auto threads : kThreads) {
    Workers workers(threads);
    for (const std::int64_t bad : {0, 13, 99}) {
      std::atomic<int> at_work = 0;
      try {
        workers.run(100, [&](std::int64_t turn, std::int64_t /*thread*/) {
          ++at_work;
          if (turn % 7 == 0) dawdle();
          --at_work;
          if (turn == bad) throw std::runtime_error("turn " + std::to_string(turn));
        });
        FAIL() << "no exception with " << threads << " threads";
      } catch (const std::runtime_error& error) {
        EXPECT_EQ(error.what(), "turn " + std::to_string(bad));
      }
      EXPECT_EQ(at_work, 0) << "a turn goes on after run() has ended";
      std::atomic<std::int64_t> sum = 0;
      workers.run(100,
                  [&](std::int64_t turn, std::int64_t /*thread*/) { sum += turn; });
      EXPECT_EQ(sum, 4950) << threads;
    }
  }
}

TEST(Workers, ExceptionsOfManyTurnsGiveOne) {
  Workers workers(3);
  for (int round = 0; round < 100; ++round) {
    EXPECT_THROW(workers.run(20,
                             [](std::int64_t /*turn*/, std::int64_t /*thread*/) {
                               throw std::runtime_error("every turn");
                             }),
                 std::runtime_error);
  }
}

TEST(Workers, RunInsideATurnDoesAllTurnsOfBoth) {
  for (const auto threads : kThreads) {
    Workers workers(threads);
    // With one outer turn the inner loop may have the whole team.
    for (const std::int64_t outer : {1, 2, 10}) {
      std::vector<std::atomic<int>> runs(place(outer * 50));
      std::atomic<bool> is_in_range = true;
      workers.run(outer, [&](std::int64_t i, std::int64_t /*thread*/) {
        workers.run(50, [&](std::int64_t j, std::int64_t thread) {
          ++runs.at(place(i * 50 + j));
          if (thread < 0 || thread >= threads) is_in_range = false;
        });
      });
      for (const auto& count : runs) EXPECT_EQ(count, 1) << threads << ' ' << outer;
      EXPECT_TRUE(is_in_range);
    }
  }
}

TEST(Workers, AnExceptionInsideTheInnerLoopReachesTheCaller) {
  Workers workers(3);
  EXPECT_THROW(workers.run(4,
                           [&](std::int64_t i, std::int64_t /*thread*/) {
                             workers.run(4, [&](std::int64_t j, std::int64_t) {
                               if (i == 2 && j == 3) throw std::out_of_range("inner");
                             });
                           }),
               std::out_of_range);
  std::atomic<int> count = 0;
  workers.run(30, [&](std::int64_t, std::int64_t) { ++count; });
  EXPECT_EQ(count, 30);
}

TEST(Workers, SeveralCallersAtOnceGetAllTheirTurns) {
  Workers workers(2);
  std::vector<std::int64_t> sums(3);
  std::vector<std::thread> callers;
  for (std::size_t c = 0; c < sums.size(); ++c) {
    callers.emplace_back([&, c] {
      for (int round = 0; round < 200; ++round) {
        std::atomic<std::int64_t> sum = 0;
        workers.run(20, [&](std::int64_t turn, std::int64_t) { sum += turn; });
        sums[c] += sum;
      }
    });
  }
  for (auto& caller : callers) caller.join();
  for (const auto sum : sums) EXPECT_EQ(sum, 200 * 190);
}

TEST(Workers, ManyShortRunsInARowFinish) {
  Workers workers(2);
  std::atomic<std::int64_t> turns = 0;
  for (int i = 0; i < 20000; ++i) {
    workers.run(3, [&](std::int64_t, std::int64_t) {
      turns.fetch_add(1, std::memory_order_relaxed);
    });
    // Now and then the team falls asleep.
    if (i % 1000 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(turns, 60000);
}

TEST(Workers, TeamsCanBeMadeAndEndedManyTimes) {
  for (int i = 0; i < 100; ++i) {
    Workers workers(1 + i % 4);
    std::atomic<int> turns = 0;
    if (i % 3 != 0) workers.run(5, [&](std::int64_t, std::int64_t) { ++turns; });
    EXPECT_EQ(turns, i % 3 != 0 ? 5 : 0);
  }
}

TEST(Workers, SetWorkerThreadsChangesTheTeamOfTheProcess) {
  EXPECT_EQ(shared_workers().threads(), 1);
  for (const std::int64_t threads : {3, 2, 2, 4, 1}) {
    set_worker_threads(threads);
    EXPECT_EQ(shared_workers().threads(), threads);
    // All threads of the team are needed at once.
    std::atomic<std::int64_t> begun = 0;
    shared_workers().run(threads, [&](std::int64_t, std::int64_t) {
      ++begun;
      while (begun < threads) std::this_thread::yield();
    });
    EXPECT_EQ(begun, threads);
  }
}

}  // namespace
}  // namespace kinflow
