// What the tests of the checkers of members have in common: a fleet in which nothing goes on, and one member whose store holds
// what a test puts there.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/checkers/checker.h"
#include "sim/checkers/member_book.h"
#include "sim/network/network.h"

namespace evenkeel::sim::testing {

using base::Instant;
using base::Json;
using base::JsonArray;
using base::JsonObject;
using namespace std::chrono_literals;

inline constexpr char kMember[] = "member-1";
inline constexpr char kReplica[] = "replica-1/1";

/// A fleet in which nothing but time goes on.
class QuietFleet final : public FleetView {
 public:
  Instant now() const override { return time; }
  const std::vector<ReplicaView>& Replicas() const override { return replicas; }
  const std::map<std::string, Instant>& Registered() const override { return registered; }
  Condition ConditionOf(const std::string&, const std::string&) const override { return condition; }
  Instant HealthySince(const std::string&) const override { return healthy_since; }
  std::string PlannedOwner(const std::string&) const override { return ""; }
  std::string Leader() const override { return ""; }
  Instant UnrestUntil() const override { return {}; }
  const TenureBook& tenures() const override { return book; }
  base::Duration lease_duration() const override { return 15s; }
  base::Duration lease_margin() const override { return 3s; }
  base::Duration reassignment_bound() const override { return 29s; }
  int64_t moves_per_minute() const override { return 10; }

  Instant time{};
  Instant healthy_since{};
  Condition condition{};  ///< of whoever is asked for
  std::vector<ReplicaView> replicas;
  std::map<std::string, Instant> registered{{kMember, Instant{}}};
  TenureBook book;
};

/// One member as its store has it.
class MemberCheckerTest : public ::testing::Test {
 protected:
  void Attach(Checker& checker) {
    checker.Attach(fleet, [this](std::string what) { violations.push_back(std::move(what)); });
    checkers.push_back(&checker);
  }

  void Store(const std::string& key, const std::optional<Json>& object) {
    embedded::store::Event event;
    event.type = object ? embedded::store::Event::Type::kPut : embedded::store::Event::Type::kDelete;
    event.current.key = "/registry/" + key;
    if (object) event.current.value = std::make_shared<const std::string>(base::ToText(*object));
    event.previous = stored[key];
    stored[key] = event.current.value;
    book.See(kMember, event, fleet.time);
  }

  /// A write that takes effect.
  void Write(const std::string& user, const std::string& plural, const std::string& ns, const std::string& name,
             const std::optional<Json>& object, const std::string& verb = "update", const std::string& subresource = "") {
    const std::string key = plural + "/" + (ns.empty() ? "" : ns + "/") + name;
    const embedded::store::Value previous = stored[key];
    Store(key, object);
    embedded::apiserver::AuditRecord record;
    record.user.name = user;
    record.plural = plural;
    record.ns = ns;
    record.name = name;
    record.verb = verb;
    record.subresource = subresource;
    const std::string full = "/registry/" + key;
    const ApiWrite write{
        .api = kMember, .record = record, .key = full, .value = stored[key], .previous = previous, .took_effect = true};
    for (Checker* checker : checkers) checker->OnWrite(write, {});
  }

  /// A ready pod of a ReplicaSet on n1, with a label app=a.
  static Json Pod(const std::string& name, const std::string& ns = "default", const std::string& cpu = "1") {
    Json pod = JsonObject{};
    base::Ensure(pod, {"metadata"}) = JsonObject{
        {"name", name},
        {"namespace", ns},
        {"uid", name},
        {"labels", JsonObject{{"app", "a"}}},
        {"ownerReferences",
         JsonArray{JsonObject{
             {"apiVersion", "apps/v1"}, {"kind", "ReplicaSet"}, {"name", "rs"}, {"uid", "rs"}, {"controller", true}}}}};
    base::Ensure(pod, {"spec"}) =
        JsonObject{{"nodeName", "n1"},
                   {"containers",
                    JsonArray{JsonObject{{"name", "c"}, {"resources", JsonObject{{"requests", JsonObject{{"cpu", cpu}}}}}}}}};
    base::Ensure(pod, {"status"}) =
        JsonObject{{"phase", "Running"}, {"conditions", JsonArray{JsonObject{{"type", "Ready"}, {"status", "True"}}}}};
    return pod;
  }
  void Add(const Json& pod) {
    Store("pods/" + std::string(base::FindString(pod, {"metadata", "namespace"})) + "/" +
              std::string(base::FindString(pod, {"metadata", "name"})),
          pod);
  }
  void Budget(int64_t least, const std::string& ns = "default") {
    Store("poddisruptionbudgets/" + ns + "/b",
          JsonObject{{"metadata", JsonObject{{"name", "b"}, {"namespace", ns}}},
                     {"spec", JsonObject{{"minAvailable", least},
                                         {"selector", JsonObject{{"matchLabels", JsonObject{{"app", "a"}}}}}}}});
  }
  /// The only violation so far; forgets it.
  std::string Only() {
    EXPECT_EQ(violations.size(), 1u);
    std::string only = violations.empty() ? "" : violations.front();
    violations.clear();
    return only;
  }

  QuietFleet fleet;
  MemberBook book;
  std::vector<Checker*> checkers;
  std::vector<std::string> violations;
  std::map<std::string, embedded::store::Value> stored;
};

}  // namespace evenkeel::sim::testing
