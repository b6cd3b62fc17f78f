#include "scheduling/reservations.h"

#include <gtest/gtest.h>

namespace evenkeel::scheduling::reservations_test {
namespace {

using base::Json;

Json Plan() {
  return *base::ParseJson(R"({"apiVersion":"evenkeel.dev/v1alpha1","kind":"BalancingPlan","metadata":{"name":"p"},
    "spec":{"policy":"even","approved":true,"actions":[
      {"from":"n1","to":"n2","pod":"default/a","podUid":"a1","ownerUid":"rs"},
      {"from":"n1","to":"n3","pod":"default/b","podUid":"b1","ownerUid":"rs"},
      {"from":"n1","to":"n4","pod":"default/c","podUid":"c1","ownerUid":"rs"}]},
    "status":{"phase":"Executing","actions":[
      {"state":"Landed","replacement":"default/x","reserveUntil":"2026-01-01T00:00:00Z"},
      {"state":"Evicted","replacement":"default/y","reserveUntil":"2026-01-01T00:05:00Z"},
      {"state":"Evicting","reserveUntil":"2026-01-01T01:06:00+01:00"}]}})",
                          "test");
}

TEST(ReservationsTest, AreTheActionsBetweenEvictionAndLanding) {
  const auto read = ReadReservations(Plan());
  EXPECT_TRUE(read.problems.empty());
  ASSERT_EQ(read.reservations.size(), 2U);
  const base::Time midnight = *base::ParseTime("2026-01-01T00:00:00Z");
  EXPECT_EQ(read.reservations[0],
            (Reservation{1, "n1", "n3", "default/b", "b1", "rs", midnight + std::chrono::minutes(5), "default/y"}));
  EXPECT_EQ(read.reservations[1],
            (Reservation{2, "n1", "n4", "default/c", "c1", "rs", midnight + std::chrono::minutes(6), ""}));
}

TEST(ReservationsTest, OnlyAPlanThatIsBeingCarriedOutHasAny) {
  for (const char* phase : {"Pending", "Done", "Refused", "Failed", ""}) {
    Json plan = Plan();
    base::Ensure(plan, {"status", "phase"}) = phase;
    EXPECT_TRUE(ReadReservations(plan).reservations.empty()) << phase;
  }
  EXPECT_TRUE(ReadReservations(Json(base::JsonObject{})).reservations.empty());
}

TEST(ReservationsTest, RoomIsKeptUntilTheLastEnds) {
  Json plan = Plan();
  EXPECT_EQ(RoomKeptUntil(plan), base::ParseTime("2026-01-01T00:06:00Z").value());
  plan.at("status").at("actions").at(2).as_object()["state"] = "Waiting";
  EXPECT_EQ(RoomKeptUntil(plan), base::ParseTime("2026-01-01T00:05:00Z").value());
  base::Ensure(plan, {"status", "phase"}) = "Done";
  EXPECT_EQ(RoomKeptUntil(plan), std::nullopt);
}

TEST(ReservationsTest, OneThatCannotBeReadSpoilsNoOther) {
  const auto problem = [](std::initializer_list<std::string_view> path, const Json& value) {
    Json plan = Plan();
    Json& action = plan.at("spec").at("actions").at(1);
    Json& status = plan.at("status").at("actions").at(1);
    base::Ensure(*path.begin() == "reserveUntil" ? status : action, path) = value;
    const auto read = ReadReservations(plan);
    EXPECT_EQ(read.reservations.size(), 1U);
    return read.problems.size() == 1 ? read.problems[0] : std::to_string(read.problems.size()) + " problems";
  };
  EXPECT_EQ(problem({"to"}, ""), "actions[1]: to is missing");
  EXPECT_EQ(problem({"from"}, 7), "actions[1]: from is missing");
  EXPECT_EQ(problem({"ownerUid"}, nullptr), "actions[1]: ownerUid is missing");
  EXPECT_EQ(problem({"pod"}, "b"), "actions[1]: pod is not namespace/name: \"b\"");
  EXPECT_EQ(problem({"pod"}, "/b"), "actions[1]: pod is not namespace/name: \"/b\"");
  EXPECT_EQ(problem({"pod"}, "default/"), "actions[1]: pod is not namespace/name: \"default/\"");
  EXPECT_TRUE(problem({"reserveUntil"}, "soon").starts_with("actions[1]: reserveUntil: "));
  Json plan = Plan();
  plan.at("spec").at("actions").as_array().resize(2);
  EXPECT_EQ(ReadReservations(plan).problems, std::vector<std::string>{"status.actions[2] has no spec.actions[2]"});
}

}  // namespace
}  // namespace evenkeel::scheduling::reservations_test
