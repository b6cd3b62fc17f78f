#include <algorithm>

#include "controllers/rollout/zookeeper/plan/plan.h"
#include "controllers/rollout/zookeeper/reading/copies.h"
#include "controllers/rollout/zookeeper/reading/ownership.h"
#include "controllers/rollout/zookeeper/reading/render.h"
#include "controllers/rollout/zookeeper/spec/ensemble_state.h"
#include "controllers/rollout/zookeeper/spec/event_kinds.h"
#include "kube/object.h"

namespace evenkeel::controllers::rollout::zookeeper {
namespace {

using base::Find;
using base::FindArray;
using base::FindString;
using base::Json;
using base::JsonObject;

constexpr char kWaiting[] = "WaitingForMembers";

class Deletion {
 public:
  explicit Deletion(const PlanInput& input) : input_(input), fleet_(input.fleet) {
    spec_.name = kube::NameOf(input.object.object);
    spec_.ns = kube::NamespaceOf(input.object.object);
    const Json* status = Find(input.object.object, {"status"});
    plan_.status = status == nullptr ? Json(JsonObject{}) : Json(*status, {});
    for (const Json* child : fleet_.children) {
      if (OwnerOf(*child) != spec_.name) continue;
      (FindString(*child, {"kind"}) == "OverridePolicy" ? overrides_ : others_).push_back(RefOf(*child));
      if (FindString(*child, {"kind"}) == "PropagationPolicy" && kube::NameOf(*child) == ServersPolicyName(spec_))
        policy_ = child;
    }
    for (const Json& cluster : FindArray(plan_.status, {"clusters"})) {
      if (base::FindBool(cluster, {kCopiedField})) copied_.emplace(FindString(cluster, {"name"}));
    }
  }

  Plan Run() {
    const bool begun = !FindArray(input_.object.object, {"status", "records"}).empty();
    // Somebody else's, and so is its binding.
    const bool foreign = fleet_.zookeeper != nullptr && !Belongs(*fleet_.zookeeper, spec_.name, begun);
    if (fleet_.zookeeper != nullptr && !foreign) {
      RemoveTemplate();
    } else if (fleet_.binding != nullptr && !foreign) {
      Wait("the ResourceBinding is still there");
    } else if (!foreign && TakeBack()) {
      Say(events::kDeletingZooKeeper.reason, "the members' copies were left behind: they are taken back, and then go");
    } else if (!others_.empty()) {
      Say(events::kDeletingPolicies.reason, "the members' copies are gone");
      plan_.remove = std::move(others_);
    } else if (!overrides_.empty()) {
      Say(events::kDeletingOverrides.reason, "nothing is left that they override");
      plan_.remove = std::move(overrides_);
    } else {
      Say(events::kDeleted.reason, "everything is gone");
      plan_.finished = true;
    }
    plan_.acted = plan_.finished || !plan_.remove.empty() || !plan_.apply.empty();
    return std::move(plan_);
  }

 private:
  void Say(std::string reason, std::string message) {
    plan_.reason = std::move(reason);
    plan_.message = std::move(message);
  }
  void Wait(std::string message) { Say(kWaiting, std::move(message)); }

  void RemoveTemplate() {
    Say(events::kDeletingZooKeeper.reason, "Karmada takes the members' copies away with it");
    if (Find(*fleet_.zookeeper, {"metadata", "deletionTimestamp"}) != nullptr) return;
    const bool policy_keeps = policy_ != nullptr && base::FindBool(*policy_, {"spec", kKeepsField});
    const bool kept = KeepsCopies(fleet_, BoundClusters(fleet_));
    if (policy_keeps || (policy_ == nullptr && kept)) {
      plan_.apply.push_back(ReleasingPolicy());
      return;
    }
    if (kept) {
      Wait("Karmada has not heard everywhere yet that the members' copies go, too");
      plan_.polls = true;
      return;
    }
    if (!IsTakenBack()) {
      Wait("Karmada has not taken all of the members' copies back yet");
      return;
    }
    Forget();
    plan_.remove.push_back(RefOf(*fleet_.zookeeper));
  }

  /// As it is, or where somebody has deleted it, as the binding remembers it; but the copies go with the template.
  Json ReleasingPolicy() const {
    Json policy;
    if (policy_ != nullptr) {
      policy = Json(*policy_, {});
    } else {
      policy = RenderPropagationPolicies(spec_, {}, {}).back();
      if (const Json* placement = Find(*fleet_.binding, {"spec", "placement"})) {
        base::Ensure(policy, {"spec", "placement"}) = Json(*placement, {});
      }
    }
    base::Ensure(policy, {"spec", kKeepsField}) = false;
    return policy;
  }

  /// Of a template that was made to take copies back: whether Karmada has them wherever it has scheduled it.
  bool IsTakenBack() const {
    if (FindString(*fleet_.zookeeper, {"metadata", "annotations", kConflictAnnotation}) != "overwrite") return true;
    if (fleet_.binding == nullptr || FindArray(*fleet_.binding, {"spec", "clusters"}).empty()) return false;
    const std::set<std::string> bound = BoundClusters(fleet_);
    const FleetReading reading = ReadFleet(fleet_, copied_);
    return std::ranges::all_of(
        copied_, [&](const std::string& cluster) { return !bound.contains(cluster) || reading.Of(cluster).applied; });
  }

  /// Once nothing keeps the copies, what is left of them is not looked for any more.
  void Forget() {
    Json* clusters = Find(plan_.status, {"clusters"});
    if (clusters == nullptr || !clusters->is_array()) return;
    for (Json& cluster : clusters->get_array()) base::Erase(cluster, {kCopiedField});
  }

  /// Somebody has deleted the template by hand before, and the copies have stayed. False: there are none, or they cannot be
  /// taken back since nobody knows any more what they are.
  bool TakeBack() {
    if (copied_.empty() || input_.takes_no_template) return false;
    auto spec = DecodeSpec(input_.object);
    const auto state = ReadState(input_.object);
    auto repairs = PlanRepair(input_);
    if (!spec || !state || !repairs) return false;
    plan_.apply = *std::move(repairs);
    const Needs needs = NeedsInForce(*spec, *state);
    std::vector<Json> policies = RenderPropagationPolicies(*spec, copied_, needs);
    Complete(policies.back(), policy_);
    base::Ensure(policies.back(), {"spec", kKeepsField}) = false;
    if (policy_ == nullptr || !Says(*policy_, policies.back())) plan_.apply.push_back(std::move(policies.back()));
    Json zookeeper = RenderZooKeeper(*spec, copied_, needs);
    base::Ensure(zookeeper, {"metadata", "annotations", kConflictAnnotation}) = "overwrite";
    plan_.apply.push_back(std::move(zookeeper));
    return true;
  }

  const PlanInput& input_;
  const FleetObjects& fleet_;
  EnsembleSpec spec_;
  const Json* policy_ = nullptr;
  std::vector<ObjectRef> overrides_, others_;
  std::set<std::string> copied_;
  Plan plan_;
};

}  // namespace

Plan PlanDeletion(const PlanInput& input) { return Deletion(input).Run(); }

}  // namespace evenkeel::controllers::rollout::zookeeper
