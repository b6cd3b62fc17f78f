#include "balancing/search/swaps_for_moves.h"

#include <gtest/gtest.h>

#include "balancing/search/search_testing.h"

namespace evenkeel::balancing::swaps_for_moves_test {
namespace {

using testing::Nodes;
using testing::Scene;
using Texts = std::vector<std::string>;

// Loads of 100 on n0 and 10 on n1: either s/0 moves, or the roles of t/0 are exchanged; 50 and 60 or the reverse.
std::string State(const std::string& swapped = "") {
  return Nodes(3) +
         "services:\n- {name: s, kind: stateful, metrics: [{name: M, primaryLoad: 50, secondaryLoad: 50}]}\n"
         "- {name: t, kind: stateful, metrics: [{name: M, primaryLoad: 50, secondaryLoad: 10}]" +
         swapped +
         "}\npartitions:\n- {name: s/0, service: s, replicas: [{node: n0, role: primary}]}\n"
         "- {name: t/0, service: t, replicas: [{node: n0, role: primary}, {node: n1, role: secondary}]}\n";
}

struct Exchanged {
  int64_t count = 0;
  Texts changes;
};

Exchanged MoveThenExchange(const std::string& state, const Settings& settings = {}, const BalancingOptions& options = {}) {
  Scene scene(Scene::Read(state, settings), settings);
  const ServiceGroup& group = scene.groups()[0];
  Arrangement& arrangement = scene.arrangement();
  const GroupBalance balance = CheckBalance(scene.cluster(), settings, arrangement.sets(), arrangement.loads(), group);
  arrangement.Move(0, 1);
  Exchanged exchanged;
  exchanged.count = ExchangeMovesForSwaps(arrangement, group, balance, options);
  exchanged.changes = scene.Changes();
  return exchanged;
}

TEST(SwapsForMovesTest, AnExchangeOfRolesThatIsAsGoodTakesThePlaceOfAMovement) {
  EXPECT_EQ(MoveThenExchange(State()).changes, Texts{"1 swap primary 0<=>1"});
  EXPECT_EQ(MoveThenExchange(State()).count, 1);
}

TEST(SwapsForMovesTest, OneThatIsWorseOrDearerOrForbiddenDoesNot) {
  const Texts moved = {"0 move primary 0=>1"};
  const std::string fuller = State().replace(State().find("primary}]}"), 10, "primary, loads: {M: 20}}]}") +
                             "- {name: s/1, service: s, replicas: [{node: n1, role: primary, loads: {M: 30}}]}\n";
  Settings global;
  global.local_domain_weight = 0;
  EXPECT_EQ(MoveThenExchange(fuller, global).changes, moved) << "50 and 60, but 30 and 80 with the exchange";
  Settings never;
  never.swap_primary_probability = 0;
  EXPECT_EQ(MoveThenExchange(State(), never).changes, moved);
  Settings dear;
  dear.use_move_cost_reports = true;
  dear.swap_cost = 2;
  EXPECT_EQ(MoveThenExchange(State(), dear).changes, moved);
  EXPECT_EQ(MoveThenExchange(State(), {}, {.throttled_partitions = {1}}).changes, moved);
  EXPECT_EQ(MoveThenExchange(State(", placementConstraints: \"NodeName ^P n0\"")).changes, moved) << "no primary may be on n1";
}

}  // namespace
}  // namespace evenkeel::balancing::swaps_for_moves_test
