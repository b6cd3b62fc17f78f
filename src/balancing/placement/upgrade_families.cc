#include "balancing/placement/upgrade_families.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "balancing/placement/placement_upgrades.h"
#include "balancing/rules/placement_needs.h"

namespace evenkeel::balancing {
namespace {

constexpr uint16_t Bit(Constraint constraint) { return static_cast<uint16_t>(1 << static_cast<int>(constraint)); }

// What becomes of a partition's replica.
enum class Share : uint8_t {
  kNone,      // it does not go with the family
  kReplaced,  // another one comes, and this one goes later
  kNew,       // the first one comes
  kStays,     // it has to be where the others are
  kBusy,      // it changes already
};

struct Member {
  PartitionId partition = kNoId;
  Share share = Share::kNone;
  ReplicaId replica = kNoId;  // that comes, or has to be with the others
};

struct Family {
  std::vector<Member> members;
  ApplicationId application = kNoId;  // that may be on one node only; kNoId: affinity holds it together
};

class FamilyPlacement {
 public:
  FamilyPlacement(StepJournal& journal, SearchLevels& levels, const TargetFinder& finder)
      : journal_(journal), arrangement_(journal.arrangement()), levels_(levels), finder_(finder) {}

  FamilyOutcome Run();

 private:
  // A family is known by its application, or by its parent.
  using Key = std::pair<ApplicationId, ServiceId>;
  // Smaller is better.
  struct Choice {
    int64_t movements = 0;
    bool not_upgraded = false;
    double deviation = 0;
    NodeTie tie{};
    NodeId node = kNoId;
    auto operator<=>(const Choice&) const = default;
  };

  std::map<Key, Family> FindFamilies() const;
  Key KeyOf(ServiceId service, const std::vector<bool>& leads) const;
  Member MemberOf(PartitionId partition) const;
  bool IsReplaced(const Family& family) const;
  void Place(const Family& family);
  bool PlaceAt(const Family& family, size_t level, bool total_counts);
  std::optional<Choice> Try(const Family& family, NodeId node, const Constraints& constraints);
  bool WithinNodeCapacity(ApplicationId application, NodeId node) const;
  void Wait(const Family& family, PartitionId busy);

  StepJournal& journal_;
  const Arrangement& arrangement_;
  SearchLevels& levels_;
  const TargetFinder& finder_;
  FamilyOutcome outcome_;
};

FamilyPlacement::Key FamilyPlacement::KeyOf(ServiceId service, const std::vector<bool>& leads) const {
  constexpr Key kAlone{kNoId, kNoId};
  const Cluster& cluster = arrangement_.cluster();
  const Service& is = cluster.services[service];
  const bool one_node = is.application != kNoId && cluster.applications[is.application].max_nodes == 1;
  if (one_node && arrangement_.settings().relax_scaleout_constraint_during_upgrade) return {is.application, kNoId};
  if (!arrangement_.settings().check_affinity_for_upgrade_placement) return kAlone;
  const ServiceId parent = leads[service] ? service : is.affinity_to;
  const bool single = parent != kNoId && cluster.services[parent].target_replicas == 1;
  return single ? Key{kNoId, parent} : kAlone;
}

Member FamilyPlacement::MemberOf(PartitionId partition) const {
  const Cluster& cluster = arrangement_.cluster();
  const Partition& given = cluster.partitions[partition];
  Member member{.partition = partition};
  if (cluster.ServiceOf(given).target_replicas != 1 || given.Has(kPartitionToBeDeleted)) return member;
  int64_t there = 0;
  const auto [first, last] = arrangement_.ExistingOf(partition);
  for (ReplicaId replica = first; replica < last; ++replica) {
    const Role role = arrangement_.RoleOf(replica);
    if (arrangement_.NodeOf(replica) == kNoId || role == Role::kStandBy) continue;
    ++there;
    member.replica = replica;
  }
  const ReplicaId next = arrangement_.NextUnplaced(partition);
  if (there > 1) {
    member.share = Share::kBusy;
  } else if (there == 0) {
    member = {.partition = partition, .share = next == kNoId ? Share::kNone : Share::kNew, .replica = next};
  } else if (next != kNoId) {
    const bool replaced = given.Has(kPartitionInUpgrade) && given.missing == 1;
    member = {.partition = partition, .share = replaced ? Share::kReplaced : Share::kNone, .replica = next};
  } else {
    member.share = levels_.last().Movable(member.replica) ? Share::kStays : Share::kBusy;
  }
  return member;
}

std::map<FamilyPlacement::Key, Family> FamilyPlacement::FindFamilies() const {
  const Cluster& cluster = arrangement_.cluster();
  std::vector<bool> leads(cluster.services.size());
  for (const Service& service : cluster.services) {
    if (service.affinity_to != kNoId) leads[service.affinity_to] = true;
  }
  std::map<Key, Family> families;
  for (const ServiceId service : journal_.group().services) {
    const Key key = KeyOf(service, leads);
    if (key == Key{kNoId, kNoId}) continue;
    Family& family = families[key];
    family.application = key.first;
    for (const PartitionId partition : cluster.services[service].partitions) {
      const Member member = MemberOf(partition);
      if (member.share != Share::kNone) family.members.push_back(member);
    }
  }
  return families;
}

bool FamilyPlacement::IsReplaced(const Family& family) const {
  const Cluster& cluster = arrangement_.cluster();
  return family.members.size() > 1 && std::ranges::any_of(family.members, [&](const Member& member) {
           return member.share == Share::kReplaced && cluster.ServiceOf(cluster.partitions[member.partition]).stateful;
         });
}

void FamilyPlacement::Wait(const Family& family, PartitionId busy) {
  WaitingFamily waiting{.partitions = static_cast<int64_t>(family.members.size()), .busy = busy};
  for (const Member& member : family.members) {
    if (member.share == Share::kReplaced && waiting.replaced == kNoId) waiting.replaced = member.partition;
    const bool misses = member.share == Share::kReplaced || member.share == Share::kNew;
    if (misses) outcome_.waiting.push_back(member.partition);
  }
  outcome_.families.push_back(waiting);
}

// With both the old and the new replicas an application has more altogether than it may; on a node it never has.
bool FamilyPlacement::WithinNodeCapacity(ApplicationId application, NodeId node) const {
  const std::vector<ApplicationMetric>& metrics = arrangement_.cluster().applications[application].metrics;
  for (size_t i = 0; i < metrics.size(); ++i) {
    const int64_t load = arrangement_.ApplicationsWithLeaving().Load(application, i, node);
    if (metrics[i].max_node_capacity > 0 && load > metrics[i].max_node_capacity) return false;
  }
  return true;
}

// Leaves the family there, or everything as it was.
std::optional<FamilyPlacement::Choice> FamilyPlacement::Try(const Family& family, NodeId node, const Constraints& constraints) {
  const size_t mark = journal_.Mark();
  const int64_t movements = journal_.movements();
  Choice choice{.tie = finder_.ties().Of(node, Role::kPrimary), .node = node};
  for (const Member& member : family.members) {
    if (member.share == Share::kStays && arrangement_.NodeOf(member.replica) == node) continue;
    const bool moves = member.share == Share::kStays;
    const Role role = moves ? arrangement_.RoleOf(member.replica) : RoleOfNew(arrangement_, member.partition);
    if (constraints.Obstacle(member.replica, node, role)) {
      journal_.UndoTo(mark);
      return std::nullopt;
    }
    if (moves) {
      journal_.Move(member.replica, node);
    } else {
      journal_.Place(member.replica, node, role);
    }
  }
  const ServiceId service = arrangement_.ServiceOf(family.members.front().replica);
  choice.movements = journal_.movements() - movements;
  choice.not_upgraded = !IsUpgraded(arrangement_, service, node);
  choice.deviation = journal_.score().average_deviation();
  return choice;
}

// Affinity and the number of nodes hold because all are on one node.
bool FamilyPlacement::PlaceAt(const Family& family, size_t level, bool total_counts) {
  ConstraintOptions options = levels_[level].options();
  options.ignored |= Bit(Constraint::kAffinity);
  if (family.application != kNoId) options.ignored |= Bit(Constraint::kScaleoutCount);
  if (!total_counts) options.ignored |= Bit(Constraint::kApplicationCapacity);
  const Constraints constraints(arrangement_, options);
  const size_t mark = journal_.Mark();
  std::optional<Choice> best;
  for (const NodeId node : arrangement_.sets().all()) {
    if (!arrangement_.sets().available().test(node)) continue;
    const std::optional<Choice> choice = Try(family, node, constraints);
    if (!choice) continue;
    const bool fits = total_counts || WithinNodeCapacity(family.application, node);
    journal_.UndoTo(mark);
    if (fits && (!best || *choice < *best)) best = choice;
  }
  return best && Try(family, best->node, constraints);
}

void FamilyPlacement::Place(const Family& family) {
  const auto busy = std::ranges::find(family.members, Share::kBusy, &Member::share);
  if (busy != family.members.end()) return Wait(family, busy->partition);
  for (const bool total_counts : {true, false}) {
    if (!total_counts && family.application == kNoId) break;
    for (size_t level = 0; level < levels_.size(); ++level) {
      if (!PlaceAt(family, level, total_counts)) continue;
      for (const Member& member : family.members) {
        const bool moved = member.share == Share::kStays && arrangement_.Moved(member.replica);
        if (moved) outcome_.along.push_back(member.replica);
      }
      return;
    }
  }
  // While the cluster itself is upgraded nobody would mend anything: what is replaced comes alone, wherever it can.
  const RuntimeSwitches& runtime = arrangement_.cluster().runtime;
  const bool torn = family.application == kNoId && !runtime.balancing_enabled && !runtime.constraint_check_enabled;
  if (!torn) Wait(family, kNoId);
}

FamilyOutcome FamilyPlacement::Run() {
  const Settings& settings = arrangement_.settings();
  if (!settings.check_affinity_for_upgrade_placement && !settings.relax_scaleout_constraint_during_upgrade) return {};
  for (const auto& [key, family] : FindFamilies()) {
    if (IsReplaced(family)) Place(family);
  }
  return std::move(outcome_);
}

}  // namespace

FamilyOutcome PlaceFamilies(StepJournal& journal, SearchLevels& levels, const TargetFinder& finder) {
  return FamilyPlacement(journal, levels, finder).Run();
}

}  // namespace evenkeel::balancing
