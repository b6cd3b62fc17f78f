#include "embedded/workloads/controllers/stateful_set.h"

#include <algorithm>

#include "embedded/workloads/pods/ownership.h"

namespace evenkeel::embedded::workloads {
namespace {

using base::FindString;
using base::Json;
using base::JsonObject;

}  // namespace

StatefulSetController::StatefulSetController(Context& context)
    : Reconciler(context, "statefulset-controller"), expectations_(context.clock) {
  WatchPodsOf(kube::resources::StatefulSets(), expectations_);
  informers().Owned(kube::resources::ControllerRevisions());
}

base::Status StatefulSetController::CreatePod(const kube::Object& set, int64_t ordinal, const Revision& revision) {
  const Json pod = StatefulPodJson(*set.json, TemplateOf(revision), revision.name, ordinal);
  const std::string name(kube::NameOf(pod));
  for (const Json& claim : StatefulClaims(*set.json, ordinal)) {
    const std::string claim_name(kube::NameOf(claim));
    if (informers().Of(kube::resources::PersistentVolumeClaims()).Get(set.meta.ns + "/" + claim_name) != nullptr) continue;
    auto created = api().Create(kube::resources::PersistentVolumeClaims(), claim);
    if (created) {
      events().Normal(*set.json, "SuccessfulCreate",
                      "create Claim " + claim_name + " Pod " + name + " in StatefulSet " + set.meta.name + " success");
    } else if (created.error().code() != base::Code::kAlreadyExists) {
      events().Warning(*set.json, "FailedCreate",
                       "create Claim " + claim_name + " for Pod " + name + " in StatefulSet " + set.meta.name +
                           " failed error: " + created.error().message());
      return base::Fail(created.error());
    }
  }
  auto created = api().Create(kube::resources::Pods(), pod);
  if (created) {
    expectations_.Created(set.meta.Key(), std::string(kube::UidOf(*created)));
    events().Normal(*set.json, "SuccessfulCreate", "create Pod " + name + " in StatefulSet " + set.meta.name + " successful");
    return {};
  }
  if (created.error().code() == base::Code::kAlreadyExists)
    return base::Fail(base::Code::kConflict, "pod " + name + " exists already");
  events().Warning(*set.json, "FailedCreate",
                   "create Pod " + name + " in StatefulSet " + set.meta.name + " failed error: " + created.error().message());
  return base::Fail(created.error());
}

base::Status StatefulSetController::Carry(const kube::Object& set, const StatefulSetPlan& plan, const Revision& current,
                                          const Revision& update) {
  for (const PodPointer& pod : plan.relabel) {
    Json patch =
        JsonObject{{"metadata", JsonObject{{"labels", JsonObject{{"statefulset.kubernetes.io/pod-name", pod->meta.name}}}}}};
    EVENKEEL_TRY(
        UnlessGone(api().Patch(kube::resources::Pods(), pod->meta.ns, pod->meta.name, client::PatchType::kMerge, patch)));
  }
  for (const StatefulPod& wanted : plan.create) EVENKEEL_TRY(CreatePod(set, wanted.ordinal, wanted.updated ? update : current));
  for (const PodPointer& pod : plan.remove) {
    if (std::find(plan.failed.begin(), plan.failed.end(), pod) != plan.failed.end()) {
      events().Warning(*set.json, "RecreatingFailedPod",
                       "StatefulSet " + set.meta.Key() + " is recreating failed Pod " + pod->meta.name);
    }
    client::DeleteOptions options;
    options.uid = pod->meta.uid;
    EVENKEEL_TRY(UnlessGone(api().Delete(kube::resources::Pods(), pod->meta.ns, pod->meta.name, options)));
    expectations_.Deleted(set.meta.Key(), pod->meta.uid);
    events().Normal(*set.json, "SuccessfulDelete",
                    "delete Pod " + pod->meta.name + " in StatefulSet " + set.meta.name + " successful");
  }
  return {};
}

base::Result<Again> StatefulSetController::Reconcile(const std::string& key) {
  const ObjectPointer set = informers().Of(kube::resources::StatefulSets()).Get(key);
  if (set == nullptr) return Again{};
  if (IsTemplate(*set))
    return RemoveDependents(api(), kube::resources::Pods(), informers().owned_pods().OwnedBy(set->meta.uid));
  const auto selector = SelectorOf(*set->json);
  if (!selector) return Again{};
  EVENKEEL_ASSIGN(auto pods, Claim<kube::Pod>(api(), informers().owned_pods(), kube::resources::Pods(),
                                              kube::resources::StatefulSets(), set->meta, *selector, [&](const kube::Pod& pod) {
                                                return OrdinalOf(set->meta.name, pod.meta.name).has_value();
                                              }));
  if (!expectations_.Satisfied(key)) return Again{};
  auto revisions = SyncRevisions(context_, kube::resources::StatefulSets(), *set, *selector);
  if (!revisions) return set->meta.deletion_time ? base::Result<Again>(Again{}) : base::Fail(revisions.error());
  const Revision& update = revisions->back();
  const std::string_view current_name = FindString(*set->json, {"status", "currentRevision"});
  auto found = std::find_if(revisions->begin(), revisions->end(), [&](const Revision& r) { return r.name == current_name; });
  const Revision& current = found != revisions->end() ? *found : update;
  StatefulSetPlan plan = PlanStatefulSet(*set->json, pods, current.name, update.name, Now());
  const base::Status carried = Carry(*set, plan, current, update);
  auto written = WriteStatus(api(), kube::resources::StatefulSets(), *set->json, plan.status);
  if (!carried) return base::Fail(carried.error());
  if (!written && !IsGone(written.error())) return base::Fail(written.error());
  std::vector<std::string> in_use{current.name, std::string(FindString(plan.status, {"currentRevision"}))};
  for (const PodPointer& pod : pods) {
    auto label = pod->meta.labels.find("controller-revision-hash");
    if (label != pod->meta.labels.end()) in_use.push_back(label->second);
  }
  EVENKEEL_TRY(TrimRevisions(context_, *set, *revisions, in_use));
  return plan.again;
}

}  // namespace evenkeel::embedded::workloads
