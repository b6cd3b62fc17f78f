#include "embedded/workloads/controllers/deployment.h"

#include "embedded/workloads/controllers/deployment_status.h"
#include "embedded/workloads/pods/ownership.h"

namespace evenkeel::embedded::workloads {
namespace {

using base::Find;
using base::FindInt;
using base::Json;

}  // namespace

DeploymentController::DeploymentController(Context& context) : Reconciler(context, "deployment-controller") {
  informers().Of(kube::resources::Deployments()).AddHandler([this](const ObjectPointer& before, const ObjectPointer& after) {
    Enqueue((after ? after : before)->meta.Key());
  });
  informers().Of(kube::resources::ReplicaSets()).AddHandler([this](const ObjectPointer& before, const ObjectPointer& after) {
    if (before != nullptr) EnqueueForReplicaSet(before);
    if (after != nullptr) EnqueueForReplicaSet(after);
  });
  // Recreate waits for the last old pod to be gone.
  informers().pods().AddHandler([this](const PodPointer& before, const PodPointer& after) {
    if (before == nullptr || (after != nullptr && (before->terminal() || !after->terminal()))) return;
    const kube::OwnerReference* owner = before->meta.Controller();
    if (owner == nullptr || owner->kind != "ReplicaSet") return;
    const ObjectPointer set = informers().Of(kube::resources::ReplicaSets()).Get(before->meta.ns + "/" + owner->name);
    if (set != nullptr && set->meta.Controller() != nullptr) EnqueueForReplicaSet(set);
  });
}

void DeploymentController::EnqueueForReplicaSet(const ObjectPointer& set) {
  const kube::OwnerReference* owner = set->meta.Controller();
  if (owner != nullptr) {
    if (owner->kind == "Deployment") Enqueue(set->meta.ns + "/" + owner->name);
    return;
  }
  const auto& all = informers().Of(kube::resources::Deployments()).items();
  const std::string prefix = set->meta.ns + "/";
  for (auto at = all.lower_bound(prefix); at != all.end() && at->first.starts_with(prefix); ++at) {
    auto selector = SelectorOf(*at->second->json);
    if (selector && selector->Matches(set->meta.labels)) Enqueue(at->first);
  }
}

bool DeploymentController::OldPodsRemain(const Json& deployment, const std::vector<Json>& sets) {
  const auto newest = FindNewReplicaSet(deployment, sets);
  for (size_t i = 0; i < sets.size(); ++i) {
    if (newest && *newest == i) continue;
    for (const auto& [key, pod] : informers().owned_pods().OwnedBy(std::string(kube::UidOf(sets[i])))) {
      if (!pod->terminal()) return true;
    }
  }
  return false;
}

base::Status DeploymentController::CreateReplicaSet(const kube::Object& deployment, DeploymentPlan& plan) {
  const kube::Resource& sets = kube::resources::ReplicaSets();
  auto created = api().Create(sets, plan.create);
  if (created) return {};
  if (created.error().code() == base::Code::kAlreadyExists) {
    auto existing = api().Get(sets, deployment.meta.ns, kube::NameOf(plan.create));
    if (!existing) return base::Fail(existing.error());
    const kube::ObjectMeta meta = kube::DecodeMeta(*existing);
    const bool ours = meta.Controller() != nullptr && meta.Controller()->uid == deployment.meta.uid;
    if (ours && SameTemplate(*Find(*existing, {"spec", "template"}), *Find(*deployment.json, {"spec", "template"}))) {
      // The cache has not seen our own creation yet.
      return base::Fail(base::Code::kConflict, "ReplicaSet " + meta.Key() + " exists already");
    }
    Json status = base::FindObject(*deployment.json, {"status"});
    status.get_object()["collisionCount"] = FindInt(status, {"collisionCount"}) + 1;
    EVENKEEL_TRY(WriteStatus(api(), kube::resources::Deployments(), *deployment.json, std::move(status)));
    return base::Fail(base::Code::kConflict, "the name of ReplicaSet " + meta.Key() + " is taken");
  }
  const std::string message =
      "Failed to create new replica set \"" + std::string(kube::NameOf(plan.create)) + "\": " + created.error().message();
  events().Warning(*deployment.json, "ReplicaSetCreateError", message);
  Json status = base::FindObject(*deployment.json, {"status"});
  MarkFailedCreate(status, NumbersOf(*deployment.json), message, Now());
  if (auto written = WriteStatus(api(), kube::resources::Deployments(), *deployment.json, std::move(status)); !written) {
    return base::Fail(written.error());
  }
  return base::Fail(created.error());
}

base::Result<Again> DeploymentController::Reconcile(const std::string& key) {
  const ObjectPointer deployment = informers().Of(kube::resources::Deployments()).Get(key);
  if (deployment == nullptr) return Again{};
  if (IsTemplate(*deployment))
    return RemoveDependents(api(), kube::resources::ReplicaSets(),
                            informers().Owned(kube::resources::ReplicaSets()).OwnedBy(deployment->meta.uid));
  const auto selector = SelectorOf(*deployment->json);
  if (!selector) return Again{};
  EVENKEEL_ASSIGN(auto claimed,
                  Claim<kube::Object>(api(), informers().Owned(kube::resources::ReplicaSets()), kube::resources::ReplicaSets(),
                                      kube::resources::Deployments(), deployment->meta, *selector));
  std::vector<Json> sets;
  for (const ObjectPointer& set : claimed) sets.push_back(*set->json);
  DeploymentPlan plan = PlanDeployment(*deployment->json, sets, OldPodsRemain(*deployment->json, sets), Now());
  if (plan.create.is_object()) EVENKEEL_TRY(CreateReplicaSet(*deployment, plan));
  for (const Json& set : plan.update) EVENKEEL_TRY(api().Update(kube::resources::ReplicaSets(), set));
  for (const DeploymentEvent& event : plan.events) events().Normal(*deployment->json, event.reason, event.message);
  for (const std::string& name : plan.remove) {
    EVENKEEL_TRY(UnlessGone(api().Delete(kube::resources::ReplicaSets(), deployment->meta.ns, name)));
  }
  Json current = *deployment->json;
  if (!plan.revision.empty()) {
    base::Ensure(current, {"metadata", "annotations", "deployment.kubernetes.io/revision"}) = plan.revision;
    auto updated = api().Update(kube::resources::Deployments(), current);
    if (!updated) return IsGone(updated.error()) ? base::Result<Again>(Again{}) : base::Fail(updated.error());
    current = *std::move(updated);
  }
  EVENKEEL_TRY(UnlessGone(WriteStatus(api(), kube::resources::Deployments(), current, std::move(plan.status))));
  return plan.again;
}

}  // namespace evenkeel::embedded::workloads
