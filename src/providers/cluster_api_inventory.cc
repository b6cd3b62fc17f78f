#include "providers/cluster_api_inventory.h"

#include <algorithm>

#include "kube/object.h"

namespace evenkeel::providers {
namespace {

using base::Json;

constexpr std::string_view kGpuLabel = "cluster-api/accelerator";

class Inventory {
 public:
  Inventory(const ClusterApiLists& lists, std::span<const Json> nodes, const ClusterApiOptions& options,
            const InfrastructureOf& infrastructure, Warnings& warnings)
      : lists_(lists),
        nodes_(nodes),
        options_(options),
        names_(options.group),
        rivals_(options.rivals ? options.rivals() : std::vector<ClusterApiRival>()),
        infrastructure_(infrastructure),
        warnings_(warnings) {}

  ClusterApiInventory Take() {
    IndexNodes();
    ReadMachines();
    ReadGroups();
    for (ClusterApiGroup& group : groups_) Finish(group);
    AssignNodes();
    result_.groups.gpu_label = kGpuLabel;
    return std::move(result_);
  }

 private:
  using MachineIndex = std::map<std::string, const ClusterApiMachine*, std::less<>>;

  void IndexNodes() {
    for (const Json& node : nodes_) {
      node_by_name_.emplace(kube::NameOf(node), &node);
      const std::string_view id = base::FindString(node, {"spec", "providerID"});
      if (!id.empty()) node_by_id_.emplace(id, &node);
    }
  }

  /// Under a key that two have, there is none: to take one of them would be to guess.
  void Index(MachineIndex& index, std::string_view key, const ClusterApiMachine& machine, std::string_view field) {
    const auto [found, fresh] = index.emplace(key, &machine);
    if (fresh) return;
    found->second = nullptr;
    warnings_.Add("Machine " + machine.Key() + ": " + std::string(field) + ": another Machine has it, too");
  }

  void ReadMachines() {
    machines_.reserve(lists_.machines.size());
    for (const Json& object : lists_.machines) {
      auto machine = ReadMachine(object, names_);
      if (!machine) {
        warnings_.Add(machine.error().message());
        continue;
      }
      machines_.push_back(*std::move(machine));
    }
    for (const ClusterApiMachine& machine : machines_) {
      machine_by_key_.emplace(machine.Key(), &machine);
      if (!machine.provider_id.empty()) {
        Index(machine_by_id_, machine.provider_id, machine, "spec.providerID");
      }
      // Other clusters' nodes may have the same names.
      if (!machine.node.empty() && IsOfAllowedCluster(machine)) machine_by_node_[machine.node].push_back(&machine);
    }
  }

  bool IsOfAllowedCluster(const ClusterApiMachine& machine) const {
    return options_.discovery.empty() || std::ranges::any_of(options_.discovery, [&](const ClusterApiDiscovery& discovery) {
             return (discovery.ns.empty() || discovery.ns == machine.ns) &&
                    (discovery.cluster_name.empty() || discovery.cluster_name == machine.cluster_name);
           });
  }

  void ReadGroups() {
    for (const Json& set : lists_.sets) {
      const std::string deployment = OwnerOf(set, "MachineDeployment");
      const std::string key = kube::KeyOf(set);
      if (!deployment.empty()) {
        group_of_set_[key] = "MachineDeployment/" + std::string(kube::NamespaceOf(set)) + "/" + deployment;
        sets_of_deployment_[group_of_set_[key]].push_back(&set);
        continue;
      }
      group_of_set_[key] = "MachineSet/" + key;
      ReadOne(set);
    }
    for (const Json& deployment : lists_.deployments) ReadOne(deployment);
    for (const Json& pool : lists_.pools) ReadOne(pool);
    std::ranges::sort(groups_, {}, [](const ClusterApiGroup& group) -> const std::string& { return group.group.id; });
  }

  void ReadOne(const Json& object) {
    if (!IsAllowed(options_.discovery, names_, object)) return;
    auto group = ReadGroup(object, names_, warnings_);
    if (!group) return warnings_.Add(group.error().message());
    if (!*group) return;
    const auto rival =
        std::ranges::find_if(rivals_, [&](const ClusterApiRival& other) { return IsAllowed(other.discovery, names_, object); });
    if (rival != rivals_.end()) (*group)->group.set_aside = ClaimedBy(rival->member);
    groups_.push_back(**std::move(group));
  }

  /// As upstream: an older revision still has machines. Where a revision is not told, whatever is not the last one counts as
  /// older.
  bool RollsOut(const std::string& group) const {
    const auto found = sets_of_deployment_.find(group);
    if (found == sets_of_deployment_.end()) return false;
    const auto newest = std::ranges::max_element(found->second, {}, [](const Json* set) { return RevisionOf(*set); });
    return std::ranges::any_of(found->second, [&](const Json* set) { return set != *newest && ReplicasOf(*set) > 0; });
  }

  std::string_view NodeIdOf(const ClusterApiMachine& machine) const {
    const auto node = node_by_name_.find(machine.node);
    return node == node_by_name_.end() ? "" : base::FindString(*node->second, {"spec", "providerID"});
  }

  void AddInstances(const ClusterApiGroup& from, NodeGroup& group) {
    for (const std::string& id : from.pool_provider_ids)
      group.instances.push_back({id, Instance::State::kRunning, std::nullopt});
    for (const ClusterApiMachine& machine : machines_) {
      if (machine.ns != from.ns || !from.machines.Matches(machine.labels)) continue;
      if (!from.cluster_name.empty() && machine.cluster_name != from.cluster_name) continue;
      auto instance = InstanceOf(machine, NodeIdOf(machine));
      if (!instance) continue;
      result_.machine_of_id.insert_or_assign(instance->id,
                                             ClusterApiInventory::MachinePlace{machine.ns, machine.name, group.id});
      group.instances.push_back(*std::move(instance));
    }
    std::ranges::stable_sort(group.instances, {}, &Instance::id);
    const auto same = std::ranges::unique(group.instances, {}, &Instance::id);
    group.instances.erase(same.begin(), same.end());
  }

  const Json* SampleOf(const NodeGroup& group) const {
    for (const Instance& instance : group.instances) {
      const auto node = node_by_id_.find(instance.id);
      if (node != node_by_id_.end()) return node->second;
    }
    return nullptr;
  }

  void Finish(ClusterApiGroup& from) {
    NodeGroup group = std::move(from.group);
    AddInstances(from, group);
    group.template_node =
        MakeClusterApiTemplate(from, infrastructure_(from), SampleOf(group), options_.default_architecture, warnings_);
    if (group.target_size == 0 && !group.template_node) return;
    if (RollsOut(group.id)) group.keeps_nodes = "it is rolling out: a MachineSet of an older revision still has machines";
    result_.places.emplace(group.id, ClusterApiInventory::Place{from.kind, from.ns, from.name, group.min_size, group.max_size});
    // Whose an instance is that two pools list cannot be told.
    for (const std::string& id : from.pool_provider_ids) {
      const auto [other, fresh] = result_.pool_of_id.emplace(id, group.id);
      if (fresh || other->second == group.id) continue;
      group.set_aside = "spec.providerIDList: " + OneLine(id) + " is also listed in " + other->second;
      result_.groups.Find(other->second)->set_aside = "spec.providerIDList: " + OneLine(id) + " is also listed in " + group.id;
    }
    result_.groups.groups.push_back(std::move(group));
  }

  /// By its provider's id; else by the machine's reference to it; else by its own annotations.
  const ClusterApiMachine* MachineOf(const Json& node) const {
    const std::string_view id = base::FindString(node, {"spec", "providerID"});
    if (!id.empty()) {
      const auto found = machine_by_id_.find(id);
      if (found != machine_by_id_.end()) return found->second;
    }
    if (const auto found = machine_by_node_.find(kube::NameOf(node)); found != machine_by_node_.end()) {
      const ClusterApiMachine* only = nullptr;
      for (const ClusterApiMachine* machine : found->second) {
        // With an id of its own it is the machine of another node.
        if (!machine->provider_id.empty() && !id.empty()) continue;
        if (only != nullptr) return nullptr;
        only = machine;
      }
      if (only != nullptr) return only;
    }
    const std::string_view name = base::FindString(node, {"metadata", "annotations", names_.machine});
    const std::string_view ns = base::FindString(node, {"metadata", "annotations", names_.cluster_namespace});
    if (name.empty()) return nullptr;
    const auto found = machine_by_key_.find(std::string(ns) + "/" + std::string(name));
    return found == machine_by_key_.end() ? nullptr : found->second;
  }

  void AssignNodes() {
    for (const Json& node : nodes_) {
      const std::string name(kube::NameOf(node));
      const ClusterApiMachine* machine = MachineOf(node);
      std::string group;
      const std::string_view id = base::FindString(node, {"spec", "providerID"});
      const auto pool = id.empty() ? result_.pool_of_id.end() : result_.pool_of_id.find(id);
      if (pool != result_.pool_of_id.end()) {
        group = pool->second;
      } else if (machine != nullptr && !machine->machine_set.empty()) {
        const auto set = group_of_set_.find(machine->ns + "/" + machine->machine_set);
        if (set != group_of_set_.end()) group = set->second;
      }
      if (!result_.places.contains(group)) continue;
      result_.groups.group_of_node.emplace(name, group);
      if (machine == nullptr) continue;
      const ClusterApiInventory::MachinePlace place{machine->ns, machine->name, group};
      result_.machine_of_node.insert_or_assign(name, place);
      if (!id.empty()) result_.machine_of_id.insert_or_assign(std::string(id), place);
    }
  }

  const ClusterApiLists& lists_;
  const std::span<const Json> nodes_;
  const ClusterApiOptions& options_;
  const ClusterApiNames names_;
  const std::vector<ClusterApiRival> rivals_;
  const InfrastructureOf& infrastructure_;
  Warnings& warnings_;

  std::map<std::string, const Json*, std::less<>> node_by_name_, node_by_id_;
  std::vector<ClusterApiMachine> machines_;
  MachineIndex machine_by_key_, machine_by_id_;
  std::map<std::string, std::vector<const ClusterApiMachine*>, std::less<>> machine_by_node_;
  std::map<std::string, std::string, std::less<>> group_of_set_;
  std::map<std::string, std::vector<const Json*>, std::less<>> sets_of_deployment_;  // by group
  std::vector<ClusterApiGroup> groups_;
  ClusterApiInventory result_;
};

}  // namespace

ClusterApiInventory TakeInventory(const ClusterApiLists& lists, std::span<const Json> nodes, const ClusterApiOptions& options,
                                  const InfrastructureOf& infrastructure, Warnings& warnings) {
  return Inventory(lists, nodes, options, infrastructure, warnings).Take();
}

}  // namespace evenkeel::providers
