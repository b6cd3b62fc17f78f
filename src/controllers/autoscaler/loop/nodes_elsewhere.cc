#include "controllers/autoscaler/loop/nodes_elsewhere.h"

namespace evenkeel::controllers::autoscaler {

bool LeaveNodesElsewhere(providers::NodeGroup& group, const NodesElsewhere& elsewhere) {
  const auto& [member_of, now] = elsewhere;
  if (member_of) {
    for (const providers::Instance& instance : group.instances) {
      const auto node = member_of->find(instance.id);
      if (node != member_of->end()) group.set_aside = "instance " + instance.id + " is a node of member " + node->second;
    }
  }
  if (!group.set_aside.empty()) return true;
  if (!group.keeps_nodes.empty() || (member_of && now)) return false;
  group.keeps_nodes = "whether its instances have become nodes of other members is ";
  group.keeps_nodes += member_of ? "soon asked again" : "not known: " + member_of.error().message();
  return true;
}

}  // namespace evenkeel::controllers::autoscaler
