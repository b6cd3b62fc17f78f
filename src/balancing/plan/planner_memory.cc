#include "balancing/plan/plan.h"

namespace evenkeel::balancing {
namespace {

using base::Json;

std::unexpected<base::Error> BadMemory(const std::string& what) {
  return base::Fail(base::Code::kBadRequest, "planner memory: " + what);
}

base::Result<GroupPhase> GroupFromJson(const Json& json) {
  GroupPhase group;
  for (const Json& service : base::FindArray(json, {"services"})) {
    if (!service.is_string()) return BadMemory("groups: services: not a list of names");
    group.services.emplace_back(service.get_string());
  }
  const Json* phase = base::Find(json, {"phase"});
  if (phase == nullptr) return BadMemory("groups: phase is missing");
  EVENKEEL_ASSIGN(group.phase, PhaseState::FromJson(*phase));
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
  if (!json.is_object()) return BadMemory("not an object");
  PlannerMemory memory;
  if (const Json* groups = base::Find(json, {"groups"})) {
    if (!groups->is_array()) return BadMemory("groups: not a list");
    for (const Json& item : groups->get_array()) {
      EVENKEEL_ASSIGN(GroupPhase group, GroupFromJson(item));
      memory.groups.push_back(std::move(group));
    }
  }
  if (const Json* throttles = base::Find(json, {"throttles"})) {
    EVENKEEL_ASSIGN(memory.throttles, MovementThrottles::FromJson(*throttles));
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
