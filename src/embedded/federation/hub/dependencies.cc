#include "embedded/federation/hub/dependencies.h"

#include "embedded/federation/policies/bindings.h"
#include "kube/karmada.h"
#include "kube/selector.h"

namespace evenkeel::embedded::federation {
namespace {

using base::Find;
using base::FindArray;
using base::FindString;
using base::Json;
using base::JsonArray;
using base::JsonObject;
namespace karmada = kube::karmada;

constexpr base::Duration kListedSoon = std::chrono::milliseconds(100);
/// For a kind whose definition may come.
constexpr base::Duration kDefinedLater = std::chrono::seconds(2);

bool IsFor(const Json& requirement, const Json& requirer) {
  return FindString(requirement, {"name"}) == kube::NameOf(requirer) &&
         FindString(requirement, {"namespace"}) == kube::NamespaceOf(requirer);
}

std::string BindingKeyOf(const kube::Object& object) {
  return object.meta.ns + "/" + karmada::BindingName(FindString(*object.json, {"kind"}), object.meta.name);
}

}  // namespace

bool PropagatesDependencies(const Json& binding) {
  return base::FindBool(binding, {"spec", "propagateDeps"}) ||
         FindString(binding, {"spec", "resource", "kind"}) == karmada::ServiceImports().kind;
}

Json WithRequirement(const Json& binding, const Json& requirer, const JsonArray& clusters) {
  Json changed = binding;
  JsonArray requirements;
  for (const Json& requirement : FindArray(binding, {"spec", "requiredBy"})) {
    if (!IsFor(requirement, requirer)) requirements.push_back(requirement);
  }
  if (!clusters.empty()) {
    requirements.push_back(
        JsonObject{{"namespace", kube::NamespaceOf(requirer)}, {"name", kube::NameOf(requirer)}, {"clusters", clusters}});
  }
  if (requirements.empty()) {
    base::Erase(changed, {"spec", "requiredBy"});
  } else {
    base::Ensure(changed, {"spec", "requiredBy"}) = std::move(requirements);
  }
  return changed;
}

bool IsAttached(const Json& binding) {
  const auto& labels = base::FindObject(binding, {"metadata", "labels"});
  return !labels.contains(kPolicyId) && !labels.contains(kClusterPolicyId);
}

DependencyDistributor::DependencyDistributor(Hub& hub)
    : hub_(hub),
      controller_("federation-dependencies", hub.strand, hub.clock, [this](const std::string& key) { return Reconcile(key); }) {
  controller_.WaitFor([this] { return hub_.synced(); });
  hub.bindings.AddHandler([this](const ObjectPointer& before, const ObjectPointer& after) {
    const ObjectPointer& binding = after ? after : before;
    const bool follows = after != nullptr && PropagatesDependencies(*after->json);
    const bool followed = follows ? !following_.insert(binding->meta.Key()).second : following_.erase(binding->meta.Key()) > 0;
    if (follows || followed) controller_.Enqueue(binding->meta.Key());
    // One that somebody deletes while it is required comes again.
    if (after != nullptr) return;
    for (const Json& requirement : FindArray(*before->json, {"spec", "requiredBy"})) {
      controller_.Enqueue(std::string(FindString(requirement, {"namespace"})) + "/" +
                          std::string(FindString(requirement, {"name"})));
    }
  });
  hub.templates.AddHandler([this](const ObjectPointer&, const ObjectPointer&) {
    for (const std::string& key : following_) controller_.Enqueue(key);
  });
}

base::Result<DependencyDistributor::Objects> DependencyDistributor::DependenciesOf(const kube::Object& binding) {
  Objects found;
  EVENKEEL_ASSIGN(const ObjectPointer object, hub_.TemplateOf(*binding.json));
  if (object == nullptr || object->meta.deletion_time) return found;
  EVENKEEL_ASSIGN(const JsonArray dependencies, hub_.interpreter.Dependencies(*object->json));
  for (const Json& dependency : dependencies) {
    const std::string ns(FindString(dependency, {"namespace"})), name(FindString(dependency, {"name"}));
    EVENKEEL_ASSIGN(ObjectInformer* const informer, hub_.templates.Of(std::string(FindString(dependency, {"apiVersion"})),
                                                                      std::string(FindString(dependency, {"kind"}))));
    if (!informer->synced()) return base::Fail(base::Code::kUnavailable, "the dependencies' kind is being listed");
    const auto add = [&](const ObjectPointer& one) {
      // Bindings of cluster-scoped objects are not made for others' sake.
      if (one != nullptr && !one->meta.deletion_time && !one->meta.ns.empty()) found.emplace(BindingKeyOf(*one), one);
    };
    if (!name.empty()) {
      add(informer->Get(ns + "/" + name));
      continue;
    }
    const Json* labels = Find(dependency, {"labelSelector"});
    EVENKEEL_ASSIGN(const kube::LabelSelector selector, kube::LabelSelector::FromJson(labels == nullptr ? Json() : *labels));
    for (const auto& [key, one] : informer->items()) {
      if (one->meta.ns == ns && selector.Matches(one->meta.labels)) add(one);
    }
  }
  return found;
}

DependencyDistributor::Done DependencyDistributor::Reconcile(const std::string& key) {
  const ObjectPointer binding = hub_.bindings.Get(key);
  Objects wanted;
  if (binding != nullptr && !binding->meta.deletion_time && PropagatesDependencies(*binding->json)) {
    auto dependencies = DependenciesOf(*binding);
    if (!dependencies) {
      const base::Code code = dependencies.error().code();
      if (code == base::Code::kUnavailable) return controllers::runtime::ReconcileResult{kListedSoon};
      if (code == base::Code::kNotFound) return controllers::runtime::ReconcileResult{kDefinedLater};
      return base::Fail(dependencies.error());
    }
    wanted = *std::move(dependencies);
    for (const auto& [attached, object] : wanted) EVENKEEL_TRY(Attach(*object, attached, *binding));
  }
  std::string ns, name;
  kube::SplitKey(key, ns, name);
  const Json requirer = kube::NewObject(karmada::ResourceBindings(), ns, name);
  std::vector<ObjectPointer> others;
  for (const auto& [other, present] : hub_.bindings.items()) {
    if (!wanted.contains(other) && !present->meta.deletion_time) others.push_back(present);
  }
  for (const ObjectPointer& other : others) {
    const Json without = WithRequirement(*other->json, requirer, {});
    if (base::Equal(without, *other->json)) continue;
    if (const auto left = Leave(*other, without); !left && left.error().code() != base::Code::kNotFound) {
      return base::Fail(left.error());
    }
  }
  return {};
}

base::Status DependencyDistributor::Leave(const kube::Object& binding, const Json& without) {
  if (IsAttached(without) && FindArray(without, {"spec", "requiredBy"}).empty()) {
    EVENKEEL_TRY(hub_.client.Delete(karmada::ResourceBindings(), binding.meta.ns, binding.meta.name));
  } else {
    EVENKEEL_TRY(hub_.client.Update(karmada::ResourceBindings(), without));
  }
  return {};
}

base::Status DependencyDistributor::Attach(const kube::Object& object, const std::string& key, const kube::Object& binding) {
  const ObjectPointer present = hub_.bindings.Get(key);
  if (present != nullptr && present->meta.deletion_time) return {};
  Json made;
  if (present != nullptr) {
    made = *present->json;
  } else {
    std::string ns, name;
    kube::SplitKey(key, ns, name);
    made = kube::NewObject(karmada::ResourceBindings(), ns, name);
    base::Ensure(made, {"metadata", "labels", kBindingId}) = hub_.random.Uuid();
    base::Ensure(made, {"metadata", "ownerReferences"}) =
        JsonArray{JsonObject{{"apiVersion", FindString(*object.json, {"apiVersion"})},
                             {"kind", FindString(*object.json, {"kind"})},
                             {"name", object.meta.name},
                             {"uid", object.meta.uid},
                             {"controller", true},
                             {"blockOwnerDeletion", true}}};
  }
  if (present == nullptr || IsAttached(made)) {
    base::Ensure(made, {"spec", "resource"}) = JsonObject{{"apiVersion", FindString(*object.json, {"apiVersion"})},
                                                          {"kind", FindString(*object.json, {"kind"})},
                                                          {"namespace", object.meta.ns},
                                                          {"name", object.meta.name},
                                                          {"uid", object.meta.uid},
                                                          {"resourceVersion", object.meta.resource_version}};
  }
  made = WithRequirement(made, *binding.json, FindArray(*binding.json, {"spec", "clusters"}));
  if (present == nullptr) {
    EVENKEEL_TRY(hub_.client.Create(karmada::ResourceBindings(), made));
  } else if (!base::Equal(made, *present->json)) {
    EVENKEEL_TRY(hub_.client.Update(karmada::ResourceBindings(), made));
  }
  return {};
}

}  // namespace evenkeel::embedded::federation
