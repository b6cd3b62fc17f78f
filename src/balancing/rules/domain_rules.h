// How the replicas of a partition have to be spread over fault domains and upgrade domains, and how far they are from it.
//
// A tree of domains counts only when it says something (LeafDomains::binding). Paths of different lengths are padded with empty
// segments. Domains without a node that is available and suits the service are as if they were not there, and so are replicas
// in them, except that quorum-safe and Nonpacking look at every domain. A level with one domain says nothing: the top domains
// are those of the first level that has several, and a tree without one has no rule but Nonpacking. Nodes that name no domain
// are in none, and replicas on them do not count. Rules, by partition:
//
//   max difference  the replicas in any two siblings differ by one at most, on every level
//   quorum-safe     a top domain has so few of T that a majority remains without it: max(T - (T/2 + 1), 1), and one more where
//                   there are too few domains for T
//   Nonpacking      a top fault domain has one at most
//
// Quorum-safe is chosen by settings for one tree, or for both (QuorumBasedLogicAutoSwitch) when T is a multiple of the number
// of fault domains and of upgrade domains and there are no more nodes than pairs of the two.
//
// Replicas that are stand-by, down, on a node that is down, or leave do not count.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "balancing/measures/arrangement.h"

namespace evenkeel::balancing {

enum class DomainRule : uint8_t { kNone, kMaxDifference, kQuorumSafe, kNonpacking };

/// All nodes' paths; domains of all levels have ids, and leaves indexes such that those below one domain are neighbours.
class DomainTree {
 public:
  DomainTree(const Cluster& cluster, DomainKind kind);

  uint32_t depth() const { return depth_; }
  uint32_t LeafOf(NodeId node) const { return leaf_of_node_[node]; }  ///< kNoId: the node names no domain
  uint32_t DomainOf(uint32_t leaf, uint32_t level) const { return path_[leaf * depth_ + level]; }
  uint32_t root() const { return root_; }  ///< the largest id
  uint32_t ParentOf(uint32_t domain) const { return parent_[domain]; }

 private:
  uint32_t depth_ = 1, root_ = 0;
  std::vector<uint32_t> leaf_of_node_, path_, parent_;
};

class DomainRules {
 public:
  /// `arrangement` outlives this. O(nodes * different sets of suitable nodes + replicas).
  explicit DomainRules(const Arrangement& arrangement);

  /// Whether the partition is further from its rule with the replica on `to` than as it is; by max difference a new one may not
  /// go either where there are more than in a sibling domain already. O(replicas of the partition).
  bool Worse(DomainKind kind, ReplicaId replica, NodeId to) const;
  /// How many replicas would have to go elsewhere, added up over all levels; 0 when the rule holds.
  int64_t Distance(DomainKind kind, PartitionId partition) const;
  /// Which ones, as many as that (one may be there twice); of several the last that is no primary. Appends.
  void FindSurplus(DomainKind kind, PartitionId partition, std::vector<ReplicaId>& surplus) const;

  DomainRule RuleOf(DomainKind kind, PartitionId partition) const { return rules_[Index(kind)][partition]; }
  /// What a top domain may have by quorum-safe and Nonpacking; the target is that of the service, or what it has and misses.
  int64_t LimitOf(DomainKind kind, PartitionId partition) const;
  /// Replicas that count, in the same top domain as the node. For explanations.
  int64_t CountInTop(DomainKind kind, PartitionId partition, NodeId node) const;
  bool Counts(ReplicaId replica) const { return replica >= counts_.size() || counts_[replica] != 0; }

 private:
  struct Eligible {
    std::vector<uint32_t> children;  // by domain id
    std::vector<uint8_t> is;         // by domain id
    uint32_t top_level = 0;          // the first level with several domains; the last one when none has
    int64_t tops = 0;                // domains of that level
  };
  struct Suitable {  // one for services with the same suitable nodes
    std::array<Eligible, 2> of;
    int64_t nodes = 0;
  };
  struct Leaf {
    uint32_t leaf;
    ReplicaId replica;
  };
  const Eligible& EligibleOf(DomainKind kind, PartitionId partition) const {
    return suitable_[suitable_of_service_[arrangement_.cluster().partitions[partition].service]].of[Index(kind)];
  }
  static size_t Index(DomainKind kind) { return static_cast<size_t>(kind); }
  void FindSuitable();
  Eligible FindEligible(DomainKind kind, const NodeSet& valid) const;
  void ChooseRules();
  DomainRule Choose(DomainKind kind, const Service& service, const Suitable& suitable, int64_t target) const;
  template <typename Leaves>
  void Gather(DomainKind kind, PartitionId partition, ReplicaId except, Leaves& leaves) const;
  template <typename Pick>
  int64_t DistanceOf(DomainKind kind, PartitionId partition, std::span<const Leaf> leaves, Pick pick) const;
  bool ReturnsTo(PartitionId partition, NodeId node) const;
  bool Crowds(DomainKind kind, PartitionId partition, std::span<const Leaf> leaves, uint32_t leaf) const;
  template <typename Pick>
  int64_t Uneven(const DomainTree& tree, const Eligible& eligible, std::span<const Leaf> leaves, uint32_t level,
                 uint32_t parent, Pick pick) const;

  const Arrangement& arrangement_;
  std::array<DomainTree, 2> trees_;
  std::vector<Suitable> suitable_;
  std::vector<uint32_t> suitable_of_service_;
  std::vector<uint8_t> counts_;  // by existing replica
  std::vector<int32_t> target_;  // by partition
  std::array<std::vector<DomainRule>, 2> rules_;
};

}  // namespace evenkeel::balancing
