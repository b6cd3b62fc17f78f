#include "client/event_recorder.h"

#include <gtest/gtest.h>

#include "client/fake_client_testing.h"

namespace evenkeel::client::event_recorder_test {
namespace {

class EventRecorderTest : public ::testing::Test {
 protected:
  static Json PodNamed(const std::string& name) {
    return {
        {"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", {{"namespace", "default"}, {"name", name}, {"uid", "u-" + name}}}};
  }
  std::vector<Json> Events() {
    std::vector<Json> all;
    for (const auto& [key, event] : client.api().objects["events"]) all.push_back(event);
    return all;
  }

  base::VirtualExecutor executor{base::Time{} + 1000h};
  std::shared_ptr<base::Strand> strand = executor.NewStrand("events");
  FakeClient client;
  EventRecorder recorder{client, strand, executor.clock(), base::Random(1), "scheduler", "host-1"};
};

TEST_F(EventRecorderTest, WritesAnEventAboutAnObject) {
  recorder.Warning(PodNamed("web"), "FailedScheduling", "0/3 nodes are available");
  EXPECT_TRUE(client.calls.empty()) << "recording does not block";
  executor.RunUntilIdle();
  ASSERT_EQ(Events().size(), 1u);
  const Json event = Events()[0];
  EXPECT_EQ(kube::NameOf(event), fmt::format("web.{:x}", (executor.clock().Now()).time_since_epoch().count()));
  EXPECT_EQ(base::FindString(event, {"involvedObject", "uid"}), "u-web");
  EXPECT_EQ(base::FindString(event, {"involvedObject", "kind"}), "Pod");
  EXPECT_EQ(base::FindString(event, {"type"}), "Warning");
  EXPECT_EQ(base::FindString(event, {"reason"}), "FailedScheduling");
  EXPECT_EQ(base::FindString(event, {"message"}), "0/3 nodes are available");
  EXPECT_EQ(base::FindString(event, {"source", "component"}), "scheduler");
  EXPECT_EQ(base::FindString(event, {"reportingInstance"}), "host-1");
  EXPECT_EQ(base::FindString(event, {"firstTimestamp"}), "1970-02-11T16:00:00Z");
  EXPECT_EQ(base::FindInt(event, {"count"}), 1);
}

TEST_F(EventRecorderTest, CountsTheSameEventInsteadOfRepeatingIt) {
  for (int i = 0; i < 3; ++i) {
    recorder.Normal(PodNamed("web"), "Pulled", "image");
    executor.RunFor(1min);
  }
  ASSERT_EQ(Events().size(), 1u);
  EXPECT_EQ(base::FindInt(Events()[0], {"count"}), 3);
  EXPECT_EQ(base::FindString(Events()[0], {"firstTimestamp"}), "1970-02-11T16:00:00Z");
  EXPECT_EQ(base::FindString(Events()[0], {"lastTimestamp"}), "1970-02-11T16:02:00Z");
  EXPECT_EQ(client.Count("patch"), 2);
}

TEST_F(EventRecorderTest, CountsOnlyTheVeryEventThatItHasWritten) {
  recorder.Normal(PodNamed("web"), "Pulled", "image");
  executor.RunFor(1min);
  const std::string uid(kube::UidOf(Events()[0]));
  ASSERT_FALSE(uid.empty());
  std::string named;
  client.before_write = [&](std::string_view verb, const Json& body) {
    if (verb == "patch") named = kube::UidOf(body);
  };
  recorder.Normal(PodNamed("web"), "Pulled", "image");
  executor.RunFor(1min);
  EXPECT_EQ(named, uid);
  client.FailNext("patch", base::Error(base::Code::kConflict, "another uid"));
  recorder.Normal(PodNamed("web"), "Pulled", "image");
  executor.RunFor(1min);
  ASSERT_EQ(Events().size(), 2u);
  EXPECT_EQ(base::FindInt(Events()[1], {"count"}), 3);
}

TEST_F(EventRecorderTest, FoldsManySimilarEventsIntoOne) {
  for (int i = 0; i < 15; ++i) recorder.Normal(PodNamed("web"), "Pulled", "image " + std::to_string(i));
  executor.RunUntilIdle();
  ASSERT_EQ(Events().size(), 10u) << "nine of their own and one for the rest";
  const Json last = Events().back();
  EXPECT_EQ(base::FindString(last, {"message"}), "(combined from similar events): image 14");
  EXPECT_EQ(base::FindInt(last, {"count"}), 6);
  executor.RunFor(11min);
  recorder.Normal(PodNamed("web"), "Pulled", "image 99");
  executor.RunUntilIdle();
  EXPECT_EQ(base::FindString(Events().back(), {"message"}), "image 99") << "ten minutes later it is news again";
}

TEST_F(EventRecorderTest, LimitsTheEventsOfOneObject) {
  for (int i = 0; i < 40; ++i) recorder.Normal(PodNamed("noisy"), "Reason" + std::to_string(i), "x");
  recorder.Normal(PodNamed("quiet"), "Started", "x");
  executor.RunUntilIdle();
  EXPECT_EQ(Events().size(), 26u) << "25 of the noisy one";
  executor.RunFor(5min + 1s);
  recorder.Normal(PodNamed("noisy"), "ReasonA", "x");
  recorder.Normal(PodNamed("noisy"), "ReasonB", "x");
  executor.RunUntilIdle();
  EXPECT_EQ(Events().size(), 27u) << "and one more per five minutes";
  EXPECT_EQ(recorder.dropped(), 0u);
}

TEST_F(EventRecorderTest, PutsEventsOfClusterScopedObjectsIntoDefault) {
  recorder.Normal({{"apiVersion", "v1"}, {"kind", "Node"}, {"metadata", {{"name", "n1"}}}}, "Ready", "yes");
  executor.RunUntilIdle();
  ASSERT_EQ(Events().size(), 1u);
  EXPECT_EQ(kube::NamespaceOf(Events()[0]), "default");
  EXPECT_EQ(base::FindString(Events()[0], {"involvedObject", "namespace"}, "none"), "none");
}

TEST_F(EventRecorderTest, StartsANewEventWhenTheOldOneHasExpired) {
  recorder.Normal(PodNamed("web"), "Pulled", "image");
  executor.RunUntilIdle();
  client.api().objects["events"].clear();
  executor.RunFor(5min);
  recorder.Normal(PodNamed("web"), "Pulled", "image");
  executor.RunUntilIdle();
  ASSERT_EQ(Events().size(), 1u);
  EXPECT_EQ(base::FindInt(Events()[0], {"count"}), 2);
}

TEST_F(EventRecorderTest, ForgetsWhatDoesNotComeAgain) {
  auto pull = [&] {
    recorder.Normal(PodNamed("web"), "Pulled", "image");
    executor.RunUntilIdle();
  };
  pull();
  executor.RunFor(11min);
  pull();
  ASSERT_EQ(Events().size(), 2u) << "the first is forgotten";
  EXPECT_EQ(base::FindInt(Events().back(), {"count"}), 1);
  pull();
  executor.RunFor(50min);
  pull();
  EXPECT_EQ(Events().size(), 2u) << "what has come again is expected for an hour";
  EXPECT_EQ(base::FindInt(Events().back(), {"count"}), 3);
}

TEST_F(EventRecorderTest, DropsTheNewestWhenTooManyWait) {
  for (int i = 0; i < 1100; ++i) recorder.Normal(PodNamed("p" + std::to_string(i)), "Started", "x");
  EXPECT_EQ(recorder.dropped(), 100u);
  executor.RunUntilIdle();
  EXPECT_EQ(Events().size(), 1000u);
}

TEST_F(EventRecorderTest, GivesEventsOfOneInstantNamesOfTheirOwn) {
  EventRecorder other(client, strand, executor.clock(), base::Random(2), "other", "host-2");
  recorder.Normal(PodNamed("web"), "A", "x");
  recorder.Normal(PodNamed("web"), "B", "x");
  other.Normal(PodNamed("web"), "A", "x");
  executor.RunUntilIdle();
  EXPECT_EQ(Events().size(), 3u);
}

TEST_F(EventRecorderTest, AFailedWriteHoldsUpNothing) {
  client.FailNext("create", base::Error(base::Code::kForbidden, "no"));
  recorder.Normal(PodNamed("web"), "A", "x");
  recorder.Normal(PodNamed("web"), "B", "x");
  executor.RunUntilIdle();
  ASSERT_EQ(Events().size(), 1u);
  EXPECT_EQ(base::FindString(Events()[0], {"reason"}), "B");
}

TEST_F(EventRecorderTest, CutsLongMessagesBetweenCharacters) {
  std::string message(1023, 'a');
  message += "\xc3\xa9";
  recorder.Normal(PodNamed("web"), "A", message);
  executor.RunUntilIdle();
  EXPECT_EQ(base::FindString(Events()[0], {"message"}), std::string(1023, 'a'));
}

}  // namespace
}  // namespace evenkeel::client::event_recorder_test
