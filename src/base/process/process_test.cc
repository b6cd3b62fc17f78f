#include "base/process/process.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <thread>

namespace evenkeel::base::process_test {
namespace {

using End = ProcessOutcome::End;

ProcessCall Script(const std::string& text) {
  return {.command = {"/bin/sh", "-c", text}, .environment = {"PATH=/usr/bin:/bin", "WORD=from outside"}};
}

TEST(RunProcessTest, GivesWhatAProgramWroteAndHowItEnded) {
  const ProcessOutcome good = RunProcess(Script("echo \"$WORD\"; echo oh >&2; cat; exit 3"), nullptr).value();
  EXPECT_EQ(good.end, End::kExited);
  EXPECT_EQ(good.code, 3);
  EXPECT_EQ(good.output, "from outside\n");
  EXPECT_EQ(good.errors, "oh\n");
  const ProcessOutcome killed = RunProcess(Script("kill -TERM $$"), nullptr).value();
  EXPECT_EQ(killed.end, End::kSignal);
  EXPECT_EQ(killed.code, SIGTERM);
}

TEST(RunProcessTest, HasNoShellBetween) {
  const ProcessOutcome said = RunProcess({.command = {"/bin/echo", "$HOME; ls", "`id`"}, .environment = {}}, nullptr).value();
  EXPECT_EQ(said.output, "$HOME; ls `id`\n");
}

TEST(RunProcessTest, SaysWhatCannotBeStarted) {
  const auto missing = RunProcess({.command = {"no-such-program"}, .environment = {"PATH=/bin"}}, nullptr);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code(), Code::kNotFound);
  EXPECT_EQ(RunProcess({.command = {"/etc/passwd"}, .environment = {}}, nullptr).error().code(), Code::kForbidden);
}

TEST(RunProcessTest, KillsAllOfItWhenItsTimeIsOver) {
  ProcessCall call = Script("echo begun; (sleep 1000; echo late) & sleep 1000");
  call.timeout = 200ms;
  const ProcessOutcome outcome = RunProcess(call, nullptr).value();
  EXPECT_EQ(outcome.end, End::kTimedOut);
  EXPECT_EQ(outcome.output, "begun\n");
}

TEST(RunProcessTest, EndsWithTheProgramThoughOthersHoldItsOutput) {
  ProcessCall call = Script("sleep 1000 & echo done");
  const ProcessOutcome outcome = RunProcess(call, nullptr).value();
  EXPECT_EQ(outcome.end, End::kExited);
  EXPECT_EQ(outcome.output, "done\n");
}

TEST(RunProcessTest, BoundsWhatItWrites) {
  ProcessCall call = Script("while :; do echo 0123456789; done");
  call.output_bytes_max = 1000;
  EXPECT_EQ(RunProcess(call, nullptr)->end, End::kTooMuchOutput);
  call = Script("i=0; while [ $i -lt 2000 ]; do echo 0123456789 >&2; i=$((i+1)); done; printf end >&2");
  call.error_bytes_max = 100;
  const ProcessOutcome outcome = RunProcess(call, nullptr).value();
  EXPECT_EQ(outcome.end, End::kExited);
  EXPECT_EQ(outcome.errors.size(), 100);
  EXPECT_TRUE(outcome.errors.ends_with("\nend")) << outcome.errors;
}

TEST(RunProcessTest, StopsWhenTold) {
  int asked = 0;
  const ProcessOutcome outcome = RunProcess(Script("sleep 1000"), [&] { return ++asked > 2; }).value();
  EXPECT_EQ(outcome.end, End::kStopped);
}

}  // namespace
}  // namespace evenkeel::base::process_test
