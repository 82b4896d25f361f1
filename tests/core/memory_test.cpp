// What memory there is, from files as the kernel writes them.
#include "kinflow/core/memory.h"

#include <gtest/gtest.h>

#include "kinflow/core/log.h"
#include "tests/data/helpers.h"

namespace kinflow {
namespace {

/// A machine with 8,000,000 kB available, whose other files a test writes.
class FakeMachine {
 public:
  FakeMachine() {
    write("proc/meminfo",
          "MemTotal:       16000000 kB\nMemFree:         1000000 kB\n"
          "MemAvailable:    8000000 kB\nBuffers:          200000 kB\n");
  }
  void write(const std::string& name, const std::string& bytes) const {
    const std::filesystem::path path = folder_.path(name);
    std::filesystem::create_directories(path.parent_path());
    folder_.write(name, bytes);
  }
  MemorySources sources() const {
    return {.processes = folder_.path("proc"), .control_groups = folder_.path("group")};
  }
  double available() const { return available_memory(sources()).value_or(-1); }

 private:
  TemporaryFolder folder_;
};

constexpr double kMachine = 8'000'000.0 * 1024;

TEST(Memory, WithoutControlGroupsTheMachineDecides) {
  const FakeMachine machine;
  EXPECT_EQ(machine.available(), kMachine);
}

TEST(Memory, WithoutAnySourceNothingIsKnownAndNothingRefused) {
  const TemporaryFolder empty;
  const MemorySources sources{.processes = empty.path("proc"),
                              .control_groups = empty.path("group")};
  EXPECT_FALSE(available_memory(sources).has_value());
  EXPECT_NO_THROW(require_memory(1e18, "G:", "a matrix", "", sources));
}

TEST(Memory, TheLimitOfAGroupOfVersion2LessWhatIsUsedCounts) {
  const FakeMachine machine;
  machine.write("proc/self/cgroup", "0::/jobs/7\n");
  machine.write("group/jobs/7/memory.max", "3000000000\n");
  machine.write("group/jobs/7/memory.current", "1200000000\n");
  EXPECT_EQ(machine.available(), 1.8e9);
  // Pages of files are given up when memory is short; other entries are not counted.
  machine.write("group/jobs/7/memory.stat",
                "anon 900000000\nfile 350000000\ninactive_file 200000000\n"
                "active_file 100000000\nactive_file_more 7\n");
  EXPECT_EQ(machine.available(), 2.1e9);
}

TEST(Memory, TheTightestGroupAboveTheProcessCounts) {
  const FakeMachine machine;
  machine.write("proc/self/cgroup", "0::/jobs/7\n");
  machine.write("group/jobs/7/memory.max", "max\n");
  machine.write("group/jobs/7/memory.current", "100\n");
  machine.write("group/jobs/memory.max", "1000000000\n");
  machine.write("group/jobs/memory.current", "400000000\n");
  EXPECT_EQ(machine.available(), 6e8);
}

TEST(Memory, GroupsOfVersion1CountTooAndTheirHugeDefaultDoesNot) {
  const FakeMachine machine;
  machine.write("proc/self/cgroup",
                "9:name=systemd:/\n4:cpu,memory:/a/b\n3:cpuset:/\n0::/\n");
  machine.write("group/memory/a/b/memory.limit_in_bytes", "9223372036854771712\n");
  machine.write("group/memory/a/b/memory.usage_in_bytes", "500\n");
  EXPECT_EQ(machine.available(), kMachine);
  machine.write("group/memory/memory.limit_in_bytes", "2000000000\n");
  machine.write("group/memory/memory.usage_in_bytes", "1500000000\n");
  machine.write("group/memory/memory.stat",
                "inactive_file 1\ntotal_inactive_file 100000000\n"
                "total_active_file 50000000\n");
  EXPECT_EQ(machine.available(), 6.5e8);
}

TEST(Memory, AGroupThatIsOverItsLimitHasNoRoom) {
  const FakeMachine machine;
  machine.write("proc/self/cgroup", "0::/\n");
  machine.write("group/memory.max", "1000\n");
  machine.write("group/memory.current", "2000\n");
  EXPECT_EQ(machine.available(), 0);
}

TEST(Memory, AContainerThatDoesNotSeeItsPathFindsItsGroupAtTheMount) {
  const FakeMachine machine;
  machine.write("proc/self/cgroup", "0::/system.slice/container-1\n");
  machine.write("group/memory.max", "5000000\n");
  machine.write("group/memory.current", "1000000\n");
  EXPECT_EQ(machine.available(), 4e6);
}

TEST(Memory, FilesThatMakeNoSenseAreNoLimits) {
  const FakeMachine machine;
  machine.write("proc/self/cgroup", "\n::\n0::\nx\n0::../..\n0::/ok\n");
  machine.write("group/ok/memory.max", "plenty\n");
  machine.write("group/ok/memory.current", "");
  EXPECT_EQ(machine.available(), kMachine);
}

TEST(Memory, TheMachineOfTheTestHasSome) {
  const auto available = available_memory();
  ASSERT_TRUE(available.has_value());
  EXPECT_GT(*available, 1e7);
}

TEST(Memory, WorkThatDoesNotFitIsRefusedInOneLine) {
  const FakeMachine machine;
  EXPECT_NO_THROW(require_memory(kMachine, "g:", "it", "rest", machine.sources()));
  EXPECT_EQ(input_error_of([&] {
              require_memory(51.2e9, "g.txt:", "a matrix", "take a rest",
                             machine.sources());
            }),
            "g.txt: expected 51.2 GB of memory for a matrix, found 8.2 GB; take a "
            "rest");
  EXPECT_EQ(input_error_of(
                [&] { require_memory(1e12, "[Class]", "it", "", machine.sources()); }),
            "[Class] expected 1000 GB of memory for it, found 8.2 GB");
}

TEST(Memory, AmountsAreWrittenAsPeopleReadThem) {
  EXPECT_EQ(format_bytes(0), "0 MB");
  EXPECT_EQ(format_bytes(512.4e6), "512 MB");
  EXPECT_EQ(format_bytes(999.6e6), "1.0 GB");
  EXPECT_EQ(format_bytes(2.56e9), "2.6 GB");
  EXPECT_EQ(format_bytes(99.96e9), "100 GB");
  EXPECT_EQ(format_rough_duration(0.2), "1 s");
  EXPECT_EQ(format_rough_duration(89), "89 s");
  EXPECT_EQ(format_rough_duration(170), "3 min");
  EXPECT_EQ(format_rough_duration(5400), "1.5 h");
}

}  // namespace
}  // namespace kinflow
