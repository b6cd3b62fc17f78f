#include "embedded/workloads/controllers/job.h"

#include "embedded/workloads/pods/ownership.h"

namespace evenkeel::embedded::workloads {
namespace {

using base::Json;

}  // namespace

JobController::JobController(Context& context) : Reconciler(context, "job-controller"), expectations_(context.clock) {
  WatchPodsOf(kube::resources::Jobs(), expectations_);
}

base::Status JobController::ReleasePod(const kube::Pod& pod) {
  auto stored = client::ReadModifyWrite(
      api(), kube::resources::Pods(), pod.meta.ns, pod.meta.name, [&](Json& current) -> base::Result<bool> {
        return kube::UidOf(current) == pod.meta.uid && kube::SetFinalizer(current, kJobFinalizer, false);
      });
  return UnlessGone(stored);
}

base::Result<Again> JobController::ReleaseOrphans(const std::string& key) {
  std::string ns, name;
  kube::SplitKey(key, ns, name);
  for (const PodPointer& pod : informers().PodsIn(ns)) {
    const kube::OwnerReference* owner = pod->meta.Controller();
    if (owner == nullptr || owner->kind != "Job" || owner->name != name || !pod->meta.HasFinalizer(kJobFinalizer)) continue;
    EVENKEEL_TRY(ReleasePod(*pod));
  }
  return Again{};
}

base::Status JobController::Carry(const kube::Object& job, const JobPlan& plan) {
  const Json holder = base::JsonObject{{"status", plan.status}};
  const bool failing = kube::FindCondition(holder, "FailureTarget") != nullptr;
  for (const PodPointer& pod : plan.remove) {
    // Pods that fail with their job count as failed; those that are only too many do not.
    if (!failing) EVENKEEL_TRY(ReleasePod(*pod));
    client::DeleteOptions options;
    options.uid = pod->meta.uid;
    auto deleted = api().Delete(kube::resources::Pods(), pod->meta.ns, pod->meta.name, options);
    if (!deleted && !IsGone(deleted.error())) return base::Fail(deleted.error());
    if (!deleted) continue;
    expectations_.Deleted(job.meta.Key(), pod->meta.uid);
    events().Normal(*job.json, "SuccessfulDelete", "Deleted pod: " + pod->meta.name);
  }
  for (const int64_t index : plan.create) {
    auto created = api().Create(kube::resources::Pods(), JobPodJson(*job.json, index));
    if (!created) {
      events().Warning(*job.json, "FailedCreate", "Error creating: " + created.error().message());
      return base::Fail(created.error());
    }
    expectations_.Created(job.meta.Key(), std::string(kube::UidOf(*created)));
    events().Normal(*job.json, "SuccessfulCreate", "Created pod: " + std::string(kube::NameOf(*created)));
  }
  return {};
}

base::Result<Again> JobController::Reconcile(const std::string& key) {
  const ObjectPointer job = informers().Of(kube::resources::Jobs()).Get(key);
  if (job == nullptr) return ReleaseOrphans(key);
  if (IsTemplate(*job))
    return RemoveDependents(api(), kube::resources::Pods(), informers().owned_pods().OwnedBy(job->meta.uid));
  const auto selector = SelectorOf(*job->json);
  if (!selector) return Again{};
  EVENKEEL_ASSIGN(auto pods, Claim<kube::Pod>(api(), informers().owned_pods(), kube::resources::Pods(), kube::resources::Jobs(),
                                              job->meta, *selector));
  if (!expectations_.Satisfied(key)) return Again{};
  JobPlan plan = PlanJob(*job->json, pods, Now());
  if (plan.expired) {
    client::DeleteOptions options;
    options.uid = job->meta.uid;
    options.propagation_policy = "Foreground";
    EVENKEEL_TRY(UnlessGone(api().Delete(kube::resources::Jobs(), job->meta.ns, job->meta.name, options)));
    return Again{};
  }
  // The count is on record before a pod may vanish.
  auto written = WriteStatus(api(), kube::resources::Jobs(), *job->json, plan.status);
  if (!written) return IsGone(written.error()) ? base::Result<Again>(Again{}) : base::Fail(written.error());
  for (const JobEvent& event : plan.events) {
    event.warning ? events().Warning(*job->json, event.reason, event.message)
                  : events().Normal(*job->json, event.reason, event.message);
  }
  for (const PodPointer& pod : plan.release) EVENKEEL_TRY(ReleasePod(*pod));
  EVENKEEL_TRY(Carry(*job, plan));
  return plan.again;
}

}  // namespace evenkeel::embedded::workloads
