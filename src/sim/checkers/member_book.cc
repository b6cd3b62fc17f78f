#include "sim/checkers/member_book.h"

#include "controllers/autoscaler/facts/node_group_object.h"
#include "kube/object.h"
#include "kube/types.h"

namespace evenkeel::sim {
namespace {

using base::Find;
using base::FindArray;
using base::FindInt;
using base::FindString;
using base::Json;
using namespace std::chrono_literals;

constexpr std::string_view kPrefix = "cluster-autoscaler.kubernetes.io/";
constexpr std::string_view kToBeDeleted = "ToBeDeletedByClusterAutoscaler";

double NumberAt(const Json& object, std::initializer_list<std::string_view> path) {
  const Json* value = Find(object, path);
  return value != nullptr && value->is_number() ? value->to_number<double>() : 0;
}

bool IsThere(const Json* value) { return value != nullptr && !value->is_null(); }

std::string AnnotationOf(const Json& pod, std::string_view name) {
  return std::string(FindString(pod, {"metadata", "annotations", std::string(kPrefix) + std::string(name)}));
}

bool UsesLocalStorage(const Json& pod) {
  const std::string safe = "," + AnnotationOf(pod, "safe-to-evict-local-volumes") + ",";
  for (const Json& volume : FindArray(pod, {"spec", "volumes"})) {
    const bool scratch = IsThere(Find(volume, {"emptyDir"})) && FindString(volume, {"emptyDir", "medium"}) != "Memory";
    if (!scratch && !IsThere(Find(volume, {"hostPath"}))) continue;
    if (safe.find("," + std::string(FindString(volume, {"name"})) + ",") == safe.npos) return true;
  }
  return false;
}

int64_t AmountOf(const kube::ResourceList& amounts, const char* resource) {
  const auto found = amounts.find(resource);
  return found == amounts.end() ? 0 : found->second;
}

MemberBook::Pod DecodePod(const Json& object) {
  const kube::Pod decoded = kube::CompactPod::Decode(object);
  MemberBook::Pod pod;
  pod.ns = decoded.meta.ns;
  pod.name = decoded.meta.name;
  pod.uid = decoded.meta.uid;
  pod.node = decoded.node_name;
  pod.labels = {decoded.meta.labels.begin(), decoded.meta.labels.end()};
  const kube::OwnerReference* owner = decoded.meta.Controller();
  pod.controlled = owner != nullptr;
  if (owner != nullptr) pod.owner = owner->uid;
  pod.daemon = owner != nullptr && owner->kind == "DaemonSet";
  pod.mirror = decoded.meta.annotations.contains("kubernetes.io/config.mirror");
  pod.local_storage = UsesLocalStorage(object);
  pod.safe_to_evict = AnnotationOf(object, "safe-to-evict");
  pod.ended = decoded.terminal();
  pod.live = !pod.ended && !decoded.meta.deletion_time;
  pod.ready = decoded.ready;
  const kube::ResourceList requests = decoded.Requests();
  pod.milli_cores = AmountOf(requests, "cpu");
  pod.bytes = AmountOf(requests, "memory");
  return pod;
}

/// What may change of a node while it is there.
void TakeNode(MemberBook::Node& node, const Json& object) {
  const kube::ResourceList allocatable = kube::DecodeResourceList(Find(object, {"status", "allocatable"}));
  node.milli_cores = AmountOf(allocatable, "cpu");
  node.bytes = AmountOf(allocatable, "memory");
  node.pods = AmountOf(allocatable, "pods");
  node.leaving = std::ranges::any_of(FindArray(object, {"spec", "taints"}),
                                     [](const Json& taint) { return FindString(taint, {"key"}) == kToBeDeleted; });
  node.ready = std::ranges::any_of(FindArray(object, {"status", "conditions"}), [](const Json& condition) {
    return FindString(condition, {"type"}) == "Ready" && FindString(condition, {"status"}) == "True";
  });
  node.cordoned = base::FindBool(object, {"spec", "unschedulable"});
  node.group = FindString(object, {"metadata", "labels", controllers::autoscaler::kNodeGroupLabel});
}

/// Takes the object out or gives it to `put`.
template <typename Map, typename Put>
bool Take(Map& map, const std::string& name, const std::optional<Json>& object, const Put& put) {
  if (name.empty()) return false;
  object ? put(*object) : static_cast<void>(map.erase(name));
  return true;
}

}  // namespace

std::string NameOfKey(const std::string& key, std::string_view plural) {
  const size_t at = key.find("/" + std::string(plural) + "/");
  return at == key.npos ? "" : key.substr(at + plural.size() + 2);
}

std::optional<Json> ObjectOf(const embedded::store::Event& event) {
  if (event.type == embedded::store::Event::Type::kDelete || event.current.value == nullptr) return std::nullopt;
  auto parsed = base::ParseJson(*event.current.value, event.current.key);
  return parsed && parsed->is_object() ? std::optional(*std::move(parsed)) : std::nullopt;
}

MemberBook::Group MemberBook::DecodeGroup(const Json& object) {
  Group group;
  group.min = FindInt(object, {"spec", "minSize"});
  group.max = FindInt(object, {"spec", "maxSize"});
  group.target = FindInt(object, {"spec", "targetSize"}, group.min);
  if (IsThere(Find(object, {"spec", "cloud", "quota"}))) group.quota = FindInt(object, {"spec", "cloud", "quota"});
  for (std::string& id : base::FindTexts(object, {"spec", "deleting"})) group.deleting.insert(std::move(id));
  const kube::ResourceList amounts = kube::DecodeResourceList(Find(object, {"spec", "template", "status", "allocatable"}));
  group.milli_cores = AmountOf(amounts, "cpu");
  group.bytes = AmountOf(amounts, "memory");
  if (Find(object, {"spec", "pricePerHour"}) != nullptr) group.price = NumberAt(object, {"spec", "pricePerHour"});
  return group;
}

MemberBook::BalancingPlan MemberBook::DecodePlan(const Json& object) {
  BalancingPlan plan;
  plan.executing = FindString(object, {"status", "phase"}) == "Executing";
  plan.energy_before = NumberAt(object, {"spec", "energyBefore"});
  plan.energy_after = NumberAt(object, {"spec", "energyAfter"});
  const base::JsonArray& states = FindArray(object, {"status", "actions"});
  for (const Json& action : FindArray(object, {"spec", "actions"})) {
    const size_t index = plan.movements.size();
    plan.movements.push_back({.pod_uid = std::string(FindString(action, {"podUid"})),
                              .owner = std::string(FindString(action, {"ownerUid"})),
                              .from = std::string(FindString(action, {"from"})),
                              .to = std::string(FindString(action, {"to"})),
                              .state = index < states.size() ? std::string(FindString(states[index], {"state"})) : "",
                              .reason = std::string(FindString(action, {"reason"})),
                              .gain = NumberAt(action, {"energyGain"})});
  }
  return plan;
}

void MemberBook::TakePod(Member& member, const std::string& name, const Json& object, base::Instant now) {
  Pod pod = DecodePod(object);
  const auto before = member.pods.find(name);
  const bool known = before != member.pods.end() && before->second.uid == pod.uid;
  pod.since = known ? before->second.since : now;
  pod.placed = known && before->second.node == pod.node ? before->second.placed : now;
  if (known && before->second.node.empty() && !pod.node.empty()) counts_.waited.push_back(now - pod.since);
  if (pod.live && pod.node.empty()) {
    member.pending.insert(name);
  } else {
    member.pending.erase(name);
  }
  member.pods.insert_or_assign(name, std::move(pod));
}

void MemberBook::See(const std::string& api, const embedded::store::Event& event, base::Instant now) {
  const std::string& key = event.current.key;
  const std::string pod = NameOfKey(key, "pods"), group = NameOfKey(key, "nodegroups"),
                    budget = NameOfKey(key, "poddisruptionbudgets"), plan = NameOfKey(key, "balancingplans");
  std::string node = NameOfKey(key, "nodes");
  if (node.empty()) node = NameOfKey(key, "minions");
  if (pod.empty() && group.empty() && budget.empty() && plan.empty() && node.empty()) return;
  const std::optional<Json> object = ObjectOf(event);
  Member& member = members_[api];
  if (!node.empty() && object) counts_.joined += member.nodes.contains(node) ? 0 : 1;
  if (!node.empty() && !object) counts_.gone += member.nodes.contains(node) ? 1 : 0;
  if (!pod.empty() && !object) member.pending.erase(pod);
  Take(member.pods, pod, object, [&](const Json& json) { TakePod(member, pod, json, now); }) ||
      Take(member.groups, group, object,
           [&](const Json& json) {
             Group& known = member.groups[group];
             const auto failed = std::exchange(known, DecodeGroup(json)).failed;
             for (const Json& instance : FindArray(json, {"status", "instances"})) {
               const std::string id(FindString(instance, {"id"}));
               member.instances.try_emplace(id, now);
               if (FindString(instance, {"state"}) != "Creating" || FindString(instance, {"errorClass"}).empty()) continue;
               const auto before = failed.find(id);
               known.failed.emplace(id, before == failed.end() ? now : before->second);
             }
           }) ||
      Take(member.nodes, node, object,
           [&](const Json& json) {
             const std::string id(FindString(json, {"spec", "providerID"}));
             const auto begun = member.instances.find(id);
             const base::Duration took = begun == member.instances.end() ? 0s : now - begun->second;
             TakeNode(member.nodes.try_emplace(node, Node{.provider_id = id, .since = now, .took = took}).first->second, json);
           }) ||
      Take(member.plans, plan, object, [&](const Json& json) { member.plans[plan] = DecodePlan(json); }) ||
      Take(member.budgets, budget, object, [&](const Json& json) {
        const Json* least = Find(json, {"spec", "minAvailable"});
        const Json* selector = Find(json, {"spec", "selector"});
        if (least == nullptr || !least->is_int64() || selector == nullptr) return;
        member.budgets[budget] = {std::string(kube::NamespaceOf(json)),
                                  kube::LabelSelector::FromJson(*selector).value_or(kube::LabelSelector::Nothing()),
                                  least->get_int64()};
      });
}

const MemberBook::Member& MemberBook::Of(const std::string& api) const {
  static const Member nothing;
  const auto found = members_.find(api);
  return found == members_.end() ? nothing : found->second;
}

}  // namespace evenkeel::sim
