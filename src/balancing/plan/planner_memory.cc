#include "balancing/plan/plan.h"

namespace evenkeel::balancing {
namespace {

using base::Json;

base::Result<GroupPhase> ReadGroup(const base::Field& of) {
  GroupPhase group;
  EVENKEEL_TRY(of["services"].Texts(group.services));
  EVENKEEL_TRY(of["phase"].Required());
  EVENKEEL_ASSIGN(group.phase, PhaseState::Read(of["phase"]));
  return group;
}

}  // namespace

Json PlannerMemory::ToJson() const {
  base::JsonArray all;
  for (const GroupPhase& group : groups) {
    base::JsonArray services;
    for (const std::string& service : group.services) services.emplace_back(service);
    all.push_back(base::JsonObject{{"services", std::move(services)}, {"phase", group.phase.ToJson()}});
  }
  return base::JsonObject{{"groups", std::move(all)}, {"throttles", throttles.ToJson()}};
}

base::Result<PlannerMemory> PlannerMemory::FromJson(const Json& json) {
  const base::Field of(&json, "planner memory");
  EVENKEEL_TRY(of.IsObject());
  PlannerMemory memory;
  EVENKEEL_TRY(of["groups"].ForEach([&](const base::Field& item) -> base::Status {
    EVENKEEL_ASSIGN(GroupPhase group, ReadGroup(item));
    memory.groups.push_back(std::move(group));
    return {};
  }));
  if (const base::Field throttles = of["throttles"]) {
    EVENKEEL_ASSIGN(memory.throttles, MovementThrottles::Read(throttles));
  }
  return memory;
}

PlannerMemory MemoryOf(const Settings& settings, const Cluster& cluster, double now) {
  PlannerMemory memory;
  const ServiceGroups groups = GroupServices(cluster);
  memory.groups = Regroup({}, cluster, groups, now);
  for (GroupPhase& group : memory.groups) group.phase = PhaseStateOf(cluster.history);
  memory.throttles = ThrottlesOf(settings, cluster);
  return memory;
}

void NoteChanges(PlannerMemory& memory, const History& history) {
  for (GroupPhase& group : memory.groups) {
    PhaseState& phase = group.phase;
    NoteLoadChange(phase, history.last_load_change);
    if (history.last_node_up > phase.last_node_up) NoteNodeUp(phase, history.last_node_up);
    if (history.last_node_down > phase.last_node_down) NoteNodeDown(phase, history.last_node_down);
    if (history.last_state_change > phase.last_state_change) NoteStateChange(phase, history.last_state_change);
  }
}

}  // namespace evenkeel::balancing
