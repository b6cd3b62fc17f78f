#include <algorithm>

#include "controllers/balancer/kinds.h"
#include "controllers/balancer/member_cluster.h"
#include "dashboard/balance_state.h"
#include "dashboard/documents.h"
#include "dashboard/sources.h"

namespace evenkeel::dashboard {
namespace {

namespace on_member = controllers::balancer;

constexpr size_t kBalancePoints = 360;
constexpr base::Duration kUsageAge = std::chrono::seconds(15);
/// The whole member is looked at each time, so that takes a twentieth of a core at most.
constexpr base::Duration kBalanceTick = std::chrono::seconds(1);
constexpr int kBalanceShare = 20;

class BalanceSource final : public InformedSource {
 public:
  explicit BalanceSource(SourceContext context)
      : InformedSource(std::move(context)),
        feed_(context_.client, context_.strand, context_.clock, context_.random.Fork("feed")),
        objects_(feed_.mirror()) {
    Follow(on_member::BalancingPolicies(), policies_);
    Follow(on_member::BalancingPlans(), plans_);
    feed_.Read(on_member::ReadKinds());
    feed_.Start();
  }

  bool settled() const override {
    return InformedSource::settled() && (feed_.Listed(on_member::ReadKinds()) || !InformedSource::error().empty());
  }
  base::Duration tick() const override { return std::max(kBalanceTick, kBalanceShare * took_); }

  Update Collect() override {
    const base::Instant began = context_.clock.Monotonic();
    Update update;
    CollectEntries(update, "policies", policies_, PolicyEntry);
    CollectPlans(update);
    // What the nodes are to be afterwards is of the very plan that is shown.
    const Json* shown = PlanToShow(plans_);
    const std::string version(shown == nullptr ? "" : kube::ResourceVersionOf(*shown));
    if (began - measured_ >= tick() || measured_ == base::Instant{} || version != plan_version_) {
      measured_ = began;
      plan_version_ = version;
      Measure(update);
      took_ = context_.clock.Monotonic() - began;
    }
    return update;
  }

 private:
  using Objects = std::map<std::string, Json>;  // by name

  void Follow(const kube::Resource& resource, Objects& objects) {
    Watch<kube::Object>(resource, {}, [&objects](const auto& before, const auto& after) {
      objects.erase((after ? after : before)->meta.name);
      if (after) objects[after->meta.name] = *after->json;
    });
  }

  void CollectEntries(Update& update, const std::string& field, const Objects& objects, Json (*entry)(const Json&)) {
    std::set<std::string>& told = told_[field];
    std::set<std::string> present;
    for (const auto& [name, object] : objects) {
      update.Set(field, name, entry(object));
      present.insert(name);
    }
    for (const std::string& name : told) {
      if (!present.contains(name)) update.Erase(field, name);
    }
    told = std::move(present);
  }

  void CollectPlans(Update& update) {
    std::vector<std::pair<std::string, std::string>> by_age;
    for (const auto& [name, plan] : plans_) {
      by_age.emplace_back(base::FindString(plan, {"metadata", "creationTimestamp"}), name);
    }
    std::ranges::sort(by_age, std::greater());
    Objects latest;
    for (size_t i = 0; i < by_age.size() && i < kPlansShown; ++i) latest[by_age[i].second] = plans_.at(by_age[i].second);
    CollectEntries(update, "plans", latest, PlanLine);
    const Json* shown = PlanToShow(plans_);
    update.Set("plan", shown == nullptr ? Json() : PlanDocument(*shown));
  }

  void Measure(Update& update) {
    std::optional<on_member::Policy> policy;
    for (const auto& [name, object] : policies_) {
      auto parsed = on_member::ParsePolicy(object);
      if (parsed && !policy) policy = *std::move(parsed);
    }
    const bool in_force = policy.has_value();
    // Without one nothing is moved, and the loads are told as an empty one would see them.
    if (!policy) policy = *on_member::ParsePolicy(JsonObject{{"metadata", JsonObject{{"name", ""}}}, {"spec", JsonObject{}}});
    ReadUsage(*policy);
    Balance balance = MeasureBalance({.objects = objects_,
                                      .policy = *policy,
                                      .in_force = in_force,
                                      .usage = usage_,
                                      .plan = PlanToShow(plans_),
                                      .now = context_.clock.Now()});
    update.Set("metrics", std::move(balance.metrics));
    std::set<std::string> present;
    for (auto& [name, entry] : balance.nodes) {
      present.emplace(name);
      update.Set("nodes", std::string(name), std::move(entry));
    }
    for (const std::string& name : told_["nodes"]) {
      if (!present.contains(name)) update.Erase("nodes", name);
    }
    told_["nodes"] = std::move(present);
    AddToHistory(std::move(balance.ratios));
    update.Set("history", history_);
  }

  void ReadUsage(const on_member::Policy& policy) {
    const base::Instant now = context_.clock.Monotonic();
    if (!policy.UsesUsage() || (usage_read_ && now - *usage_read_ < kUsageAge)) return;
    usage_read_ = now;
    const auto page = client::ListAll(context_.client, on_member::PodMetrics());
    // As the balancer does without them, requests count.
    usage_ = page ? on_member::DecodeUsage(page->items) : on_member::PodUsage();
  }

  void AddToHistory(JsonObject ratios) {
    const base::Instant now = context_.clock.Monotonic();
    if (!history_.empty() && now - noted_ < kSourceTick) return;
    noted_ = now;
    if (history_.size() >= kBalancePoints) history_.erase(history_.begin());
    history_.push_back(JsonArray{base::FormatTime(context_.clock.Now()), std::move(ratios)});
  }

  controllers::runtime::MemberFeed feed_;
  on_member::MemberObjects objects_;
  Objects policies_, plans_;
  on_member::PodUsage usage_;
  std::optional<base::Instant> usage_read_;
  std::map<std::string, std::set<std::string>> told_;
  base::Instant measured_{}, noted_{};
  std::string plan_version_;
  base::Duration took_{};
  JsonArray history_;
};

}  // namespace

std::unique_ptr<Source> NewBalanceSource(SourceContext context) { return std::make_unique<BalanceSource>(std::move(context)); }

}  // namespace evenkeel::dashboard
