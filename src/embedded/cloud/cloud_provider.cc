#include "embedded/cloud/cloud_provider.h"

#include <functional>

#include "base/log.h"
#include "controllers/autoscaler/facts/node_group_object.h"
#include "embedded/cloud/cloud_nodes.h"
#include "embedded/cloud/group_state.h"
#include "embedded/cloud/node_group_definition.h"

namespace evenkeel::embedded::cloud {
namespace {

using base::Code;
using base::Json;
using base::Result;
using base::Status;
using controllers::autoscaler::DecodeNodeGroups;
using providers::Instance;
using providers::NodeGroup;
using providers::NodeGroups;
using providers::NodeReference;

std::unexpected<base::Error> Refuse(const Json& group, const std::string& why) {
  return base::Fail(Code::kInvalid, "NodeGroup " + std::string(kube::NameOf(group)) + ": " + why);
}

/// All groups that make sense, alone and together.
NodeGroups DecodeSound(const std::vector<kube::ManifestObject>& objects, std::span<const Json> nodes) {
  if (auto all = DecodeNodeGroups(objects, nodes)) return *std::move(all);
  NodeGroups sound;
  std::vector<kube::ManifestObject> kept;
  for (const kube::ManifestObject& object : objects) {
    kept.push_back(object);
    auto with = DecodeNodeGroups(kept, nodes);
    if (with) {
      sound = *std::move(with);
      continue;
    }
    base::log::Warn("node group left out", {{"group", kube::NameOf(object.object)}, {"error", with.error()}});
    kept.pop_back();
  }
  return sound;
}

/// A node has labels that its template need not name.
void CompleteTemplate(NodeGroup& group) {
  if (!group.template_node) return;
  InstanceRecord record;
  record.node = "template-of-" + group.id;
  const Json node = nodeagent::NodeObject(NewNode(group.id, record, *group.template_node), base::Time{});
  base::Ensure(*group.template_node, {"metadata", "labels"}) = base::FindObject(node, {"metadata", "labels"});
}

void ShowFailures(NodeGroup& group) {
  for (Instance& instance : group.instances) {
    if (instance.state != Instance::State::kRunning) continue;
    instance.error = {Instance::ErrorClass::kOther, "InstanceFailed", "the cloud once took the instance for failed"};
  }
}

class CloudProvider final : public providers::Provider {
 public:
  explicit CloudProvider(client::Client& member) : member_(member) {}

  std::string_view name() const override { return "embedded"; }

  Result<NodeGroups> Refresh(std::span<const Json> nodes) override {
    auto page = client::ListAll(member_, cloud::NodeGroups());
    if (!page) return base::Fail(page.error().Wrap("list NodeGroups"));
    std::vector<kube::ManifestObject> objects;
    for (Json& object : page->items) {
      if (base::Find(object, {"metadata", "deletionTimestamp"}) == nullptr) objects.push_back({std::move(object), ""});
    }
    NodeGroups groups = DecodeSound(objects, nodes);
    for (NodeGroup& group : groups.groups) CompleteTemplate(group);
    for (const kube::ManifestObject& object : objects) {
      NodeGroup* group = groups.Find(kube::NameOf(object.object));
      const auto settings = DecodeCloudSettings(object.object);
      if (group == nullptr || !settings) continue;
      if (settings->unreadable) group->set_aside = "the cloud does not say what it is like";
      if (settings->show_failures) ShowFailures(*group);
    }
    return groups;
  }

  Status IncreaseSize(std::string_view group, int64_t delta, bool atomically) override {
    bool silent = false;
    EVENKEEL_TRY(Change(group, [&](Json& object) -> Result<bool> {
      if (const auto settings = DecodeCloudSettings(object)) silent = settings->silent;
      if (delta <= 0) return Refuse(object, "size increase must be positive");
      const int64_t target = TargetOf(object) + delta, max = base::FindInt(object, {"spec", "maxSize"});
      if (target > max) {
        return Refuse(object, "size increase too large - desired:" + std::to_string(target) + " max:" + std::to_string(max));
      }
      if (atomically) {
        EVENKEEL_ASSIGN(const CloudSettings settings, DecodeCloudSettings(object));
        const int64_t going = Count(object, [](const auto& record) { return record.state == Instance::State::kDeleting; });
        if (settings.quota && target + going > *settings.quota) {
          return Refuse(object, "the cloud has no room for " + std::to_string(target) + " instances: its quota is " +
                                    std::to_string(*settings.quota));
        }
      }
      base::Ensure(object, {"spec", "targetSize"}) = target;
      return true;
    }));
    if (silent) return base::Fail(Code::kTimeout, "NodeGroup " + std::string(group) + ": the cloud does not answer");
    return {};
  }

  Status DeleteNodes(std::string_view group, std::span<const NodeReference> nodes, bool force) override {
    return Change(group, [&](Json& object) -> Result<bool> {
      std::set<std::string> deleting, going;
      for (std::string& id : base::FindTexts(object, {"spec", "deleting"})) deleting.insert(std::move(id));
      std::set<std::string> known;
      for (const InstanceRecord& record : DecodeState(object).instances) {
        (record.state == Instance::State::kDeleting ? going : known).insert(record.id);
      }
      int64_t removed = 0;
      for (const NodeReference& node : nodes) {
        std::string id = node.provider_id;
        if (id.empty()) id = base::FindString(node.node, {"spec", "providerID"});
        if (going.contains(id) || deleting.contains(id)) continue;
        if (!known.contains(id)) return Refuse(object, Described(node, id) + " does not belong to it");
        deleting.insert(id);
        ++removed;
      }
      if (removed == 0) return false;
      const int64_t target = TargetOf(object) - removed;
      if (!force && target < base::FindInt(object, {"spec", "minSize"})) {
        return Refuse(object, "min size reached, nodes will not be deleted");
      }
      base::Ensure(object, {"spec", "targetSize"}) = std::max<int64_t>(0, target);
      base::Ensure(object, {"spec", "deleting"}) = base::JsonArray(deleting.begin(), deleting.end());
      return true;
    });
  }

  Status DecreaseTargetSize(std::string_view group, int64_t delta) override {
    return Change(group, [&](Json& object) -> Result<bool> {
      if (delta >= 0) return Refuse(object, "size decrease must be negative");
      const int64_t target = TargetOf(object) + delta;
      const int64_t running = Count(object, [](const auto& record) { return record.state == Instance::State::kRunning; });
      if (target < running) {
        return Refuse(object, "attempt to delete existing nodes: " + std::to_string(running) + " run, the target would be " +
                                  std::to_string(target));
      }
      base::Ensure(object, {"spec", "targetSize"}) = target;
      return true;
    });
  }

 private:
  static std::string Described(const NodeReference& node, const std::string& id) {
    return node.name.empty() ? "instance \"" + id + "\"" : "node " + node.name;
  }

  template <typename Which>
  static int64_t Count(const Json& object, const Which& which) {
    const GroupState state = DecodeState(object);
    return std::ranges::count_if(state.instances, which);
  }

  Status Change(std::string_view group, const std::function<Result<bool>(Json&)>& change) {
    const auto written = client::ReadModifyWrite(member_, cloud::NodeGroups(), "", group, change);
    if (!written) return base::Fail(written.error());
    return {};
  }

  client::Client& member_;
};

}  // namespace

std::unique_ptr<providers::Provider> NewCloudProvider(client::Client& member) {
  return std::make_unique<CloudProvider>(member);
}

}  // namespace evenkeel::embedded::cloud
