#include "sim/run/device_users.h"

#include "embedded/cloud/group_state.h"
#include "embedded/cloud/node_group_definition.h"
#include "kube/object.h"
#include "sim/world/device_samples.h"

namespace evenkeel::sim {
namespace {

using base::FindString;
using base::Json;
using base::JsonArray;
using base::JsonObject;

constexpr const char* kUsersNamespace = "default";
constexpr std::array<const char*, 2> kSharedClaims = {"shared-1", "shared-2"};
constexpr std::array<const char*, 5> kClaimTemplates = {"one", "pair", "large", "either", "admin"};
/// Of pods that claim devices: those that share a claim, and those that ask for an extended resource.
constexpr double kOfShared = 0.2, kOfExtended = 0.3;

const kube::Resource& KindOfDevices(std::string_view plural) { return *kube::FindBuiltIn("resource.k8s.io", "v1", plural); }

base::Status CreateAll(client::Client& client, std::string_view plural, const std::vector<Json>& objects) {
  for (const Json& object : objects) EVENKEEL_TRY(client.Create(KindOfDevices(plural), object));
  return {};
}

/// As somebody may make it who has read it.
Json WithoutServersFields(Json object) {
  for (const char* field : {"resourceVersion", "uid", "creationTimestamp"}) base::Erase(object, {"metadata", field});
  return object;
}

}  // namespace

DeviceUsers::DeviceUsers(Fleet& fleet, const Scenario& scenario, base::Random random)
    : fleet_(fleet), share_(scenario.workload.devices), random_(random) {}

base::Status DeviceUsers::BeginMember(ApiServer& server) {
  if (share_ <= 0) return {};
  client::Client& client = server.client();
  const Json label =
      JsonObject{{"metadata", JsonObject{{"labels", JsonObject{{"resource.kubernetes.io/admin-access", "true"}}}}}};
  EVENKEEL_TRY(client.Patch(kube::resources::Namespaces(), "", kUsersNamespace, client::PatchType::kMerge, label));
  EVENKEEL_TRY(CreateAll(client, "deviceclasses", NewDeviceClasses()));
  EVENKEEL_TRY(CreateAll(client, "resourceclaimtemplates", NewClaimTemplates(kUsersNamespace)));
  RestoreClaims(server.name());
  return {};
}

void DeviceUsers::Claim(JsonObject& pod_spec) {
  if (share_ <= 0 || !random_.Chance(share_)) return;
  const double way = random_.Unit();
  if (way < kOfShared) return ClaimByName(pod_spec, kSharedClaims[random_.Below(kSharedClaims.size())]);
  if (way < kOfShared + kOfExtended) return ClaimByResource(pod_spec, random_.Between(int64_t{1}, int64_t{2}));
  ClaimByTemplate(pod_spec, kClaimTemplates[random_.Below(kClaimTemplates.size())]);
}

ApiServer* DeviceUsers::Up(const std::string& member) const {
  for (const auto& server : fleet_.servers()) {
    if (server->name() == member && server->up()) return server.get();
  }
  return nullptr;
}

std::optional<Json> DeviceUsers::Some(ApiServer& server, const kube::Resource& resource) {
  const auto all = client::ListAll(server.client(), resource);
  if (!all || all->items.empty()) return std::nullopt;
  return all->items[random_.Below(all->items.size())];
}

std::string DeviceUsers::DeleteClaim(const std::string& member) {
  ApiServer* const server = Up(member);
  const auto claim = server == nullptr ? std::nullopt : Some(*server, KindOfDevices("resourceclaims"));
  if (!claim) return "";
  const std::string name(kube::NameOf(*claim));
  return server->client().Delete(KindOfDevices("resourceclaims"), kUsersNamespace, name) ? name : "";
}

bool DeviceUsers::RestoreClaims(const std::string& member) {
  ApiServer* const server = Up(member);
  if (server == nullptr) return false;
  for (const char* name : kSharedClaims) {
    // One that is still there, or about to go, stays what it is.
    (void)server->client().Create(KindOfDevices("resourceclaims"), NewSharedClaim(kUsersNamespace, name));
  }
  return true;
}

std::string DeviceUsers::Edit(const std::string& member) {
  ApiServer* const server = Up(member);
  if (server == nullptr) return "";
  const kube::Resource& kind = random_.Chance(0.6)   ? KindOfDevices("resourceclaims")
                               : random_.Chance(0.5) ? KindOfDevices("resourceslices")
                                                     : kube::resources::Pods();
  const auto object = Some(*server, kind);
  if (!object) return "";
  const Json note =
      JsonObject{{"metadata", JsonObject{{"annotations", JsonObject{{"example.com/edits", std::to_string(++edits_)}}}}}};
  const auto edited =
      server->client().Patch(kind, kube::NamespaceOf(*object), kube::NameOf(*object), client::PatchType::kMerge, note);
  return edited ? kind.plural + " " + std::string(kube::NameOf(*object)) : "";
}

std::string DeviceUsers::Taint(const std::string& member) {
  ApiServer* const server = Up(member);
  auto slice = server == nullptr ? std::nullopt : Some(*server, KindOfDevices("resourceslices"));
  if (!slice) return "";
  Json* const devices = base::Find(*slice, {"spec", "devices"});
  if (devices == nullptr || !devices->is_array() || devices->get_array().empty()) return "";
  Json& device = devices->get_array()[random_.Below(devices->get_array().size())];
  base::Ensure(device, {"taints"}) =
      JsonArray{JsonObject{{"key", "example.com/broken"}, {"effect", random_.Chance(0.5) ? "NoSchedule" : "NoExecute"}}};
  return server->client().Update(KindOfDevices("resourceslices"), *slice) ? std::string(kube::NameOf(*slice)) : "";
}

bool DeviceUsers::Untaint(const std::string& member, const std::string& slice) {
  ApiServer* const server = Up(member);
  if (server == nullptr) return false;
  auto found = server->client().Get(KindOfDevices("resourceslices"), "", slice);
  if (!found) return found.error().code() == base::Code::kNotFound;
  if (Json* const devices = base::Find(*found, {"spec", "devices"}); devices != nullptr && devices->is_array()) {
    for (Json& device : devices->get_array()) base::Erase(device, {"taints"});
  }
  return server->client().Update(KindOfDevices("resourceslices"), *found).has_value();
}

std::vector<Json> DeviceUsers::TakeSlices(const std::string& member) {
  ApiServer* const server = Up(member);
  const auto some = server == nullptr ? std::nullopt : Some(*server, KindOfDevices("resourceslices"));
  if (!some) return {};
  client::ListOptions of_node;
  of_node.field_selector = "spec.nodeName=" + std::string(FindString(*some, {"spec", "nodeName"}));
  const auto all = client::ListAll(server->client(), KindOfDevices("resourceslices"), of_node);
  if (!all) return {};
  for (const Json& slice : all->items) {
    (void)server->client().Delete(KindOfDevices("resourceslices"), "", kube::NameOf(slice));
  }
  return {all->items.begin(), all->items.end()};
}

bool DeviceUsers::BringSlices(const std::string& member, const std::vector<Json>& slices) {
  ApiServer* const server = Up(member);
  if (server == nullptr) return false;
  const auto node = server->client().Get(kube::resources::Nodes(), "", FindString(slices.front(), {"spec", "nodeName"}));
  const JsonArray& owners = base::FindArray(slices.front(), {"metadata", "ownerReferences"});
  if (!node) return node.error().code() == base::Code::kNotFound;
  if (owners.empty() || FindString(owners.front(), {"uid"}) != kube::UidOf(*node)) return true;
  int64_t generation = 0;
  std::map<std::string, Json> there;
  for (const Json& slice : slices) {
    const std::string name(kube::NameOf(slice));
    generation = std::max(generation, base::FindInt(slice, {"spec", "pool", "generation"}));
    // The node's agent may have been restarted meanwhile, and published them anew.
    auto known = server->client().Get(KindOfDevices("resourceslices"), "", name);
    if (!known) continue;
    generation = std::max(generation, base::FindInt(*known, {"spec", "pool", "generation"}));
    there[name] = *std::move(known);
  }
  for (const Json& slice : slices) {
    const auto known = there.find(std::string(kube::NameOf(slice)));
    Json next = known != there.end() ? known->second : WithoutServersFields(slice);
    base::Ensure(next, {"spec", "pool", "generation"}) = generation + 1;
    const kube::Resource& kind = KindOfDevices("resourceslices");
    const auto written = known != there.end() ? server->client().Update(kind, next) : server->client().Create(kind, next);
    if (!written) return false;
  }
  return true;
}

std::string DeviceUsers::LoseNode(const std::string& member) {
  ApiServer* const server = Up(member);
  const auto node = server == nullptr ? std::nullopt : Some(*server, kube::resources::Nodes());
  if (!node) return "";
  const std::string id(FindString(*node, {"spec", "providerID"})), group = embedded::cloud::GroupOfId(id);
  if (group.empty()) return "";
  const auto leave = [&](Json& object) -> base::Result<bool> {
    Json& deleting = base::Ensure(object, {"spec", "deleting"});
    if (!deleting.is_array()) deleting = JsonArray();
    deleting.get_array().emplace_back(id);
    return true;
  };
  const auto written = client::ReadModifyWrite(server->client(), embedded::cloud::NodeGroups(), "", group, leave);
  return written ? std::string(kube::NameOf(*node)) : "";
}

}  // namespace evenkeel::sim
