#include "controllers/balancer/scheduler/plan_watch.h"

#include "scheduling/reservations.h"

namespace evenkeel::controllers::balancer::scheduler {

PlanWatch::PlanWatch(client::Client& client, std::shared_ptr<base::Strand> strand, base::Clock& clock, base::Random random,
                     Handler handler)
    : client_(client), strand_(std::move(strand)), clock_(clock), random_(std::move(random)), handler_(std::move(handler)) {}

void PlanWatch::OnDefinition(const std::string& name, const base::Json* after) {
  if (name != scheduling::kPlanDefinition) return;
  const base::Json* established = after == nullptr ? nullptr : kube::FindCondition(*after, "Established");
  const bool served = established != nullptr && base::FindString(*established, {"status"}) == "True";
  if (served == (plans_ != nullptr)) return;
  if (!served) {
    const auto gone = std::move(plans_);
    for (const auto& [plan, object] : gone->items()) handler_(plan, nullptr);
    return;
  }
  plans_ = std::make_unique<client::Informer<kube::Object>>(client_, scheduling::BalancingPlans(), client::InformerOptions{},
                                                            strand_, clock_, random_.Fork("plans"));
  plans_->AddHandler([this](const auto& before, const auto& after_change) {
    handler_((after_change ? after_change : before)->meta.name, after_change ? after_change->json.get() : nullptr);
  });
  plans_->Start();
}

}  // namespace evenkeel::controllers::balancer::scheduler
