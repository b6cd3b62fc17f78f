#include "controllers/autoscaler/facts/node_templates.h"

#include "base/parse_number.h"
#include "controllers/autoscaler/facts/facts.h"
#include "scheduling/well_known.h"

namespace evenkeel::controllers::autoscaler {
namespace {

using base::Json;
using base::JsonArray;
using base::JsonObject;
using scheduling::kNone;
using scheduling::NodeId;

constexpr base::Duration kSettled = std::chrono::minutes(1);
constexpr base::Duration kCacheRefresh = std::chrono::minutes(1);
constexpr const char* kTemplateLabel = "cluster-autoscaler.kubernetes.io/template-node";
constexpr std::array<std::string_view, 3> kTransientPrefixes = {"ignore-taint.cluster-autoscaler.kubernetes.io/",
                                                                "startup-taint.cluster-autoscaler.kubernetes.io/",
                                                                "status-taint.cluster-autoscaler.kubernetes.io/"};
constexpr std::array<std::string_view, 13> kTransientTaints = {
    scheduling::kToBeDeletedTaint,
    scheduling::kDeletionCandidateTaint,
    "node.kubernetes.io/not-ready",
    "node.kubernetes.io/unreachable",
    "node.kubernetes.io/unschedulable",
    "node.kubernetes.io/memory-pressure",
    "node.kubernetes.io/disk-pressure",
    "node.kubernetes.io/pid-pressure",
    "node.kubernetes.io/network-unavailable",
    "node.cloudprovider.kubernetes.io/uninitialized",
    "node.cloudprovider.kubernetes.io/shutdown",
    "cloud.google.com/impending-node-termination",
    "NodeWithImpairedVolumes",
};
bool Contains(const std::vector<std::string>& list, std::string_view key) { return std::ranges::find(list, key) != list.end(); }

/// Labels that nodes carry under two names.
void CopyDeprecatedLabels(kube::Labels& labels) {
  constexpr std::array<std::pair<const char*, const char*>, 3> kNames = {
      {{"node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type"},
       {"topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region"},
       {"topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"}}};
  for (const auto& [stable, deprecated] : kNames) {
    if (const auto found = labels.find(stable); found != labels.end()) labels[deprecated] = found->second;
  }
}

Json DaemonPod(const Json& daemon_set) {
  Json pod = JsonObject{};
  JsonObject& meta = base::Ensure(pod, {"metadata"}).emplace_object();
  meta["name"] = std::string(kube::NameOf(daemon_set)) + "-pod";
  meta["namespace"] = kube::NamespaceOf(daemon_set);
  meta["labels"] = base::FindObject(daemon_set, {"spec", "template", "metadata", "labels"});
  base::Ensure(pod, {"spec"}) = base::FindObject(daemon_set, {"spec", "template", "spec"});
  return pod;
}

/// "DRIVER=LIMIT,..."; 0 is no limit, and what is not written so says nothing.
std::shared_ptr<const scheduling::VolumeLimits> AnnotatedLimits(const Json& node) {
  std::string_view text = base::FindString(node, {"metadata", "annotations", providers::kCsiDriverAnnotation});
  scheduling::VolumeLimits limits;
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(item.size() + 1, text.size()));
    const size_t equals = item.find('=');
    if (equals == std::string_view::npos || equals == 0) continue;
    const auto limit = base::ParseNumber<int64_t>(item.substr(equals + 1));
    if (limit && *limit > 0) limits[std::string(item.substr(0, equals))] = *limit;
  }
  return limits.empty() ? nullptr : std::make_shared<const scheduling::VolumeLimits>(std::move(limits));
}

/// As the DaemonSet controller decides: name, node affinity and taints, not room.
bool RunsOn(const Json& pod, const kube::Node& node) {
  scheduling::PodSpec spec = scheduling::DecodePodSpec(pod, false);
  const auto tolerate = [&](const char* key, const char* effect) {
    spec.tolerations.push_back({std::string("node.kubernetes.io/") + key, "Exists", "", effect, std::nullopt});
  };
  for (const char* key : {"not-ready", "unreachable"}) tolerate(key, "NoExecute");
  for (const char* key : {"disk-pressure", "memory-pressure", "pid-pressure", "unschedulable"}) tolerate(key, "NoSchedule");
  if (base::FindBool(pod, {"spec", "hostNetwork"})) tolerate("network-unavailable", "NoSchedule");
  const std::string_view wanted = base::FindString(pod, {"spec", "nodeName"});
  const auto hostname = node.meta.labels.find(std::string(scheduling::kHostnameLabel));
  const scheduling::NodeLabels labels{node.meta.labels, hostname == node.meta.labels.end() ? nullptr : &hostname->second,
                                      node.meta.name};
  return (wanted.empty() || wanted == node.meta.name) && spec.nodes.Matches(labels) &&
         scheduling::UntoleratedTaint(spec.tolerations, node.taints) == nullptr;
}

/// A DaemonSet whose pods make room for themselves, so that they will run on a node that has none of them yet.
bool Preempts(const Json& daemon_set) {
  const std::string_view policy = base::FindString(daemon_set, {"spec", "template", "spec", "preemptionPolicy"});
  return base::FindString(daemon_set, {"spec", "template", "spec", "priorityClassName"}) == "system-node-critical" &&
         (policy.empty() || policy == "PreemptLowerPriority");
}

/// A pod that takes what the class's pods take and is seen by the same selectors.
Json StandIn(const scheduling::PodClass& pod_class) {
  Json pod = JsonObject{};
  JsonObject labels, requests;
  for (const auto& [key, value] : *pod_class.labels) labels[key] = value;
  for (const auto& [name, amount] : pod_class.spec->spec.requests) {
    requests[name] = std::to_string(amount) + (name == "cpu" ? "m" : "");
  }
  JsonArray ports;
  for (const scheduling::HostPort& port : pod_class.spec->spec.ports) {
    ports.push_back(
        JsonObject{{"hostPort", port.port}, {"containerPort", port.port}, {"hostIP", port.ip}, {"protocol", port.protocol}});
  }
  base::Ensure(pod, {"metadata"}) = JsonObject{{"name", "template-pod"}, {"namespace", pod_class.ns}, {"labels", labels}};
  const JsonObject container{{"name", "c"}, {"resources", JsonObject{{"requests", requests}}}, {"ports", ports}};
  JsonObject& spec = base::Ensure(pod, {"spec"}).emplace_object();
  spec["containers"] = JsonArray{container};
  JsonArray claims;
  for (size_t i = 0; pod_class.devices != nullptr && i < pod_class.devices->claims.size(); ++i) {
    const scheduling::PodDeviceClaim& claim = pod_class.devices->claims[i];
    if (claim.not_needed) continue;
    // Without a uid it has claims by the template, not those that were made for another pod.
    const bool own = !claim.template_name.empty();
    claims.push_back(
        JsonObject{{"name", claim.name},
                   {own ? "resourceClaimTemplateName" : "resourceClaimName", own ? claim.template_name : claim.claim}});
  }
  if (!claims.empty()) spec["resourceClaims"] = std::move(claims);
  return pod;
}

}  // namespace

bool IsTransientTaint(const Options& options, std::string_view key) {
  if (std::ranges::find(kTransientTaints, key) != kTransientTaints.end()) return true;
  const auto starts = [key](std::string_view prefix) { return key.starts_with(prefix); };
  return std::ranges::any_of(kTransientPrefixes, starts) || std::ranges::any_of(options.startup_taint_prefixes, starts) ||
         Contains(options.startup_taints, key) || Contains(options.status_taints, key) || Contains(options.ignore_taints, key);
}

Gpus GpusOf(const kube::Node& node, const std::string& gpu_label) {
  const auto label = gpu_label.empty() ? node.meta.labels.end() : node.meta.labels.find(gpu_label);
  std::string type = label == node.meta.labels.end() ? "" : label->second;
  for (const std::string_view name : kGpuResources) {
    const auto found = node.capacity.find(std::string(name));
    if (found == node.capacity.end() || found->second == 0) continue;
    return {type.empty() ? std::string(name) : type, std::string(name), found->second};
  }
  return {type, "", 0};
}

NodeId AddTemplateNode(scheduling::Snapshot& snapshot, const NodeTemplate& node_template, std::string name) {
  while (snapshot.FindNodeByName(name) != kNone) name += "-x";
  const NodeId node = snapshot.AddNode(node_template.id, name);
  for (const scheduling::Copies& copies : node_template.pods) snapshot.PlaceCopies(copies.pod_class, node, copies.pods);
  return node;
}

NodeTemplates::~NodeTemplates() {
  for (auto& [group, entry] : entries_) Release(entry);
}

void NodeTemplates::Release(Entry& entry) {
  if (entry.made.id != kNone) snapshot_->ReleaseTemplate(entry.made.id);
  for (const scheduling::ClassId held : entry.held) snapshot_->ReleaseClass(held);
}

kube::Node NodeTemplates::Sanitize(const std::string& group, kube::Node node) const {
  node.meta.name = "template-node-for-" + group;
  node.meta.uid.clear();
  node.provider_id.clear();
  node.unschedulable = false;
  node.ready = true;
  node.meta.labels[std::string(scheduling::kHostnameLabel)] = node.meta.name;
  node.meta.labels[kTemplateLabel] = "true";
  std::erase_if(node.taints, [this](const kube::Taint& taint) { return IsTransientTaint(options_, taint.key); });
  return node;
}

const std::map<std::string, NodeTemplates::Sources, std::less<>>& NodeTemplates::FindSources(const ClusterView& view) {
  if (view.nodes_revision != 0 && sources_of_ == view.nodes_revision && sources_hold_.At(view.now)) return sources_;
  const LoopTime now = view.now.Part();
  std::unordered_map<base::SharedText, Sources, base::SharedText::Hash> found;
  const auto better = [&](NodeId& best, NodeId node) {
    if (best == kNone || (*view.nodes)[node].name < (*view.nodes)[best].name) best = node;
  };
  for (NodeId node = 0; node < view.nodes->size(); ++node) {
    const NodeFacts& facts = (*view.nodes)[node];
    if (!facts.present || facts.group.empty() || !snapshot_->Present(node)) continue;
    Sources& sources = found[facts.group];
    const bool healthy = facts.ready && !snapshot_->Unschedulable(node);
    if (healthy && facts.last_transition + kSettled < now && !facts.to_be_deleted) {
      better(sources.good, node);
    } else if (!healthy) {
      better(sources.unready, node);
    }
  }
  sources_.clear();
  for (const auto& [group, nodes] : found) sources_.emplace(group.text(), nodes);
  sources_of_ = view.nodes_revision;
  sources_hold_ = Holding(now);
  view.now.Join(now.HoldsUntil());
  return sources_;
}

void NodeTemplates::Update(const ClusterView& view, const NodeObjects& objects) {
  std::map<std::string, Entry, std::less<>> made;
  const auto& sources = FindSources(view);
  cache_changes_ += std::erase_if(cache_, [&](const auto& item) {
    return item.second.at + options_.node_info_cache_expire_time < view.now || view.groups.Find(item.first) == nullptr;
  });
  for (const providers::NodeGroup& group : view.groups.groups) {
    const auto known = sources.find(group.id);
    const NodeId good = known == sources.end() ? kNone : known->second.good;
    if (const kube::Node* object = good == kNone ? nullptr : objects(good)) {
      Entry entry = FromNode(view, group.id, good, *object);
      Remember(entry, view.now.Read());
      made.emplace(group.id, std::move(entry));
      continue;
    }
    if (const auto cached = cache_.find(group.id); cached != cache_.end()) {
      made.emplace(group.id, FromCache(group.id, cached->second));
      continue;
    }
    if (group.template_node && group.template_node->is_object()) {
      made.emplace(group.id, FromProvider(view, group));
      continue;
    }
    const NodeId unready = known == sources.end() ? kNone : known->second.unready;
    if (const kube::Node* object = unready == kNone ? nullptr : objects(unready)) {
      Entry entry = FromNode(view, group.id, unready, *object);
      entry.made.source = NodeTemplate::Source::kUnreadyNode;
      made.emplace(group.id, std::move(entry));
    }
  }
  NoteDevices(made);
  // The new ones are there before the old ones go: what both need is kept, with all that is known about it.
  std::swap(entries_, made);
  for (auto& [group, entry] : made) Release(entry);
}

void NodeTemplates::Set(const std::string& group, kube::Node node, std::span<const Json> pods) {
  Entry entry = FromParts(group, Sanitize(group, std::move(node)), pods);
  Finish(entry);
  entry.made.source = NodeTemplate::Source::kProvider;
  if (const auto old = entries_.find(group); old != entries_.end()) {
    Release(old->second);
    entries_.erase(old);
  }
  entries_.emplace(group, std::move(entry));
}

const NodeTemplate* NodeTemplates::Find(std::string_view group) const {
  const auto found = entries_.find(group);
  return found == entries_.end() ? nullptr : &found->second.made;
}

DevicePools NodeTemplates::PoolsSeen(std::string_view group) const {
  const NodeTemplate* made = Find(group);
  if (made != nullptr) return made->source == NodeTemplate::Source::kUnreadyNode ? DevicePools() : made->device_pools;
  const auto cached = cache_.find(group);
  return cached == cache_.end() || cached->second.slices == nullptr ? DevicePools() : CompletePools(*cached->second.slices);
}

NodeTemplates::Entry NodeTemplates::FromNode(const ClusterView& view, const std::string& group, NodeId node,
                                             const kube::Node& object) {
  Entry entry;
  entry.made.group = group;
  entry.made.node = Sanitize(group, object);
  entry.made.source_node = object.meta.name;
  if (const scheduling::VolumeLimits* limits = snapshot_->VolumeLimitsOf(node)) {
    entry.made.volume_limits = std::make_shared<const scheduling::VolumeLimits>(*limits);
  }
  SetSlices(entry, snapshot_->SlicesFor(node));
  std::vector<std::string> running;
  for (const scheduling::PodId pod : snapshot_->PodsOn(node)) {
    const PodFacts& facts = (*view.pods)[pod];
    if (!facts.daemon && !facts.mirror) continue;
    if (facts.daemon) running.push_back(facts.owner_uid);
    AddPod(entry, snapshot_->ClassOf(pod));
  }
  AddDaemons(view, entry, running, options_.force_ds);
  Finish(entry);
  return entry;
}

NodeTemplates::Entry NodeTemplates::FromParts(const std::string& group, kube::Node node, std::span<const Json> pods) {
  Entry entry;
  entry.made.group = group;
  entry.made.node = std::move(node);
  for (const Json& pod : pods) {
    entry.held.push_back(snapshot_->InternClass(pod));
    AddPod(entry, entry.held.back());
  }
  return entry;
}

NodeTemplates::Entry NodeTemplates::FromCache(const std::string& group, const Cached& cached) {
  Entry entry = FromParts(group, cached.node, cached.pods);
  entry.made.source = NodeTemplate::Source::kCache;
  entry.made.source_node = cached.source_node;
  entry.made.volume_limits = cached.volume_limits;
  entry.made.slices = cached.slices;
  if (cached.slices != nullptr) entry.made.device_pools = CompletePools(*cached.slices);
  Finish(entry);
  return entry;
}

void NodeTemplates::SetSlices(Entry& entry, scheduling::NodeSlices slices) {
  if (slices.empty()) return;
  const auto before = entries_.find(entry.made.group);
  if (before != entries_.end() && before->second.slices_of == slices) {
    entry.made.slices = before->second.made.slices;
    entry.made.device_pools = before->second.made.device_pools;
  } else {
    entry.made.slices = scheduling::SlicesOfNewNodes(slices);
    entry.made.device_pools = CompletePools(slices);
  }
  entry.slices_of = std::move(slices);
}

void NodeTemplates::SetSlices(Entry& entry, const Json& template_node) {
  const Json* given = base::Find(template_node, {"resourceSlices"});
  if (given == nullptr) return;
  const auto before = entries_.find(entry.made.group);
  entry.slices_in = Json(*given, {});
  if (before != entries_.end() && before->second.slices_in == *given) {
    entry.made.slices = before->second.made.slices;
    entry.made.device_pools = before->second.made.device_pools;
    return;
  }
  scheduling::NodeSlices slices;
  for (const Json& slice : SlicesOfTemplate(template_node, entry.made.group)) slices.push_back(snapshot_->DecodeSlice(slice));
  entry.made.slices = scheduling::SlicesOfNewNodes(slices);
  entry.made.device_pools = CompletePools(slices);
}

void NodeTemplates::NoteDevices(const std::map<std::string, Entry, std::less<>>& made) {
  const auto differs = [](const auto& from, const auto& to) {
    return std::ranges::any_of(from, [&](const auto& entry) {
      const auto found = to.find(entry.first);
      const DevicePools& pools = entry.second.made.device_pools;
      return found == to.end() ? !pools.empty() : found->second.made.device_pools != pools;
    });
  };
  if (differs(entries_, made) || differs(made, entries_)) ++device_changes_;
}

NodeTemplates::Entry NodeTemplates::FromProvider(const ClusterView& view, const providers::NodeGroup& group) {
  Entry entry;
  entry.made.group = group.id;
  entry.made.source = NodeTemplate::Source::kProvider;
  entry.made.node = Sanitize(group.id, kube::Node::Decode(*group.template_node));
  entry.made.volume_limits = AnnotatedLimits(*group.template_node);
  SetSlices(entry, *group.template_node);
  CopyDeprecatedLabels(entry.made.node.meta.labels);
  AddDaemons(view, entry, {}, true);
  Finish(entry);
  return entry;
}

void NodeTemplates::AddDaemons(const ClusterView& view, Entry& entry, const std::vector<std::string>& running, bool all) {
  if (view.daemon_sets == nullptr) return;
  for (const Json& daemon_set : *view.daemon_sets) {
    if (!all && !Preempts(daemon_set)) continue;
    if (Contains(running, kube::UidOf(daemon_set))) continue;
    const Json pod = DaemonPod(daemon_set);
    if (!RunsOn(pod, entry.made.node)) continue;
    entry.held.push_back(snapshot_->InternClass(pod));
    AddPod(entry, entry.held.back());
  }
}

void NodeTemplates::AddPod(Entry& entry, scheduling::ClassId pod_class) const {
  for (const scheduling::Amount& amount : snapshot_->Requests(pod_class)) {
    if (amount.resource != scheduling::kPods) entry.made.requested[snapshot_->ResourceName(amount.resource)] += amount.amount;
  }
  auto& pods = entry.made.pods;
  const auto known = std::ranges::find(pods, pod_class, &scheduling::Copies::pod_class);
  if (known != pods.end()) {
    ++known->pods;
  } else {
    pods.push_back({pod_class, 1});
  }
}

void NodeTemplates::Finish(Entry& entry) {
  entry.made.id = snapshot_->InternTemplate(entry.made.node, entry.made.volume_limits, entry.made.slices);
}

void NodeTemplates::PassLoop(base::Time now) {
  for (const auto& [group, entry] : entries_) {
    if (entry.made.source == NodeTemplate::Source::kNode) Remember(entry, now);
  }
}

void NodeTemplates::Remember(const Entry& entry, base::Time now) {
  Cached& cached = cache_[entry.made.group];
  if (cached.source_node == entry.made.source_node && cached.at + kCacheRefresh > now) return;
  Cached made{entry.made.node, {}, entry.made.volume_limits, entry.made.slices, entry.made.source_node, now};
  for (const scheduling::Copies& copies : entry.made.pods) {
    const Json pod = StandIn(snapshot_->classes()[copies.pod_class]);
    made.pods.insert(made.pods.end(), static_cast<size_t>(copies.pods), pod);
  }
  if (!Same(cached, made)) ++cache_changes_;
  cached = std::move(made);
}

}  // namespace evenkeel::controllers::autoscaler
