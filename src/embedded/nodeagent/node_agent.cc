#include "embedded/nodeagent/node_agent.h"

#include <set>

#include "base/log.h"
#include "client/event_recorder.h"
#include "client/informer.h"
#include "embedded/nodeagent/address_pool.h"
#include "embedded/nodeagent/container_environment.h"
#include "embedded/nodeagent/node_keeper.h"
#include "embedded/nodeagent/pod_worker.h"

namespace evenkeel::embedded::nodeagent {
namespace {

using base::Json;
using kube::Pod;
using PodInformer = client::Informer<Pod>;

constexpr char kRuntimeAnnotation[] = "evenkeel.dev/runtime";

kube::ResourceList DecodeAmounts(const NodeConfig& config) {
  Json object = base::JsonObject();
  for (const auto& [name, amount] : config.allocatable.empty() ? config.capacity : config.allocatable)
    object.get_object()[name] = amount;
  return kube::DecodeResourceList(&object);
}

struct AgentNode {
  NodeConfig config;
  kube::ResourceList allocatable, used;
  AddressPool pod_addresses, loopback_addresses;
  std::unique_ptr<client::EventRecorder> events;
  std::unique_ptr<NodeKeeper> keeper;  ///< null while the node is stopped
};

struct AgentPod {
  std::string node;
  kube::ResourceList requests;  ///< empty once released
  std::unique_ptr<PodWorker> worker;
};

// Watches the ConfigMaps and Secrets of one namespace that has process pods with such volumes.
struct ConfigurationWatch {
  std::unique_ptr<client::Informer<kube::DataObject>> maps, secrets;
};

}  // namespace

struct NodeAgent::State {
  NodeAgentOptions options;
  std::map<std::string, AgentNode> nodes;
  std::map<std::string, AgentPod> pods;
  std::unique_ptr<PodInformer> informer;
  std::map<std::string, ConfigurationWatch> configuration;
  std::set<std::string> pending;  ///< keys of pods to look at
  bool pass_posted = false;
  bool narrow = false;      ///< the informer shows one node's pods only
  bool reconciled = false;  ///< what is left from before the informer's first list has been cleaned up
  std::shared_ptr<bool> alive = std::make_shared<bool>(true);

  base::Status Add(const NodeConfig& config);
  void StartInformer();
  void PostPass();
  void Pass();
  void Reconcile();
  bool Take(const std::string& key);
  void Admit(AgentPod& entry, const Pod& pod);
  void WatchConfiguration(const Pod& pod);
  void ConfigurationChanged(const std::string& ns, const std::string& reference);
  void Release(const std::string& key);
  void Drop(const std::string& key);
  void StopNode(AgentNode& node);
  void StartNode(AgentNode& node);
  ContainerRuntime& RuntimeOf(const Pod& pod) const;
};

base::Status NodeAgent::State::Add(const NodeConfig& config) {
  if (const std::string problem = kube::CheckDnsSubdomain(config.name); !problem.empty()) {
    return base::Fail(base::Code::kInvalid, fmt::format("node name \"{}\": {}", config.name, problem));
  }
  if (nodes.contains(config.name))
    return base::Fail(base::Code::kAlreadyExists, fmt::format("node \"{}\" is there already", config.name));
  AgentNode node;
  node.config = config;
  node.allocatable = DecodeAmounts(config);
  EVENKEEL_ASSIGN(node.pod_addresses, AddressPool::Parse(config.pod_cidr));
  EVENKEEL_ASSIGN(node.loopback_addresses, AddressPool::Parse(config.loopback_cidr));
  if (options.events) {
    node.events = std::make_unique<client::EventRecorder>(*options.client, options.strand, *options.clock,
                                                          options.random.Fork("events/" + config.name), "kubelet", config.name);
  }
  AgentNode& added = nodes.emplace(config.name, std::move(node)).first->second;
  StartNode(added);
  return {};
}

// One node asks the API for its own pods only; several share a watch of all that are bound.
void NodeAgent::State::StartInformer() {
  narrow = nodes.size() == 1;
  reconciled = false;
  client::InformerOptions selection;
  selection.field_selector = narrow ? "spec.nodeName=" + nodes.begin()->first : "spec.nodeName!=";
  informer = std::make_unique<PodInformer>(*options.client, kube::resources::Pods(), selection, options.strand, *options.clock,
                                           options.random.Fork("pods"));
  informer->AddHandler([this](const PodInformer::Pointer& before, const PodInformer::Pointer& after) {
    pending.insert(after != nullptr ? after->meta.Key() : before->meta.Key());
    PostPass();
  });
  informer->Start();
}

// What a batch of events says is looked at once, after the last of them: addresses that pods have are known before one is given
// away.
void NodeAgent::State::PostPass() {
  if (std::exchange(pass_posted, true)) return;
  options.strand->Post([this, weak = std::weak_ptr(alive)] {
    if (!weak.expired()) Pass();
  });
}

void NodeAgent::State::Pass() {
  pass_posted = false;
  std::vector<std::string> fresh;
  for (const std::string& key : std::exchange(pending, {})) {
    if (Take(key)) fresh.push_back(key);
  }
  for (const std::string& key : fresh) {
    AgentPod& entry = pods.at(key);
    Admit(entry, entry.worker->pod());
  }
  Reconcile();
}

// Once after the first list: pods that went while nobody watched are forgotten, and so is what runtimes keep for pods long
// gone.
void NodeAgent::State::Reconcile() {
  if (reconciled || informer == nullptr || !informer->synced()) return;
  reconciled = true;
  std::set<std::string> uids;
  std::vector<std::string> gone;
  for (const auto& [key, entry] : pods) {
    uids.insert(entry.worker->pod().meta.uid);
    if (informer->Get(key) == nullptr) gone.push_back(key);
  }
  for (const std::string& key : gone) Drop(key);
  for (const auto& [name, runtime] : options.runtimes) runtime->RetainPods(uids);
}

// Brings one pod's worker in line with the informer; true when it is new and has to be admitted.
bool NodeAgent::State::Take(const std::string& key) {
  const PodInformer::Pointer pod = informer->Get(key);
  const auto known = pods.find(key);
  if (known != pods.end()) {
    if (pod != nullptr && pod->meta.uid == known->second.worker->pod().meta.uid) {
      known->second.worker->Update(pod);
      return false;
    }
    Drop(key);
  }
  if (pod == nullptr) return false;
  const auto found = nodes.find(pod->node_name);
  if (found == nodes.end() || found->second.keeper == nullptr) return false;
  AgentNode& node = found->second;
  WorkerHost host{*options.client,
                  options.strand,
                  *options.clock,
                  node.events.get(),
                  options.logs,
                  node.config.name,
                  node.config.internal_ip,
                  node.allocatable,
                  [&node](bool loopback) { return (loopback ? node.loopback_addresses : node.pod_addresses).Allocate(); },
                  [this, key] { Release(key); }};
  ContainerRuntime& runtime = RuntimeOf(*pod);
  if (!pod->pod_ip.empty() && !pod->terminal()) {
    (runtime.UsesLoopback() ? node.loopback_addresses : node.pod_addresses).Reserve(pod->pod_ip);
  }
  AgentPod& entry = pods[key];
  entry.node = node.config.name;
  entry.worker = std::make_unique<PodWorker>(std::move(host), runtime, pod);
  if (runtime.NeedsConfiguration()) WatchConfiguration(*pod);
  return true;
}

// The kubelet's last word on what the scheduler decided: a pod that does not fit fails. What has been running keeps its place.
void NodeAgent::State::Admit(AgentPod& entry, const Pod& pod) {
  AgentNode& node = nodes.at(entry.node);
  const bool begun = base::Find(*pod.json, {"status", "startTime"}) != nullptr;
  if (pod.terminal()) return entry.worker->Begin();
  kube::ResourceList requests = pod.Requests();
  // Where a claim for devices stands behind a resource, the node has no amount of it.
  for (const Json& mapping : base::FindArray(*pod.json, {"status", "extendedResourceClaimStatus", "requestMappings"})) {
    requests.erase(std::string(base::FindString(mapping, {"resourceName"})));
  }
  for (const auto& [resource, amount] : requests) {
    if (begun || amount <= 0) continue;
    const auto have = node.allocatable.find(resource);
    const int64_t capacity = have == node.allocatable.end() ? 0 : have->second;
    const int64_t used = node.used[resource];
    if (used + amount <= capacity) continue;
    entry.worker->Reject(
        "OutOf" + resource,
        fmt::format("Pod was rejected: Node didn't have enough resource: {}, requested: {}, used: {}, capacity: {}", resource,
                    amount, used, capacity));
    return;
  }
  entry.requests = requests;
  for (const auto& [resource, amount] : requests) node.used[resource] += amount;
  entry.worker->Begin();
}

ContainerRuntime& NodeAgent::State::RuntimeOf(const Pod& pod) const {
  const auto annotation = pod.meta.annotations.find(kRuntimeAnnotation);
  if (annotation == pod.meta.annotations.end()) return *options.simulated;
  const auto runtime = options.runtimes.find(annotation->second);
  return runtime == options.runtimes.end() ? *options.simulated : *runtime->second;
}

void NodeAgent::State::WatchConfiguration(const Pod& pod) {
  if (VolumeReferences(*pod.json).empty() || configuration.contains(pod.meta.ns)) return;
  ConfigurationWatch& watch = configuration[pod.meta.ns];
  const auto open = [&](const kube::Resource& resource, std::string_view kind) {
    auto opened = std::make_unique<client::Informer<kube::DataObject>>(
        *options.client, resource, client::InformerOptions{.ns = pod.meta.ns, .label_selector = {}, .field_selector = {}},
        options.strand, *options.clock, options.random.Fork(fmt::format("{}/{}", kind, pod.meta.ns)));
    opened->AddHandler([this, ns = pod.meta.ns, kind = std::string(kind)](const auto&, const auto& after) {
      if (after != nullptr) ConfigurationChanged(ns, kind + "/" + after->meta.name);
    });
    opened->Start();
    return opened;
  };
  watch.maps = open(kube::resources::ConfigMaps(), "configmap");
  watch.secrets = open(kube::resources::Secrets(), "secret");
}

void NodeAgent::State::ConfigurationChanged(const std::string& ns, const std::string& reference) {
  for (auto entry = pods.lower_bound(ns + "/"); entry != pods.end() && entry->first.starts_with(ns + "/"); ++entry) {
    entry->second.worker->ConfigurationChanged(reference);
  }
}

void NodeAgent::State::Release(const std::string& key) {
  const auto found = pods.find(key);
  // A pod that holds nothing (it had ended before, or was rejected) has no address either: its old one may be another's by now.
  if (found == pods.end() || found->second.requests.empty()) return;
  AgentNode& node = nodes.at(found->second.node);
  for (const auto& [resource, amount] : std::exchange(found->second.requests, {})) node.used[resource] -= amount;
  const PodWorker& worker = *found->second.worker;
  (worker.uses_loopback() ? node.loopback_addresses : node.pod_addresses).Release(worker.address());
}

void NodeAgent::State::Drop(const std::string& key) {
  const auto found = pods.find(key);
  Release(key);
  found->second.worker->Forget();
  pods.erase(found);
}

void NodeAgent::State::StopNode(AgentNode& node) {
  node.keeper.reset();
  std::erase_if(pods, [&](const auto& entry) { return entry.second.node == node.config.name; });
  node.used.clear();
  node.pod_addresses = *AddressPool::Parse(node.config.pod_cidr);
  node.loopback_addresses = *AddressPool::Parse(node.config.loopback_cidr);
}

void NodeAgent::State::StartNode(AgentNode& node) {
  if (node.keeper != nullptr) return;
  NodeKeeperOptions keeper;
  keeper.client = options.client;
  keeper.strand = options.strand;
  keeper.clock = options.clock;
  keeper.random = options.random.Fork("node");
  keeper.reregister = options.reregister;
  keeper.lease_period = options.lease_period;
  keeper.lease_duration = options.lease_duration;
  keeper.status_period = options.status_period;
  node.keeper = std::make_unique<NodeKeeper>(std::move(keeper), node.config);
  node.keeper->Start();
  if (informer == nullptr) return;
  for (const auto& [key, pod] : informer->items()) {
    if (pod->node_name == node.config.name) pending.insert(key);
  }
  PostPass();
}

NodeAgent::NodeAgent(NodeAgentOptions options) : state_(std::make_unique<State>()) { state_->options = std::move(options); }

NodeAgent::~NodeAgent() = default;

base::Status NodeAgent::Start() {
  for (const NodeConfig& config : state_->options.nodes) EVENKEEL_TRY(state_->Add(config));
  state_->StartInformer();
  return {};
}

base::Status NodeAgent::AddNode(const NodeConfig& config) {
  EVENKEEL_TRY(state_->Add(config));
  if (state_->informer != nullptr && state_->narrow) state_->StartInformer();
  return {};
}

void NodeAgent::RemoveNode(const std::string& name, bool delete_object) {
  const auto found = state_->nodes.find(name);
  if (found == state_->nodes.end()) return;
  state_->StopNode(found->second);
  state_->nodes.erase(found);
  if (!delete_object) return;
  const auto deleted = state_->options.client->Delete(kube::resources::Nodes(), "", name);
  if (!deleted && deleted.error().code() != base::Code::kNotFound) {
    base::log::Warn("node not deleted", {{"node", name}, {"error", deleted.error()}});
  }
}

void NodeAgent::SetDevices(const std::string& name, const std::vector<Json>& slices) {
  const auto found = state_->nodes.find(name);
  if (found == state_->nodes.end() || found->second.config.slices == slices) return;
  found->second.config.slices = slices;
  if (found->second.keeper != nullptr) found->second.keeper->SetDevices(slices);
}

void NodeAgent::StopNode(const std::string& name) {
  const auto found = state_->nodes.find(name);
  if (found != state_->nodes.end()) state_->StopNode(found->second);
}

void NodeAgent::StartNode(const std::string& name) {
  const auto found = state_->nodes.find(name);
  if (found != state_->nodes.end()) state_->StartNode(found->second);
}

size_t NodeAgent::pods() const { return state_->pods.size(); }

}  // namespace evenkeel::embedded::nodeagent
