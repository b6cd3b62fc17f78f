#include "controllers/scheduler/member_scheduler.h"

#include "controllers/runtime/controller.h"

namespace evenkeel::controllers::scheduler {
namespace {

constexpr char kTurn[] = "pods";

class MemberScheduler final : public runtime::MemberController {
 public:
  MemberScheduler(const MemberSchedulerContext& context, runtime::Member& member)
      : clock_(context.clock),
        random_(context.random.Fork(member.name())),
        kinds_(runtime::SnapshotReadKinds()),
        events_(member.client(), member.strand(), clock_, random_.Fork("events"), kSchedulerName, context.host),
        scheduler_({member.client(), clock_, events_, member.feed().mirror(), [this](base::Duration delay) { Call(delay); },
                    random_.Fork("scheduler")},
                   context.options),
        controller_("scheduler", member.strand(), clock_, [this](const std::string&) -> base::Result<runtime::ReconcileResult> {
          return runtime::ReconcileResult{scheduler_.Turn()};
        }) {
    runtime::MemberFeed& feed = member.feed();
    feed.Read(kinds_);
    feed.ReadPlans();
    controller_.WaitFor([this, &feed] { return feed.Missing(kinds_).empty() && feed.MissingPlans().empty(); });
    member.strand()->Post([this] { controller_.Start(); });
  }

 private:
  void Call(base::Duration delay) {
    if (delay == base::Duration{}) return controller_.Enqueue(kTurn);
    controller_.EnqueueAfter(kTurn, delay);
  }

  base::Clock& clock_;
  const base::Random random_;
  const std::vector<runtime::ReadKind> kinds_;
  client::EventRecorder events_;
  Scheduler scheduler_;
  runtime::Controller controller_;
};

}  // namespace

runtime::MemberControllerFactory NewMemberScheduler(MemberSchedulerContext context) {
  return [context = std::move(context)](runtime::Member& member) { return std::make_unique<MemberScheduler>(context, member); };
}

}  // namespace evenkeel::controllers::scheduler
