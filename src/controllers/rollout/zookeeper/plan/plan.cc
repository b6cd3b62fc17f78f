#include "controllers/rollout/zookeeper/plan/plan.h"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <algorithm>

#include "controllers/rollout/budget.h"
#include "controllers/rollout/reasons.h"
#include "controllers/rollout/zookeeper/plan/adoption.h"
#include "controllers/rollout/zookeeper/plan/membership.h"
#include "controllers/rollout/zookeeper/plan/next_target.h"
#include "controllers/rollout/zookeeper/plan/other_overrides.h"
#include "controllers/rollout/zookeeper/plan/recovery.h"
#include "controllers/rollout/zookeeper/plan/report.h"
#include "controllers/rollout/zookeeper/plan/safety.h"
#include "controllers/rollout/zookeeper/plan/scheduling.h"
#include "controllers/rollout/zookeeper/reading/copies.h"
#include "controllers/rollout/zookeeper/reading/ownership.h"
#include "controllers/rollout/zookeeper/reading/render.h"
#include "controllers/rollout/zookeeper/spec/definitions.h"
#include "controllers/rollout/zookeeper/spec/ensemble_state.h"
#include "controllers/rollout/zookeeper/spec/event_kinds.h"
#include "controllers/rollout/zookeeper/spec/unchangeable.h"
#include "controllers/rollout/zookeeper/spec/unknown_fields.h"
#include "kube/object.h"

namespace evenkeel::controllers::rollout::zookeeper {
namespace {

using base::Find;
using base::FindInt;
using base::FindString;
using base::Json;
using base::JsonArray;
using base::JsonObject;

const Json* FindChild(const FleetObjects& fleet, const Json& desired) {
  const auto found = std::ranges::find_if(fleet.children, [&](const Json* child) {
    return FindString(*child, {"kind"}) == FindString(desired, {"kind"}) && kube::NameOf(*child) == kube::NameOf(desired);
  });
  return found == fleet.children.end() ? nullptr : *found;
}

class Planner {
 public:
  Planner(const PlanInput& input, EnsembleSpec spec, EnsembleState state)
      : input_(input), spec_(std::move(spec)), state_(std::move(state)) {}

  base::Result<Plan> Run() {
    taken_ = FindTaken(spec_, state_.identities, input_.fleet, !state_.rollout.records.empty());
    // What runs under somebody else's ZooKeeper is not ours either.
    if (taken_.empty()) {
      EVENKEEL_ASSIGN(adopted_, AdoptRunning(input_.object, spec_, input_.fleet, input_.now, state_));
    }
    EVENKEEL_TRY(AssignIds());
    std::set<std::string> clusters;
    for (const auto& [name, identity] : state_.identities) clusters.insert(name);
    fleet_ = ReadFleet(input_.fleet, clusters);
    if (taken_.empty()) NoteCopies(input_.fleet, fleet_, state_);
    schedule_ = ReadSchedule(spec_, input_.fleet);
    const std::map<std::string, int64_t> generations = Generations();
    const Lists lists = AdoptLastRecord(spec_, generations, input_.fleet.children, state_);
    EVENKEEL_TRY(CheckCompleted());
    NextRevision next = FindNextRevision(spec_, state_, lists);
    refused_ = WhyRefused();
    if (adopted_) {
      acted_ = true;
      plan_.reason = events::kStateAdopted.reason;
      plan_.message = "the status says nothing of servers that run: what they run is taken from their overrides and reports";
    } else if (!DecideRecovery(lists, generations)) {
      // Before anything else begins: placed again, they are to get other ids.
      ReleaseClusters(true);
      CallBack(lists);
      if (!acted_) Take(next, lists, generations);
      if (refused_.empty()) ReleaseClusters(false);
    }
    AddObjects(next.revision);
    state_.DropRevisions();
    WriteStatus(lists);
    return std::move(plan_);
  }

 private:
  base::Status AssignIds() {
    EVENKEEL_TRY(CheckUnchangeable(input_.object, spec_, state_));
    state_.AssignIndices(spec_);
    for (const auto& [cluster, share] : spec_.shares) {
      const ClusterIdentity& identity = state_.identities.at(cluster);
      const int64_t highest = IdOffset(spec_.naming, identity) + share;
      if (highest <= kIdMax) continue;
      return WrongField(input_.object, "spec.placement.clusters",
                        fmt::format("{} has index {}, so its servers would have ids up to {}, but ZooKeeper's end at {}",
                                    cluster, identity.index, highest, kIdMax));
    }
    return {};
  }

  std::map<std::string, int64_t> Generations() const {
    std::map<std::string, int64_t> generations{
        {"multiclusterzookeeper", base::FindInt(input_.object.object, {"metadata", "generation"})}};
    if (input_.fleet.zookeeper != nullptr) {
      generations["zookeeper"] = base::FindInt(*input_.fleet.zookeeper, {"metadata", "generation"});
    }
    return generations;
  }

  /// A record that calls clusters completed which never began would leave them without servers.
  base::Status CheckCompleted() const {
    if (state_.rollout.records.empty()) return {};
    const Record& last = state_.rollout.records.back();
    const Revision* current = state_.Find(last.revision);
    for (const std::string& cluster : last.completed) {
      if (current == nullptr || !current->shares.contains(cluster) || state_.rollout.clusters.contains(cluster)) continue;
      const Json* existing = FindChild(input_.fleet, RenderOverride(spec_, state_, cluster, *current));
      const Json* mark = existing == nullptr ? nullptr : OverriddenBy(*existing, "/spec/rolloutRevision");
      if (mark == nullptr || !mark->is_string() || mark->get_string() != kNoRevision) continue;
      return WrongField(input_.object,
                        fmt::format("status.records[{}].currentState.completed", state_.rollout.records.size() - 1),
                        Quoted(cluster) + " has not been given anything yet");
    }
    return {};
  }

  /// Something that people have to put right before anything new may begin: reason and message.
  std::pair<std::string, std::string> FindRefusal() const {
    if (!taken_.empty()) return {"NameTaken", taken_};
    for (const auto& [cluster, share] : spec_.shares) {
      if (fleet_.unknown.contains(cluster)) return {"UnknownCluster", "there is no Cluster " + cluster};
    }
    return {};
  }

  std::string WhyRefused() {
    auto [reason, message] = FindRefusal();
    if (reason.empty()) return "";
    schedule_ = {std::move(reason), std::move(message), {}};
    return schedule_.reason;
  }

  Passage PassageOf(const Lists& lists) const {
    static const Record kNone;
    const Record& record = state_.rollout.records.empty() ? kNone : state_.rollout.records.back();
    return {spec_, state_, fleet_, record, state_.Find(lists.base), state_.Find(lists.current)};
  }

  void Take(const NextRevision& next, const Lists& lists, const std::map<std::string, int64_t>& generations) {
    Situation situation;
    situation.policy = spec_.policy;
    situation.now = input_.now;
    situation.watched_since = input_.watched_since;
    situation.no_target_reason = schedule_.reason;
    situation.no_target = schedule_.message;
    const Revision* base = state_.Find(next.base);
    if (schedule_.valid()) {
      Target target;
      target.revision = next.revision.name;
      target.base_revision = next.base;
      target.spec_hash = HashOf(next.revision.body);
      target.schedule_hash = HashOf(ToJson(next.revision.shares));
      target.uid = kube::UidOf(*input_.fleet.zookeeper);
      target.generations = generations;
      target.order = RolloutOrder(spec_, base == nullptr ? Shares{} : base->shares, next.revision.shares, FindLeader(fleet_));
      target.order_is_given = !spec_.order.empty();
      // A quorum lets no server restart while voters are missing, and those are that have not been started yet. Whether a
      // leader is seen at this instant does not matter: the order stays.
      if (base == nullptr && state_.Started(next.revision.shares) >= Majority(Total(next.revision.shares))) {
        std::ranges::copy_if(target.order, std::back_inserter(target.foremost),
                             [this](const std::string& cluster) { return !state_.rollout.clusters.contains(cluster); });
      }
      situation.target = std::move(target);
    }
    const Passage passage = PassageOf(lists);
    for (const auto& [cluster, identity] : state_.identities) situation.clusters[cluster] = passage.FactsOf(cluster);
    situation.unhealthy = passage.WhyUnhealthy();
    up_to_date_ = !situation.target || state_.rollout.records.empty() || !Differs(passage.record, *situation.target);
    // Of a status that was edited, or that somebody else wrote: what its clusters were to be given cannot be told any more.
    if (up_to_date_ && !state_.rollout.records.empty() && !IsFinal(passage.record.status) &&
        state_.Find(passage.record.revision) == nullptr) {
      plan_.reason = "UnknownRevision";
      plan_.message =
          "the revision of the last record is not in status.revisions: it does not go on, and a change of spec begins another";
      return;
    }
    Step step = Advance(state_.rollout, situation);
    state_.rollout = std::move(step.state);
    if (step.action == Action::kAppended || step.action == Action::kSuperseded) {
      state_.revisions.emplace(next.revision.name, next.revision);
      state_.format = std::max(state_.format, input_.forms.orders);
    }
    acted_ = step.action != Action::kNone;
    plan_.reason = std::move(step.reason);
    plan_.message = std::move(step.message);
    if (step.action == Action::kFinished) FinishRecovery();
  }

  /// A request to recover is granted or refused when it is first seen. False: there is none to decide on.
  bool DecideRecovery(const Lists& lists, const std::map<std::string, int64_t>& generations) {
    if (!spec_.recovery || !refused_.empty() || spec_.policy.paused || state_.Knows(spec_.recovery->name)) return false;
    const Passage passage = PassageOf(lists);
    RecoveryNote note{.request = spec_.recovery->name, .decided = input_.now};
    note.message = WhyNotRecover(*spec_.recovery, {passage, MissedSince(), input_.now});
    if (note.message.empty()) {
      note.outcome = RecoveryNote::Outcome::kStarted;
      note.lost = spec_.recovery->lost;
      Revision revision = RecoveryRevision(*spec_.recovery, passage);
      note.message = fmt::format("{} servers go on, revision {}", Total(revision.shares), revision.name);
      BeginRecovery(std::move(revision), generations);
    }
    plan_.reason = "Recovery" + std::string(Name(note.outcome));
    plan_.message = note.request + ": " + note.message;
    constexpr size_t kNotesMax = 10;
    if (state_.recoveries.size() >= kNotesMax) state_.recoveries.erase(state_.recoveries.begin());
    state_.recoveries.push_back(std::move(note));
    acted_ = true;
    return true;
  }

  std::optional<base::Time> MissedSince() const {
    const Json* quorum = kube::FindCondition(input_.object.object, "QuorumHealthy");
    if (quorum == nullptr || FindString(*quorum, {"status"}) != "False") return std::nullopt;
    const auto since = base::ParseTime(FindString(*quorum, {"lastTransitionTime"}));
    return since ? std::optional(*since) : std::nullopt;
  }

  void BeginRecovery(Revision revision, const std::map<std::string, int64_t>& generations) {
    Situation situation;
    situation.policy = spec_.policy;
    situation.now = input_.now;
    Target target;
    target.revision = revision.name;
    target.spec_hash = HashOf(revision.body);
    target.schedule_hash = HashOf(ToJson(revision.shares));
    if (input_.fleet.zookeeper != nullptr) target.uid = kube::UidOf(*input_.fleet.zookeeper);
    target.generations = generations;
    target.order = RolloutOrder(spec_, {}, revision.shares, std::nullopt);
    situation.target = std::move(target);
    state_.rollout = BeginAnew(std::move(state_.rollout), situation).state;
    state_.format = std::max(state_.format, input_.forms.orders);
    for (const std::string& cluster : spec_.recovery->lost) state_.rollout.clusters.erase(cluster);
    state_.revisions.emplace(revision.name, std::move(revision));
  }

  void FinishRecovery() {
    if (state_.recoveries.empty() || state_.recoveries.back().outcome != RecoveryNote::Outcome::kStarted) return;
    state_.recoveries.back().outcome = RecoveryNote::Outcome::kCompleted;
    plan_.reason = events::kRecoveryCompleted.reason;
    plan_.message = fmt::format("{}: the survivors have a quorum again", state_.recoveries.back().request);
    state_.recoveries.back().message = "the survivors have a quorum again";
  }

  /// A server that has been let go while its cluster could not be reached is not taken in by its own operator, which cannot
  /// know what has been decided meanwhile (member/members_change.h). Where it is wanted all the same, the cluster gets its
  /// revision once more.
  void CallBack(const Lists& lists) {
    if (acted_ || !refused_.empty() || spec_.policy.paused) return;
    const Passage passage = PassageOf(lists);
    for (auto& [cluster, given] : state_.rollout.clusters) {
      const std::optional<int64_t> server = passage.FindLetGo(cluster);
      if (!server) continue;
      given.GiveAgain();
      acted_ = true;
      plan_.reason = "ServerCalledBack";
      plan_.message = fmt::format("server {} in {} was let go by the others, and is to be taken in again", *server, cluster);
      return;
    }
  }

  /// Clusters that have been emptied, or never had anything, and are no longer wanted; or those that a recovery gave up.
  void ReleaseClusters(bool lost) {
    if (acted_) return;
    const Record* last = state_.rollout.records.empty() ? nullptr : &state_.rollout.records.back();
    if (last != nullptr && last->status != RecordStatus::kReady) return;
    const Revision* current = last == nullptr ? nullptr : state_.Find(last->revision);
    if (last != nullptr && current == nullptr) return;
    std::vector<std::string> gone;
    for (const auto& [cluster, identity] : state_.identities) {
      const bool given_up = lost ? state_.IsLost(cluster) : !spec_.shares.contains(cluster);
      const bool listed = current != nullptr && current->shares.contains(cluster);
      if (given_up && !listed && !state_.IsCountedOn(cluster)) gone.push_back(cluster);
    }
    if (gone.empty()) return;
    for (const std::string& cluster : gone) state_.Retire(cluster, current == nullptr ? "" : current->name);
    acted_ = true;
    plan_.reason = events::kClusterReleased.reason;
    plan_.message = fmt::format("{} has no servers any more and may lose its copy", gone.front());
  }

  /// Pinned by somebody else to something that is not known.
  bool IsForeign(const std::string& cluster) const {
    if (state_.rollout.clusters.contains(cluster) || state_.rollout.records.empty()) return false;
    const Record& last = state_.rollout.records.back();
    const Revision* base = state_.Find(last.base_revision);
    if (base != nullptr && base->shares.contains(cluster)) return true;
    const Revision* current = state_.Find(last.revision);
    return Contains(last.completed, cluster) && (current == nullptr || current->shares.contains(cluster));
  }

  void Apply(Json desired, const Json* existing) {
    if (existing != nullptr && Says(*existing, desired)) return;
    plan_.apply.push_back(std::move(desired));
  }

  void AddObjects(const Revision& next) {
    if (refused_ == "NameTaken") return;
    const Revision* last = state_.rollout.records.empty() ? nullptr : state_.Find(state_.rollout.records.back().revision);
    std::set<std::string> clusters;
    for (const auto& [cluster, identity] : state_.identities) {
      clusters.insert(cluster);
      const auto given = state_.rollout.clusters.find(cluster);
      if (given == state_.rollout.clusters.end() && (IsForeign(cluster) || !refused_.empty())) continue;
      const ClusterRevision* has = given == state_.rollout.clusters.end() ? nullptr : &given->second;
      const Revision* revision = has == nullptr ? last : state_.Find(has->revision);
      if (has != nullptr && revision == nullptr) continue;
      Json desired = RenderOverride(spec_, state_, cluster, revision == nullptr ? next : *revision);
      const Json* existing = FindChild(input_.fleet, desired);
      Apply(std::move(desired), existing);
    }
    if (!refused_.empty()) return;
    WatchSchedule(clusters);
    const Needs needs = NeedsInForce(spec_, state_);
    Json zookeeper = RenderZooKeeper(spec_, clusters, needs);
    const auto noted = [&](const char* annotation) {
      return input_.fleet.zookeeper != nullptr &&
             !FindString(*input_.fleet.zookeeper, {"metadata", "annotations", annotation}).empty();
    };
    // What is not said any more would stay.
    if (noted(kNeedsAnnotation) && needs.empty()) base::Ensure(zookeeper, {"metadata", "annotations", kNeedsAnnotation}) = "";
    const bool takes_back = TakesBack(clusters, input_.fleet, fleet_, state_);
    if (takes_back || noted(kConflictAnnotation)) {
      base::Ensure(zookeeper, {"metadata", "annotations", kConflictAnnotation}) = takes_back ? "overwrite" : "abort";
    }
    if (const int64_t attempt = state_.scheduling.attempt; attempt > 0) {
      base::Ensure(zookeeper, {"metadata", "annotations", kAttemptAnnotation}) = std::to_string(attempt);
    }
    std::vector<Json> others = RenderServiceExports(spec_);
    for (Json& policy : RenderPropagationPolicies(spec_, clusters, needs)) {
      Complete(policy, FindChild(input_.fleet, policy), state_.scheduling.attempt);
      others.push_back(std::move(policy));
    }
    const PlacementTurn turn = TurnOf(zookeeper, others.back(), clusters);
    base::Ensure(zookeeper, {"spec", "replicas"}) = turn.replicas;
    Apply(std::move(zookeeper), input_.fleet.zookeeper);
    std::set<std::pair<std::string, std::string>> wanted;
    for (const Json& desired : others) {
      wanted.emplace(FindString(desired, {"kind"}), kube::NameOf(desired));
      if (turn.policy_waits && &desired == &others.back()) continue;
      Apply(Json(desired, {}), FindChild(input_.fleet, desired));
    }
    RemoveLeftovers(clusters, wanted);
  }

  void WatchSchedule(const std::set<std::string>& clusters) {
    const auto policy = std::ranges::find_if(input_.fleet.children, [this](const Json* child) {
      return FindString(*child, {"kind"}) == "PropagationPolicy" && kube::NameOf(*child) == ServersPolicyName(spec_);
    });
    const Unscheduled unscheduled =
        FindUnscheduled(clusters, fleet_, input_.fleet, policy == input_.fleet.children.end() ? nullptr : *policy);
    const bool asks = AskAgain(unscheduled.missing, input_.now, state_.scheduling);
    if (!schedule_.valid()) schedule_.message += DescribeWait(unscheduled, state_.scheduling);
    if (!asks || acted_) return;
    acted_ = true;
    plan_.reason = events::kScheduleAskedAgain.reason;
    plan_.message = fmt::format("Karmada is asked again for {}", fmt::join(unscheduled.missing, ", "));
  }

  /// `policy`: that of the servers, which stays at its present placement until Karmada has heard that the copies of clusters
  /// that leave are not to be kept.
  PlacementTurn TurnOf(const Json& zookeeper, Json& policy, const std::set<std::string>& clusters) {
    const Json* present = FindChild(input_.fleet, policy);
    const std::set<std::string> leaving = LeavingClusters(input_.fleet, present, clusters);
    const int64_t wanted = FindInt(zookeeper, {"spec", "replicas"});
    if (!leaving.empty() && Find(policy, {"spec", kKeepsField}) != nullptr) {
      base::Ensure(policy, {"spec", kKeepsField}) = false;
      const Json* placement = present == nullptr ? nullptr : Find(*present, {"spec", "placement"});
      if (placement != nullptr && input_.fleet.zookeeper != nullptr && KeepsCopies(input_.fleet, leaving)) {
        base::Ensure(policy, {"spec", "placement"}) = Json(*placement, {});
        plan_.polls = true;
        return {.replicas = FindInt(*input_.fleet.zookeeper, {"spec", "replicas"}, wanted)};
      }
    }
    return NextPlacement(input_.fleet, present, policy, wanted);
  }

  void RemoveLeftovers(const std::set<std::string>& clusters, const std::set<std::pair<std::string, std::string>>& wanted) {
    for (const Json* child : input_.fleet.children) {
      if (OwnerOf(*child) != spec_.name) continue;
      if (FindString(*child, {"kind"}) != "OverridePolicy") {
        if (!wanted.contains({std::string(FindString(*child, {"kind"})), std::string(kube::NameOf(*child))})) {
          plan_.remove.push_back(RefOf(*child));
        }
        continue;
      }
      const auto own = [&](const std::string& cluster) { return OverrideName(spec_, cluster) == kube::NameOf(*child); };
      if (std::ranges::any_of(clusters, own)) continue;
      // As long as the cluster is scheduled it has a copy, and without its override the copy would take the template's
      // replicas.
      if (!IsScheduled(*child)) plan_.remove.push_back(RefOf(*child));
    }
  }

  bool IsScheduled(const Json& override_policy) const {
    if (input_.fleet.binding == nullptr) return false;
    for (const Json& rule : base::FindArray(override_policy, {"spec", "overrideRules"})) {
      for (const Json& name : base::FindArray(rule, {"targetCluster", "clusterNames"})) {
        for (const Json& cluster : base::FindArray(*input_.fleet.binding, {"spec", "clusters"})) {
          if (name.is_string() && FindString(cluster, {"name"}) == name.get_string()) return true;
        }
        for (const Json& item : base::FindArray(*input_.fleet.binding, {"status", "aggregatedStatus"})) {
          if (name.is_string() && FindString(item, {"clusterName"}) == name.get_string()) return true;
        }
      }
    }
    return false;
  }

  /// Whether the last record brings all that the spec wants: also where nobody can say yet how that is to be scheduled, and
  /// where the record is only the first of several.
  bool IsReached(const Lists& now) const {
    const Revision* current = state_.Find(now.current);
    if (current == nullptr) return true;
    const auto known = [this](const auto& item) { return state_.identities.contains(item.first); };
    // One that has just been let go, and is wanted again, gets another index first.
    if (!std::ranges::all_of(spec_.shares, known) || !std::ranges::all_of(current->shares, known)) return false;
    return FindNextRevision(spec_, state_, now).revision.name == now.current;
  }

  void WriteStatus(const Lists& lists) {
    const Record* record = state_.rollout.records.empty() ? nullptr : &state_.rollout.records.back();
    Lists now = lists;
    if (record != nullptr && state_.Find(record->revision) != nullptr) now = {record->base_revision, record->revision};
    if (record != nullptr && !acted_ && plan_.reason == reasons::kUpToDate && !plan_.apply.empty()) {
      plan_.reason = events::kDriftRepaired.reason;
      plan_.message = fmt::format("{} objects are not as they should be", plan_.apply.size());
    }
    if (!IsReached(now)) up_to_date_ = false;
    const Passage passage = PassageOf(now);
    plan_.acted = acted_ || plan_.reason == events::kDriftRepaired.reason;
    plan_.status = Report(input_.object.object, passage, schedule_, up_to_date_, plan_.reason, plan_.message,
                          DescribeOtherOverrides(spec_, state_, input_.fleet), input_.now);
    if (!spec_.even.empty()) plan_.warnings.push_back(spec_.even);
    if (!spec_.unsafe.empty()) plan_.warnings.push_back(spec_.unsafe);
  }

  const PlanInput& input_;
  EnsembleSpec spec_;
  EnsembleState state_;
  FleetReading fleet_;
  Schedule schedule_;
  std::string refused_, taken_;
  bool adopted_ = false, acted_ = false, up_to_date_ = true;
  Plan plan_;
};

}  // namespace

ObjectRef RefOf(const Json& object) {
  return {std::string(FindString(object, {"apiVersion"})), std::string(FindString(object, {"kind"})),
          std::string(kube::NamespaceOf(object)), std::string(kube::NameOf(object))};
}

base::Result<std::vector<Json>> PlanRepair(const PlanInput& input) {
  if (!WhyTooNew(input.object.object, input.forms).empty()) return std::vector<Json>{};
  EVENKEEL_ASSIGN(const EnsembleState state, ReadState(input.object));
  EnsembleSpec spec;
  spec.name = kube::NameOf(input.object.object);
  spec.ns = kube::NamespaceOf(input.object.object);
  spec.uid = kube::UidOf(input.object.object);
  spec.naming.stride = std::max<int64_t>(state.stride, 1);
  spec.naming.mode = state.mode.value_or(spec.naming.mode);
  std::vector<Json> repairs;
  if (!state.mode) return repairs;
  for (const auto& [cluster, given] : state.rollout.clusters) {
    Json desired = RenderOverride(spec, state, cluster, *state.Find(given.revision));
    const Json* existing = FindChild(input.fleet, desired);
    const bool foreign = existing != nullptr && OwnerOf(*existing) != spec.name;
    if (!foreign && (existing == nullptr || !Says(*existing, desired))) repairs.push_back(std::move(desired));
  }
  return repairs;
}

Json Plan::ToJson() const {
  JsonArray objects, references;
  for (const Json& object : apply) objects.push_back(object);
  for (const ObjectRef& item : remove) {
    references.push_back(
        JsonObject{{"apiVersion", item.api_version}, {"kind", item.kind}, {"namespace", item.ns}, {"name", item.name}});
  }
  JsonObject json{{"status", status},
                  {"apply", std::move(objects)},
                  {"delete", std::move(references)},
                  {"reason", reason},
                  {"message", message}};
  if (finished) json["finished"] = true;
  return json;
}

base::Result<Plan> PlanRollout(const PlanInput& input) {
  if (const std::string newer = WhyTooNew(input.object.object, input.forms); !newer.empty()) {
    return WrongField(input.object, "", newer);
  }
  if (Find(input.object.object, {"metadata", "deletionTimestamp"}) != nullptr) return PlanDeletion(input);
  EVENKEEL_ASSIGN(EnsembleSpec spec, DecodeSpec(input.object));
  EVENKEEL_ASSIGN(EnsembleState state, ReadState(input.object));
  return Planner(input, std::move(spec), std::move(state)).Run();
}

}  // namespace evenkeel::controllers::rollout::zookeeper
