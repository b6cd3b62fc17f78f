// What the stores of the members hold of nodes, node groups, pods, budgets and plans of the balancer, for checkers: read from
// the changes as they take effect, by rules of its own, so that a mistake of a controller's is not made here, too.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/time.h"
#include "embedded/store/store.h"
#include "kube/selector.h"

namespace evenkeel::sim {

class MemberBook {
 public:
  struct Pod {
    std::string ns, name, uid, node;
    std::string owner;  ///< uid of its controller
    std::map<std::string, std::string> labels;
    bool controlled = false, daemon = false, mirror = false;
    bool local_storage = false;
    std::string safe_to_evict;
    bool ended = false;  ///< by itself
    bool live = false;   ///< has neither ended nor been told to
    bool ready = false;
    int64_t milli_cores = 0, bytes = 0;  ///< requests
    base::Instant since{};               ///< when it was seen first
    base::Instant placed{};              ///< when it was seen first with its node
  };
  struct Node {
    std::string provider_id;
    base::Instant since{};
    base::Duration took{};                         ///< from the beginning of its instance until it joined
    int64_t milli_cores = 0, bytes = 0, pods = 0;  ///< allocatable
    bool leaving = false;                          ///< the autoscaler has marked it for deletion
    bool ready = false, cordoned = false;
    std::string group{};  ///< "" without
  };
  struct Group {
    int64_t min = 0, max = 0, target = 0;
    std::optional<int64_t> quota;
    std::set<std::string> deleting;                 ///< ids of instances
    int64_t milli_cores = 0, bytes = 0;             ///< of one node
    std::optional<double> price;                    ///< of one node, per hour
    std::map<std::string, base::Instant> failed{};  ///< ids of instances that could not be made, since when
  };
  struct Budget {
    std::string ns;
    kube::LabelSelector selector;
    int64_t min_available = 0;  ///< pods; a budget that says it otherwise is not looked at
  };
  /// One that moves pods (BalancingPlan), as far as it is carried out.
  struct Movement {
    std::string pod_uid, owner, from, to;
    std::string state, reason{};
    double gain = 0;  ///< of energy
  };
  struct BalancingPlan {
    bool executing = false;
    double energy_before = 0, energy_after = 0;
    std::vector<Movement> movements;
  };
  struct Member {
    std::map<std::string, Pod> pods;  ///< by "NAMESPACE/NAME", as the others by name
    std::set<std::string> pending;    ///< pods that are live and have no node
    std::map<std::string, Node> nodes;
    std::map<std::string, Group> groups;
    std::map<std::string, base::Instant> instances;  ///< since when, by id
    std::map<std::string, Budget> budgets;
    std::map<std::string, BalancingPlan> plans;
  };

  struct Counts {
    int64_t joined = 0, gone = 0;          ///< nodes
    std::vector<base::Duration> waited{};  ///< of each pod that got a node: for how long it had none
  };

  /// Call it once for each change, in order.
  void See(const std::string& api, const embedded::store::Event& event, base::Instant now);
  /// Nothing is known of one before its first change.
  const Member& Of(const std::string& api) const;
  const std::map<std::string, Member>& all() const { return members_; }
  const Counts& counts() const { return counts_; }

  static Group DecodeGroup(const base::Json& object);
  static BalancingPlan DecodePlan(const base::Json& object);

 private:
  void TakePod(Member& member, const std::string& name, const base::Json& object, base::Instant now);
  std::map<std::string, Member> members_;
  Counts counts_;
};

/// Of a key in a store, "NAME" or "NAMESPACE/NAME" of an object of that kind; "" of another.
std::string NameOfKey(const std::string& key, std::string_view plural);
/// The object after a change; nullopt where it is gone, or is no object.
std::optional<base::Json> ObjectOf(const embedded::store::Event& event);

}  // namespace evenkeel::sim
