#include "sim/world/shared_cloud.h"

#include <algorithm>

#include "embedded/cloud/cloud_provider.h"

namespace evenkeel::sim {

using base::Result;
using base::Status;
using providers::NodeGroup;
using providers::NodeGroups;
using providers::NodeReference;

std::string SharedGroupName(const std::string& member, const std::string& group) { return member + "-" + group; }

class SharedCloud::View final : public providers::Provider {
 public:
  View(SharedCloud& cloud, std::string member, std::unique_ptr<providers::Provider> own)
      : cloud_(cloud), member_(std::move(member)), own_(std::move(own)) {}

  std::string_view name() const override { return "shared"; }

  Result<NodeGroups> Refresh(std::span<const base::Json> nodes) override {
    EVENKEEL_ASSIGN(NodeGroups all, own_->Refresh(nodes));
    owner_of_.clear();
    for (const NodeGroup& group : all.groups) owner_of_[group.id] = member_;
    std::string other;
    for (const auto& [member, groups] : cloud_.Look()) {
      if (member == member_) continue;
      if (other.empty()) other = member;
      for (const NodeGroup& group : groups) {
        owner_of_[group.id] = member;
        all.groups.push_back(group);
      }
    }
    std::ranges::sort(all.groups, {}, &NodeGroup::id);
    if (NodeGroup* claimed = all.Find(kClaimedGroup)) claimed->set_aside = providers::ClaimedBy(other);
    return all;
  }

  Status IncreaseSize(std::string_view group, int64_t delta, bool atomically) override {
    return Ask(group, delta, {}, [&](providers::Provider& behind) { return behind.IncreaseSize(group, delta, atomically); });
  }

  Status DeleteNodes(std::string_view group, std::span<const NodeReference> nodes, bool force) override {
    return Ask(group, 0, nodes, [&](providers::Provider& behind) { return behind.DeleteNodes(group, nodes, force); });
  }

  Status DecreaseTargetSize(std::string_view group, int64_t delta) override {
    return Ask(group, delta, {}, [&](providers::Provider& behind) { return behind.DecreaseTargetSize(group, delta); });
  }

 private:
  template <typename Change>
  Status Ask(std::string_view group, int64_t delta, std::span<const NodeReference> nodes, const Change& change) {
    const auto owner = owner_of_.find(group);
    if (owner == owner_of_.end())
      return base::Fail(base::Code::kNotFound, "node group " + std::string(group) + " is not known");
    CloudCall call{.asker = member_, .owner = owner->second, .group = std::string(group), .delta = delta, .ids = {}};
    for (const NodeReference& node : nodes) {
      call.ids.emplace_back(node.provider_id.empty() ? base::FindString(node.node, {"spec", "providerID"})
                                                     : std::string_view(node.provider_id));
    }
    cloud_.on_call_(call);
    if (owner->second == member_) return change(*own_);
    const auto behind = cloud_.Behind(owner->second);
    return behind ? change(*behind) : base::Fail(base::Code::kUnavailable, "the cloud of " + owner->second + " is down");
  }

  SharedCloud& cloud_;
  const std::string member_;
  const std::unique_ptr<providers::Provider> own_;
  std::map<std::string, std::string, std::less<>> owner_of_;  ///< of groups, as of the last Refresh
};

std::unique_ptr<providers::Provider> SharedCloud::ProviderOf(const std::string& member,
                                                             std::unique_ptr<providers::Provider> own) {
  return std::make_unique<View>(*this, member, std::move(own));
}

const std::map<std::string, std::vector<NodeGroup>>& SharedCloud::Look() {
  for (size_t i = 1; i < fleet_.servers().size(); ++i) {
    const std::string& member = fleet_.servers()[i]->name();
    std::vector<NodeGroup>& known = groups_[member];
    const auto behind = Behind(member);
    if (!behind) continue;
    if (auto groups = behind->Refresh({})) known = std::move(groups->groups);
  }
  return groups_;
}

std::unique_ptr<providers::Provider> SharedCloud::Behind(const std::string& member) {
  for (const auto& server : fleet_.servers()) {
    if (server->name() == member && server->up()) return embedded::cloud::NewCloudProvider(server->client());
  }
  return nullptr;
}

}  // namespace evenkeel::sim
