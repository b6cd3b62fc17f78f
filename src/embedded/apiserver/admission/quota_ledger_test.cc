// The books of a namespace: promises, amounts that are cut, and what ends by itself.
#include "embedded/apiserver/admission/quota_ledger.h"

#include <gtest/gtest.h>

namespace evenkeel::embedded::apiserver::quota_ledger_test {
namespace {

using kube::Quantity;

QuotaCharge Taking(const std::string& cpu) {
  QuotaCharge charge;
  charge.usage = {{"cpu", *Quantity::Parse(cpu)}, {"pods", Quantity::FromInt(1)}};
  charge.traits.pod = true;
  return charge;
}

QuotaBounds Bounds(const std::string& cpu) { return {.hard = {{"cpu", *Quantity::Parse(cpu)}}, .scopes = {}}; }

class QuotaLedgerTest : public ::testing::Test {
 protected:
  QuotaLedgerTest() { ledger.SetQuota("q", Bounds("2")); }
  std::string Used() { return AmountsText(ledger.Used("q")); }
  std::string Refusal(const std::string& cpu) { return ledger.Refusal(Taking(cpu), {}, nullptr); }

  QuotaLedger ledger;
};

TEST_F(QuotaLedgerTest, APromiseCountsUntilItsObjectDoes) {
  const auto promise = ledger.Add("pods", Taking("1500m"), {});
  EXPECT_EQ(Used(), "cpu=0");
  EXPECT_EQ(Refusal("1"), "exceeded quota: q, requested: cpu=1, used: cpu=1500m, limited: cpu=2");
  ledger.Keep(promise, 7);
  EXPECT_EQ(Refusal("1"), "exceeded quota: q, requested: cpu=1, used: cpu=1500m, limited: cpu=2");
  ledger.Put("pods", "a", Taking("1500m"));
  ledger.SetSeen("other", 9);
  EXPECT_EQ(Refusal("501m"), "exceeded quota: q, requested: cpu=501m, used: cpu=3, limited: cpu=2")
      << "rather twice than never";
  ledger.SetSeen("pods", 7);
  EXPECT_EQ(Refusal("501m"), "exceeded quota: q, requested: cpu=501m, used: cpu=1500m, limited: cpu=2");
  EXPECT_EQ(Refusal("500m"), "");
  EXPECT_EQ(Used(), "cpu=1500m");
}

TEST_F(QuotaLedgerTest, APromiseWhoseObjectHasBeenSeenEndsAtOnce) {
  const auto promise = ledger.Add("pods", Taking("2"), {});
  ledger.Put("pods", "a", Taking("2"));
  ledger.Remove("pods", "a");
  ledger.SetSeen("pods", 8);
  ledger.Keep(promise, 7);
  EXPECT_EQ(Refusal("2"), "");
  ledger.Cancel(ledger.Add("pods", Taking("2"), {}));
  EXPECT_EQ(Refusal("2"), "");
}

TEST_F(QuotaLedgerTest, OnlyWhatGrowsIsPromised) {
  ledger.Put("pods", "a", Taking("3"));
  EXPECT_EQ(ledger.Refusal(Taking("3"), Taking("3"), nullptr), "");
  EXPECT_EQ(ledger.Refusal(Taking("2500m"), Taking("3"), nullptr), "");
  EXPECT_EQ(ledger.Refusal(Taking("4"), Taking("3"), nullptr),
            "exceeded quota: q, requested: cpu=1, used: cpu=3, limited: cpu=2");
}

TEST_F(QuotaLedgerTest, SumsThatWereCutAreCountedAnew) {
  ledger.Put("pods", "a", Taking("9E"));
  ledger.Put("pods", "b", Taking("9E"));
  EXPECT_EQ(Used(), "cpu=9223372036854775807");
  ledger.Remove("pods", "a");
  EXPECT_EQ(Used(), "cpu=9E");
  ledger.Remove("pods", "b");
  EXPECT_EQ(Used(), "cpu=0");
}

TEST_F(QuotaLedgerTest, AQuotaThatChangesCountsAnew) {
  ledger.Put("pods", "a", Taking("1"));
  ledger.Add("pods", Taking("500m"), {});
  ledger.SetQuota("q", {.hard = {{"pods", Quantity::FromInt(2)}}, .scopes = {}});
  EXPECT_EQ(Used(), "pods=1");
  EXPECT_EQ(Refusal("1"), "exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2");
  ledger.RemoveQuota("q");
  EXPECT_TRUE(ledger.empty());
  EXPECT_EQ(Refusal("1"), "");
}

TEST_F(QuotaLedgerTest, WhatShouldBeGoneKeepsItsPlace) {
  ledger.SetQuota("q", {.hard = {{"cpu", Quantity::FromInt(9)}, {"count/pods", Quantity::FromInt(9)}}, .scopes = {}});
  QuotaCharge charge = Taking("1");
  charge.usage.emplace("count/pods", Quantity::FromInt(1));
  const base::Time until{std::chrono::seconds(100)};
  charge.until = until;
  ledger.Put("pods", "a", charge);
  EXPECT_EQ(ledger.NextExpiry(), until);
  ledger.Expire(until);
  EXPECT_EQ(Used(), "count/pods=1,cpu=1");
  ledger.Expire(until + std::chrono::seconds(1));
  EXPECT_EQ(Used(), "count/pods=1,cpu=0");
  EXPECT_EQ(ledger.NextExpiry(), std::nullopt);
  ledger.Remove("pods", "a");
  EXPECT_EQ(Used(), "count/pods=0,cpu=0");
}

TEST(QuotaNames, BelongToKinds) {
  const auto kind = [](std::string_view name) {
    const auto found = KindOfQuotaName(name);
    return found ? found->first + "/" + found->second : "";
  };
  EXPECT_EQ(kind("count/deployments.apps"), "apps/deployments");
  EXPECT_EQ(kind("count/widgets.a.example.org"), "a.example.org/widgets");
  EXPECT_EQ(kind("count/pods"), "/pods");
  for (const char* name : {"cpu", "requests.memory", "limits.ephemeral-storage", "hugepages-2Mi", "requests.hugepages-1Gi",
                           "requests.nvidia.com/gpu", "pods"}) {
    EXPECT_EQ(kind(name), "/pods") << name;
  }
  EXPECT_EQ(kind("services.nodeports"), "/services");
  EXPECT_EQ(kind("gold.storageclass.storage.k8s.io/persistentvolumeclaims"), "/persistentvolumeclaims");
  EXPECT_EQ(kind("requests.storage"), "/persistentvolumeclaims");
  for (const char* name :
       {"nvidia.com/gpu", "limits.nvidia.com/gpu", "limits.hugepages-2Mi", "x.storageclass.storage.k8s.io/y"}) {
    EXPECT_EQ(kind(name), "") << name;
  }
}

}  // namespace
}  // namespace evenkeel::embedded::apiserver::quota_ledger_test
