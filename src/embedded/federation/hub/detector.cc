#include "embedded/federation/hub/detector.h"

#include <algorithm>
#include <tuple>

#include "base/hash.h"
#include "base/log.h"
#include "client/definitions.h"
#include "embedded/federation/policies/bindings.h"
#include "embedded/federation/policies/event_kinds.h"
#include "embedded/federation/policies/selectors.h"
#include "embedded/federation/policies/validation.h"
#include "kube/karmada.h"

namespace evenkeel::embedded::federation {
namespace {

using base::Find;
using base::FindString;
using base::Json;
using base::JsonArray;
using base::JsonObject;

constexpr base::Duration kKindRetry = std::chrono::seconds(2);
constexpr base::Duration kOverrideRetry = std::chrono::seconds(1);

bool Means(const Json& policy, const Json& object) {
  const std::string_view ns = kube::NamespaceOf(policy);
  if (!ns.empty() && ns != kube::NamespaceOf(object)) return false;
  if (IsReservedNamespace(kube::NamespaceOf(object))) return false;
  return MatchResources(policy, object, false) != SelectorMatch::kNone;
}

bool IsNamespaced(const kube::Object& policy) { return !policy.meta.ns.empty(); }

bool HasClaim(const Json& object) {
  const auto& labels = base::FindObject(object, {"metadata", "labels"});
  return labels.contains(kPolicyId) || labels.contains(kClusterPolicyId);
}

bool IsClaimedBy(const Json& object, const kube::Object& policy) {
  const char* id = IsNamespaced(policy) ? kPolicyId : kClusterPolicyId;
  return FindString(object, {"metadata", "labels", id}) == policy.meta.uid;
}

/// Status and versions change without the template changing.
uint64_t HashOfTemplate(const Json& object) {
  Json relevant = object;
  relevant.get_object().erase("status");
  for (const char* field : {"resourceVersion", "managedFields"}) base::Erase(relevant, {"metadata", field});
  return base::Blake2b64(base::ToText(relevant));
}

/// The part of spec that a policy decides.
void SetPolicyFields(Json& binding, const Json& policy) {
  for (const char* field : {"placement", "propagateDeps", "schedulerName", "conflictResolution", "suspension",
                            "preserveResourcesOnDeletion", "failover"}) {
    const Json* value = Find(policy, {"spec", field});
    if (value != nullptr) {
      base::Ensure(binding, {"spec", field}) = *value;
    } else {
      base::Erase(binding, {"spec", field});
    }
  }
}

}  // namespace

void TemplateBook::SetPolicies(std::vector<ObjectPointer> policies) {
  const std::lock_guard lock(mutex_);
  policies_ = std::move(policies);
}

bool TemplateBook::IsTemplate(const Json& object) const {
  if (HasClaim(object)) return true;
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(policies_, [&](const ObjectPointer& policy) { return Means(*policy->json, object); });
}

Detector::Detector(Hub& hub, TemplateBook& book)
    : hub_(hub),
      book_(book),
      random_(hub.random.Fork("detector")),
      policies_("federation-policies", hub.strand, hub.clock, [this](const std::string& key) { return ReconcilePolicy(key); }),
      templates_("federation-detector", hub.strand, hub.clock,
                 [this](const std::string& key) { return ReconcileTemplate(key); }) {
  for (ObjectInformer* informer : {&hub.policies, &hub.cluster_policies}) {
    informer->AddHandler([this](const ObjectPointer& before, const ObjectPointer& after) {
      SeePolicies();
      policies_.Enqueue((after ? after : before)->meta.Key());
    });
  }
  hub.templates.AddHandler([this](const ObjectPointer& before, const ObjectPointer& after) {
    const std::string key = TemplateKeyOf(after ? *after->json : *before->json);
    if (after == nullptr) {
      seen_.erase(key);
      return;
    }
    templates_.Enqueue(key);
  });
  // Who explains a kind decides whether its objects have replicas.
  hub.interpreters.AddHandler([this](const ObjectPointer&, const ObjectPointer&) { EnqueueTemplates(); });
  // A binding that somebody deletes, while its template stays, comes again.
  const auto deleted = [this](const ObjectPointer& before, const ObjectPointer& after) {
    if (after != nullptr) return;
    const auto field = [&](const char* name) { return std::string(FindString(*before->json, {"spec", "resource", name})); };
    const std::string ns = field("namespace");
    templates_.Enqueue(field("apiVersion") + " " + field("kind") + " " + (ns.empty() ? "" : ns + "/") + field("name"));
  };
  hub.bindings.AddHandler(deleted);
  hub.cluster_bindings.AddHandler(deleted);
  for (controllers::runtime::Controller* controller : {&policies_, &templates_})
    controller->WaitFor([this] { return hub_.synced(); });
}

void Detector::Start() {
  policies_.Start();
  templates_.Start();
}

void Detector::SeePolicies() {
  std::vector<ObjectPointer> all;
  for (const ObjectInformer* informer : {&hub_.policies, &hub_.cluster_policies}) {
    for (const auto& [key, policy] : informer->items()) all.push_back(policy);
  }
  book_.SetPolicies(std::move(all));
}

Detector::Done Detector::ReconcilePolicy(const std::string& key) {
  const bool namespaced = key.find('/') != std::string::npos;
  const ObjectPointer policy = namespaced ? hub_.policies.Get(key) : hub_.cluster_policies.Get(key);
  controllers::runtime::ReconcileResult result;
  if (policy != nullptr) {
    if (const auto valid = ValidatePropagation(*policy->json); !valid) {
      hub_.events.Warning(*policy->json, events::kInvalidPolicy.reason, valid.error().message());
      return result;
    }
    for (const Json& selector : base::FindArray(*policy->json, {"spec", "resourceSelectors"})) {
      const auto informer =
          hub_.templates.Of(std::string(FindString(selector, {"apiVersion"})), std::string(FindString(selector, {"kind"})));
      if (informer) continue;
      if (informer.error().code() != base::Code::kNotFound) return base::Fail(informer.error());
      // Its definition may come later.
      result.requeue_after = kKindRetry;
    }
  }
  EnqueueTemplates();
  return result;
}

void Detector::EnqueueTemplates() {
  for (const auto& [kind, informer] : hub_.templates.all()) {
    for (const auto& [name, object] : informer->items()) templates_.Enqueue(TemplateKeyOf(*object->json));
  }
}

ObjectPointer Detector::ChooseAmong(const kube::Object& object, const ObjectInformer& policies) const {
  ObjectPointer best, claimed;
  std::tuple<int64_t, SelectorMatch> best_rank;
  for (const auto& [key, policy] : policies.items()) {  // by name, so that the first of equals stays
    if (policy->meta.deletion_time || !Means(*policy->json, *object.json) || !ValidatePropagation(*policy->json)) continue;
    if (IsClaimedBy(*object.json, *policy)) claimed = policy;
    const std::tuple rank{base::FindInt(*policy->json, {"spec", "priority"}),
                          MatchResources(*policy->json, *object.json, false)};
    if (best == nullptr || rank > best_rank) {
      best = policy;
      best_rank = rank;
    }
  }
  if (claimed == nullptr || claimed == best) return best;
  // Whoever has it keeps it, unless somebody of higher priority insists.
  const bool preempts = FindString(*best->json, {"spec", "preemption"}) == "Always" &&
                        base::FindInt(*best->json, {"spec", "priority"}) > base::FindInt(*claimed->json, {"spec", "priority"});
  return preempts ? best : claimed;
}

ObjectPointer Detector::ChoosePolicy(const kube::Object& object) const {
  ObjectPointer policy = ChooseAmong(object, hub_.policies);
  return policy != nullptr ? policy : ChooseAmong(object, hub_.cluster_policies);
}

bool Detector::OverridesAreThere(const kube::Object& policy) const {
  return std::ranges::all_of(base::FindArray(*policy.json, {"spec", "dependentOverrides"}), [&](const Json& name) {
    const std::string text(name.is_string() ? std::string_view(name.get_string()) : std::string_view());
    return IsNamespaced(policy) ? hub_.overrides.Get(policy.meta.ns + "/" + text) != nullptr
                                : hub_.cluster_overrides.Get(text) != nullptr;
  });
}

Detector::Done Detector::ReconcileTemplate(const std::string& key) {
  const TemplateKey which = ParseTemplateKey(key);
  EVENKEEL_ASSIGN(ObjectInformer* const informer, hub_.templates.Of(which.api_version, which.kind));
  const ObjectPointer object = informer->Get(which.key);
  if (object == nullptr || object->meta.deletion_time) return {};
  const ObjectPointer policy = ChoosePolicy(*object);
  if (policy == nullptr) return {};
  if (!OverridesAreThere(*policy)) return controllers::runtime::ReconcileResult{kOverrideRetry};
  EVENKEEL_ASSIGN(const kube::Resource resource, hub_.templates.kinds().Find(which.api_version, which.kind));
  EVENKEEL_TRY(Claim(resource, *object, *policy));
  EVENKEEL_TRY(WriteBinding(*object, *policy));
  return {};
}

base::Status Detector::Claim(const kube::Resource& resource, const kube::Object& object, const kube::Object& policy) {
  JsonObject labels, annotations;
  if (IsNamespaced(policy)) {
    labels[kPolicyId] = policy.meta.uid;
    annotations[kPolicyName] = policy.meta.name;
    annotations[kPolicyNamespace] = policy.meta.ns;
  } else {
    labels[kClusterPolicyId] = policy.meta.uid;
    annotations[kClusterPolicyName] = policy.meta.name;
  }
  const Json claim =
      JsonObject{{"metadata", JsonObject{{"labels", std::move(labels)}, {"annotations", std::move(annotations)}}}};
  if (client::SaysAll(*object.json, claim)) return {};
  const auto claimed = hub_.client.Patch(resource, object.meta.ns, object.meta.name, client::PatchType::kMerge, claim);
  if (!claimed) return base::Fail(claimed.error().Wrap("claim " + TemplateKeyOf(*object.json)));
  return {};
}

base::Status Detector::WriteBinding(const kube::Object& object, const kube::Object& policy) {
  const bool namespaced = !object.meta.ns.empty();
  const std::string name = kube::karmada::BindingName(FindString(*object.json, {"kind"}), object.meta.name);
  const std::string key = namespaced ? object.meta.ns + "/" + name : name;
  const kube::Resource& resource = Hub::BindingResource(key);
  const ObjectPointer present = hub_.Binding(key);
  // One that goes with an object of the same name that was there before: it has to be gone first.
  if (present != nullptr && present->meta.deletion_time) return {};
  EVENKEEL_ASSIGN(const std::optional<ReplicaDemand> demand, hub_.interpreter.Replicas(*object.json));
  Json binding = present != nullptr ? *present->json : kube::NewObject(resource, object.meta.ns, name);
  const char* id = namespaced ? kBindingId : kClusterBindingId;
  if (BindingIdOf(binding).empty()) base::Ensure(binding, {"metadata", "labels", id}) = random_.Uuid();
  base::Ensure(binding, {"metadata", "labels", IsNamespaced(policy) ? kPolicyId : kClusterPolicyId}) = policy.meta.uid;
  base::Ensure(binding, {"metadata", "annotations", IsNamespaced(policy) ? kPolicyName : kClusterPolicyName}) =
      policy.meta.name;
  if (IsNamespaced(policy)) base::Ensure(binding, {"metadata", "annotations", kPolicyNamespace}) = policy.meta.ns;
  base::Ensure(binding, {"metadata", "ownerReferences"}) =
      JsonArray{JsonObject{{"apiVersion", FindString(*object.json, {"apiVersion"})},
                           {"kind", FindString(*object.json, {"kind"})},
                           {"name", object.meta.name},
                           {"uid", object.meta.uid},
                           {"controller", true},
                           {"blockOwnerDeletion", true}}};
  const std::string template_key = TemplateKeyOf(*object.json);
  const uint64_t hash = HashOfTemplate(*object.json);
  const auto seen = seen_.find(template_key);
  std::string version(FindString(binding, {"spec", "resource", "resourceVersion"}));
  if (seen == seen_.end() || seen->second != hash || version.empty()) version = object.meta.resource_version;
  JsonObject reference{{"apiVersion", FindString(*object.json, {"apiVersion"})},
                       {"kind", FindString(*object.json, {"kind"})},
                       {"name", object.meta.name},
                       {"uid", object.meta.uid},
                       {"resourceVersion", version}};
  if (namespaced) reference["namespace"] = object.meta.ns;
  base::Ensure(binding, {"spec", "resource"}) = std::move(reference);
  if (demand) base::Ensure(binding, {"spec", "replicas"}) = demand->replicas;
  if (demand && demand->requirements.is_object())
    base::Ensure(binding, {"spec", "replicaRequirements"}) = demand->requirements;
  else
    base::Erase(binding, {"spec", "replicaRequirements"});
  SetPolicyFields(binding, *policy.json);
  if (present == nullptr) {
    EVENKEEL_TRY(hub_.client.Create(resource, binding));
  } else if (!base::Equal(binding, *present->json)) {
    EVENKEEL_TRY(hub_.client.Update(resource, binding));
  }
  seen_[template_key] = hash;
  return {};
}

}  // namespace evenkeel::embedded::federation
