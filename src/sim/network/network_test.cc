#include "sim/network/network.h"

#include <gtest/gtest.h>

#include "client/fake_client_testing.h"

namespace evenkeel::sim::network_test {
namespace {

using namespace std::chrono_literals;
using base::Code;
using base::Duration;
using base::Json;
using base::Result;

const kube::Resource& Maps() { return kube::resources::ConfigMaps(); }
Json Map(std::string_view name, int64_t value) {
  return {{"metadata", {{"name", name}, {"namespace", "ns"}}}, {"data", {{"value", std::to_string(value)}}}};
}

class NetworkTest : public ::testing::Test {
 protected:
  base::VirtualExecutor time{base::Time(std::chrono::seconds(1'900'000'000))};
  Fibers fibers;
  std::shared_ptr<client::FakeApi> api = std::make_shared<client::FakeApi>();
  std::map<std::string, int> faults;
  Network network{time, base::Random(7)};
  Process process{time, fibers, "p"};
  std::shared_ptr<base::Strand> strand = process.NewStrand("s");
  std::unique_ptr<client::Client> client = network.NewClient(process, "api", {.host = "host", .user = "user", .timeout = 2s});

  NetworkTest() {
    Up();
    network.on_fault = [this](const std::string& kind, const std::string&, const std::string&) { ++faults[kind]; };
  }
  void Up() {
    network.Attach("api", [this](const std::string&, int64_t) { return std::make_unique<client::FakeClient>(api); });
  }
  base::Instant Now() { return time.clock().Monotonic(); }
  bool Stored(const std::string& name) { return api->objects["configmaps"].contains("ns/" + name); }

  struct Outcome {
    std::optional<Result<Json>> answer;
    Duration took{};
  };
  /// Starts a create and lets `duration` pass.
  std::shared_ptr<Outcome> Create(const std::string& name, Duration duration) {
    auto outcome = std::make_shared<Outcome>();
    strand->Post([this, name, outcome, begin = Now()] {
      outcome->answer = client->Create(Maps(), Map(name, 1));
      outcome->took = Now() - begin;
    });
    time.RunFor(duration);
    return outcome;
  }
  static Code CodeOf(const Outcome& outcome) { return outcome.answer->error().code(); }
};

TEST_F(NetworkTest, APerfectNetworkTakesNoTime) {
  const auto outcome = Create("a", 0s);
  ASSERT_TRUE(outcome->answer && *outcome->answer);
  EXPECT_EQ(outcome->took, 0s);
}

TEST_F(NetworkTest, LatencyIsWaitedForByTheTaskAlone) {
  network.conditions() = {.latency_min = 100ms, .latency_max = 100ms, .service_min = 50ms, .service_max = 50ms};
  bool other = false;
  process.NewStrand("other")->Post([&] { other = true; });
  const auto outcome = Create("a", 99ms);
  EXPECT_FALSE(Stored("a"));
  time.RunFor(1s);
  ASSERT_TRUE(outcome->answer && *outcome->answer);
  EXPECT_EQ(outcome->took, 250ms);
  EXPECT_EQ(kube::NameOf(**outcome->answer), "a");
}

TEST_F(NetworkTest, AServerThatIsDownRefusesOrIsSilent) {
  network.conditions() = {.latency_min = 10ms, .latency_max = 10ms};
  network.Detach("api");
  const auto refused = Create("a", 5s);
  EXPECT_EQ(CodeOf(*refused), Code::kUnavailable);
  EXPECT_LT(refused->took, 1s);
  Up();
  network.Detach("api", true);
  const auto silent = Create("a", 5s);
  EXPECT_EQ(CodeOf(*silent), Code::kTimeout);
  EXPECT_EQ(silent->took, 2s);
  Up();
  EXPECT_TRUE(Create("a", 5s)->answer->has_value());
}

TEST_F(NetworkTest, PartitionsLoseWhatTheyCut) {
  network.Partition("host", "api", Cut::kRequests);
  EXPECT_EQ(CodeOf(*Create("a", 3s)), Code::kTimeout);
  EXPECT_FALSE(Stored("a"));
  network.Heal("host", "api");
  network.Partition("host", "api", Cut::kAnswers);
  EXPECT_EQ(CodeOf(*Create("b", 3s)), Code::kTimeout);
  EXPECT_TRUE(Stored("b"));
  network.Heal("host", "api");
  network.Partition("another", "api", Cut::kBoth);
  EXPECT_TRUE(Create("c", 3s)->answer->has_value());
}

TEST_F(NetworkTest, EveryFaultOfACallDoesWhatItSays) {
  struct Case {
    const char* kind;
    double NetworkConditions::* probability;
    std::vector<Code> codes;
    bool stored;
  };
  for (const Case& each : std::vector<Case>{
           {"lost-request", &NetworkConditions::lost_request, {Code::kTimeout}, false},
           {"lost-answer", &NetworkConditions::lost_answer, {Code::kTimeout}, true},
           {"error-before",
            &NetworkConditions::error_before,
            {Code::kTooManyRequests, Code::kInternal, Code::kUnavailable},
            false},
           {"error-after", &NetworkConditions::error_after, {Code::kInternal, Code::kUnavailable}, true},
       }) {
    network.conditions() = {};
    network.conditions().*each.probability = 1;
    const auto outcome = Create(each.kind, 3s);
    EXPECT_NE(std::ranges::find(each.codes, CodeOf(*outcome)), each.codes.end()) << each.kind;
    EXPECT_EQ(Stored(each.kind), each.stored) << each.kind;
    EXPECT_EQ(faults[each.kind], 1) << each.kind;
  }
}

TEST_F(NetworkTest, AConflictIsSpuriousAndOnlyOfWritesThatNameAVersion) {
  Json stored = api->Put(Maps(), Map("a", 1));
  network.conditions().conflict = 1;
  Result<Json> updated = base::Fail(Code::kInternal, "");
  strand->Post([&] { updated = client->Update(Maps(), stored); });
  time.RunFor(1s);
  EXPECT_EQ(updated.error().code(), Code::kConflict);
  EXPECT_EQ(api->objects["configmaps"]["ns/a"], stored);
  EXPECT_TRUE(Create("b", 1s)->answer->has_value());
}

TEST_F(NetworkTest, ADelayedRequestArrivesAfterItsSenderGaveUpAlsoIfThatIsDeadOrPaused) {
  for (const char* fate : {"alive", "paused", "dead"}) {
    network.conditions() = {.delayed = 1};
    const auto outcome = Create(fate, 2s);
    EXPECT_EQ(CodeOf(*outcome), Code::kTimeout) << fate;
    EXPECT_FALSE(Stored(fate));
    if (fate == std::string("paused")) process.Pause();
    if (fate == std::string("dead")) {
      process.Resume();
      process.Kill();
    }
    time.RunFor(61s);
    EXPECT_TRUE(Stored(fate)) << fate;
    process.Resume();
  }
}

TEST_F(NetworkTest, AStalledRequestGoesOutOnResume) {
  network.conditions() = {.latency_min = 1ms, .latency_max = 1ms, .stall = 1};
  network.on_stall = [](Process& stalled) { stalled.Pause(); };
  const auto outcome = Create("a", 1min);
  EXPECT_FALSE(outcome->answer);
  EXPECT_FALSE(Stored("a"));
  process.Resume();
  time.RunFor(1s);
  ASSERT_TRUE(outcome->answer && *outcome->answer) << "its time-out began when it was sent";
  EXPECT_TRUE(Stored("a"));
}

TEST_F(NetworkTest, ARequestUnderWayOutlivesItsProcess) {
  network.conditions() = {.latency_min = 10ms, .latency_max = 10ms};
  auto victim = std::make_unique<Process>(time, fibers, "victim");
  auto from_victim = network.NewClient(*victim, "api", {.host = "host", .user = "victim"});
  auto tasks = victim->NewStrand("s");
  bool answered = false;
  tasks->Post([&] { answered = from_victim->Create(Maps(), Map("a", 1)).has_value(); });
  time.RunFor(5ms);
  victim->Kill();
  tasks.reset();
  from_victim.reset();
  victim.reset();
  time.RunFor(1s);
  EXPECT_TRUE(Stored("a"));
  EXPECT_FALSE(answered);
}

TEST_F(NetworkTest, AWriteUnderWayInACrashMayBeLostOrKeptButIsNeverAnswered) {
  network.conditions() = {.latency_min = 1ms, .latency_max = 1ms, .service_min = 100ms, .service_max = 100ms};
  int kept = 0;
  for (int i = 0; i < 50; ++i) {
    const std::string name = "a" + std::to_string(i);
    const auto outcome = Create(name, 50ms);
    network.Detach("api");
    Up();
    time.RunFor(3s);
    ASSERT_TRUE(outcome->answer);
    EXPECT_EQ(CodeOf(*outcome), Code::kUnavailable);
    kept += Stored(name);
  }
  EXPECT_GT(kept, 10);
  EXPECT_LT(kept, 40);
}

class WatchTest : public NetworkTest {
 protected:
  std::vector<std::string> seen;
  std::unique_ptr<client::Watch> watch;
  void Open() {
    strand->Post([this] {
      auto opened = client->NewWatch(Maps(), {.resource_version = std::to_string(api->version)}, [this](auto event) {
        seen.push_back(event ? base::FindString(event->object, {"data", "value"}, "?").data()
                             : std::string(base::Reason(event.error().code())));
      });
      ASSERT_TRUE(opened);
      watch = *std::move(opened);
    });
    time.RunFor(1s);
    ASSERT_TRUE(watch);
  }
  void Put(int64_t value) { api->Put(Maps(), Map("a", value)); }
  using Texts = std::vector<std::string>;
};

TEST_F(WatchTest, EventsTakeTheirTimeAndStayInOrder) {
  Open();
  Put(1);
  EXPECT_EQ(seen, Texts{"1"}) << "a perfect network takes no time";
  network.conditions() = {.latency_min = 1ms, .latency_max = 500ms};
  for (int i = 2; i < 20; ++i) Put(i);
  EXPECT_EQ(seen.size(), 1u);
  time.RunFor(1s);
  ASSERT_EQ(seen.size(), 19u);
  for (int i = 1; i < 20; ++i) EXPECT_EQ(seen[static_cast<size_t>(i - 1)], std::to_string(i));
}

TEST_F(WatchTest, DelayedEventsComeLateAndInOrder) {
  Open();
  network.DelayEvents("host", "api", 30s);
  Put(1);
  time.RunFor(10s);
  network.DelayEvents("host", "api", 0s);
  Put(2);
  time.RunFor(19s);
  EXPECT_TRUE(seen.empty());
  EXPECT_GT(network.UndisturbedSince("host", "api"), Now()) << "something is still late";
  time.RunFor(1s);
  EXPECT_EQ(seen, (Texts{"1", "2"}));
  EXPECT_LE(network.UndisturbedSince("host", "api"), Now());
}

TEST_F(WatchTest, APausedProcessReadsThemAfterwards) {
  Open();
  process.Pause();
  Put(1);
  Put(2);
  time.RunFor(1min);
  EXPECT_TRUE(seen.empty());
  process.Resume();
  EXPECT_EQ(seen, (Texts{"1", "2"}));
}

TEST_F(WatchTest, BreakingTellsTheReasonOnceAndThenNothing) {
  Open();
  network.BreakWatches("host", "api", Code::kExpired);
  Put(1);
  time.RunFor(1s);
  EXPECT_EQ(seen, Texts{"Expired"});
}

TEST_F(WatchTest, ACrashBreaksWatches) {
  Open();
  network.Detach("api");
  time.RunFor(1s);
  EXPECT_EQ(seen, Texts{"ServiceUnavailable"});
}

TEST_F(WatchTest, APartitionHoldsEventsUpUntilItHealsOrTheWatchIsDead) {
  int caught_up = 0;
  for (int i = 0; i < 30; ++i) {
    seen.clear();
    Open();
    network.Partition("host", "api", Cut::kAnswers);
    Put(i);
    time.RunFor(10s);
    EXPECT_TRUE(seen.empty());
    if (i % 2 == 0) network.Partition("host", "api", Cut::kRequests);  // answers come through again
    if (i % 2 == 1) network.Heal("host", "api");
    time.RunFor(1s);
    network.Heal("host", "api");
    ASSERT_EQ(seen.size(), 1u);
    caught_up += seen[0] == std::to_string(i);
    EXPECT_TRUE(seen[0] == std::to_string(i) || seen[0] == "ServiceUnavailable") << seen[0];
  }
  EXPECT_GT(caught_up, 5);
  EXPECT_LT(caught_up, 25);
}

TEST_F(WatchTest, NothingComesAfterItIsDestroyed) {
  network.conditions() = {.latency_min = 10ms, .latency_max = 10ms};
  Open();
  Put(1);
  watch.reset();
  time.RunFor(1s);
  EXPECT_TRUE(seen.empty());
}

TEST_F(NetworkTest, TellsSinceWhenALinkIsUndisturbed) {
  time.RunFor(10s);
  EXPECT_EQ(network.UndisturbedSince("host", "api"), base::Instant{});
  network.Partition("host", "api", Cut::kBoth);
  time.RunFor(10s);
  EXPECT_EQ(network.UndisturbedSince("host", "api"), Now());
  network.Heal("host", "api");
  const base::Instant healed = Now();
  time.RunFor(10s);
  EXPECT_EQ(network.UndisturbedSince("host", "api"), healed);
  network.conditions().lost_answer = 1;
  Create("a", 3s);
  EXPECT_GT(network.UndisturbedSince("host", "api"), healed);
  network.SlowDown("api", 1s);
  EXPECT_EQ(network.HealthySince("api"), Now());
  network.HealAll();
  const base::Instant fast = Now();
  time.RunFor(1s);
  EXPECT_EQ(network.HealthySince("api"), fast);
}

TEST(NetworkSeedTest, TheSameSeedGivesTheSameFates) {
  auto run = [](uint64_t seed) {
    base::VirtualExecutor time{base::Time{}};
    Fibers fibers;
    auto api = std::make_shared<client::FakeApi>();
    Network network(time, base::Random(seed));
    Process process(time, fibers, "p");
    network.Attach("api", [&](const std::string&, int64_t) { return std::make_unique<client::FakeClient>(api); });
    network.conditions() = {
        .latency_min = 1ms, .latency_max = 90ms, .lost_request = 0.1, .lost_answer = 0.1, .error_after = 0.1};
    auto client = network.NewClient(process, "api", {.host = "h", .user = "u"});
    auto strand = process.NewStrand("s");
    for (int i = 0; i < 100; ++i) strand->Post([&, i] { (void)client->Create(Maps(), Map("a" + std::to_string(i), i)); });
    time.RunFor(10min);
    return std::pair(time.trace_hash(), api->version);
  };
  EXPECT_EQ(run(1), run(1));
  EXPECT_NE(run(1), run(2));
}

}  // namespace
}  // namespace evenkeel::sim::network_test
