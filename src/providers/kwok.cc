#include "providers/kwok.h"

#include <mutex>

#include "kube/object.h"
#include "providers/kwok_config.h"

namespace evenkeel::providers {
namespace {

using base::Code;
using base::Fail;
using base::Json;

constexpr std::string_view kTemplatesKey = "templates";
constexpr std::string_view kScheme = "kwok:";
constexpr std::string_view kHostname = "kubernetes.io/hostname";
constexpr int kNameTries = 5;

/// A group's id as the beginning of node names; label values may have letters that names may not.
std::string NamePrefix(std::string_view id) {
  std::string prefix;
  for (const char c : id.substr(0, 200)) {
    const bool upper = c >= 'A' && c <= 'Z';
    const bool good = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
    prefix += upper ? static_cast<char>(c - 'A' + 'a') : good ? c : '-';
  }
  const size_t begin = prefix.find_first_not_of("-.");
  return begin == std::string::npos ? "node" : prefix.substr(begin);
}

class KwokProvider final : public Provider {
 public:
  KwokProvider(client::Client& client, KwokOptions options, base::Random random)
      : client_(client), options_(std::move(options)), random_(random) {}

  std::string_view name() const override { return "kwok"; }

  base::Result<NodeGroups> Refresh(std::span<const Json> nodes) override {
    std::lock_guard lock(mutex_);
    EVENKEEL_ASSIGN(const KwokConfig config, ReadConfig());
    EVENKEEL_TRY(ReadGroups(config, nodes));
    for (auto& [id, group] : groups_) group.nodes.clear();
    for (const Json& node : nodes) {
      const std::string name(kube::NameOf(node));
      created_.erase(name);
      Group* group = GroupOf(node);
      if (group != nullptr) group->nodes.insert(name);
    }
    EVENKEEL_TRY(CountUnseen());
    return Describe(config);
  }

  base::Status IncreaseSize(std::string_view id, int64_t delta, bool atomically) override {
    if (atomically) return Fail(Code::kMethodNotAllowed, "the kwok provider cannot increase a size all or nothing");
    std::lock_guard lock(mutex_);
    EVENKEEL_ASSIGN(Group * group, FindGroup(id));
    if (delta <= 0) return Fail(Code::kBadRequest, Named(id) + "the increase must be more than 0");
    const int64_t size = group->size() + delta;
    if (size > group->parsed.max_size) {
      return Fail(Code::kBadRequest, Named(id) + "a size of " + std::to_string(size) + " is more than the largest, " +
                                         std::to_string(group->parsed.max_size));
    }
    for (int64_t i = 0; i < delta; ++i) EVENKEEL_TRY(CreateNode(*group));
    return {};
  }

  base::Status DeleteNodes(std::string_view id, std::span<const NodeReference> nodes, bool force) override {
    if (force) return Fail(Code::kMethodNotAllowed, "the kwok provider cannot delete nodes by force");
    std::lock_guard lock(mutex_);
    EVENKEEL_ASSIGN(Group * group, FindGroup(id));
    if (group->size() - static_cast<int64_t>(nodes.size()) < group->parsed.min_size) {
      return Fail(Code::kBadRequest, Named(id) + "deleting " + std::to_string(nodes.size()) + " of " +
                                         std::to_string(group->size()) + " nodes would leave less than the least, " +
                                         std::to_string(group->parsed.min_size));
    }
    for (const NodeReference& node : nodes) EVENKEEL_TRY(DeleteNode(*group, node));
    return {};
  }

  base::Status DecreaseTargetSize(std::string_view id, int64_t delta) override {
    std::lock_guard lock(mutex_);
    EVENKEEL_TRY(FindGroup(id));
    if (delta >= 0) return Fail(Code::kBadRequest, Named(id) + "the decrease must be less than 0");
    // A node is there as soon as it is asked for, so the target is never more than the nodes.
    return Fail(Code::kBadRequest, Named(id) + "all nodes of the target exist; a decrease would delete some");
  }

 private:
  struct Group {
    KwokGroup parsed;
    std::set<std::string> nodes;
    int64_t size() const { return static_cast<int64_t>(nodes.size()); }
  };

  static std::string Named(std::string_view id) { return "kwok node group " + std::string(id) + ": "; }

  base::Result<Group*> FindGroup(std::string_view id) {
    const auto found = groups_.find(id);
    if (found == groups_.end()) return Fail(Code::kNotFound, Named(id) + "is not known");
    return &found->second;
  }

  Group* GroupOf(const Json& node) {
    if (!base::FindString(node, {"spec", "providerID"}).starts_with(kScheme)) return nullptr;
    const auto found = groups_.find(base::FindString(node, {"metadata", "annotations", kKwokGroupAnnotation}));
    return found == groups_.end() ? nullptr : &found->second;
  }

  std::string Where(const std::string& config_map) const { return "ConfigMap " + options_.ns + "/" + config_map; }

  base::Result<std::string> ReadKey(const std::string& config_map, std::string_view key, const std::string& other_key) {
    const auto object = client_.Get(kube::resources::ConfigMaps(), options_.ns, config_map);
    if (!object) return Fail(object.error().Wrap("reading " + Where(config_map) + " for the kwok provider"));
    std::string_view text = base::FindString(*object, {"data", key});
    if (text.empty() && !other_key.empty()) text = base::FindString(*object, {"data", other_key});
    if (text.empty()) return Fail(Code::kBadRequest, Where(config_map) + ": data." + std::string(key) + ": missing");
    return std::string(text);
  }

  base::Result<KwokConfig> ReadConfig() {
    EVENKEEL_ASSIGN(const std::string text, ReadKey(options_.config_map, "config", ""));
    return ParseKwokConfig(text, Where(options_.config_map) + " config");
  }

  base::Status ReadGroups(const KwokConfig& config, std::span<const Json> nodes) {
    std::vector<Json> templates;
    if (!config.from_cluster) {
      EVENKEEL_ASSIGN(const std::string text, ReadKey(config.templates_config_map, kTemplatesKey, config.templates_key));
      EVENKEEL_ASSIGN(templates, ParseKwokTemplates(text, Where(config.templates_config_map) + " templates"));
    }
    EVENKEEL_ASSIGN(std::vector<KwokGroup> read, ReadKwokGroups(config, config.from_cluster ? nodes : templates));
    if (!config.from_cluster) groups_.clear();
    for (KwokGroup& group : read) {
      std::string id = group.id;
      groups_.insert_or_assign(std::move(id), Group{std::move(group), {}});
    }
    return {};
  }

  /// Nodes that were made since `nodes` was read count, too: otherwise they would be made twice.
  base::Status CountUnseen() {
    for (auto entry = created_.begin(); entry != created_.end();) {
      const auto node = client_.Get(kube::resources::Nodes(), "", entry->first);
      if (!node && node.error().code() != Code::kNotFound) return Fail(node.error().Wrap("reading node " + entry->first));
      const auto group = groups_.find(entry->second);
      if (!node || group == groups_.end()) {
        entry = created_.erase(entry);
        continue;
      }
      group->second.nodes.insert(entry->first);
      ++entry;
    }
    return {};
  }

  NodeGroups Describe(const KwokConfig& config) const {
    NodeGroups all;
    all.gpu_label = config.gpu_label;
    all.gpu_types = config.gpu_types;
    for (const auto& [id, group] : groups_) {
      NodeGroup& described = all.groups.emplace_back();
      described.id = id;
      described.min_size = group.parsed.min_size;
      described.max_size = group.parsed.max_size;
      described.target_size = group.size();
      described.template_node = Json(group.parsed.node, {});
      described.debug = id + " (" + std::to_string(described.min_size) + ":" + std::to_string(described.max_size) + ")";
      for (const std::string& node : group.nodes) {
        Instance& instance = described.instances.emplace_back();
        instance.id = std::string(kScheme) + node;
        if (created_.contains(node)) {
          instance.state = Instance::State::kCreating;
        } else {
          all.group_of_node.emplace(node, id);
        }
      }
    }
    return all;
  }

  base::Status CreateNode(Group& group) {
    for (int tries = 0;; ++tries) {
      const std::string name = NamePrefix(group.parsed.id) + "-" + random_.NameSuffix();
      Json node(group.parsed.node, {});
      base::Ensure(node, {"metadata", "name"}) = name;
      base::Ensure(node, {"metadata", "annotations", "metrics.k8s.io/resource-metrics-path"}) =
          "/metrics/nodes/" + name + "/metrics/resource";
      base::Ensure(node, {"spec", "providerID"}) = std::string(kScheme) + name;
      // Copies of one value would all be the same place to anti-affinity and spreading.
      if (base::Find(node, {"metadata", "labels", kHostname}) != nullptr) {
        base::Ensure(node, {"metadata", "labels", kHostname}) = name;
      }
      const auto created = client_.Create(kube::resources::Nodes(), node);
      if (created) {
        group.nodes.insert(name);
        created_[name] = group.parsed.id;
        return {};
      }
      if (created.error().code() != Code::kAlreadyExists || tries == kNameTries) {
        return Fail(created.error().Wrap(Named(group.parsed.id) + "creating node " + name));
      }
    }
  }

  base::Status DeleteNode(Group& group, const NodeReference& reference) {
    std::string name = reference.name;
    if (name.empty() && reference.provider_id.starts_with(kScheme)) name = reference.provider_id.substr(kScheme.size());
    client::DeleteOptions precondition;
    if (group.nodes.contains(name)) {
      const auto node = client_.Get(kube::resources::Nodes(), "", name);
      if (!node && node.error().code() != Code::kNotFound) return Fail(node.error().Wrap("reading node " + name));
      if (node && base::FindString(*node, {"metadata", "annotations", kKwokManagedAnnotation}) != "fake") {
        return Fail(Code::kForbidden, "node " + name + " is not deleted: it is not one of kwok's");
      }
      if (node) precondition.uid = kube::UidOf(*node);
    } else {
      return Fail(Code::kNotFound, Named(group.parsed.id) + "node \"" + name + "\" is not of the group");
    }
    const auto deleted = client_.Delete(kube::resources::Nodes(), "", name, precondition);
    if (!deleted && deleted.error().code() != Code::kNotFound) return Fail(deleted.error().Wrap("deleting node " + name));
    group.nodes.erase(name);
    created_.erase(name);
    return {};
  }

  client::Client& client_;
  const KwokOptions options_;

  std::mutex mutex_;  // guards what follows
  base::Random random_;
  std::map<std::string, Group, std::less<>> groups_;
  std::map<std::string, std::string> created_;  // group by node, until Refresh has been given the node
};

}  // namespace

KwokOptions KwokOptions::From(const Environment& environment, const std::string& ns) {
  KwokOptions options;
  options.ns = ns;
  if (std::string name = environment("KWOK_PROVIDER_CONFIGMAP"); !name.empty()) options.config_map = std::move(name);
  if (std::string pod = environment("POD_NAMESPACE"); !pod.empty()) options.ns = std::move(pod);
  return options;
}

std::unique_ptr<Provider> NewKwokProvider(client::Client& client, KwokOptions options, base::Random random) {
  return std::make_unique<KwokProvider>(client, std::move(options), random);
}

}  // namespace evenkeel::providers
