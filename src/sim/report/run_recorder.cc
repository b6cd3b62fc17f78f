#include "sim/report/run_recorder.h"

#include <unordered_map>

#include "sim/network/network.h"

namespace evenkeel::sim {
namespace {

/// "replica-1/3" is the third process, and its host the pod.
std::string HostOf(const std::string& user) { return user.substr(0, user.find('/')); }

NodeState StateOf(const MemberBook::Node& node) {
  if (node.leaving) return NodeState::kDeleting;
  if (!node.ready) return NodeState::kNotReady;
  return node.cordoned ? NodeState::kCordoned : NodeState::kReady;
}

struct NodeRequests {
  int64_t milli_cores = 0, bytes = 0, pods = 0;
};

float ShareOf(const MemberBook::Node& node, const NodeRequests& requests) {
  const auto share = [](int64_t used, int64_t of) { return of > 0 ? static_cast<float>(used) / static_cast<float>(of) : 0.0F; };
  return std::max(
      {share(requests.milli_cores, node.milli_cores), share(requests.bytes, node.bytes), share(requests.pods, node.pods)});
}

}  // namespace

void RunRecorder::Begin() {
  begun_ = view().now();
  Sample();
}

void RunRecorder::OnSecond() {
  const auto owners = Owners();
  for (const auto& [member, since] : view().Registered()) {
    const auto owner = owners.find(member);
    SeeOwner(member, owner == owners.end() ? nullptr : owner->second);
  }
  for (const auto& [member, user] : users_) {
    if (!view().Registered().contains(member)) SeeOwner(member, nullptr);
  }
  if (SinceStart() >= recording_.samples.due()) Sample();
}

Recording RunRecorder::Take() {
  const auto& samples = recording_.samples.all();
  if (samples.empty() || samples.back().at < SinceStart()) Sample();
  recording_.waited = book_.counts().waited;
  std::ranges::sort(recording_.waited);
  return std::move(recording_);
}

std::map<std::string, const ReplicaView*> RunRecorder::Owners() const {
  std::map<std::string, const ReplicaView*> owners;
  for (const ReplicaView& replica : view().Replicas()) {
    for (const std::string& member : replica.owned) owners.emplace(member, &replica);
  }
  return owners;
}

void RunRecorder::SeeOwner(const std::string& member, const ReplicaView* owner) {
  std::vector<OwnerChange>& changes = recording_.owners[member];
  std::string& user = users_[member];
  const std::string host = owner == nullptr ? "" : owner->host, now = owner == nullptr ? "" : owner->user;
  if (!changes.empty() && user == now) return;
  changes.push_back({SinceStart(), host, user.empty() ? "" : WhyNoLonger(member, user)});
  user = now;
}

std::string RunRecorder::WhyNoLonger(const std::string& member, const std::string& user) const {
  if (!view().Registered().contains(member)) return "it has left the fleet";
  const auto& replicas = view().Replicas();
  const auto replica = std::ranges::find(replicas, user, &ReplicaView::user);
  if (replica == replicas.end()) return HostOf(user) + " has ended";
  if (replica->stopping) return HostOf(user) + " is stopping";
  if (replica->paused) return HostOf(user) + " is paused";
  const std::string planned = view().PlannedOwner(member);
  if (!planned.empty() && planned != user) return "the plan gives it to " + HostOf(planned);
  return HostOf(user) + " could not renew its Lease";
}

void RunRecorder::OnMovement(const Begun& begun) {
  const MemberBook::Movement& movement = begun.movement;
  recording_.moves.push_back({.at = SinceStart(),
                              .cluster = begun.member,
                              .object = begun.pod,
                              .from = movement.from,
                              .to = movement.to,
                              .reason = movement.reason,
                              .gain = movement.gain});
}

void RunRecorder::Sample() {
  FleetSample sample{.at = SinceStart()};
  const auto owners = Owners();
  for (const auto& [name, since] : view().Registered()) {
    ClusterSample& cluster = sample.clusters.emplace_back(SampleOf(name));
    if (const auto owner = owners.find(name); owner != owners.end()) {
      cluster.owner = recording_.samples.NumberOf(owner->second->host);
    }
  }
  for (const ReplicaView& replica : view().Replicas()) sample.replicas += replica.paused ? 0 : 1;
  if (ensemble_ != nullptr) {
    sample.voters = std::ssize(ensemble_->agreed().Voters());
    sample.serving = std::ssize(ensemble_->HealthyVoters());
  }
  recording_.samples.Add(std::move(sample));
}

ClusterSample RunRecorder::SampleOf(const std::string& name) {
  FleetSamples& samples = recording_.samples;
  const MemberBook::Member& member = book_.Of(name);
  ClusterSample cluster{.name = samples.NumberOf(name)};
  std::unordered_map<std::string_view, NodeRequests> requests;
  for (const auto& [key, pod] : member.pods) {
    if (pod.ended) continue;
    if (pod.node.empty()) {
      cluster.pending += pod.live ? 1 : 0;
      continue;
    }
    ++(pod.ready ? cluster.running : cluster.starting);
    NodeRequests& on_node = requests[pod.node];
    on_node.milli_cores += pod.milli_cores;
    on_node.bytes += pod.bytes;
    ++on_node.pods;
  }
  for (const auto& [key, node] : member.nodes) {
    cluster.nodes.push_back({.name = samples.NumberOf(key),
                             .group = samples.NumberOf(node.group),
                             .load = ShareOf(node, requests[key]),
                             .state = StateOf(node)});
  }
  for (const auto& [key, group] : member.groups) {
    cluster.wanted += group.target;
    if (group.price) cluster.prices[samples.NumberOf(key)] = *group.price;
  }
  if (member.groups.empty()) cluster.wanted = static_cast<int64_t>(member.nodes.size());
  return cluster;
}

}  // namespace evenkeel::sim
