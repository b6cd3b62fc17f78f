#include "embedded/nodeagent/pod_status.h"

#include <gtest/gtest.h>

#include "kube/object.h"

namespace evenkeel::embedded::nodeagent::pod_status_test {
namespace {

using namespace std::chrono_literals;
using base::FindString;
using base::Json;
using Role = ContainerRecord::Role;
using State = ContainerRecord::State;

ContainerRecord Made(std::string name, Role role, State state, int exit_code = 0) {
  ContainerRecord record;
  record.name = std::move(name);
  record.role = role;
  record.state = state;
  record.waiting_reason = "ContainerCreating";
  if (state == State::kTerminated) record.last = Termination{exit_code, 0, "Completed", "", {}, {}, ""};
  if (state == State::kRunning) record.started = record.ready = true;
  return record;
}

std::string PhaseOf(std::vector<ContainerRecord> init, std::vector<ContainerRecord> main, std::string_view policy) {
  PodRecord record;
  record.init = std::move(init);
  record.main = std::move(main);
  return ComputePhase(record, policy);
}

TEST(PodPhaseTest, FollowsTheKubeletsRules) {
  const auto running = Made("a", Role::kMain, State::kRunning), waiting = Made("b", Role::kMain, State::kWaiting);
  const auto done = Made("c", Role::kMain, State::kTerminated), failed = Made("d", Role::kMain, State::kTerminated, 1);
  EXPECT_EQ(PhaseOf({}, {running, waiting}, "Always"), "Pending");
  EXPECT_EQ(PhaseOf({}, {running, failed}, "Never"), "Running");
  EXPECT_EQ(PhaseOf({}, {done, done}, "Never"), "Succeeded");
  EXPECT_EQ(PhaseOf({}, {done, failed}, "Never"), "Failed");
  EXPECT_EQ(PhaseOf({}, {done, failed}, "OnFailure"), "Running");
  EXPECT_EQ(PhaseOf({}, {done}, "Always"), "Running");
  EXPECT_EQ(PhaseOf({Made("i", Role::kInit, State::kRunning)}, {waiting}, "Always"), "Pending");
  EXPECT_EQ(PhaseOf({Made("i", Role::kInit, State::kTerminated, 2)}, {waiting}, "Never"), "Failed");
  EXPECT_EQ(PhaseOf({Made("s", Role::kSidecar, State::kRunning)}, {done}, "Never"), "Running");
}

TEST(PodPhaseTest, ACrashLoopIsRunning) {
  auto looping = Made("a", Role::kMain, State::kTerminated, 1);
  looping.state = State::kWaiting;
  EXPECT_EQ(PhaseOf({}, {looping}, "Always"), "Running");
}

TEST(PodStatusTest, KeepsWhatOthersWroteAndTransitionTimesOfWhatDidNotChange) {
  Json pod = *base::ParseJson(R"({"spec":{"readinessGates":[{"conditionType":"x/gate"}]},"status":{"qosClass":"Burstable",
      "conditions":[{"type":"x/gate","status":"False"},{"type":"PodScheduled","status":"True","lastTransitionTime":"2024-01-01T00:00:00Z"}]}})",
                              "test");
  PodRecord record;
  record.ip = "10.0.0.2";
  record.sandbox = true;
  record.main = {Made("main", Role::kMain, State::kRunning)};
  const base::Time now{std::chrono::sys_days{std::chrono::year{2024} / 2 / 1}};
  pod.get_object()["status"] = ComputeStatus(pod, record, now);
  EXPECT_EQ(FindString(pod, {"status", "qosClass"}), "Burstable");
  EXPECT_EQ(FindString(*kube::FindCondition(pod, "ContainersReady"), {"status"}), "True");
  EXPECT_EQ(FindString(*kube::FindCondition(pod, "Ready"), {"reason"}), "ReadinessGatesNotReady");
  EXPECT_EQ(FindString(*kube::FindCondition(pod, "PodScheduled"), {"lastTransitionTime"}), "2024-01-01T00:00:00Z");
  const Json again = ComputeStatus(pod, record, now + 1h);
  EXPECT_TRUE(base::Equal(again, pod.at("status")));
}

TEST(PodStatusTest, RecallsWhatItWrote) {
  Json pod = *base::ParseJson(R"({"spec":{"containers":[{"name":"a","image":"x"},{"name":"b","image":"y"}]}})", "test");
  PodRecord record = RecallRecord(pod);
  record.ip = "10.0.0.9";
  record.main[0].state = State::kRunning;
  record.main[0].restarts = 3;
  record.main[0].last = Termination{1, 0, "Error", "boom", {}, {}, "id"};
  record.main[1].state = State::kTerminated;
  record.main[1].last = Termination{137, 9, "Error", "", {}, {}, ""};
  pod.get_object()["status"] = ComputeStatus(pod, record, base::Time{});
  const PodRecord recalled = RecallRecord(pod);
  EXPECT_EQ(recalled.ip, "10.0.0.9");
  EXPECT_EQ(recalled.main[0].state, State::kRunning);
  EXPECT_EQ(recalled.main[0].restarts, 3);
  EXPECT_EQ(recalled.main[0].last->message, "boom");
  EXPECT_EQ(recalled.main[1].last->exit_code, 137);
  EXPECT_EQ(recalled.main[1].last->signal, 9);
}

}  // namespace
}  // namespace evenkeel::embedded::nodeagent::pod_status_test
