// The counters say what counting says: spread and affinity worked out anew from the objects, node by node and pod by pod.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "scheduling/world_testing.h"

namespace evenkeel::scheduling::topology_properties_test {
namespace {

using testing::Shake;
using testing::Told;
using testing::World;

struct PodView {
  PodSpec spec;
  std::string ns, node;
  kube::Labels labels;
  bool terminating;

  explicit PodView(const base::Json& json)
      : spec(DecodePodSpec(json, false)),
        ns(kube::NamespaceOf(json)),
        node(base::FindString(json, {"spec", "nodeName"})),
        labels(kube::DecodeMeta(json).labels),
        terminating(kube::DecodeMeta(json).deletion_time.has_value()) {}
};

/// As slow as it is plain.
class Counting {
 public:
  explicit Counting(const Told& told) : blue_(told.blue) {
    for (const auto& [name, json] : told.nodes) nodes_.emplace(name, kube::Node::Decode(json));
    for (const auto& [key, json] : told.pods) {
      pods_.emplace_back(json);
      if (!nodes_.contains(pods_.back().node)) pods_.pop_back();
    }
  }

  Filter Refuses(const PodView& pod, const std::string& node) const {
    if (!SpreadHolds(pod, node)) return Filter::kPodTopologySpread;
    const bool holds = AffinityHolds(pod, node) && !Near(pod, node) && !Unwanted(pod, node);
    return holds ? Filter::kPass : Filter::kInterPodAffinity;
  }

 private:
  const std::string* Value(const std::string& node, const std::string& key) const {
    const kube::Labels& labels = nodes_.at(node).meta.labels;
    const auto found = labels.find(key);
    return found == labels.end() ? nullptr : &found->second;
  }
  bool Together(const std::string& a, const std::string& b, const std::string& key) const {
    const std::string* left = Value(a, key);
    const std::string* right = Value(b, key);
    return left != nullptr && right != nullptr && *left == *right;
  }
  bool Means(const AffinityTerm& term, const PodView& owner, const PodView& other) const {
    bool there = std::find(term.namespaces.begin(), term.namespaces.end(), other.ns) != term.namespaces.end();
    if (term.namespaces.empty() && !term.namespace_selector) there = other.ns == owner.ns;
    if (term.namespace_selector) there |= term.namespace_selector->Matches(other.ns == "blue" ? blue_ : kube::Labels());
    return there && term.selector.Matches(other.labels);
  }

  bool Counts(const PodView& pod, const SpreadConstraint& constraint, const std::string& node) const {
    for (const SpreadConstraint& each : pod.spec.spread) {
      if (Value(node, each.topology_key) == nullptr) return false;
    }
    const kube::Node& decoded = nodes_.at(node);
    const NodeLabels labels{decoded.meta.labels, Value(node, testing::kHost), node};
    if (constraint.honor_affinity && !pod.spec.nodes.Matches(labels)) return false;
    return !constraint.honor_taints || UntoleratedTaint(pod.spec.tolerations, decoded.taints) == nullptr;
  }
  bool SpreadHolds(const PodView& pod, const std::string& node) const {
    for (const SpreadConstraint& constraint : pod.spec.spread) {
      const std::string* here = Value(node, constraint.topology_key);
      if (here == nullptr) return false;
      std::map<std::string, int64_t> counts;
      for (const auto& [name, other] : nodes_) {
        if (Counts(pod, constraint, name)) counts[*Value(name, constraint.topology_key)] += 0;
      }
      for (const PodView& other : pods_) {
        const bool counted = other.ns == pod.ns && !other.terminating && constraint.selector.Matches(other.labels);
        if (counted && Counts(pod, constraint, other.node)) ++counts[*Value(other.node, constraint.topology_key)];
      }
      int64_t smallest = counts.empty() ? 0 : counts.begin()->second;
      for (const auto& [value, count] : counts) smallest = std::min(smallest, count);
      if (static_cast<int64_t>(counts.size()) < constraint.min_domains) smallest = 0;
      const int64_t self = constraint.selector.Matches(pod.labels) ? 1 : 0;
      if (counts[*here] + self - smallest > constraint.max_skew) return false;
    }
    return true;
  }

  bool AffinityHolds(const PodView& pod, const std::string& node) const {
    const auto meant = [&](const PodView& other) {
      return std::all_of(pod.spec.affinity.begin(), pod.spec.affinity.end(),
                         [&](const AffinityTerm& term) { return Means(term, pod, other); });
    };
    bool all = true, any = false;
    for (const AffinityTerm& term : pod.spec.affinity) {
      if (Value(node, term.topology_key) == nullptr) return false;
      bool here = false;
      for (const PodView& other : pods_) {
        if (!meant(other)) continue;
        here |= Together(other.node, node, term.topology_key);
        any |= Value(other.node, term.topology_key) != nullptr;
      }
      all &= here;
    }
    return all || (!any && meant(pod));
  }
  bool Near(const PodView& pod, const std::string& node) const {
    for (const AffinityTerm& term : pod.spec.anti_affinity) {
      for (const PodView& other : pods_) {
        if (Means(term, pod, other) && Together(other.node, node, term.topology_key)) return true;
      }
    }
    return false;
  }
  bool Unwanted(const PodView& pod, const std::string& node) const {
    for (const PodView& other : pods_) {
      for (const AffinityTerm& term : other.spec.anti_affinity) {
        if (Means(term, other, pod) && Together(other.node, node, term.topology_key)) return true;
      }
    }
    return false;
  }

  std::map<std::string, kube::Node> nodes_;
  std::vector<PodView> pods_;
  kube::Labels blue_;
};

TEST(TopologyPropertiesTest, CountersSayWhatCountingSays) {
  int compared = 0;
  rc::check([&](uint64_t seed) {
    World world(seed);
    Snapshot snapshot;
    Told told;
    told.Feed(snapshot);
    std::vector<base::Json> probes;
    for (int i = 0; i < 10; ++i) probes.push_back(world.Pod("probe").json);
    std::vector<ClassId> classes;
    for (const base::Json& probe : probes) classes.push_back(snapshot.InternClass(probe));
    for (int step = 0; step < 120; ++step) {
      Shake(world, snapshot, told);
      if (step % 20 != 0) continue;
      const Counting counting(told);
      for (size_t i = 0; i < probes.size(); ++i) {
        const PodView pod(probes[i]);
        for (const NodeId node : snapshot.order()) {
          const Filter filter = snapshot.Check(classes[i], node).filter;
          const bool concerns =
              filter == Filter::kPass || filter == Filter::kPodTopologySpread || filter == Filter::kInterPodAffinity;
          if (!concerns) continue;
          ++compared;
          RC_ASSERT(filter == counting.Refuses(pod, snapshot.NodeName(node)));
        }
      }
    }
  });
  EXPECT_GT(compared, 1000) << "the comparison must have had something to compare";
}

}  // namespace
}  // namespace evenkeel::scheduling::topology_properties_test
