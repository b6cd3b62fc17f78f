#include "solver/verify.h"

#include <algorithm>
#include <map>
#include <set>

namespace evenkeel::solver {
namespace {

class Verifier {
 public:
  Verifier(const Problem& problem, std::span<const NodeId> assignment) : problem_(problem), assignment_(assignment) {}

  Verdict Run() {
    for (ObjectId object = 0; object < problem_.objects(); ++object) {
      const NodeId node = assignment_[object];
      if (node >= 0 && node < problem_.nodes()) continue;
      verdict_.violations.push_back("object " + std::to_string(object) + ": there is no node " + std::to_string(node));
    }
    if (!verdict_.valid()) return std::move(verdict_);
    CheckCapacities();
    for (GroupId group = 0; group < static_cast<GroupId>(problem_.groups.size()); ++group) CheckGroup(group);
    AddHinges();
    AddMoves();
    for (const auto& [name, cost] : verdict_.terms) verdict_.cost += cost;
    return std::move(verdict_);
  }

 private:
  void CheckCapacities() {
    Matrix used(problem_.nodes(), problem_.metrics()), charged = used;
    for (ObjectId object = 0; object < problem_.objects(); ++object) {
      const NodeId node = assignment_[object], first = problem_.initial[object];
      for (MetricId metric = 0; metric < problem_.metrics(); ++metric) {
        const int64_t load = problem_.load(object, metric);
        used(node, metric) += load;
        charged(node, metric) += load;
        if (problem_.transient[metric] && node != first) charged(first, metric) += load;
      }
    }
    for (NodeId node = 0; node < problem_.nodes(); ++node) {
      for (MetricId metric = 0; metric < problem_.metrics(); ++metric) {
        const int64_t capacity = problem_.capacity(node, metric);
        if (charged(node, metric) <= capacity) continue;
        verdict_.violations.push_back("node " + std::to_string(node) + ", metric " + std::to_string(metric) + ": " +
                                      std::to_string(charged(node, metric)) + " is more than the capacity of " +
                                      std::to_string(capacity));
      }
    }
    used_ = std::move(used);
  }

  void CheckGroup(GroupId id) {
    const Group& group = problem_.groups[id];
    const std::string who = "group " + std::to_string(id) + ": ";
    std::set<NodeId> nodes;
    std::set<int32_t> locations, neighbourhoods;
    for (ObjectId object = group.first; object < group.last; ++object) {
      const NodeId node = assignment_[object];
      if (!nodes.insert(node).second && group.exclusive) {
        verdict_.violations.push_back(who + "two of its objects are on node " + std::to_string(node));
      }
      locations.insert(problem_.location[node]);
      neighbourhoods.insert(problem_.neighbourhood[node]);
    }
    if (static_cast<int32_t>(locations.size()) < group.min_spread) {
      verdict_.violations.push_back(who + "in " + std::to_string(locations.size()) + " locations of at least " +
                                    std::to_string(group.min_spread));
    }
    for (const GroupId needed : group.depends_on) {
      std::set<int32_t> there;
      const Group& other = problem_.groups[needed];
      for (ObjectId object = other.first; object < other.last; ++object) {
        there.insert(problem_.neighbourhood[assignment_[object]]);
      }
      for (const int32_t neighbourhood : neighbourhoods) {
        if (there.contains(neighbourhood)) continue;
        verdict_.violations.push_back(who + "nothing of group " + std::to_string(needed) + " is in neighbourhood " +
                                      std::to_string(neighbourhood));
      }
    }
  }

  void Add(const std::string& name, int64_t cost) {
    const auto known = std::ranges::find(verdict_.terms, name, &std::pair<std::string, int64_t>::first);
    if (known == verdict_.terms.end()) {
      verdict_.terms.emplace_back(name, cost);
    } else {
      known->second += cost;
    }
  }

  void AddHinges() {
    for (const Hinge& hinge : problem_.hinges) {
      int64_t cost = 0;
      for (NodeId node = 0; node < problem_.nodes(); ++node) {
        int64_t excess = -hinge.bound[node];
        for (const Hinge::Part& part : hinge.parts) excess += part.coefficient * used_(node, part.metric);
        cost += hinge.weight * std::max<int64_t>(0, excess);
      }
      Add(hinge.term, cost);
    }
  }

  void AddMoves() {
    int64_t objects = 0, nodes = 0;
    std::map<GroupId, int64_t> moved;
    int64_t most = 0;
    for (ObjectId object = 0; object < problem_.objects(); ++object) {
      const NodeId node = assignment_[object], first = problem_.initial[object];
      if (node == first) continue;
      objects += problem_.object_move_cost[object];
      nodes += problem_.node_move_cost(problem_.node_class[first], problem_.node_class[node]);
      most = std::max(most, ++moved[problem_.group_of[object]]);
    }
    Add("objectMoves", problem_.object_move_weight * objects);
    Add("groupMoves", problem_.group_move_weight * most);
    Add("nodeMoves", problem_.node_move_weight * nodes);
  }

  const Problem& problem_;
  std::span<const NodeId> assignment_;
  Matrix used_;
  Verdict verdict_;
};

}  // namespace

Verdict Verify(const Problem& problem, std::span<const NodeId> assignment) { return Verifier(problem, assignment).Run(); }

int64_t LowerBound(const Problem& problem) {
  std::vector<int64_t> total(static_cast<size_t>(problem.metrics()));
  for (ObjectId object = 0; object < problem.objects(); ++object) {
    for (MetricId metric = 0; metric < problem.metrics(); ++metric) total[metric] += problem.load(object, metric);
  }
  int64_t bound = 0;
  for (const Hinge& hinge : problem.hinges) {
    int64_t excess = 0;
    for (const int64_t of_node : hinge.bound) excess -= of_node;
    for (const Hinge::Part& part : hinge.parts) excess += part.coefficient * total[part.metric];
    bound += hinge.weight * std::max<int64_t>(0, excess);
  }
  return bound;
}

}  // namespace evenkeel::solver
