#include "controllers/rollout/zookeeper/hub/ensemble_reconciler.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "base/log.h"
#include "controllers/rollout/machine.h"
#include "controllers/rollout/reasons.h"
#include "controllers/rollout/zookeeper/spec/definitions.h"
#include "controllers/rollout/zookeeper/spec/desired_ensemble.h"
#include "controllers/rollout/zookeeper/spec/event_kinds.h"
#include "controllers/rollout/zookeeper/spec/unknown_fields.h"
#include "kube/karmada.h"
#include "kube/object.h"

namespace evenkeel::controllers::rollout::zookeeper {
namespace {

using base::FindString;
using base::Json;
using base::JsonArray;
using base::JsonObject;
using runtime::ReconcileResult;
using namespace std::chrono_literals;

/// What changed tells itself by an event; these are for what does not, such as deadlines, and for lost events.
constexpr base::Duration kWhileDeploying = 30s;
constexpr base::Duration kOtherwise = 5min;
/// A transition is seldom the last one.
constexpr base::Duration kAfterTransition = 100ms;
/// After so long without Karmada's Clusters the status no longer says what it said before.
constexpr base::Duration kBlind = 1min;
/// Where nobody tells of what is waited for.
constexpr base::Duration kPoll = 2s;

bool IsDeleted(const Json& object) { return base::Find(object, {"metadata", "deletionTimestamp"}) != nullptr; }

/// `existing` as it will be once it says what `desired` says; what others put into its metadata stays.
Json Merged(const Json& existing, const Json& desired) {
  Json object(existing, {});
  for (const char* field : {"labels", "annotations"}) {
    for (const auto& [key, value] : base::FindObject(desired, {"metadata", field})) {
      base::Ensure(object, {"metadata", field, key}) = value;
    }
  }
  if (const Json* spec = base::Find(desired, {"spec"})) object.as_object()["spec"] = *spec;
  return object;
}

/// Rather than about the status.
bool IsAboutSpec(const base::Error& error) {
  const base::ErrorDetails* details = error.details();
  return details != nullptr && !details->causes.empty() && details->causes.front().field.starts_with("spec");
}

/// Asking again will not help.
bool IsRefusal(const base::Error& error) {
  const base::Code code = error.code();
  return code == base::Code::kInvalid || code == base::Code::kBadRequest || code == base::Code::kForbidden;
}

bool IsTrouble(std::string_view reason) {
  const client::EventKind* kind = client::FindEventKind(events::kAll, reason);
  return kind != nullptr && kind->warning;
}

/// When the cluster that is deploying runs out of time, if one is.
std::optional<base::Duration> UntilDeadline(const Json& ensemble, base::Time since, base::Time now) {
  const JsonArray& records = base::FindArray(ensemble, {"status", "records"});
  if (records.empty() || base::FindArray(records.back(), {"currentState", "deploying"}).empty()) return std::nullopt;
  const auto progressed = base::ParseTime(FindString(records.back(), {"progressedAt"}));
  if (!progressed) return std::nullopt;
  const auto limit = std::chrono::seconds(base::FindInt(ensemble, {"spec", "rollout", "progressDeadlineSeconds"}, 600));
  return std::max<base::Duration>(std::max(*progressed, since) + limit - now, 1s);
}

base::Duration WhenAgain(const Json& ensemble, const Plan& plan, base::Time since, base::Time now) {
  if (plan.acted) return kAfterTransition;
  if (plan.polls) return kPoll;
  const std::string_view phase = FindString(ensemble, {"status", "phase"});
  const bool scheduled = base::Find(ensemble, {"status", "scheduling", "since"}) == nullptr;
  const bool settled = scheduled && (phase == "Ready" || phase == "Failed");
  const base::Duration routine = settled && !IsDeleted(ensemble) ? kOtherwise : kWhileDeploying;
  const auto deadline = UntilDeadline(ensemble, since, now);
  return deadline ? std::min(routine, *deadline) : routine;
}

}  // namespace

base::Result<ReconcileResult> EnsembleReconciler::Reconcile(const std::string& key) {
  std::string ns, name;
  kube::SplitKey(key, ns, name);
  auto ensemble = context_.hub.Get(MultiClusterZooKeepers(), ns, name);
  if (!ensemble && ensemble.error().code() == base::Code::kNotFound) {
    context_.metrics.Forget(key);
    watched_since_.erase(key);
    blind_since_.erase(key);
    return ReconcileResult{};
  }
  if (!ensemble) return base::Fail(ensemble.error().Wrap("read MultiClusterZooKeeper " + key));
  base::Ensure(*ensemble, {"kind"}) = MultiClusterZooKeepers().kind;
  base::Ensure(*ensemble, {"apiVersion"}) = MultiClusterZooKeepers().ApiVersion();
  // Whoever reads half of a status would take away what the other half says.
  if (const std::string newer = WhyTooNew(*ensemble, context_.forms); !newer.empty()) {
    return Refuse(*std::move(ensemble), events::kWrittenByNewer.reason, newer);
  }
  if (!IsDeleted(*ensemble)) {
    if (const auto spec = DecodeSpec({Json(*ensemble, {}), ""}); !spec) {
      EVENKEEL_ASSIGN(const HubReading reading, ReadHub(context_.hub, *ensemble));
      EVENKEEL_TRY(Repair(key, *ensemble, reading));
      return Refuse(*std::move(ensemble), events::kInvalidSpec.reason, spec.error().message());
    }
    if (!kube::HasFinalizer(*ensemble, kFinalizer)) {
      // Before anything is made that would have to be taken away again.
      EVENKEEL_TRY(KeepFinalizer(*ensemble, true));
      return ReconcileResult{kAfterTransition};
    }
  } else if (!kube::HasFinalizer(*ensemble, kFinalizer)) {
    return ReconcileResult{};
  }
  return CarryOut(key, *std::move(ensemble));
}

base::Result<ReconcileResult> EnsembleReconciler::CarryOut(const std::string& key, Json ensemble) {
  EVENKEEL_ASSIGN(const HubReading reading, ReadHub(context_.hub, ensemble));
  const bool deleted = IsDeleted(ensemble);
  if (!deleted && !reading.missing_kind.empty()) {
    EVENKEEL_TRY(Repair(key, ensemble, reading));
    return Refuse(std::move(ensemble), events::kKindMissing.reason,
                  "the hub does not serve " + reading.missing_kind + ": is Karmada installed there?");
  }
  if (reading.clusters_error) return WithoutClusters(key, std::move(ensemble), reading);
  blind_since_.erase(key);
  PlanInput input;
  input.object = {Json(ensemble, {}), ""};
  input.fleet = reading.Objects();
  input.now = context_.clock.Now();
  input.forms = context_.forms;
  base::Time& watched_since = watched_since_.try_emplace(key, input.now).first->second;
  // This host's clock may have been set back.
  watched_since = std::min(watched_since, input.now);
  input.watched_since = watched_since;
  auto plan = PlanRollout(input);
  if (!plan) {
    EVENKEEL_TRY(Repair(key, ensemble, reading));
    const auto& reason = IsAboutSpec(plan.error()) ? events::kInvalidSpec.reason : events::kInvalidStatus.reason;
    return Refuse(std::move(ensemble), reason, plan.error().message());
  }
  auto taken = TryTemplate(*plan, reading);
  if (deleted && !taken && IsRefusal(taken.error())) {
    input.takes_no_template = true;
    plan = PlanDeletion(input);
    taken = {};
  }
  if (!taken) {
    const base::Code code = taken.error().code();
    if (code == base::Code::kNotFound) {
      EVENKEEL_TRY(Repair(key, ensemble, reading));
      return Refuse(std::move(ensemble), events::kKindMissing.reason,
                    "the hub does not serve " + ZooKeepers().QualifiedPlural());
    }
    if (!IsRefusal(taken.error())) return base::Fail(taken.error());
    EVENKEEL_TRY(Repair(key, ensemble, reading));
    return Refuse(std::move(ensemble), events::kTemplateRefused.reason, taken.error().message());
  }
  EVENKEEL_ASSIGN(ensemble, WriteStatus(std::move(ensemble), plan->status));
  context_.metrics.SetState(key, ensemble);
  Record(key, ensemble, *plan);
  for (const Json& desired : plan->apply) {
    if (const auto applied = Apply(desired, reading, false); !applied) {
      if (applied.error().code() != base::Code::kConflict) {
        context_.events.Warning(ensemble, events::kApplyFailed.reason, applied.error().message());
      }
      return base::Fail(applied.error());
    }
  }
  if (plan->reason == events::kScheduleAskedAgain.reason) AskScheduler(ensemble);
  for (const ObjectRef& item : plan->remove) EVENKEEL_TRY(Remove(item, reading));
  if (plan->finished) {
    EVENKEEL_TRY(KeepFinalizer(ensemble, false));
    context_.metrics.Forget(key);
    return ReconcileResult{};
  }
  return ReconcileResult{WhenAgain(ensemble, *plan, input.watched_since, input.now)};
}

base::Result<ReconcileResult> EnsembleReconciler::WithoutClusters(const std::string& key, Json ensemble,
                                                                  const HubReading& reading) {
  // Which clusters can be reached is not known, but what they are to run is.
  if (!IsDeleted(ensemble)) EVENKEEL_TRY(Repair(key, ensemble, reading));
  const base::Time now = context_.clock.Now();
  base::Time& since = blind_since_.try_emplace(key, now).first->second;
  since = std::min(since, now);
  if (now - since < kBlind) return base::Fail(*reading.clusters_error);
  return Refuse(std::move(ensemble), events::kClustersUnknown.reason,
                fmt::format("the hub has not said since {} which Clusters there are: {}", base::FormatTime(since),
                            reading.clusters_error->message()));
}

base::Status EnsembleReconciler::Repair(const std::string& key, const Json& ensemble, const HubReading& reading) {
  if (!reading.serves_overrides) return {};
  PlanInput input;
  input.object = {Json(ensemble, {}), ""};
  input.fleet = reading.Objects();
  input.now = context_.clock.Now();
  input.forms = context_.forms;
  const auto repairs = PlanRepair(input);
  // A status that cannot be used is told where it is needed.
  if (!repairs || repairs->empty()) return {};
  for (const Json& desired : *repairs) EVENKEEL_TRY(Apply(desired, reading, false));
  context_.metrics.CountTransition(key, events::kDriftRepaired.reason);
  context_.events.Normal(ensemble, events::kDriftRepaired.reason, "overrides are as they were while nothing can be planned");
  return {};
}

void EnsembleReconciler::AskScheduler(const Json& ensemble) {
  const kube::Resource& resource = kube::karmada::WorkloadRebalancers();
  const std::string name =
      fmt::format("{}-{}", kube::NameOf(ensemble), base::FindInt(ensemble, {"status", "scheduling", "attempt"}));
  Json object = kube::NewObject(resource, "", fmt::format("evenkeel-{}-{}", kube::NamespaceOf(ensemble), name));
  base::Ensure(object, {"spec"}) = JsonObject{{"workloads", JsonArray{JsonObject{{"apiVersion", ZooKeepers().ApiVersion()},
                                                                                 {"kind", ZooKeepers().kind},
                                                                                 {"namespace", kube::NamespaceOf(ensemble)},
                                                                                 {"name", kube::NameOf(ensemble)}}}},
                                              {"ttlSecondsAfterFinished", 60}};
  if (!context_.may_write()) return;
  const auto asked = context_.hub.Create(resource, object);
  const base::Code code = asked ? base::Code::kAlreadyExists : asked.error().code();
  if (code == base::Code::kAlreadyExists || code == base::Code::kNotFound || code == base::Code::kForbidden) return;
  base::log::Warn("Karmada is not asked by a WorkloadRebalancer",
                  {{"ensemble", kube::KeyOf(ensemble)}, {"error", asked.error().message()}});
}

base::Status EnsembleReconciler::KeepFinalizer(const Json& ensemble, bool keep) {
  Json object(ensemble, {});
  kube::SetFinalizer(object, kFinalizer, keep);
  EVENKEEL_TRY(context_.may_write());
  auto written = context_.hub.Update(MultiClusterZooKeepers(), object);
  if (!written) {
    return base::Fail(written.error().Wrap("write the finalizer of MultiClusterZooKeeper " + kube::KeyOf(ensemble)));
  }
  return {};
}

base::Status EnsembleReconciler::TryTemplate(const Plan& plan, const HubReading& reading) {
  for (const Json& desired : plan.apply) {
    if (FindString(desired, {"kind"}) == ZooKeepers().kind) EVENKEEL_TRY(Apply(desired, reading, true));
  }
  return {};
}

base::Status EnsembleReconciler::Apply(const Json& desired, const HubReading& reading, bool dry_run) {
  const std::string kind(FindString(desired, {"kind"}));
  const kube::Resource* resource = FindKind(kind);
  EVENKEEL_CHECK(resource != nullptr);
  const Json* existing = reading.Find(kind, kube::NameOf(desired));
  EVENKEEL_TRY(context_.may_write());
  client::WriteOptions options;
  options.dry_run = dry_run;
  auto written = existing == nullptr ? context_.hub.Create(*resource, desired, options)
                                     : context_.hub.Update(*resource, Merged(*existing, desired), options);
  if (written) {
    if (!dry_run) base::log::Info("rollout applies", {{"kind", kind}, {"object", kube::KeyOf(desired)}});
    return {};
  }
  // It was read a moment ago, so it has come or gone since.
  const base::Code code = written.error().code();
  const bool moved = code == base::Code::kAlreadyExists || (code == base::Code::kNotFound && existing != nullptr);
  const base::Error error = written.error().Wrap("apply " + kind + " " + kube::KeyOf(desired));
  return base::Fail(moved ? base::Error(base::Code::kConflict, error.message()) : error);
}

base::Status EnsembleReconciler::Remove(const ObjectRef& item, const HubReading& reading) {
  const kube::Resource* resource = FindKind(item.kind);
  const Json* existing = reading.Find(item.kind, item.name);
  EVENKEEL_CHECK(resource != nullptr && existing != nullptr);
  client::DeleteOptions options;
  options.uid = kube::UidOf(*existing);
  options.resource_version = kube::ResourceVersionOf(*existing);
  EVENKEEL_TRY(context_.may_write());
  const auto removed = context_.hub.Delete(*resource, item.ns, item.name, options);
  if (!removed && removed.error().code() != base::Code::kNotFound) {
    return base::Fail(removed.error().Wrap("delete " + item.kind + " " + item.ns + "/" + item.name));
  }
  base::log::Info("rollout removes", {{"kind", item.kind}, {"object", item.ns + "/" + item.name}});
  return {};
}

base::Result<ReconcileResult> EnsembleReconciler::Refuse(Json ensemble, const std::string& reason, const std::string& message) {
  Json object(ensemble, {});
  Json& status = object.as_object()["status"];
  if (!status.is_object()) status = JsonObject{};
  const base::Time now = context_.clock.Now();
  bool changed = kube::SetCondition(object, "Degraded", "True", reason, message, now);
  changed |= kube::SetCondition(object, "Ready", "False", reason, message, now);
  status.as_object()["observedGeneration"] = base::FindInt(ensemble, {"metadata", "generation"});
  EVENKEEL_TRY(WriteStatus(ensemble, Json(status, {})));
  if (changed) context_.events.Warning(ensemble, reason, message);
  context_.metrics.SetState(kube::KeyOf(object), object);
  return ReconcileResult{kWhileDeploying};
}

base::Result<Json> EnsembleReconciler::WriteStatus(Json ensemble, const Json& status) {
  const Json* before = base::Find(ensemble, {"status"});
  if (base::Equal(before == nullptr ? Json(JsonObject{}) : *before, status)) return ensemble;
  ensemble.as_object()["status"] = status;
  EVENKEEL_TRY(context_.may_write());
  client::WriteOptions options;
  options.subresource = "status";
  auto written = context_.hub.Update(MultiClusterZooKeepers(), ensemble, options);
  if (!written) {
    return base::Fail(written.error().Wrap("write the status of MultiClusterZooKeeper " + kube::KeyOf(ensemble)));
  }
  base::Ensure(*written, {"kind"}) = MultiClusterZooKeepers().kind;
  base::Ensure(*written, {"apiVersion"}) = MultiClusterZooKeepers().ApiVersion();
  return *std::move(written);
}

void EnsembleReconciler::Record(const std::string& key, const Json& ensemble, const Plan& plan) {
  if (!plan.acted) return;
  const bool trouble = IsTrouble(plan.reason);
  base::log::Info("rollout", {{"ensemble", key}, {"step", plan.reason}, {"what", plan.message}});
  context_.metrics.CountTransition(key, plan.reason);
  // Of one object only so many Events are told (client/event_recorder.h); these would use them up.
  if (plan.reason == reasons::kClusterProgressed) return;
  trouble ? context_.events.Warning(ensemble, plan.reason, plan.message)
          : context_.events.Normal(ensemble, plan.reason, plan.message);
}

}  // namespace evenkeel::controllers::rollout::zookeeper
