#include "controllers/runtime/renewed_leases.h"

#include <gtest/gtest.h>

#include "base/executor.h"
#include "client/fake_client_testing.h"

namespace evenkeel::controllers::runtime::renewed_leases_test {
namespace {

using namespace std::chrono_literals;

class RenewedLeasesTest : public ::testing::Test {
 protected:
  void Renew(const std::string& name, const std::string& holder = "other", int seconds = 15) {
    base::Json spec =
        base::JsonObject{{"holderIdentity", holder}, {"renewTime", base::FormatMicroTime(executor.clock().Now())}};
    if (seconds > 0) spec.as_object()["leaseDurationSeconds"] = seconds;
    client.api().Put(kube::resources::Leases(), {{"metadata", {{"name", name}, {"namespace", "karpenter"}}}, {"spec", spec}});
  }
  std::string Look(base::Duration later = 0s) {
    executor.RunFor(later);
    const auto found = leases.Look();
    EXPECT_TRUE(found) << found.error().message();
    certain = found && found->certain;
    return found ? found->lease : "";
  }

  bool certain = false;
  base::VirtualExecutor executor{base::Time(std::chrono::hours(500'000))};
  client::FakeClient client;
  RenewedLeases leases{client, executor.clock(), {"cluster-autoscaler", "karpenter-leader-election"}};
};

TEST_F(RenewedLeasesTest, ALeaseCountsWhileItChangesAndUntilItHasBeenSilentForItsTime) {
  EXPECT_EQ(Look(), "");
  Renew("unrelated");
  EXPECT_EQ(Look(10s), "");
  Renew("karpenter-leader-election");
  EXPECT_EQ(Look(10s), "Lease karpenter/karpenter-leader-election of other");
  EXPECT_FALSE(certain) << "it may have been silent for a while";
  Renew("karpenter-leader-election");
  EXPECT_NE(Look(10s), "");
  EXPECT_TRUE(certain);
  EXPECT_NE(Look(15s), "") << "longer than, not as long as";
  EXPECT_EQ(Look(1s), "");
  Renew("karpenter-leader-election");
  EXPECT_NE(Look(5s), "") << "back again";
  Renew("karpenter-leader-election", "");
  EXPECT_EQ(Look(5s), "") << "let go";
}

TEST_F(RenewedLeasesTest, OneThatNobodyRenewsAnyMoreHoldsNobodyUpForLong) {
  Renew("cluster-autoscaler", "gone", 0);
  EXPECT_NE(Look(4min), "") << "clocks may differ: it is looked at for as long as leader election takes";
  EXPECT_EQ(Look(16s), "");
  Renew("karpenter-leader-election", "long gone");
  EXPECT_EQ(Look(24h), "");
}

TEST_F(RenewedLeasesTest, ItDoesNotAskMoreOftenThanNeedBeAndRemembersOverErrors) {
  Renew("cluster-autoscaler");
  Look();
  const int lists = client.Count("list leases");
  Look(1s);
  EXPECT_EQ(client.Count("list leases"), lists);
  client.FailNext("list", base::Error(base::Code::kUnavailable, "no"));
  executor.RunFor(5s);
  EXPECT_FALSE(leases.Look());
  Renew("cluster-autoscaler");
  EXPECT_NE(Look(1s), "");
}

}  // namespace
}  // namespace evenkeel::controllers::runtime::renewed_leases_test
