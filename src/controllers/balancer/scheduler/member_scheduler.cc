#include "controllers/balancer/scheduler/member_scheduler.h"

#include "controllers/balancer/scheduler/plan_watch.h"
#include "controllers/runtime/controller.h"

namespace evenkeel::controllers::balancer::scheduler {
namespace {

using base::Json;
using scheduling::VolumeKind;

constexpr char kTurn[] = "pods";
/// Pods that have ended hold nothing.
constexpr char kLivePods[] = "status.phase!=Succeeded,status.phase!=Failed";

/// An object on its way to the scheduler, which keeps what it needs of it: here only what tells versions apart stays.
struct PassingObject {
  struct Meta {
    std::string uid, resource_version;
    uint32_t bytes = 0;
  };
  Meta meta;
  std::string key;
  mutable Json object;  ///< until the handler has taken it

  static PassingObject Decode(Json&& json) {
    PassingObject passing;
    passing.meta = {std::string(kube::UidOf(json)), std::string(kube::ResourceVersionOf(json))};
    passing.key = kube::KeyOf(json);
    passing.object = std::move(json);
    return passing;
  }
};

class MemberScheduler final : public runtime::MemberController {
 public:
  MemberScheduler(const MemberSchedulerContext& context, runtime::Member& member)
      : member_(member),
        clock_(context.clock),
        random_(context.random.Fork(member.name())),
        events_(member.client(), member.strand(), clock_, random_.Fork("events"), kSchedulerName, context.host),
        scheduler_({member.client(), clock_, events_, [this](base::Duration delay) { Call(delay); }}, context.options),
        controller_("scheduler", member.strand(), clock_,
                    [this](const std::string&) -> base::Result<runtime::ReconcileResult> {
                      return runtime::ReconcileResult{scheduler_.Turn()};
                    }),
        nodes_(member.client(), kube::resources::Nodes(), {}, member.strand(), clock_, random_.Fork("nodes")),
        plans_(member.client(), member.strand(), clock_, random_.Fork("plans"),
               [this](const std::string& name, const Json* after) { scheduler_.OnPlan(name, after); }) {
    nodes_.AddHandler([this](const auto& before, const auto& after) { scheduler_.OnNode(before.get(), after.get()); });
    // Volumes before the pods that use them.
    for (const VolumeResource& volumes : VolumeResources()) {
      Feed(volumes.resource, "",
           [this, kind = volumes.kind](const std::string& key, const Json* after) { scheduler_.OnVolume(kind, key, after); });
    }
    Feed(kube::resources::Namespaces(), "", [this](const std::string& key, const Json* after) {
      scheduler_.OnNamespace(key, after ? kube::DecodeMeta(*after).labels : kube::Labels{});
    });
    Feed(kube::resources::Pods(), kLivePods, [this](const std::string& key, const Json* after) {
      scheduler_.OnPod(key, after ? std::make_shared<const kube::Pod>(kube::Pod::Decode(*after)) : nullptr);
    });
    Feed(kube::resources::CustomResourceDefinitions(), std::string("metadata.name=") + scheduling::kPlanDefinition,
         [this](const std::string& key, const Json* after) { plans_.OnDefinition(key, after); });
    controller_.WaitFor([this] { return nodes_.synced() && std::ranges::all_of(feeds_, Listed) && plans_.synced(); });
    member.strand()->Post([this] {
      nodes_.Start();
      for (const auto& feed : feeds_) feed->Start();
      controller_.Start();
    });
  }

 private:
  using PassingInformer = client::Informer<PassingObject>;

  /// `take` gets each object as it is now; null: it has gone.
  void Feed(const kube::Resource& resource, const std::string& fields,
            std::function<void(const std::string& key, const Json* after)> take) {
    auto feed = std::make_unique<PassingInformer>(member_.client(), resource, client::InformerOptions{.field_selector = fields},
                                                  member_.strand(), clock_, random_.Fork(resource.plural));
    feed->AddHandler([&resource, take = std::move(take)](const auto& before, const auto& after) {
      if (after == nullptr) return take(before->key, nullptr);
      // Items of lists do not say what they are; events about them do.
      base::Ensure(after->object, {"apiVersion"}) = resource.ApiVersion();
      base::Ensure(after->object, {"kind"}) = resource.kind;
      take(after->key, &after->object);
      after->object = nullptr;
    });
    feeds_.push_back(std::move(feed));
  }

  /// A kind that the API does not serve has no objects.
  static bool Listed(const std::unique_ptr<PassingInformer>& feed) {
    if (feed->synced()) return true;
    const auto error = feed->last_error();
    return error && error->code() == base::Code::kNotFound;
  }

  void Call(base::Duration delay) {
    if (delay == base::Duration{}) return controller_.Enqueue(kTurn);
    controller_.EnqueueAfter(kTurn, delay);
  }

  runtime::Member& member_;
  base::Clock& clock_;
  const base::Random random_;
  client::EventRecorder events_;
  Scheduler scheduler_;
  runtime::Controller controller_;
  client::Informer<kube::Node> nodes_;
  std::vector<std::unique_ptr<PassingInformer>> feeds_;
  PlanWatch plans_;
};

}  // namespace

runtime::MemberControllerFactory NewMemberScheduler(MemberSchedulerContext context) {
  return [context = std::move(context)](runtime::Member& member) { return std::make_unique<MemberScheduler>(context, member); };
}

}  // namespace evenkeel::controllers::balancer::scheduler
