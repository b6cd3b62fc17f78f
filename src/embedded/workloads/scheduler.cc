#include "embedded/workloads/scheduler.h"

#include <algorithm>

#include "embedded/workloads/node_fit.h"

namespace evenkeel::embedded::workloads {
namespace {

using base::Json;
using base::JsonObject;

int64_t AmountOf(const kube::ResourceList& list, const std::string& name) {
  auto found = list.find(name);
  return found == list.end() ? 0 : found->second;
}

void HostPorts(const kube::Pod& pod, const std::function<void(const std::string&)>& visit) {
  for (const kube::Container& container : pod.containers) {
    for (const kube::ContainerPort& port : container.ports) {
      if (port.host_port > 0) visit(port.protocol + "/" + std::to_string(port.host_port));
    }
  }
}

const std::string kUnschedulableTaint = "node.kubernetes.io/unschedulable";

}  // namespace

PodAsk::PodAsk(const kube::Pod& pod) : requests(pod.Requests()) {
  for (const auto& [name, amount] : requests) {
    if (name == "cpu") {
      cpu = amount;
    } else if (name == "memory") {
      memory = amount;
    } else if (name != "pods") {
      more = true;
    }
  }
  HostPorts(pod, [this](const std::string&) { ports = true; });
}

void NodeLoad::Set(const NodePointer& node) {
  node_ = node;
  all_ = {};
  if (node != nullptr) {
    all_ = {AmountOf(node->allocatable, "cpu"), AmountOf(node->allocatable, "memory"), AmountOf(node->allocatable, "pods")};
  }
}

void NodeLoad::Add(const kube::Pod& pod) {
  const PodAsk ask(pod);
  for (const auto& [name, amount] : ask.requests) used_[name] += amount;
  taken_ = {taken_.cpu + ask.cpu, taken_.memory + ask.memory, taken_.pods + 1};
  HostPorts(pod, [&](const std::string& port) { ++ports_[port]; });
}

void NodeLoad::Remove(const kube::Pod& pod) {
  const PodAsk ask(pod);
  for (const auto& [name, amount] : ask.requests) used_[name] -= amount;
  taken_ = {taken_.cpu - ask.cpu, taken_.memory - ask.memory, taken_.pods - 1};
  HostPorts(pod, [&](const std::string& port) {
    if (--ports_[port] <= 0) ports_.erase(port);
  });
}

bool NodeLoad::PortsTaken(const kube::Pod& pod) const {
  bool taken = false;
  HostPorts(pod, [&](const std::string& port) { taken |= ports_.contains(port); });
  return taken;
}

bool NodeLoad::Fits(const kube::Pod& pod, const PodAsk& ask) const {
  if (taken_.pods + 1 > all_.pods || (ask.cpu > 0 && taken_.cpu + ask.cpu > all_.cpu) ||
      (ask.memory > 0 && taken_.memory + ask.memory > all_.memory)) {
    return false;
  }
  const bool plain = !ask.more && !ask.ports && !node_->unschedulable && node_->taints.empty() && pod.node_selector.empty() &&
                     pod.required_node_terms.empty();
  return plain || Misfits(pod, ask).empty();
}

std::vector<std::string> NodeLoad::Misfits(const kube::Pod& pod, const PodAsk& ask) const {
  if (node_->unschedulable) {
    const kube::Taint cordon{kUnschedulableTaint, "", "NoSchedule"};
    if (UntoleratedTaint(pod, {cordon}, true, false) != nullptr) return {"node(s) were unschedulable"};
  }
  if (const kube::Taint* taint = UntoleratedTaint(pod, node_->taints, true, true)) {
    return {"node(s) had untolerated taint {" + taint->key + ": " + taint->value + "}"};
  }
  if (!MatchesNodeAffinity(pod, *node_)) return {"node(s) didn't match Pod's node affinity/selector"};
  if (PortsTaken(pod)) return {"node(s) didn't have free ports for the requested pod ports"};
  std::vector<std::string> reasons;
  for (const auto& [name, amount] : ask.requests) {
    if (amount <= 0 || AmountOf(used_, name) + amount <= AmountOf(node_->allocatable, name)) continue;
    reasons.push_back(name == "pods" ? "Too many pods" : "Insufficient " + name);
  }
  return reasons;
}

int64_t NodeLoad::Score(const PodAsk& ask) const {
  const auto left = [](int64_t all, int64_t taken) -> int64_t {
    return all <= 0 ? 0
                    : static_cast<int64_t>(1000.0 * static_cast<double>(std::max<int64_t>(0, all - taken)) /
                                           static_cast<double>(all));
  };
  const int64_t score = left(all_.cpu, taken_.cpu + ask.cpu) + left(all_.memory, taken_.memory + ask.memory);
  // Pods that ask for nothing spread by number.
  return score * 1000 + 999 - std::min<int64_t>(999, 999 * taken_.pods / std::max<int64_t>(1, all_.pods));
}

Scheduler::Scheduler(Context& context) : Reconciler(context, "default-scheduler") {
  informers().pods().AddHandler([this](const PodPointer& before, const PodPointer& after) { OnPod(before, after); });
  informers().nodes().AddHandler([this](const NodePointer& before, const NodePointer& after) {
    const std::string& name = (after ? after : before)->meta.name;
    loads_[name].Set(after);
    const bool same = before && after && before->taints == after->taints && before->allocatable == after->allocatable &&
                      before->unschedulable == after->unschedulable && before->meta.labels == after->meta.labels;
    if (!same) RetryUnschedulable();
  });
}

bool Scheduler::Wants(const kube::Pod& pod) const {
  return pod.node_name.empty() && !pod.terminal() && !pod.meta.deletion_time &&
         (pod.scheduler_name.empty() || pod.scheduler_name == "default-scheduler");
}

void Scheduler::Forget(const std::string& key) {
  auto found = placed_.find(key);
  if (found == placed_.end()) return;
  loads_[found->second.node].Remove(*found->second.pod);
  placed_.erase(found);
}

void Scheduler::Account(const kube::Pod& pod, const std::string& node) {
  Forget(pod.meta.Key());
  placed_[pod.meta.Key()] = {node, std::make_shared<const kube::Pod>(pod)};
  loads_[node].Add(pod);
}

void Scheduler::OnPod(const PodPointer& before, const PodPointer& after) {
  const std::string key = (after ? after : before)->meta.Key();
  if (after == nullptr || after->terminal()) {
    unschedulable_.erase(key);
    if (!placed_.contains(key)) return;
    Forget(key);
    RetryUnschedulable();
    return;
  }
  if (!after->node_name.empty()) {
    unschedulable_.erase(key);
    auto found = placed_.find(key);
    const bool known = found != placed_.end() && found->second.node == after->node_name &&
                       found->second.pod->meta.uid == after->meta.uid &&
                       found->second.pod->meta.generation == after->meta.generation;
    if (!known) Account(*after, after->node_name);
    return;
  }
  auto found = placed_.find(key);
  // Bound by us, the cache is behind; unless it is another pod of the same name.
  if (found != placed_.end() && found->second.pod->meta.uid != after->meta.uid) Forget(key);
  if (!Wants(*after) || placed_.contains(key)) return;
  // A change of the status only is our own mark.
  if (before != nullptr && unschedulable_.contains(key) && before->meta.generation == after->meta.generation &&
      base::Equal(base::FindObject(*before->json, {"spec"}), base::FindObject(*after->json, {"spec"}))) {
    return;
  }
  Enqueue(key);
}

void Scheduler::RetryUnschedulable() {
  for (const std::string& key : unschedulable_) EnqueueSoon(key);
}

base::Result<Again> Scheduler::Reconcile(const std::string& key) {
  const PodPointer pod = informers().pods().Get(key);
  if (pod == nullptr || !Wants(*pod) || placed_.contains(key)) return Again{};
  if (!base::FindArray(*pod->json, {"spec", "schedulingGates"}).empty()) return Again{};
  const PodAsk ask(*pod);
  const std::string* best = nullptr;
  int64_t best_score = -1;
  for (const auto& [name, load] : loads_) {
    if (load.node() == nullptr || load.node()->meta.deletion_time || !load.Fits(*pod, ask)) continue;
    const int64_t score = load.Score(ask);
    if (score > best_score) {
      best = &name;
      best_score = score;
    }
  }
  if (best == nullptr) return MarkUnschedulable(*pod, ask);
  return Bind(*pod, *best);
}

base::Result<Again> Scheduler::Bind(const kube::Pod& pod, const std::string& node) {
  const std::string key = pod.meta.Key();
  const Json binding =
      JsonObject{{"apiVersion", "v1"},
                 {"kind", "Binding"},
                 {"metadata", JsonObject{{"name", pod.meta.name}, {"namespace", pod.meta.ns}, {"uid", pod.meta.uid}}},
                 {"target", JsonObject{{"apiVersion", "v1"}, {"kind", "Node"}, {"name", node}}}};
  auto bound = api().Post(kube::resources::Pods(), pod.meta.ns, pod.meta.name, "binding", binding);
  if (!bound) {
    if (IsGone(bound.error())) return Again{};
    if (bound.error().code() != base::Code::kConflict) events().Warning(*pod.json, "FailedScheduling", bound.error().message());
    return base::Fail(bound.error());
  }
  unschedulable_.erase(key);
  Account(pod, node);
  events().Normal(*pod.json, "Scheduled", "Successfully assigned " + key + " to " + node);
  return Again{};
}

base::Result<Again> Scheduler::MarkUnschedulable(const kube::Pod& pod, const PodAsk& ask) {
  std::map<std::string, int> reasons;
  int nodes = 0;
  for (const auto& [name, load] : loads_) {
    if (load.node() == nullptr) continue;
    ++nodes;
    for (const std::string& reason : load.Misfits(pod, ask)) ++reasons[reason];
  }
  std::vector<std::string> parts;
  for (const auto& [reason, count] : reasons) parts.push_back(std::to_string(count) + " " + reason);
  // As upstream orders them: as texts, numbers first.
  std::sort(parts.begin(), parts.end());
  std::string message =
      nodes == 0 ? "no nodes available to schedule pods" : "0/" + std::to_string(nodes) + " nodes are available";
  for (size_t i = 0; i < parts.size(); ++i) message += (i == 0 ? ": " : ", ") + parts[i];
  message += nodes == 0 ? "" : ".";
  const std::string key = pod.meta.Key();
  unschedulable_.insert(key);
  const Json* condition = kube::FindCondition(*pod.json, "PodScheduled");
  if (condition != nullptr && base::FindString(*condition, {"status"}) == "False" &&
      base::FindString(*condition, {"reason"}) == "Unschedulable" && base::FindString(*condition, {"message"}) == message) {
    return Again{};
  }
  events().Warning(*pod.json, "FailedScheduling", message);
  Json status = JsonObject{{"status", base::FindObject(*pod.json, {"status"})}};
  kube::SetCondition(status, "PodScheduled", "False", "Unschedulable", message, Now());
  auto written = WriteStatus(api(), kube::resources::Pods(), *pod.json, *base::Find(status, {"status"}));
  if (!written && !IsGone(written.error())) return base::Fail(written.error());
  return Again{};
}

}  // namespace evenkeel::embedded::workloads
