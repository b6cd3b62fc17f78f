#include "cli/terminal/program_name.h"

#include <gtest/gtest.h>

#include <fstream>

namespace evenkeel::cli::program_name_test {
namespace {

namespace fs = std::filesystem;

class ProgramNameTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* directory : {"usr/bin", "opt", "links"}) fs::create_directories(root_ / directory);
    for (const char* file : {"usr/bin/keel", "opt/keel"}) std::ofstream(root_ / file) << file;
    fs::create_symlink(root_ / "opt/keel", root_ / "links/keel");
  }
  void TearDown() override { fs::remove_all(root_); }
  std::string Dir(const std::string& name) const { return (root_ / name).string(); }

  const fs::path root_ = fs::path(::testing::TempDir()) / "program_name_test";
};

TEST_F(ProgramNameTest, ItsNameWhereTheShellFindsItByThat) {
  const std::string path = "/nowhere:" + Dir("usr/bin") + ":" + Dir("opt");
  EXPECT_EQ(ProgramName(root_ / "usr/bin/keel", path, root_), "keel");
  EXPECT_EQ(ProgramName(root_ / "opt/keel", path, "/"), Dir("opt/keel")) << "another one comes first";
  EXPECT_EQ(ProgramName(root_ / "opt/keel", Dir("links"), "/proc"), "keel") << "by a symbolic link";
  EXPECT_EQ(ProgramName(root_ / "opt/keel", ":/nowhere", root_ / "opt"), "keel") << "an empty entry is the working directory";
}

TEST_F(ProgramNameTest, ElseAPath) {
  EXPECT_EQ(ProgramName(root_ / "opt/keel", "/nowhere", root_), "opt/keel");
  EXPECT_EQ(ProgramName(root_ / "opt/keel", "", root_ / "opt"), "./keel");
  EXPECT_EQ(ProgramName(root_ / "opt/keel", "", root_ / "usr"), Dir("opt/keel"));
}

}  // namespace
}  // namespace evenkeel::cli::program_name_test
