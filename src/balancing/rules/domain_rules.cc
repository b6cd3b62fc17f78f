#include "balancing/rules/domain_rules.h"

#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <map>
#include <string_view>

#include "balancing/rules/placement_needs.h"

namespace evenkeel::balancing {
namespace {

constexpr size_t kUsualReplicas = 16;

bool CountsForDomains(const Cluster& cluster, const Replica& replica) {
  if (!replica.Exists() || replica.role == Role::kStandBy || !cluster.nodes[replica.node].up) return false;
  return !replica.Leaves() && !replica.Has(kOffline);
}

struct PickNothing {
  template <typename Leaves>
  void operator()(Leaves, int64_t) const {}
};

}  // namespace

DomainTree::DomainTree(const Cluster& cluster, DomainKind kind) {
  for (const Node& node : cluster.nodes) depth_ = std::max(depth_, static_cast<uint32_t>(DomainPath(node, kind).size()));
  std::map<std::vector<std::string_view>, uint32_t> leaves;
  for (const Node& node : cluster.nodes) {
    std::vector<std::string_view> path = DomainPath(node, kind);
    if (path.empty()) continue;
    path.resize(depth_);
    leaves.emplace(std::move(path), 0);
  }
  uint32_t leaf = 0;
  const std::vector<std::string_view>* previous = nullptr;
  for (auto& [path, index] : leaves) {
    index = leaf++;
    bool differs = previous == nullptr;
    for (uint32_t level = 0; level < depth_; ++level) {
      differs = differs || path[level] != (*previous)[level];
      if (!differs) {
        path_.push_back(path_[path_.size() - depth_]);
        continue;
      }
      // The root's id is known only when all others are.
      parent_.push_back(level == 0 ? kNoId : path_.back());
      path_.push_back(static_cast<uint32_t>(parent_.size() - 1));
    }
    previous = &path;
  }
  root_ = static_cast<uint32_t>(parent_.size());
  std::ranges::replace(parent_, kNoId, root_);
  leaf_of_node_.reserve(cluster.nodes.size());
  for (const Node& node : cluster.nodes) {
    std::vector<std::string_view> path = DomainPath(node, kind);
    const bool named = !path.empty();
    path.resize(depth_);
    leaf_of_node_.push_back(named ? leaves.at(path) : kNoId);
  }
}

DomainRules::DomainRules(const Arrangement& arrangement)
    : arrangement_(arrangement),
      trees_{DomainTree(arrangement.cluster(), DomainKind::kFault), DomainTree(arrangement.cluster(), DomainKind::kUpgrade)} {
  const Cluster& cluster = arrangement.cluster();
  counts_.reserve(cluster.replicas.size());
  for (const Replica& replica : cluster.replicas) counts_.push_back(CountsForDomains(cluster, replica) ? 1 : 0);
  FindSuitable();
  ChooseRules();
}

void DomainRules::FindSuitable() {
  const Cluster& cluster = arrangement_.cluster();
  const NodeSets& sets = arrangement_.sets();
  // Services share their sets of nodes: by their address, which is only compared.
  std::map<const NodeSet*, uint32_t> known;
  for (ServiceId id = 0; id < cluster.services.size(); ++id) {
    const NodeSet& valid = sets.ValidForService(id);
    const auto [found, added] = known.try_emplace(&valid, static_cast<uint32_t>(suitable_.size()));
    suitable_of_service_.push_back(found->second);
    if (!added) continue;
    Suitable suitable;
    suitable.nodes = sets.ValidCountForService(id);
    for (const DomainKind kind : {DomainKind::kFault, DomainKind::kUpgrade}) {
      suitable.of[Index(kind)] = FindEligible(kind, valid);
    }
    suitable_.push_back(std::move(suitable));
  }
}

DomainRules::Eligible DomainRules::FindEligible(DomainKind kind, const NodeSet& valid) const {
  const DomainTree& tree = trees_[Index(kind)];
  Eligible eligible;
  eligible.children.resize(tree.root() + 1);
  eligible.is.resize(tree.root() + 1);
  std::vector<int64_t> of_level(tree.depth());
  for (size_t node = valid.find_first(); node != NodeSet::npos; node = valid.find_next(node)) {
    const uint32_t leaf = tree.LeafOf(static_cast<NodeId>(node));
    if (leaf == kNoId) continue;
    for (uint32_t level = 0; level < tree.depth(); ++level) {
      const uint32_t domain = tree.DomainOf(leaf, level);
      if (eligible.is[domain] != 0) continue;
      eligible.is[domain] = 1;
      ++eligible.children[tree.ParentOf(domain)];
      ++of_level[level];
    }
  }
  while (eligible.top_level + 1 < tree.depth() && of_level[eligible.top_level] < 2) ++eligible.top_level;
  eligible.tops = of_level[eligible.top_level];
  return eligible;
}

void DomainRules::ChooseRules() {
  const Cluster& cluster = arrangement_.cluster();
  for (auto& rules : rules_) rules.reserve(cluster.partitions.size());
  target_.reserve(cluster.partitions.size());
  for (const Partition& partition : cluster.partitions) {
    const Service& service = cluster.services[partition.service];
    int64_t target = service.target_replicas;
    if (target <= 0) {
      target = std::max(partition.missing, 0);
      for (uint32_t i = 0; i < partition.replica_count; ++i) target += counts_[partition.first_replica + i];
    }
    target_.push_back(static_cast<int32_t>(std::min<int64_t>(target, INT32_MAX)));
    for (const DomainKind kind : {DomainKind::kFault, DomainKind::kUpgrade}) {
      rules_[Index(kind)].push_back(Choose(kind, service, suitable_[suitable_of_service_[partition.service]], target));
    }
  }
}

DomainRule DomainRules::Choose(DomainKind kind, const Service& service, const Suitable& suitable, int64_t target) const {
  const NodeSets& sets = arrangement_.sets();
  const Settings& settings = arrangement_.settings();
  const bool fault = kind == DomainKind::kFault;
  if (!(fault ? settings.fault_domain_enabled : settings.upgrade_domain_enabled)) return DomainRule::kNone;
  if (service.on_every_node || !(fault ? sets.fault_domains() : sets.upgrade_domains()).binding) return DomainRule::kNone;
  const FaultDomainPolicy policy = arrangement_.cluster().ConstraintOf(service).fault_domain_policy();
  if (fault && policy == FaultDomainPolicy::kIgnore) return DomainRule::kNone;
  if (fault && policy == FaultDomainPolicy::kNonpacking) return DomainRule::kNonpacking;
  if (suitable.of[Index(kind)].tops < 2) return DomainRule::kNone;
  const bool always = fault ? settings.quorum_based_replica_distribution_per_fault_domains
                            : settings.quorum_based_replica_distribution_per_upgrade_domains;
  if (always) return DomainRule::kQuorumSafe;
  if (!settings.quorum_based_logic_auto_switch) return DomainRule::kMaxDifference;
  const auto tops = [&](DomainKind of) { return std::max<int64_t>(suitable.of[Index(of)].tops, 1); };
  const int64_t fault_domains = tops(DomainKind::kFault), upgrade_domains = tops(DomainKind::kUpgrade);
  const bool even = target % fault_domains == 0 && target % upgrade_domains == 0;
  return even && suitable.nodes <= fault_domains * upgrade_domains ? DomainRule::kQuorumSafe : DomainRule::kMaxDifference;
}

int64_t DomainRules::LimitOf(DomainKind kind, PartitionId partition) const {
  if (RuleOf(kind, partition) == DomainRule::kNonpacking) return 1;
  const int64_t domains = EligibleOf(kind, partition).tops;
  const int64_t target = target_[partition];
  const int64_t limit = std::max<int64_t>(target - (target / 2 + 1), 1);
  return domains * limit < target ? limit + 1 : limit;
}

template <typename Leaves>
void DomainRules::Gather(DomainKind kind, PartitionId partition, ReplicaId except, Leaves& leaves) const {
  const DomainTree& tree = trees_[Index(kind)];
  arrangement_.ForEachOf(partition, [&](ReplicaId replica) {
    const NodeId node = arrangement_.NodeOf(replica);
    if (replica == except || node == kNoId || !Counts(replica)) return;
    if (const uint32_t leaf = tree.LeafOf(node); leaf != kNoId) leaves.push_back({leaf, replica});
  });
}

template <typename Pick>
int64_t DomainRules::Uneven(const DomainTree& tree, const Eligible& eligible, std::span<const Leaf> leaves, uint32_t level,
                            uint32_t parent, Pick pick) const {
  if (leaves.size() < 2 || level == tree.depth()) return 0;
  const int64_t domains = eligible.children[parent];
  if (domains == 0) return 0;
  const auto for_each_domain = [&](auto visit) {
    for (size_t first = 0; first < leaves.size();) {
      const uint32_t domain = tree.DomainOf(leaves[first].leaf, level);
      size_t last = first + 1;
      while (last < leaves.size() && tree.DomainOf(leaves[last].leaf, level) == domain) ++last;
      if (eligible.is[domain] != 0) visit(domain, leaves.subspan(first, last - first));
      first = last;
    }
  };
  int64_t total = 0;
  for_each_domain([&](uint32_t, std::span<const Leaf> in) { total += static_cast<int64_t>(in.size()); });
  const int64_t least = total / domains, most = least + (total % domains == 0 ? 0 : 1);
  int64_t used = 0, excess = 0, deficit = 0, deeper = 0;
  for_each_domain([&](uint32_t domain, std::span<const Leaf> in) {
    const int64_t count = static_cast<int64_t>(in.size());
    ++used;
    excess += std::max<int64_t>(0, count - most);
    deficit += std::max<int64_t>(0, least - count);
    pick(in, std::max<int64_t>(0, count - most));
    deeper += Uneven(tree, eligible, in, level + 1, domain, pick);
  });
  deficit += (domains - used) * least;
  // Where no domain has too many but some have too few, full ones have to give.
  int64_t more = std::max<int64_t>(0, deficit - excess);
  if (more > 0) {
    for_each_domain([&](uint32_t, std::span<const Leaf> in) {
      if (more == 0 || static_cast<int64_t>(in.size()) < most) return;
      pick(in, 1);
      --more;
    });
  }
  return std::max(excess, deficit) + deeper;
}

template <typename Pick>
int64_t DomainRules::DistanceOf(DomainKind kind, PartitionId partition, std::span<const Leaf> leaves, Pick pick) const {
  const DomainTree& tree = trees_[Index(kind)];
  const DomainRule rule = RuleOf(kind, partition);
  if (rule == DomainRule::kNone) return 0;
  const Eligible& eligible = EligibleOf(kind, partition);
  if (rule == DomainRule::kMaxDifference) return Uneven(tree, eligible, leaves, 0, tree.root(), pick);
  const int64_t limit = LimitOf(kind, partition);
  int64_t distance = 0;
  for (size_t first = 0; first < leaves.size();) {
    const uint32_t domain = tree.DomainOf(leaves[first].leaf, eligible.top_level);
    size_t last = first + 1;
    while (last < leaves.size() && tree.DomainOf(leaves[last].leaf, eligible.top_level) == domain) ++last;
    const int64_t surplus = std::max<int64_t>(0, static_cast<int64_t>(last - first) - limit);
    distance += surplus;
    pick(leaves.subspan(first, last - first), surplus);
    first = last;
  }
  return distance;
}

// An upgrade says where its replicas come back, all of them.
bool DomainRules::ReturnsTo(PartitionId partition, NodeId node) const {
  const std::vector<Return> returns = ReturnsOf(arrangement_, partition);
  return std::ranges::find(returns, node, &Return::node) != returns.end();
}

// Whether one more in this leaf makes two more than some sibling domain has, on any level.
bool DomainRules::Crowds(DomainKind kind, PartitionId partition, std::span<const Leaf> leaves, uint32_t leaf) const {
  const DomainTree& tree = trees_[Index(kind)];
  const Eligible& eligible = EligibleOf(kind, partition);
  uint32_t parent = tree.root();
  for (uint32_t level = 0; level < tree.depth(); ++level) {
    const uint32_t own = tree.DomainOf(leaf, level);
    std::map<uint32_t, int64_t> counts;
    int64_t here = 1;
    for (const Leaf& other : leaves) {
      const uint32_t domain = tree.DomainOf(other.leaf, level);
      if (tree.ParentOf(domain) != parent || eligible.is[domain] == 0) continue;
      ++counts[domain];
      here += domain == own ? 1 : 0;
    }
    const bool one_is_empty = static_cast<int64_t>(counts.size()) + (here == 1 ? 1 : 0) < eligible.children[parent];
    int64_t least = one_is_empty ? 0 : here;
    for (const auto& [domain, count] : counts) {
      if (domain != own) least = std::min(least, count);
    }
    if (here - least > 1) return true;
    parent = own;
  }
  return false;
}

bool DomainRules::Worse(DomainKind kind, ReplicaId replica, NodeId to) const {
  const PartitionId partition = arrangement_.PartitionOf(replica);
  if (RuleOf(kind, partition) == DomainRule::kNone || !Counts(replica)) return false;
  const DomainTree& tree = trees_[Index(kind)];
  const NodeId at = arrangement_.NodeOf(replica);
  const uint32_t leaf = tree.LeafOf(to), leaf_at = at == kNoId ? kNoId : tree.LeafOf(at);
  if (leaf_at == leaf) return false;
  boost::container::small_vector<Leaf, kUsualReplicas> leaves;
  Gather(kind, partition, replica, leaves);
  const auto distance_with = [&](uint32_t own) {
    boost::container::small_vector<Leaf, kUsualReplicas> all = leaves;
    if (own != kNoId) all.push_back({own, replica});
    std::ranges::sort(all, {}, &Leaf::leaf);
    return DistanceOf(kind, partition, all, PickNothing());
  };
  if (at == kNoId && leaf != kNoId && RuleOf(kind, partition) == DomainRule::kMaxDifference && !ReturnsTo(partition, to) &&
      Crowds(kind, partition, leaves, leaf)) {
    return true;
  }
  const int64_t after = distance_with(leaf);
  return after > 0 && after > distance_with(leaf_at);
}

int64_t DomainRules::Distance(DomainKind kind, PartitionId partition) const {
  if (RuleOf(kind, partition) == DomainRule::kNone) return 0;
  boost::container::small_vector<Leaf, kUsualReplicas> leaves;
  Gather(kind, partition, kNoId, leaves);
  std::ranges::sort(leaves, {}, &Leaf::leaf);
  return DistanceOf(kind, partition, leaves, PickNothing());
}

void DomainRules::FindSurplus(DomainKind kind, PartitionId partition, std::vector<ReplicaId>& surplus) const {
  boost::container::small_vector<Leaf, kUsualReplicas> leaves;
  Gather(kind, partition, kNoId, leaves);
  std::ranges::sort(leaves, {}, [](const Leaf& leaf) { return std::pair(leaf.leaf, leaf.replica); });
  const ReplicaId primary = arrangement_.PrimaryOf(partition);
  DistanceOf(kind, partition, leaves, [&](std::span<const Leaf> in, int64_t count) {
    std::vector<ReplicaId> replicas;
    for (const Leaf& leaf : in) replicas.push_back(leaf.replica);
    std::ranges::sort(replicas, {}, [&](ReplicaId replica) { return std::pair(replica != primary, replica); });
    surplus.insert(surplus.end(), replicas.rbegin(), replicas.rbegin() + count);
  });
}

int64_t DomainRules::CountInTop(DomainKind kind, PartitionId partition, NodeId node) const {
  const DomainTree& tree = trees_[Index(kind)];
  if (tree.LeafOf(node) == kNoId) return 0;
  const uint32_t level = EligibleOf(kind, partition).top_level;
  const uint32_t top = tree.DomainOf(tree.LeafOf(node), level);
  boost::container::small_vector<Leaf, kUsualReplicas> leaves;
  Gather(kind, partition, kNoId, leaves);
  return std::ranges::count_if(leaves, [&](const Leaf& leaf) { return tree.DomainOf(leaf.leaf, level) == top; });
}

}  // namespace evenkeel::balancing
