// What holds for the Lease of a member's owner in any run: random roles, cut-offs, pauses, wrong clocks and lost answers under
// a plan that names one owner at a time. After every task at most one fence is open, epochs only grow, and when all is well
// again the owner by the plan has it.
#include "controllers/distribution/leases/owner_lease_testing.h"

namespace evenkeel::controllers::distribution::owner_lease_properties_test {
namespace {

using base::Duration;
using enum MemberRole;
using namespace std::chrono_literals;

class Turmoil {
 public:
  Turmoil(uint64_t seed, std::map<std::string, std::unique_ptr<Party>>& parties) : random_(seed), parties_(parties) {}

  const std::string& owner() const { return owner_; }

  void NextPlan() {
    ++epoch_;
    owner_ = Any().name;
    for (const auto& [name, party] : parties_) {
      const MemberRole role = name == owner_ ? kOwner : random_.Chance(0.6) ? kStandby : kNone;
      const bool wait = random_.Chance(0.7);
      // A plan reaches everybody in its own time.
      Later(*party, random_.Between(Duration(0s), Duration(3s)),
            [to = party.get(), role, wait, epoch = epoch_] { to->lease->SetDesired({role, epoch, wait}); });
    }
  }

  void Trouble() {
    Party& party = Any();
    switch (random_.Below(5)) {
      case 0:
        party.member.fake.CutOff(true);
        Later(party, random_.Between(Duration(0s), Duration(40s)), [&party] { party.member.fake.CutOff(false); });
        break;
      case 1:
        party.strand->Charge(random_.Between(Duration(0s), Duration(40s)));
        break;
      case 2:
        party.member.lose_answers = 1 + static_cast<int>(random_.Below(4));
        break;
      case 3:
        party.clock.skew = random_.Between(Duration(-10h), Duration(10h));
        break;
      default:
        if (!party.fences.empty()) party.fences.back()->Unanswered();
    }
  }

  void EndTrouble() {
    for (const auto& [name, party] : parties_) {
      party->member.fake.CutOff(false);
      party->member.lose_answers = 0;
    }
  }

 private:
  Party& Any() { return *parties_.at(std::string(1, static_cast<char>('a' + random_.Below(parties_.size())))); }
  void Later(Party& party, Duration delay, base::Task task) {
    timers_.push_back(party.strand->PostAfter(delay, std::move(task)));
  }

  base::Random random_;
  std::map<std::string, std::unique_ptr<Party>>& parties_;
  std::vector<base::Timer> timers_;
  int64_t epoch_ = 0;
  std::string owner_;
};

class OwnerLeasePropertiesTest : public OwnerLeaseTest {};

TEST_F(OwnerLeasePropertiesTest, InAnyTurmoilAtMostOneFenceIsOpenAndEpochsGrow) {
  constexpr uint64_t kSeeds = 30;
  constexpr int kPlans = 50;
  int tenures = 0;
  for (uint64_t seed = 0; seed < kSeeds && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    parties.clear();
    api = std::make_shared<client::FakeApi>();
    last_epoch = 0;
    base::Random random(seed);
    for (const char* name : {"a", "b", "c"}) {
      Party& party = Join(name);
      Slow(party, random.Between(Duration(0ms), Duration(300ms)));
      party.work = random.Between(Duration(0s), Duration(2s));
    }
    Turmoil turmoil(seed, parties);
    for (int plan = 0; plan < kPlans && !HasFailure(); ++plan) {
      turmoil.NextPlan();
      const bool rough = random.Chance(0.7);
      for (int i = 0; i < 4; ++i) {
        if (rough) turmoil.Trouble();
        Run(random.Between(Duration(0s), Duration(12s)));
      }
    }
    turmoil.EndTrouble();
    Run(90s);
    turmoil.EndTrouble();
    Run(90s);
    EXPECT_EQ(Owner(), turmoil.owner());
    for (const auto& [name, party] : parties) tenures += static_cast<int>(party->fences.size());
    int64_t epoch = 0;
    for (const auto& event : api->history) {
      const OwnerRecord record = OwnerRecord::Decode(event.object);
      EXPECT_GE(record.epoch, epoch);
      epoch = record.epoch;
    }
  }
  EXPECT_GT(tenures, 500) << "not much has happened";
}

}  // namespace
}  // namespace evenkeel::controllers::distribution::owner_lease_properties_test
