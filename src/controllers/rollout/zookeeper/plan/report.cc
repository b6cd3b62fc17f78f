#include "controllers/rollout/zookeeper/plan/report.h"

#include <spdlog/fmt/fmt.h>

#include "controllers/rollout/reasons.h"
#include "kube/object.h"

namespace evenkeel::controllers::rollout::zookeeper {
namespace {

using base::Json;
using base::JsonObject;

struct Verdict {
  std::string_view status;
  std::string reason, message;
};

/// Of each cluster that cannot be reached, since when nothing is known of it.
void WriteOutages(const FleetReading& fleet, JsonObject& status) {
  for (Json& cluster : status["clusters"].as_array()) {
    const std::string since = fleet.Of(std::string(base::FindString(cluster, {"name"}))).unreachable_since;
    if (base::ParseTime(since)) cluster.as_object()["unknownSince"] = since;
  }
}

Verdict Placement(const EnsembleSpec& spec) {
  if (!spec.unsafe.empty()) return {"False", "MajorityInOneCluster", spec.unsafe};
  if (!spec.even.empty()) return {"True", "EvenVoters", spec.even};
  return {"True", "Safe", "the loss of any one cluster is survived"};
}

constexpr char kQuorumLost[] = "QuorumLost";

/// What the cluster that is deploying waits for, and since when it has not come further.
std::string WaitsFor(const Record& record, std::string_view message) {
  return fmt::format("; since {} {}", base::FormatTime(record.progressed.value_or(record.last_transition)), message);
}

Verdict Progress(const Record* record, const Schedule& schedule, std::string_view reason, std::string_view message) {
  if (record == nullptr) return {"False", schedule.valid() ? std::string(reason) : schedule.reason, std::string(message)};
  switch (record->status) {
    case RecordStatus::kPaused:
    case RecordStatus::kFailed:
      return {"False", record->reason.empty() ? std::string(Name(record->status)) : record->reason, record->message};
    case RecordStatus::kRollingBack:
      return {"True", reasons::kRollingBack, record->message};
    case RecordStatus::kDeploying:
      if (reason == reasons::kQuorumBudgetExhausted || reason == reasons::kWaitingForQuorum || reason == kClusterUnreachable) {
        return {"False", std::string(reason), std::string(message)};
      }
      return {"True", "Deploying",
              fmt::format("{} of {} clusters are completed{}", record->completed.size(), record->order.size(),
                          reason == reasons::kWaitingForCluster ? WaitsFor(*record, message) : "")};
    case RecordStatus::kReady:
    case RecordStatus::kSuperseded:
      return {"False", "Complete", "every cluster has the last record's revision"};
  }
  EVENKEEL_CHECK(false);
}

Verdict Quorum(const Record* record, const Passage& passage) {
  if (record == nullptr || passage.revision == nullptr) return {"Unknown", "NotDeployed", "no servers have been started"};
  if (passage.Bootstrapping()) {
    if (IsRecovery(*passage.revision)) return {"False", "Recovering", "not all survivors have been started with their list"};
    return {"Unknown", "Bootstrapping", "fewer servers than a majority have been started"};
  }
  const std::string unhealthy = passage.WhyUnhealthy();
  if (!unhealthy.empty() && passage.FollowsOutOfReach()) {
    return {"True", "LeaderOutOfReach", "a majority of the servers follows a leader in a cluster that cannot be reached"};
  }
  if (!unhealthy.empty()) return {"False", kQuorumLost, unhealthy + passage.Causes()};
  return {"True", "Healthy", "a majority of the servers is in sync"};
}

Verdict Degradation(const Record* record, const Verdict& quorum) {
  if (record == nullptr) return {"False", "AsExpected", "nothing has gone wrong"};
  const bool trouble = record->status == RecordStatus::kRollingBack || record->status == RecordStatus::kFailed ||
                       (record->status == RecordStatus::kPaused && record->reason != kPausedByUser);
  if (!trouble && quorum.reason == kQuorumLost) return {"True", quorum.reason, quorum.message};
  if (!trouble) return {"False", "AsExpected", "nothing has gone wrong"};
  return {"True", record->reason.empty() ? std::string(Name(record->status)) : record->reason, record->message};
}

Verdict Readiness(const Record* record, const Verdict& quorum, const Passage& passage, bool up_to_date) {
  if (record == nullptr || record->status != RecordStatus::kReady)
    return {"False", "RolloutUnderWay", "a rollout has not ended"};
  if (!up_to_date) return {"False", "RolloutDue", "something else is wanted"};
  if (std::string behind = passage.WhyBehind(); !behind.empty()) return {"False", "ClusterBehind", std::move(behind)};
  if (quorum.status != "True") return {"False", quorum.reason, quorum.message};
  return {"True", "Ready", "every cluster has what is wanted, and the quorum is healthy"};
}

Verdict Recovery(const RecoveryNote& note) {
  const bool under_way = note.outcome == RecoveryNote::Outcome::kStarted;
  return {under_way ? "True" : "False", "Recovery" + std::string(Name(note.outcome)), note.request + ": " + note.message};
}

/// Voters that the clusters are pinned to have.
int64_t Pinned(const EnsembleState& state) {
  int64_t replicas = 0;
  for (const auto& [cluster, given] : state.rollout.clusters) {
    const Revision* revision = state.Find(given.revision);
    if (revision != nullptr) replicas += ShareOf(revision->shares, cluster);
  }
  return replicas;
}

}  // namespace

Json Report(const Json& object, const Passage& passage, const Schedule& schedule, bool up_to_date, std::string_view reason,
            std::string_view message, const std::string& others, base::Time now) {
  const Json* before = base::Find(object, {"status"});
  Json holder = JsonObject{{"status", before == nullptr || !before->is_object() ? Json(JsonObject{}) : Json(*before, {})}};
  JsonObject& status = holder.as_object()["status"].as_object();
  const Record* record = passage.state.rollout.records.empty() ? nullptr : &passage.state.rollout.records.back();
  status["observedGeneration"] = base::FindInt(object, {"metadata", "generation"});
  WriteState(passage.state, status);
  WriteOutages(passage.fleet, status);
  status["phase"] = record == nullptr ? "Pending" : Name(record->status);
  status["replicas"] = Pinned(passage.state);
  int64_t ready = 0;
  for (const auto& [cluster, member] : passage.fleet.members) {
    if (member.reachable && member.applied) ready += member.ready;
  }
  status["readyReplicas"] = ready;
  status.erase("leader");
  if (const auto leader = FindLeader(passage.fleet)) {
    status["leader"] = JsonObject{{"cluster", leader->cluster}, {"myid", leader->id}};
  }
  const Verdict quorum = Quorum(record, passage);
  const auto set = [&](std::string_view type, const Verdict& verdict) {
    kube::SetCondition(holder, type, verdict.status, verdict.reason, verdict.message, now);
  };
  set("Scheduled", schedule.valid() ? Verdict{"True", "Scheduled", "the schedule is the placement"}
                                    : Verdict{"False", schedule.reason, schedule.message});
  set("PlacementSafe", Placement(passage.spec));
  set("Progressing", Progress(record, schedule, reason, message));
  set("QuorumHealthy", quorum);
  set("Degraded", Degradation(record, quorum));
  set("Ready", Readiness(record, quorum, passage, up_to_date));
  if (!others.empty()) {
    set("OverridesHonoured", {"False", "OtherOverrides", others});
  } else if (kube::FindCondition(holder, "OverridesHonoured") != nullptr) {
    set("OverridesHonoured", {"True", "NoOthers", "nobody else overrides the ZooKeeper"});
  }
  if (!passage.state.recoveries.empty()) set("Recovering", Recovery(passage.state.recoveries.back()));
  return holder.as_object()["status"];
}

}  // namespace evenkeel::controllers::rollout::zookeeper
