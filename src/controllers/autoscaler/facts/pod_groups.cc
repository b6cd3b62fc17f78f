#include "controllers/autoscaler/facts/pod_groups.h"

namespace evenkeel::controllers::autoscaler {
namespace {

using scheduling::ClassId;
using scheduling::PodId;

constexpr size_t kGroupsPerController = 10;

struct Kind {
  uint64_t spec, likeness;
  size_t group;
};

class Grouping {
 public:
  explicit Grouping(scheduling::Snapshot& snapshot) : snapshot_(snapshot) {}

  void Add(PodId pod, const PodFacts& facts) {
    const ClassId pod_class = snapshot_.ClassOf(pod);
    if (facts.owner_uid.empty() || facts.daemon) return AddAlone(pod, pod_class);
    std::vector<Kind>& kinds = controllers_[facts.owner_uid.text()];
    const uint64_t likeness = snapshot_.Likeness(pod_class);
    for (const Kind& kind : kinds) {
      if (kind.spec == facts.spec_hash && kind.likeness == likeness) return Append(kind.group, pod);
    }
    if (kinds.size() == kGroupsPerController) {
      overflowing_.insert(facts.owner_uid.text());
      return AddAlone(pod, pod_class);
    }
    kinds.push_back({facts.spec_hash, likeness, NewGroup(pod_class)});
    Append(kinds.back().group, pod);
  }

  PodGroups Take() {
    result_.overflowing_controllers = overflowing_.size();
    return std::move(result_);
  }

 private:
  void AddAlone(PodId pod, ClassId pod_class) {
    const auto known = alone_.find(pod_class);
    if (known != alone_.end()) return Append(known->second, pod);
    const size_t group = NewGroup(pod_class);
    // With affinity or spread it matters that each of them is looked at by itself.
    if (result_.groups[group].plain) alone_.emplace(pod_class, group);
    Append(group, pod);
  }

  size_t NewGroup(ClassId pod_class) {
    PodGroup group;
    group.pod_class = pod_class;
    group.plain = IsPlain(snapshot_, pod_class);
    for (const scheduling::SpreadConstraint& spread : snapshot_.classes()[pod_class].spec->spec.spread) {
      group.hostname_spread |= spread.topology_key == scheduling::kHostnameLabel;
    }
    result_.groups.push_back(std::move(group));
    return result_.groups.size() - 1;
  }

  void Append(size_t group, PodId pod) { result_.groups[group].pods.push_back(pod); }

  scheduling::Snapshot& snapshot_;
  PodGroups result_;
  std::unordered_map<std::string_view, std::vector<Kind>> controllers_;
  std::unordered_map<ClassId, size_t> alone_;
  std::set<std::string_view> overflowing_;
};

}  // namespace

bool IsPlain(scheduling::Snapshot& snapshot, ClassId pod_class) {
  if (snapshot.WantsDevices(pod_class)) return false;
  const scheduling::PodClass& known = snapshot.classes()[pod_class];
  return known.simple() && known.topology.empty() && !known.spec->uses_identity;
}

PodGroups GroupPods(scheduling::Snapshot& snapshot, const std::deque<PodFacts>& facts, std::span<const PodId> pods) {
  Grouping grouping(snapshot);
  for (const PodId pod : pods) grouping.Add(pod, facts[pod]);
  return grouping.Take();
}

}  // namespace evenkeel::controllers::autoscaler
