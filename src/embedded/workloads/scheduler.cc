#include "embedded/workloads/scheduler.h"

namespace evenkeel::embedded::workloads {
namespace {

namespace scheduler = controllers::balancer::scheduler;

constexpr char kDefaultScheduler[] = "default-scheduler";
constexpr char kTurn[] = "pods";
constexpr base::Duration kPlansPoll = std::chrono::milliseconds(20);

}  // namespace

SchedulerController::SchedulerController(Context& context)
    : Reconciler(context, kDefaultScheduler),
      scheduler_({context.client, context.clock, events(), [this](base::Duration delay) { Call(delay); }},
                 {.names = {"", kDefaultScheduler, scheduler::kSchedulerName}}),
      plans_(context.client, context.strand, context.clock, context.random.Fork("plans"),
             [this](const std::string& name, const base::Json* after) { scheduler_.OnPlan(name, after); }) {
  informers().pods().AddHandler([this](const PodPointer& before, const PodPointer& after) {
    scheduler_.OnPod((after ? after : before)->meta.Key(), after);
  });
  informers().nodes().AddHandler(
      [this](const NodePointer& before, const NodePointer& after) { scheduler_.OnNode(before.get(), after.get()); });
  informers().Of(kube::resources::Namespaces()).AddHandler([this](const ObjectPointer& before, const ObjectPointer& after) {
    scheduler_.OnNamespace((after ? after : before)->meta.name, after ? after->meta.labels : kube::Labels{});
  });
  for (const scheduler::VolumeResource& volumes : scheduler::VolumeResources()) {
    informers().Of(volumes.resource).AddHandler([this, &volumes](const ObjectPointer& before, const ObjectPointer& after) {
      scheduler_.OnVolume(volumes.kind, (after ? after : before)->meta.Key(), after ? after->json.get() : nullptr);
    });
  }
  informers()
      .Of(kube::resources::CustomResourceDefinitions())
      .AddHandler([this](const ObjectPointer& before, const ObjectPointer& after) {
        plans_.OnDefinition((after ? after : before)->meta.name, after ? after->json.get() : nullptr);
      });
}

void SchedulerController::Call(base::Duration delay) {
  if (delay == base::Duration{}) return Enqueue(kTurn);
  EnqueueAfter(kTurn, delay);
}

base::Result<Again> SchedulerController::Reconcile(const std::string&) {
  if (!begun_ && !plans_.synced()) return Again{kPlansPoll};
  begun_ = true;
  return scheduler_.Turn();
}

}  // namespace evenkeel::embedded::workloads
