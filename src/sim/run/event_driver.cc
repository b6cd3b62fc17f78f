#include "sim/run/event_driver.h"

#include <spdlog/fmt/fmt.h>

#include "kube/object.h"
#include "sim/run/simulation.h"

namespace evenkeel::sim {
namespace {

using Kind = EventScenario::Kind;

/// How often what lasts is seen to.
constexpr base::Duration kKeep = std::chrono::seconds(5);

std::string TextOf(const EventScenario& event) {
  if (event.kind == Kind::kUpgrade) return "upgrade";
  if (event.kind == Kind::kQuota) {
    return fmt::format("quota of {}: {} for {}", event.group, event.nodes, base::FormatDuration(event.lasts));
  }
  return fmt::format("outage of {} for {}", event.zone, base::FormatDuration(event.lasts));
}

}  // namespace

EventDriver::EventDriver(Simulation& simulation, const std::vector<EventScenario>& events)
    : simulation_(simulation), events_(events) {}

void EventDriver::Start(base::Instant begun) {
  begun_ = begun;
  for (size_t i = 0; i < events_.size(); ++i) {
    waiting_.insert(i);
    next_ = std::min(next_, InstantOf(events_[i].at));
  }
}

void EventDriver::Step() {
  const base::Instant now = simulation_.fleet().executor().clock().Monotonic();
  if (now < next_) return;
  std::erase_if(lasting_, [&](size_t i) {
    const bool over = now >= InstantOf(events_[i].at + events_[i].lasts);
    if (over) End(events_[i]);
    return over;
  });
  std::erase_if(waiting_, [&](size_t i) {
    if (now < InstantOf(events_[i].at)) return false;
    Begin(events_[i]);
    if (events_[i].kind != Kind::kUpgrade) lasting_.insert(i);
    return true;
  });
  next_ = base::Instant::max();
  for (const size_t i : waiting_) next_ = std::min(next_, InstantOf(events_[i].at));
  for (const size_t i : lasting_) {
    Keep(events_[i]);
    next_ = std::min({next_, InstantOf(events_[i].at + events_[i].lasts), now + kKeep});
  }
}

void EventDriver::Stop() {
  next_ = base::Instant::max();
  for (const size_t i : std::exchange(lasting_, {})) End(events_[i]);
  waiting_.clear();
}

void EventDriver::Begin(const EventScenario& event) {
  simulation_.Happens(TextOf(event));
  if (event.kind == Kind::kUpgrade) simulation_.rollout()->Upgrade();
}

void EventDriver::End(const EventScenario& event) {
  simulation_.Happens("end of " + TextOf(event));
  if (event.kind == Kind::kZoneOutage) SwitchOn(event.zone);
  WorkloadDriver& workload = simulation_.workload();
  for (const auto& server : simulation_.fleet().servers()) {
    for (const NodeGroupScenario& group : workload.groups()) {
      const bool concerned = event.kind == Kind::kQuota ? group.name == event.group : group.zone == event.zone;
      if (concerned && server->name() != kHub) workload.RestoreCloud(server->name(), group.name, false);
    }
  }
}

void EventDriver::Keep(const EventScenario& event) {
  WorkloadDriver& workload = simulation_.workload();
  for (const auto& server : simulation_.fleet().servers()) {
    if (server->name() == kHub || !server->up()) continue;
    if (event.kind == Kind::kQuota) {
      workload.DisturbCloud(server->name(), event.group, base::JsonObject{{"quota", event.nodes}});
      continue;
    }
    for (const NodeGroupScenario& group : workload.groups()) {
      if (group.zone == event.zone) workload.DisturbCloud(server->name(), group.name, base::JsonObject{{"quota", 0}});
    }
    SwitchOff(*server, event.zone);
  }
}

void EventDriver::SwitchOff(ApiServer& server, const std::string& zone) {
  const auto nodes = server.client().List(kube::resources::Nodes(), {.label_selector = "topology.kubernetes.io/zone=" + zone});
  if (!nodes) return;
  for (const base::Json& node : nodes->items) {
    const std::string name(kube::NameOf(node));
    server.StopNode(name);
    off_[zone].emplace(server.name(), name);
  }
}

void EventDriver::SwitchOn(const std::string& zone) {
  for (const auto& [member, node] : std::exchange(off_[zone], {})) simulation_.SwitchNode(member, node, true);
}

}  // namespace evenkeel::sim
