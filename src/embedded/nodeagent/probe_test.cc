#include "embedded/nodeagent/probe.h"

#include <gtest/gtest.h>

#include "embedded/nodeagent/address_pool.h"
#include "embedded/nodeagent/restart_backoff.h"
#include "embedded/nodeagent/simulated_runtime.h"

namespace evenkeel::embedded::nodeagent::probe_test {
namespace {

using namespace std::chrono_literals;
using base::Json;

Json Parse(std::string_view text) { return *base::ParseJson(text, "test"); }

TEST(ProbeTest, NamedPortsAreLookedUpAndDefaultsAreTheApis) {
  const Json container = Parse(R"({"ports":[{"name":"web","containerPort":8080}]})");
  const auto probe = DecodeProbe(Parse(R"({"httpGet":{"port":"web","path":"healthz"}})"), container, "127.10.0.2");
  ASSERT_TRUE(probe) << probe.error().message();
  EXPECT_EQ(probe->action.port, 8080);
  EXPECT_EQ(probe->action.host, "127.10.0.2");
  EXPECT_EQ(probe->action.path, "/healthz");
  EXPECT_EQ(probe->period, 10s);
  EXPECT_EQ(probe->timeout, 1s);
  EXPECT_EQ(probe->failure_threshold, 3);
}

TEST(ProbeTest, SaysWhatCannotBeProbed) {
  EXPECT_FALSE(DecodeProbe(Parse(R"({"grpc":{"port":1}})"), Json(base::JsonObject()), "h"));
  EXPECT_FALSE(DecodeProbe(Parse(R"({"tcpSocket":{"port":"nope"}})"), Json(base::JsonObject()), "h"));
  EXPECT_FALSE(DecodeProbe(Parse(R"({"tcpSocket":{"port":70000}})"), Json(base::JsonObject()), "h"));
}

TEST(ProbeTest, CountsRunsAgainstThresholds) {
  ProbeTracker tracker(2, 3);
  EXPECT_EQ(tracker.Record(true), std::nullopt);
  EXPECT_EQ(tracker.Record(true), true);
  EXPECT_EQ(tracker.Record(false), std::nullopt);
  EXPECT_EQ(tracker.Record(false), std::nullopt);
  EXPECT_EQ(tracker.Record(false), false);
  EXPECT_EQ(tracker.Record(false), false);
  EXPECT_EQ(tracker.Record(true), std::nullopt);
}

TEST(RestartBackoffTest, DoublesFromTenSecondsToFiveMinutes) {
  RestartBackoff backoff;
  base::Time now{};
  std::vector<base::Duration> delays;
  for (int i = 0; i < 8; ++i) {
    now += 1s;
    delays.push_back(backoff.DelayAfter(now));
    const base::Time finished = now;
    now += delays.back();
    backoff.RecordRestart(finished, now);
  }
  EXPECT_EQ(delays, (std::vector<base::Duration>{0s, 10s, 20s, 40s, 80s, 160s, 300s, 300s}));
}

TEST(RestartBackoffTest, ForgetsAfterTenQuietMinutes) {
  RestartBackoff backoff;
  base::Time now{};
  backoff.RecordRestart(now, now);
  backoff.RecordRestart(now, now);
  EXPECT_EQ(backoff.DelayAfter(now + 10min), 20s);
  EXPECT_EQ(backoff.DelayAfter(now + 10min + 1s), 0s);
  backoff.RecordRestart(now + 11min, now + 11min);
  EXPECT_EQ(backoff.DelayAfter(now + 11min), 10s);
}

TEST(AddressPoolTest, GivesEachAddressOnceAndFreedOnesLast) {
  auto pool = AddressPool::Parse("127.10.3.0/29");
  ASSERT_TRUE(pool);
  EXPECT_TRUE(pool->Reserve("127.10.3.3"));
  EXPECT_FALSE(pool->Reserve("127.10.3.3"));
  EXPECT_FALSE(pool->Reserve("10.0.0.1"));
  EXPECT_EQ(pool->Allocate(), "127.10.3.2");
  EXPECT_EQ(pool->Allocate(), "127.10.3.4");
  pool->Release("127.10.3.2");
  EXPECT_EQ(pool->Allocate(), "127.10.3.5");
  EXPECT_EQ(pool->Allocate(), "127.10.3.6");
  EXPECT_EQ(pool->Allocate(), "127.10.3.2");
  EXPECT_EQ(pool->Allocate(), std::nullopt);
}

TEST(AddressPoolTest, RefusesWhatIsNotARange) {
  for (const char* text : {"", "127.10.0.0", "127.10.0/24", "127.10.0.0/33", "127.10.0.0/x", "1.2.3.256/24", "1.2.3.4/31"}) {
    EXPECT_FALSE(AddressPool::Parse(text)) << text;
  }
}

TEST(SimulatedExitTest, ReadsTheAnnotation) {
  const auto exit = ParseSimulatedExit("code=3,after=1m30s");
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->code, 3);
  EXPECT_EQ(exit->after, 90s);
  EXPECT_FALSE(ParseSimulatedExit("code=x"));
  EXPECT_FALSE(ParseSimulatedExit("code=1 after=3s"));
  EXPECT_FALSE(ParseSimulatedExit("after=-3s"));
}

}  // namespace
}  // namespace evenkeel::embedded::nodeagent::probe_test
