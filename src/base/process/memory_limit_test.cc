#include "base/process/memory_limit.h"

#include <gtest/gtest.h>

#include <fstream>

namespace evenkeel::base::memory_limit_test {
namespace {

class MemoryLimitTest : public ::testing::Test {
 protected:
  MemoryLimitTest() : root_(std::filesystem::path(::testing::TempDir()) / "memory_limit_test") { Clear(); }
  ~MemoryLimitTest() override { Clear(); }

  void Clear() const { std::filesystem::remove_all(root_); }
  void Write(const std::string& file, const std::string& text) const {
    std::filesystem::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }

  const std::filesystem::path root_;
};

TEST_F(MemoryLimitTest, TheLowestOfTheGroupsAboveCounts) {
  Write("system.slice/evenkeel.service/memory.max", "max\n");
  Write("system.slice/memory.max", "1073741824\n");
  EXPECT_EQ(MemoryLimit("0::/system.slice/evenkeel.service\n", root_), 1073741824);
  Write("system.slice/evenkeel.service/memory.max", "536870912\n");
  EXPECT_EQ(MemoryLimit("0::/system.slice/evenkeel.service\n", root_), 536870912);
}

TEST_F(MemoryLimitTest, AContainerSeesItsOwnGroupAtTheRoot) {
  Write("memory.max", "268435456\n");
  EXPECT_EQ(MemoryLimit("0::/kubepods/pod1/c1\n", root_), 268435456);
  EXPECT_EQ(MemoryLimit("0::/\n", root_), 268435456);
  EXPECT_EQ(MemoryLimit("0::/../../elsewhere\n", root_), 268435456);
}

TEST_F(MemoryLimitTest, VersionOneHasAHierarchyForMemory) {
  Write("memory/docker/c1/memory.limit_in_bytes", "134217728\n");
  Write("memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(MemoryLimit("5:cpu,cpuacct:/docker/c1\n4:memory:/docker/c1\n", root_), 134217728);
}

TEST_F(MemoryLimitTest, WhatSaysNothingIsNoLimit) {
  EXPECT_FALSE(MemoryLimit("", root_));
  EXPECT_FALSE(MemoryLimit("nonsense\n0:\n0::/a\n", root_));
  Write("a/memory.max", "much");
  EXPECT_FALSE(MemoryLimit("0::/a", root_));
}

}  // namespace
}  // namespace evenkeel::base::memory_limit_test
