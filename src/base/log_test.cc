#include "base/log.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/input/file.h"

namespace evenkeel::base::log::log_test {
namespace {

class LogTest : public ::testing::Test {
 protected:
  void TearDown() override {
    ASSERT_TRUE(Configure(Level::kInfo));
    ::unlink(path_.c_str());
  }
  std::string Lines() { return *ReadFile(path_); }

  const std::string path_ = ::testing::TempDir() + "evenkeel_log_test_" + std::to_string(::getpid());
};

TEST_F(LogTest, ALineHasTimeLevelMessageAndPairs) {
  ASSERT_TRUE(Configure(Level::kInfo, path_));
  Info("cluster changed owner", {{"cluster", "eu 1"}, {"from", 2}, {"late", true}, {"why", ""}, {"note", "a=\"b\"\n"}});
  const std::string lines = Lines();
  EXPECT_TRUE(
      lines.ends_with(" info cluster changed owner cluster=\"eu 1\" from=2 late=true why=\"\" note=\"a=\\\"b\\\"\\n\"\n"))
      << lines;
  EXPECT_EQ(lines.find("Z info"), std::string_view("2024-12-15T01:13:04.000123").size());
}

TEST_F(LogTest, SecretsAreRedacted) {
  ASSERT_TRUE(Configure(Level::kInfo, path_));
  Warn("request",
       {{"token", "s3cr3t"}, {"Authorization", "Bearer s3cr3t"}, {"client-key-data", "s3cr3t"}, {"password", "s3cr3t"}});
  EXPECT_EQ(Lines().find("s3cr3t"), std::string::npos);
  EXPECT_NE(Lines().find("token=<redacted>"), std::string::npos) << Lines();
}

TEST_F(LogTest, InputCannotForgeALine) {
  ASSERT_TRUE(Configure(Level::kInfo, path_));
  Error("first\nsecond", {{"value", "x\ny\x1b[31m"}});
  const std::string lines = Lines();
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 1);
  EXPECT_EQ(lines.find('\x1b'), std::string::npos);
}

TEST_F(LogTest, LinesBelowTheLevelAreLeftOut) {
  ASSERT_TRUE(Configure(Level::kWarn, path_));
  Info("quiet");
  Debug("quieter");
  Warn("loud");
  EXPECT_EQ(Lines().find("quiet"), std::string::npos);
  EXPECT_NE(Lines().find("loud"), std::string::npos);
}

TEST_F(LogTest, LevelsAreNamed) {
  EXPECT_EQ(*ParseLevel("debug"), Level::kDebug);
  EXPECT_EQ(*ParseLevel("trace"), Level::kDebug);
  EXPECT_EQ(*ParseLevel("warning"), Level::kWarn);
  EXPECT_EQ(*ParseLevel("off"), Level::kOff);
  EXPECT_FALSE(ParseLevel("loud"));
}

TEST_F(LogTest, AFileThatCannotBeOpenedIsAnError) { EXPECT_FALSE(Configure(Level::kInfo, "/dev/null/log")); }

}  // namespace
}  // namespace evenkeel::base::log::log_test
