#include "providers/provider.h"

#include <algorithm>

namespace evenkeel::providers {

NodeGroup* NodeGroups::Find(std::string_view id) {
  const auto found = std::ranges::lower_bound(groups, id, {}, &NodeGroup::id);
  return found != groups.end() && found->id == id ? &*found : nullptr;
}

const NodeGroup* NodeGroups::Find(std::string_view id) const { return const_cast<NodeGroups*>(this)->Find(id); }

void AnswerNumbers::Number(NodeGroups& answer) {
  answer.revision = last_.revision;
  if (last_.revision != 0 && answer == last_) return;
  ++answer.revision;
  last_ = answer;
}

}  // namespace evenkeel::providers
