#include "controllers/distribution/distributor/replica_view.h"

#include <gtest/gtest.h>

#include "base/executor.h"
#include "controllers/distribution/sharding/published_plan.h"

namespace evenkeel::controllers::distribution::replica_view_test {
namespace {

using namespace std::chrono_literals;

class ReplicaViewTest : public ::testing::Test {
 protected:
  base::VirtualExecutor time{base::Time{} + 1000h};
  ReplicaView view{"me", 8s, time.clock()};

  void Renew(const std::string& identity, base::Duration clock_ahead = {}, bool leaving = false) {
    base::Json lease = base::JsonObject{};
    client::Lease record;
    record.holder = identity;
    record.duration = 8s;
    record.renew_time = time.clock().Now() + clock_ahead;
    record.WriteTo(lease);
    base::Ensure(lease, {"metadata", "annotations", kHostAnnotation}) = "host-of-" + identity;
    base::Ensure(lease, {"metadata", "annotations", kAppliedEpochAnnotation}) = "7";
    if (leaving) base::Ensure(lease, {"metadata", "annotations", kLeavingAnnotation}) = "true";
    view.See("lease-of-" + identity, &lease);
  }
  /// Seconds in which these renew every other one.
  void Pass(int seconds, const std::vector<std::string>& renewing) {
    for (int i = 0; i < seconds; ++i) {
      time.RunFor(1s);
      if (i % 2 == 1) {
        for (const std::string& identity : renewing) Renew(identity);
      }
    }
  }
  std::vector<std::string> Live() const {
    std::vector<std::string> names;
    for (const LiveReplica& replica : view.Live()) names.push_back(replica.identity);
    return names;
  }
  using Names = std::vector<std::string>;
};

TEST_F(ReplicaViewTest, KnowsNothingBeforeItSeesItself) {
  Renew("other");
  EXPECT_FALSE(view.sees());
  Renew("me");
  EXPECT_TRUE(view.sees());
  EXPECT_EQ(Live(), (Names{"me", "other"}));
  EXPECT_EQ(view.Live()[1].host, "host-of-other");
  EXPECT_EQ(view.AppliedEpochs().at("other"), 7);
}

TEST_F(ReplicaViewTest, ASilentReplicaIsGoneAfterItsDurationWhateverItsClockSays) {
  Renew("me");
  Renew("other", 100h);
  Pass(7, {"me"});
  EXPECT_EQ(Live(), (Names{"me", "other"}));
  Pass(2, {"me"});
  EXPECT_EQ(Live(), Names{"me"});
  EXPECT_EQ(view.GoneFor(0s), Names{"lease-of-other"});
  EXPECT_TRUE(view.GoneFor(1min).empty());
}

TEST_F(ReplicaViewTest, AnOutageOfTheHubMakesNobodyLookGone) {
  Renew("me");
  Renew("other");
  Pass(30, {});
  EXPECT_FALSE(view.sees());
  Renew("me");
  EXPECT_TRUE(view.sees());
  EXPECT_EQ(Live(), (Names{"me", "other"})) << "it could not renew either";
  Pass(9, {"me"});
  EXPECT_EQ(Live(), Names{"me"});
}

TEST_F(ReplicaViewTest, IsSettledOnceEveryOtherHasRenewedOrIsGone) {
  Renew("dead");
  Renew("other");
  Renew("me");
  EXPECT_FALSE(view.settled()) << "it has only seen that they were alive once";
  Pass(2, {"me", "other"});
  EXPECT_FALSE(view.settled());
  Pass(8, {"me", "other"});
  EXPECT_TRUE(view.settled());
  Renew("new");
  EXPECT_TRUE(view.settled()) << "it came while everything could be seen";
  Pass(20, {});
  EXPECT_FALSE(view.settled());
  Renew("me");
  EXPECT_FALSE(view.settled()) << "nobody knows what happened meanwhile";
  Renew("other");
  Renew("new");
  EXPECT_FALSE(view.settled()) << "dead may have come back";
  Pass(10, {"me", "other", "new"});
  EXPECT_TRUE(view.settled());
}

TEST_F(ReplicaViewTest, WhoHasBeenGoneForLongIsSoForANewObserver) {
  Renew("me");
  Renew("dead", -10min);
  Renew("behind", -10min);
  Pass(7, {"me"});
  Renew("behind", -10min);
  EXPECT_TRUE(view.GoneFor(2min).empty()) << "its clock may be behind";
  Pass(2, {"me"});
  EXPECT_EQ(view.GoneFor(2min), Names{"lease-of-dead"});
  EXPECT_TRUE(view.GoneFor(11min).empty());
}

TEST_F(ReplicaViewTest, TheSameRenewalSeenAgainIsNone) {
  Renew("me");
  base::Json lease = base::JsonObject{};
  client::Lease record;
  record.holder = "other";
  record.renew_time = time.clock().Now();
  record.WriteTo(lease);
  for (int i = 0; i < 5; ++i) {
    view.See("lease-of-other", &lease);
    Pass(2, {"me"});
  }
  EXPECT_EQ(Live(), Names{"me"});
}

TEST_F(ReplicaViewTest, ADeletedLeaseIsGoneAtOnceAndLeavingIsSeen) {
  Renew("me");
  Renew("other", {}, true);
  EXPECT_TRUE(view.Live()[1].leaving);
  view.See("lease-of-other", nullptr);
  EXPECT_EQ(Live(), Names{"me"});
  EXPECT_FALSE(view.Knows("lease-of-other"));
}

}  // namespace
}  // namespace evenkeel::controllers::distribution::replica_view_test
