#include "client/leader_election.h"

#include <gtest/gtest.h>

#include "client/fake_client_testing.h"
#include "client/lease.h"

namespace evenkeel::client::leader_election_test {
namespace {

// A wall clock that is wrong by a fixed amount.
class SkewedClock final : public base::Clock {
 public:
  SkewedClock(base::Clock& real, base::Duration skew) : real_(real), skew_(skew) {}
  base::Time Now() const override { return real_.Now() + skew_; }
  base::Instant Monotonic() const override { return real_.Monotonic(); }

 private:
  base::Clock& real_;
  const base::Duration skew_;
};

struct Candidate {
  Candidate(const std::string& name, base::VirtualExecutor& executor, std::shared_ptr<FakeApi> api,
            std::vector<std::string>& log, base::Duration skew = {})
      : clock(executor.clock(), skew), client(std::move(api)), strand(executor.NewStrand(name)) {
    const auto note = [&log, name](const char* what) { log.push_back(name + what); };
    elector =
        std::make_unique<LeaderElector>(client, LeaderElectionOptions{.ns = "evenkeel", .name = "leader", .identity = name},
                                        strand, clock, base::Random(3).Fork(name),
                                        LeaderElector::Callbacks{[note, this, &executor] {
                                                                   started_at = executor.clock().Monotonic();
                                                                   note(" leads");
                                                                 },
                                                                 [note, this, &executor] {
                                                                   stopped_at = executor.clock().Monotonic();
                                                                   note(" stops");
                                                                 },
                                                                 {}});
  }
  SkewedClock clock;
  FakeClient client;
  std::shared_ptr<base::Strand> strand;
  base::Instant started_at{}, stopped_at{};
  std::unique_ptr<LeaderElector> elector;
};

class LeaderElectionTest : public ::testing::Test {
 protected:
  using Lines = std::vector<std::string>;
  Lease Present() { return Lease::Decode(api->objects["leases"]["evenkeel/leader"]); }
  base::VirtualExecutor executor{base::Time{}};
  std::shared_ptr<FakeApi> api = std::make_shared<FakeApi>();
  Lines log;
};

TEST_F(LeaderElectionTest, OneOfTwoLeadsAndKeepsLeading) {
  Candidate a("a", executor, api, log), b("b", executor, api, log);
  a.elector->Start();
  executor.RunUntilIdle();
  b.elector->Start();
  executor.RunFor(10min);
  EXPECT_EQ(log, Lines{"a leads"});
  EXPECT_TRUE(a.elector->is_leader());
  EXPECT_FALSE(b.elector->is_leader());
  EXPECT_EQ(b.elector->leader(), "a");
  EXPECT_EQ(Present().transitions, 0);
  EXPECT_GE(Present().renew_time, executor.clock().Now() - 2s);
  EXPECT_EQ(Present().acquire_time, base::Time{});
  EXPECT_EQ(a.client.Count("get"), 1) << "a leader renews with one write and no read";
}

TEST_F(LeaderElectionTest, TakesOverFromACrashedLeader) {
  Candidate a("a", executor, api, log), b("b", executor, api, log);
  a.elector->Start();
  executor.RunUntilIdle();
  b.elector->Start();
  executor.RunFor(1min);
  a.strand->Close();
  const base::Instant crash = executor.clock().Monotonic();
  executor.RunFor(30s);
  EXPECT_EQ(log, (Lines{"a leads", "b leads"}));
  EXPECT_GE(b.started_at - crash, 13s);
  EXPECT_LE(b.started_at - crash, 15s + 4400ms + 4400ms);
  EXPECT_EQ(Present().holder, "b");
  EXPECT_EQ(Present().transitions, 1);
}

TEST_F(LeaderElectionTest, ALeaderThatIsCutOffStopsBeforeAnotherStarts) {
  Candidate a("a", executor, api, log), b("b", executor, api, log);
  a.elector->Start();
  executor.RunUntilIdle();
  b.elector->Start();
  executor.RunFor(1min);
  a.client.CutOff(true);
  executor.RunFor(1min);
  EXPECT_EQ(log, (Lines{"a leads", "a stops", "b leads"}));
  EXPECT_LT(a.stopped_at, b.started_at);
  EXPECT_GE(b.started_at - a.stopped_at, 5s);
  a.client.CutOff(false);
  executor.RunFor(1min);
  EXPECT_EQ(log.size(), 3u) << "it comes back as a candidate";
  EXPECT_EQ(a.elector->leader(), "b");
}

TEST_F(LeaderElectionTest, WrongWallClocksDoNotMatter) {
  Candidate a("a", executor, api, log, -48h), b("b", executor, api, log, 48h);
  a.elector->Start();
  executor.RunUntilIdle();
  b.elector->Start();
  executor.RunFor(10min);
  EXPECT_EQ(log, Lines{"a leads"});
  a.client.CutOff(true);
  executor.RunFor(1min);
  EXPECT_EQ(log, (Lines{"a leads", "a stops", "b leads"}));
}

TEST_F(LeaderElectionTest, HandsOverSoonWhenTheLeaderStops) {
  Candidate a("a", executor, api, log), b("b", executor, api, log);
  a.elector->Start();
  executor.RunUntilIdle();
  b.elector->Start();
  executor.RunFor(1min);
  a.strand->Post([&] { a.elector->Stop(); });
  executor.RunUntilIdle();
  EXPECT_EQ(Present().holder, "");
  EXPECT_EQ(Present().duration, 1s);
  EXPECT_EQ(log, (Lines{"a leads", "a stops"})) << "work has ended before the lease is free";
  executor.RunFor(4400ms);
  EXPECT_EQ(log, (Lines{"a leads", "a stops", "b leads"}));
  EXPECT_EQ(Present().transitions, 1);
}

TEST_F(LeaderElectionTest, ShortOutagesDoNotEndALeadership) {
  Candidate a("a", executor, api, log), b("b", executor, api, log);
  a.elector->Start();
  executor.RunUntilIdle();
  b.elector->Start();
  for (int i = 0; i < 10; ++i) {
    executor.RunFor(1min);
    a.client.CutOff(true);
    executor.RunFor(6s);
    a.client.CutOff(false);
  }
  EXPECT_EQ(log, Lines{"a leads"});
}

TEST_F(LeaderElectionTest, IsNotLeaderByTheClockEvenWhileACallHangs) {
  Candidate a("a", executor, api, log);
  a.elector->Start();
  executor.RunFor(1min);
  a.strand->Post([&] { a.strand->Charge(20s); });
  executor.RunFor(8s);
  EXPECT_TRUE(a.elector->is_leader());
  executor.RunFor(4s);
  EXPECT_FALSE(a.elector->is_leader());
}

TEST_F(LeaderElectionTest, StopsAtOnceWhenSomebodyElseIsWrittenIntoTheLease) {
  Candidate a("a", executor, api, log);
  a.elector->Start();
  executor.RunFor(1min);
  Json edited = api->objects["leases"]["evenkeel/leader"];
  base::Ensure(edited, {"spec", "holderIdentity"}) = "hand";
  api->Put(kube::resources::Leases(), edited);
  executor.RunFor(2s);
  EXPECT_EQ(log, (Lines{"a leads", "a stops"}));
  EXPECT_EQ(a.elector->leader(), "hand");
  executor.RunFor(25s);
  EXPECT_EQ(log.back(), "a leads") << "the stranger never renews";
}

}  // namespace
}  // namespace evenkeel::client::leader_election_test
