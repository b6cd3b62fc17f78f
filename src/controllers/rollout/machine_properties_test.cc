// What holds for any sequence of events: clusters that come, go, fail and recover, wishes that change in the middle.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "base/random.h"
#include "controllers/rollout/machine.h"

namespace evenkeel::controllers::rollout::machine_properties_test {
namespace {

constexpr base::Duration kDeadline = std::chrono::minutes(10);
constexpr int kSteps = 120;

std::vector<std::string> Shuffled(std::vector<std::string> names, base::Random& random) {
  for (size_t i = names.size(); i > 1; --i) std::swap(names[i - 1], names[random.Below(i)]);
  return names;
}

class World {
 public:
  explicit World(base::Random& random) : random_(random) {
    situation_.policy.progress_deadline = kDeadline;
    situation_.policy.history_limit = 1 + random.Below(4);
    situation_.now = base::Time{std::chrono::seconds(1'767'225'600)};
    const size_t count = 1 + random.Below(5);
    for (size_t i = 0; i < count; ++i) names_.push_back("m" + std::to_string(i));
    Want();
  }

  void Disturb() {
    situation_.now += random_.Between(base::Duration(0), base::Duration(kDeadline / 3));
    if (random_.Chance(0.06)) Want();
    if (random_.Chance(0.03)) situation_.target.reset();
    if (random_.Chance(0.05)) situation_.policy.paused = !situation_.policy.paused;
    situation_.policy.on_failure = random_.Chance(0.5) ? OnFailure::kRollback : OnFailure::kPause;
    situation_.unhealthy = random_.Chance(0.3) ? "no leader" : "";
    for (const std::string& name : names_) {
      ClusterFacts& facts = situation_.clusters[name];
      facts.reachable = random_.Chance(0.9);
      facts.ready = random_.Chance(0.3);
      facts.gate = random_.Chance(0.4) ? "others are down" : "";
      facts.can_roll_back = random_.Chance(0.5);
      facts.can_wait = random_.Chance(0.5);
      facts.can_mend = random_.Chance(0.5);
      facts.in_flight = random_.Chance(0.3);
      facts.advance = {static_cast<int64_t>(random_.Below(3))};
      facts.progress = std::to_string(facts.advance.front());
    }
  }

  void Heal() {
    situation_.policy.paused = false;
    situation_.unhealthy.clear();
    if (!situation_.target) Want();
    for (const std::string& name : names_) situation_.clusters[name] = {.ready = true};
  }

  void Tick() {
    const State before = state_;
    const Step step = Advance(state_, situation_);
    state_ = step.state;
    CheckState();
    CheckMoves(before, step);
    if (step.action == Action::kNone) RC_ASSERT(before.records == state_.records && before.clusters == state_.clusters);
  }

  const State& state() const { return state_; }
  const Situation& situation() const { return situation_; }

 private:
  void Want() {
    Target target;
    target.revision = "r" + std::to_string(random_.Below(6));
    target.generations = {{"zookeeper", static_cast<int64_t>(random_.Below(9))}};
    target.order = Shuffled(names_, random_);
    target.order.resize(1 + random_.Below(names_.size()));
    target.order_is_given = random_.Chance(0.2);
    if (!state_.records.empty()) target.base_revision = state_.records.back().revision;
    situation_.target = target;
  }

  void CheckState() const {
    RC_ASSERT(state_.records.size() <= situation_.policy.history_limit);
    for (const Record& record : state_.records) {
      RC_ASSERT(CheckRecord(record) == "");
      RC_ASSERT(IsFinal(record.status) || &record == &state_.records.back());
    }
    const base::Json written = WriteRecords(state_.records);
    const auto read = ReadRecords(base::Field(&written, "", "status.records"));
    RC_ASSERT(read.has_value());
    RC_ASSERT(WriteRecords(*read) == WriteRecords(state_.records));
  }

  /// Of the last record of before and after: how many clusters changed their set.
  static int64_t Moved(const Record& before, const Record& after) {
    int64_t moved = 0;
    for (const std::string& cluster : before.order) {
      const auto place = [&](const Record& record) {
        return Contains(record.pending, cluster) + 2 * Contains(record.deploying, cluster);
      };
      moved += place(before) != place(after);
    }
    return moved;
  }

  void CheckMoves(const State& before, const Step& step) const {
    int64_t given = 0;
    for (const auto& [name, cluster] : state_.clusters) {
      const auto was = before.clusters.find(name);
      if (was != before.clusters.end() && step.action == Action::kHeld && name == step.cluster) {
        ClusterRevision held = was->second;
        held.Hold();
        RC_ASSERT(held == cluster && !was->second.held && situation_.clusters.at(name).in_flight);
        continue;
      }
      if (was != before.clusters.end() && was->second.revision == cluster.revision && was->second.held == cluster.held) {
        RC_ASSERT(was->second.turn == cluster.turn && was->second.previous == cluster.previous);
        RC_ASSERT(cluster.confirmed == was->second.confirmed || (cluster.confirmed && name == step.cluster));
        continue;
      }
      ++given;
      RC_ASSERT(!cluster.confirmed && !cluster.held && cluster.previous != cluster.revision);
      const std::string proven = was == before.clusters.end() ? ""
                                 : was->second.confirmed      ? was->second.revision
                                                              : was->second.previous;
      RC_ASSERT(cluster.previous.empty() || cluster.previous == proven);
      RC_ASSERT(name == step.cluster);
      RC_ASSERT(cluster.turn == (was == before.clusters.end() ? 1 : was->second.turn + 1));
    }
    RC_ASSERT(given <= 1);
    if (given == 1) RC_ASSERT(step.action == Action::kStarted || step.action == Action::kRollingBack);
    if (step.action == Action::kAppended || step.action == Action::kSuperseded || before.records.empty()) return;
    const Record& was = before.records.back();
    const Record& is = state_.records.back();
    const bool moves = step.action == Action::kPostponed || step.action == Action::kBroughtForward;
    RC_ASSERT((was.order != is.order) == moves && was.revision == is.revision);
    RC_ASSERT(Moved(was, is) <= 1);
    if (step.action == Action::kPostponed) {
      RC_ASSERT(situation_.policy.skip_unreachable && !situation_.clusters.at(step.cluster).reachable);
      RC_ASSERT(is.order.back() == step.cluster && is.deploying.empty());
    }
    if (step.action == Action::kBroughtForward) {
      const bool first_was_deploying = !was.deploying.empty();
      const std::string& first = first_was_deploying ? was.deploying.front() : was.pending.front();
      const ClusterFacts &facts = situation_.clusters.at(step.cluster), &waits = situation_.clusters.at(first);
      RC_ASSERT(facts.reachable && facts.gate.empty() && facts.can_mend && waits.can_wait);
      const bool has_to_wait = first_was_deploying ? !waits.can_mend : !waits.gate.empty();
      RC_ASSERT(has_to_wait);
      RC_ASSERT(is.pending.front() == step.cluster && is.pending.at(1) == first && is.deploying.empty());
    }
    if (step.action == Action::kStarted) {
      const ClusterFacts& facts = situation_.clusters.at(step.cluster);
      RC_ASSERT(facts.reachable && facts.gate.empty() && !situation_.policy.paused && was.pending.front() == step.cluster);
      RC_ASSERT(was.deploying.empty() && was.status == RecordStatus::kDeploying);
    }
    if (step.action == Action::kCompleted) {
      RC_ASSERT(situation_.clusters.at(step.cluster).ready && situation_.clusters.at(step.cluster).reachable);
    }
    if (step.action == Action::kFinished)
      RC_ASSERT(situation_.unhealthy.empty() && was.pending.empty() && was.deploying.empty());
  }

  base::Random& random_;
  std::vector<std::string> names_;
  Situation situation_;
  State state_;
};

TEST(MachinePropertiesTest, AnySequenceOfEventsKeepsTheRecordsSoundAndMovesOneClusterAtATime) {
  EXPECT_TRUE(rc::check([] {
    base::Random random(*rc::gen::arbitrary<uint32_t>());
    World world(random);
    for (int i = 0; i < kSteps; ++i) {
      world.Disturb();
      world.Tick();
    }
  }));
}

TEST(MachinePropertiesTest, OnceEverythingIsWellTheWishIsReachedInTwoStepsPerClusterAndAFewMore) {
  EXPECT_TRUE(rc::check([] {
    base::Random random(*rc::gen::arbitrary<uint32_t>());
    World world(random);
    for (int i = 0; i < kSteps; ++i) {
      world.Disturb();
      world.Tick();
    }
    world.Heal();
    const Target wanted = *world.situation().target;
    for (size_t i = 0; i < 2 * wanted.order.size() + 12; ++i) world.Tick();
    const Record& last = world.state().records.back();
    RC_ASSERT((last.status == RecordStatus::kReady && last.revision == wanted.revision) ||
              (last.status == RecordStatus::kFailed && last.revision == wanted.revision));
    if (last.status != RecordStatus::kReady) return;
    for (const std::string& cluster : last.order) RC_ASSERT(world.state().clusters.at(cluster).revision == wanted.revision);
  }));
}

}  // namespace
}  // namespace evenkeel::controllers::rollout::machine_properties_test
