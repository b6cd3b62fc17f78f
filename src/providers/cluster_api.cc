#include "providers/cluster_api.h"

#include <mutex>

#include "base/log.h"
#include "kube/object.h"
#include "providers/cluster_api_discovery.h"
#include "providers/cluster_api_inventory.h"

namespace evenkeel::providers {
namespace {

using base::Code;
using base::Fail;
using base::Json;
using base::JsonObject;
using kube::Resource;

constexpr int kConflictTries = 5;

class ClusterApiProvider final : public Provider {
 public:
  ClusterApiProvider(std::shared_ptr<client::Client> management, ClusterApiOptions options, base::Clock& clock)
      : management_(std::move(management)),
        client_(*management_),
        options_(std::move(options)),
        names_(options_.group),
        clock_(clock),
        discovery_(client_) {}

  std::string_view name() const override { return "clusterapi"; }

  base::Result<NodeGroups> Refresh(std::span<const Json> nodes) override {
    std::lock_guard lock(mutex_);
    auto groups = Read(nodes);
    // The group may have moved to another version since.
    if (!groups) discovery_.Forget();
    return groups;
  }

  base::Status IncreaseSize(std::string_view group, int64_t delta, bool atomically) override {
    if (atomically) return Fail(Code::kMethodNotAllowed, "Cluster API cannot increase a size all or nothing");
    if (delta <= 0) return Fail(Code::kBadRequest, Named(group) + "the increase must be more than 0");
    std::lock_guard lock(mutex_);
    return ChangeReplicas(group, [delta](int64_t replicas) -> base::Result<int64_t> { return replicas + delta; });
  }

  base::Status DecreaseTargetSize(std::string_view group, int64_t delta) override {
    if (delta >= 0) return Fail(Code::kBadRequest, Named(group) + "the decrease must be less than 0");
    std::lock_guard lock(mutex_);
    const NodeGroup* known = inventory_.groups.Find(group);
    if (known == nullptr) return Fail(Code::kNotFound, Named(group) + "is not known");
    const auto existing = std::ranges::count_if(
        known->instances, [](const Instance& instance) { return MachineOfInstance(instance.id).empty(); });
    return ChangeReplicas(group, [&](int64_t replicas) -> base::Result<int64_t> {
      if (replicas + delta >= existing) return replicas + delta;
      return Fail(Code::kBadRequest, Named(group) + "a decrease of " + std::to_string(replicas) + " by " +
                                         std::to_string(-delta) + " would delete some of " + std::to_string(existing) +
                                         " nodes that exist");
    });
  }

  base::Status DeleteNodes(std::string_view group, std::span<const NodeReference> nodes, bool force) override {
    if (force) return Fail(Code::kMethodNotAllowed, "Cluster API cannot delete nodes by force");
    std::lock_guard lock(mutex_);
    const NodeGroup* known = inventory_.groups.Find(group);
    if (known != nullptr && !known->keeps_nodes.empty()) return Fail(Code::kConflict, Named(group) + known->keeps_nodes);
    const int64_t bare = WithoutMachines(group, nodes);
    EVENKEEL_ASSIGN(const auto machines, MachinesToDelete(group, nodes));
    const int64_t going = static_cast<int64_t>(machines.size()) + bare;
    if (going == 0) return {};
    EVENKEEL_ASSIGN(const int64_t replicas, Replicas(group));
    const int64_t min = inventory_.places.find(group)->second.min_size;
    if (replicas - going < min) {
      return Fail(Code::kBadRequest, Named(group) + "deleting " + std::to_string(going) + " of " + std::to_string(replicas) +
                                         " machines would leave less than the least, " + std::to_string(min));
    }
    return MarkAndLower(group, machines, bare);
  }

 private:
  using MachinePlace = ClusterApiInventory::MachinePlace;

  static std::string Named(std::string_view group) { return "Cluster API node group " + std::string(group) + ": "; }

  base::Result<NodeGroups> Read(std::span<const Json> nodes) {
    warnings_.Begin();
    std::string version = options_.version;
    if (version.empty()) {
      EVENKEEL_ASSIGN(version, discovery_.PreferredVersion(options_.group));
    }
    ClusterApiLists lists;
    EVENKEEL_ASSIGN(lists.sets, List(version, "MachineSet", false));
    EVENKEEL_ASSIGN(lists.machines, List(version, "Machine", false));
    EVENKEEL_ASSIGN(lists.deployments, List(version, "MachineDeployment", true));
    EVENKEEL_ASSIGN(lists.pools, List(version, "MachinePool", true));
    inventory_ = TakeInventory(
        lists, nodes, options_, [this](const ClusterApiGroup& group) { return Infrastructure(group); }, warnings_);
    inventory_.groups.warnings.assign(warnings_.now().begin(), warnings_.now().end());
    return inventory_.groups;
  }

  /// The one namespace that all specs name; "" (all) where they name several.
  std::string NamespaceToList() const {
    std::string ns = options_.discovery.empty() ? "" : options_.discovery.front().ns;
    for (const ClusterApiDiscovery& discovery : options_.discovery) {
      if (discovery.ns != ns) return "";
    }
    return ns;
  }

  base::Result<std::vector<Json>> List(const std::string& version, const std::string& kind, bool optional) {
    auto resource = discovery_.Find(options_.group, version, kind);
    if (!resource && optional && resource.error().code() == Code::kNotFound) return std::vector<Json>();
    if (!resource) return Fail(resource.error().Wrap("reading Cluster API's node groups"));
    client::ListOptions options;
    options.ns = NamespaceToList();
    auto page = client::ListAll(client_, *resource, options);
    if (!page) return Fail(page.error().Wrap("listing " + resource->QualifiedPlural() + " at " + client_.Describe()));
    for (Json& item : page->items) {
      // Items of a list need not say what they are.
      if (item.is_object()) item.as_object()["kind"] = kind;
    }
    resources_[kind] = *std::move(resource);
    return std::move(page->items);
  }

  /// Read once it says what its machines have; until then, again with each Refresh.
  const Json* Infrastructure(const ClusterApiGroup& group) {
    const Json* reference = base::Find(*group.object, {"spec", "template", "spec", "infrastructureRef"});
    if (reference == nullptr || !reference->is_object()) return nullptr;
    const std::string key = base::CanonicalText(*reference) + " " + group.ns;
    const auto known = infrastructure_.find(key);
    if (known != infrastructure_.end() && base::Find(known->second, {"status", "capacity"}) != nullptr) return &known->second;
    auto read = ReadInfrastructure(*reference, group.ns);
    if (!read) {
      warnings_.Add(group.kind + " " + group.ns + "/" + group.name +
                    ": spec.template.spec.infrastructureRef: " + read.error().message());
      return nullptr;
    }
    return &infrastructure_.insert_or_assign(key, *std::move(read)).first->second;
  }

  base::Result<Json> ReadInfrastructure(const Json& reference, const std::string& ns) {
    const std::string kind(base::FindString(reference, {"kind"})), name(base::FindString(reference, {"name"}));
    std::string group(base::FindString(reference, {"apiGroup"})), version;
    if (kind.empty() || name.empty()) return Fail(Code::kInvalid, "kind or name is missing");
    if (group.empty()) {
      kube::SplitApiVersion(base::FindString(reference, {"apiVersion"}), group, version);
      if (group.empty() || version.empty()) return Fail(Code::kInvalid, "apiGroup and apiVersion are missing");
    }
    EVENKEEL_ASSIGN(const Resource resource, InfrastructureResource(group, version, kind));
    return client_.Get(resource, ns, name);
  }

  /// In the version that is named. Without one, or where that is not served any more, in one that has the kind.
  base::Result<Resource> InfrastructureResource(const std::string& group, const std::string& version, const std::string& kind) {
    if (!version.empty()) {
      auto named = discovery_.Find(group, version, kind);
      if (named || named.error().code() != Code::kNotFound) return named;
    }
    return discovery_.FindInAnyVersion(group, kind);
  }

  struct GroupPlace {
    ClusterApiInventory::Place place;
    Resource resource;
  };
  base::Result<GroupPlace> PlaceOf(std::string_view group) {
    const auto place = inventory_.places.find(group);
    if (place == inventory_.places.end()) return Fail(Code::kNotFound, Named(group) + "is not known");
    return GroupPlace{place->second, resources_.at(place->second.kind)};
  }

  base::Result<Json> ReadScale(std::string_view group, const GroupPlace& at) {
    auto scale = client_.Get(at.resource, at.place.ns, at.place.name, "scale");
    if (!scale) return Fail(scale.error().Wrap(Named(group) + "reading its scale"));
    if (base::FindInt(*scale, {"spec", "replicas"}, 0) < 0)
      return Fail(Code::kInvalid, Named(group) + "spec.replicas: less than 0");
    return scale;
  }

  base::Result<int64_t> Replicas(std::string_view group) {
    EVENKEEL_ASSIGN(const GroupPlace at, PlaceOf(group));
    EVENKEEL_ASSIGN(const Json scale, ReadScale(group, at));
    return base::FindInt(scale, {"spec", "replicas"}, 0);
  }

  /// Changes the size to what `change` makes of it, within the group's bounds. Others may write at the same time.
  base::Status ChangeReplicas(std::string_view group, const std::function<base::Result<int64_t>(int64_t)>& change) {
    EVENKEEL_ASSIGN(const GroupPlace at, PlaceOf(group));
    for (int tries = 0;; ++tries) {
      EVENKEEL_ASSIGN(const Json scale, ReadScale(group, at));
      EVENKEEL_ASSIGN(const int64_t size, change(base::FindInt(scale, {"spec", "replicas"}, 0)));
      if (size > at.place.max_size || size < at.place.min_size) {
        return Fail(Code::kBadRequest, Named(group) + "a size of " + std::to_string(size) + " is not from " +
                                           std::to_string(at.place.min_size) + " to " + std::to_string(at.place.max_size));
      }
      Json patch = JsonObject{{"spec", {{"replicas", size}}}};
      const std::string_view version = kube::ResourceVersionOf(scale);
      if (!version.empty()) base::Ensure(patch, {"metadata", "resourceVersion"}) = version;
      client::PatchOptions options;
      options.subresource = "scale";
      const auto done = client_.Patch(at.resource, at.place.ns, at.place.name, client::PatchType::kMerge, patch, options);
      if (done) return {};
      if (done.error().code() != Code::kConflict || tries == kConflictTries) {
        return Fail(done.error().Wrap(Named(group) + "changing its replicas to " + std::to_string(size)));
      }
    }
  }

  const MachinePlace* FindMachine(const NodeReference& node) const {
    const auto by_id = inventory_.machine_of_id.find(node.provider_id);
    if (!node.provider_id.empty() && by_id != inventory_.machine_of_id.end()) return &by_id->second;
    const auto by_node = inventory_.machine_of_node.find(node.name);
    return node.name.empty() || by_node == inventory_.machine_of_node.end() ? nullptr : &by_node->second;
  }

  /// A MachinePool's node may have no Machine to be marked: the pool is told how many are to stay, and its infrastructure
  /// chooses.
  bool IsBare(std::string_view group, const NodeReference& node) const {
    const auto pool = inventory_.pool_of_id.find(node.provider_id);
    return pool != inventory_.pool_of_id.end() && pool->second == group && FindMachine(node) == nullptr;
  }
  int64_t WithoutMachines(std::string_view group, std::span<const NodeReference> nodes) const {
    std::set<std::string_view> ids;
    for (const NodeReference& node : nodes) {
      if (IsBare(group, node)) ids.insert(node.provider_id);
    }
    return static_cast<int64_t>(ids.size());
  }

  base::Result<MachinePlace> MachineOf(std::string_view group, const NodeReference& node) const {
    const std::string shown = node.name.empty() ? node.provider_id : node.name;
    const MachinePlace* found = FindMachine(node);
    if (found == nullptr)
      return Fail(Code::kNotFound, Named(group) + "node " + shown + " has no Machine that could be deleted");
    if (found->group != group) {
      return Fail(Code::kBadRequest, Named(group) + "node " + shown + " is not of the group" +
                                         (found->group.empty() ? "" : " but of " + found->group));
    }
    return *found;
  }

  /// Those of the nodes' machines that are not on their way out already.
  base::Result<std::vector<MachinePlace>> MachinesToDelete(std::string_view group, std::span<const NodeReference> nodes) {
    std::vector<MachinePlace> machines, marked;
    EVENKEEL_TRY(PlaceOf(group));
    std::set<std::string> seen;
    for (const NodeReference& node : nodes) {
      if (IsBare(group, node)) continue;
      EVENKEEL_ASSIGN(MachinePlace place, MachineOf(group, node));
      if (!seen.insert(place.ns + "/" + place.name).second) continue;
      const auto object = client_.Get(resources_.at("Machine"), place.ns, place.name);
      if (!object && object.error().code() == Code::kNotFound) continue;
      if (!object) return Fail(object.error().Wrap("reading Machine " + place.ns + "/" + place.name));
      EVENKEEL_ASSIGN(const ClusterApiMachine machine, ReadMachine(*object, names_));
      place.uid = kube::UidOf(*object);
      if (!machine.deleting) (machine.marked ? marked : machines).push_back(place);
    }
    if (marked.empty()) return machines;
    EVENKEEL_ASSIGN(const int64_t missing, MarksNotCounted(group));
    // Marked before without lowering the replicas: whoever did it was interrupted.
    for (size_t i = 0; i < marked.size() && static_cast<int64_t>(i) < missing; ++i) machines.push_back(marked[i]);
    return machines;
  }

  /// How many machines are marked for deletion for which the replicas have not been lowered. Lowering them twice for one
  /// machine would cost another one its life.
  base::Result<int64_t> MarksNotCounted(std::string_view group) {
    EVENKEEL_ASSIGN(const GroupPlace at, PlaceOf(group));
    EVENKEEL_ASSIGN(const Json object, client_.Get(at.resource, at.place.ns, at.place.name));
    Json typed(object, {});
    typed.as_object()["kind"] = at.place.kind;
    EVENKEEL_ASSIGN(const auto read, ReadGroup(typed, names_, warnings_));
    if (!read) return 0;
    client::ListOptions options;
    options.ns = at.place.ns;
    EVENKEEL_ASSIGN(const auto page, client::ListAll(client_, resources_.at("Machine"), options));
    int64_t alive = 0, marked = 0;
    for (const Json& item : page.items) {
      const auto machine = ReadMachine(item, names_);
      if (!machine || machine->deleting || !read->machines.Matches(machine->labels)) continue;
      if (!read->cluster_name.empty() && machine->cluster_name != read->cluster_name) continue;
      ++alive;
      if (machine->marked) ++marked;
    }
    return std::clamp<int64_t>(marked - std::max<int64_t>(0, alive - read->group.target_size), 0, marked);
  }

  base::Status Mark(const MachinePlace& machine, bool on) {
    // The uid, so that another Machine that has taken the name is not meant.
    Json patch = JsonObject{{"metadata", {{"uid", machine.uid}}}};
    base::Ensure(patch, {"metadata", "annotations", names_.delete_machine}) =
        on ? Json(base::FormatTime(clock_.Now())) : Json();
    const auto done = client_.Patch(resources_.at("Machine"), machine.ns, machine.name, client::PatchType::kMerge, patch);
    if (done) return {};
    return Fail(done.error().Wrap((on ? "marking Machine " : "unmarking Machine ") + machine.ns + "/" + machine.name));
  }

  /// `bare`: so many more go without a mark.
  base::Status MarkAndLower(std::string_view group, const std::vector<MachinePlace>& machines, int64_t bare) {
    int64_t marked = 0;
    base::Status outcome;
    for (const MachinePlace& machine : machines) {
      outcome = Mark(machine, true);
      if (!outcome) break;
      ++marked;
    }
    const int64_t going = marked + (outcome ? bare : 0);
    if (going == 0) return outcome;
    const auto lowered = ChangeReplicas(group, [going](int64_t replicas) -> base::Result<int64_t> { return replicas - going; });
    if (lowered) return outcome;
    for (const MachinePlace& machine : std::span(machines).first(static_cast<size_t>(marked))) {
      if (const auto unmarked = Mark(machine, false); !unmarked) {
        base::log::Warn("a machine that is to stay is still marked for deletion", {{"why", unmarked.error()}});
      }
    }
    return lowered;
  }

  const std::shared_ptr<client::Client> management_;
  client::Client& client_;
  const ClusterApiOptions options_;
  const ClusterApiNames names_;
  base::Clock& clock_;

  std::mutex mutex_;  // guards what follows
  ApiDiscovery discovery_;
  Warnings warnings_;
  std::map<std::string, Resource> resources_;  // by kind
  std::map<std::string, Json> infrastructure_;
  ClusterApiInventory inventory_;
};

}  // namespace

std::unique_ptr<Provider> NewClusterApiProvider(std::shared_ptr<client::Client> management, ClusterApiOptions options,
                                                base::Clock& clock) {
  return std::make_unique<ClusterApiProvider>(std::move(management), std::move(options), clock);
}

}  // namespace evenkeel::providers
