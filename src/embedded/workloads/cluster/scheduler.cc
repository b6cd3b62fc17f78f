#include "embedded/workloads/cluster/scheduler.h"

#include "scheduling/reservations.h"

namespace evenkeel::embedded::workloads {
namespace {

namespace scheduler = controllers::scheduler;

constexpr char kDefaultScheduler[] = "default-scheduler";
constexpr char kTurn[] = "pods";
constexpr base::Duration kPlansPoll = std::chrono::milliseconds(20);

}  // namespace

SchedulerController::SchedulerController(Context& context)
    : Reconciler(context, kDefaultScheduler),
      scheduler_({context.client, context.clock, events(), mirror_, [this](base::Duration delay) { Call(delay); },
                  context.random.Fork("scheduler")},
                 {.names = {"", kDefaultScheduler, scheduler::kSchedulerName}}),
      plans_(context.client, scheduling::BalancingPlans(), context.strand, context.clock, context.random.Fork("plans"),
             [this](const std::string& name, const base::Json* after) { Put(scheduling::BalancingPlans(), name, after); }) {
  for (const scheduling::SnapshotKind& kind : scheduling::SnapshotKinds()) {
    const kube::Resource& resource = kind.resource;
    const auto handler = [this, &resource](const auto& before, const auto& after) {
      Put(resource, (after ? after : before)->meta.Key(), after ? after->json.get() : nullptr);
    };
    if (resource.kind == kube::resources::Pods().kind) {
      informers().pods().AddHandler(handler);
    } else if (resource.kind == kube::resources::Nodes().kind) {
      informers().nodes().AddHandler(handler);
    } else {
      informers().Of(resource).AddHandler(handler);
    }
  }
  informers()
      .Of(kube::resources::CustomResourceDefinitions())
      .AddHandler([this](const ObjectPointer& before, const ObjectPointer& after) {
        plans_.OnDefinition((after ? after : before)->meta.name, after ? after->json.get() : nullptr);
      });
}

void SchedulerController::Put(const kube::Resource& resource, const std::string& key, const base::Json* object) {
  object == nullptr ? mirror_.Remove(resource.kind, key) : mirror_.Upsert(resource.kind, *object);
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
