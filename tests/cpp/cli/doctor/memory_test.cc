#include "cli/doctor/memory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "temporary_folder.h"

namespace polystate::cli {
namespace {

constexpr std::uint64_t kMebi = 1'048'576;

// The files of a system.
class MemoryOf : public ::testing::Test {
 protected:
  void write(const std::string& file, const std::string& text) const {
    const std::filesystem::path path = folder_.path() / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  [[nodiscard]] Memory inspected() const {
    return inspect_memory(folder_.path()).value_or(Memory());
  }

  TemporaryFolder folder_;
};

TEST_F(MemoryOf, AMachineIsWhatItSays) {
  write("proc/meminfo", "MemTotal:  8192000 kB\nMemAvailable:    2048 kB\nSwapFree:  1024 kB\n");
  const Memory memory = inspected();
  EXPECT_EQ(memory.bytes, 3 * kMebi);
  EXPECT_EQ(memory.bound, "the machine");
}

TEST_F(MemoryOf, AControlGroupIsTheLeastOfThoseAround) {
  write("proc/meminfo", "MemAvailable: 1048576 kB\n");
  write("proc/self/cgroup", "0::/outer/inner\n");
  write("sys/fs/cgroup/outer/memory.max", "8388608\n");
  write("sys/fs/cgroup/outer/memory.current", "5242880\n");
  write("sys/fs/cgroup/outer/memory.stat", "anon 1\ninactive_file 1048576\n");
  write("sys/fs/cgroup/outer/inner/memory.max", "max\n");
  const Memory memory = inspected();
  EXPECT_EQ(memory.bytes, 4 * kMebi);
  EXPECT_EQ(memory.bound, "a control group");
}

TEST_F(MemoryOf, AGroupThatHasTakenMoreLeavesNothing) {
  write("sys/fs/cgroup/memory.max", "1000\n");
  write("sys/fs/cgroup/memory.current", "2000\n");
  EXPECT_EQ(inspected().bytes, 0);
}

TEST_F(MemoryOf, AddressesMayBeTheLeast) {
  write("proc/meminfo", "MemAvailable: 1048576 kB\n");
  write("proc/self/status", "Name: doctor\nVmSize:   1024 kB\n");
  write("proc/self/limits",
        "Limit  Soft Limit  Hard Limit  Units\nMax address space  3145728  unlimited  bytes\n");
  const Memory memory = inspected();
  EXPECT_EQ(memory.bytes, 2 * kMebi);
  EXPECT_EQ(memory.bound, "ulimit -v");
  EXPECT_TRUE(memory.limits_addresses);
  write("proc/self/limits", "Max address space  unlimited  unlimited  bytes\n");
  EXPECT_FALSE(inspected().limits_addresses);
}

TEST_F(MemoryOf, ThisMachineIsKnown) {
  EXPECT_GT(inspect_memory().value_or(Memory()).bytes, kMebi);
}

}  // namespace
}  // namespace polystate::cli
