#include "embedded/federation/members/work_renderer.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "client/definitions.h"
#include "embedded/federation/policies/bindings.h"
#include "embedded/federation/policies/event_kinds.h"
#include "embedded/federation/policies/validation.h"
#include "kube/karmada.h"

namespace evenkeel::embedded::federation {
namespace {

using base::FindString;
using base::Json;
namespace karmada = kube::karmada;

constexpr base::Duration kListingRetry = std::chrono::milliseconds(100);

const char* FinalizerOf(const kube::Object& binding) {
  return binding.meta.ns.empty() ? kClusterBindingFinalizer : kBindingFinalizer;
}

/// What of a binding counts for its Works: not its status.
bool ChangesWorks(const ObjectPointer& before, const ObjectPointer& after) {
  return before == nullptr || after == nullptr || before->meta.generation != after->meta.generation ||
         before->meta.deletion_time != after->meta.deletion_time || before->meta.labels != after->meta.labels ||
         before->meta.finalizers != after->meta.finalizers;
}

/// Annotations of ours that go when they are not wanted any more.
void DropNotes(Json& work) {
  for (const char* note : {kAppliedOverrides, kAppliedClusterOverrides}) base::Erase(work, {"metadata", "annotations", note});
}

}  // namespace

WorkRenderer::WorkRenderer(Hub& hub)
    : hub_(hub),
      controller_("federation-works", hub.strand, hub.clock, [this](const std::string& key) { return Reconcile(key); }) {
  controller_.WaitFor([this] { return hub_.synced(); });
  const auto changed = [this](const ObjectPointer& before, const ObjectPointer& after) {
    if (ChangesWorks(before, after)) controller_.Enqueue((after ? after : before)->meta.Key());
  };
  hub.bindings.AddHandler(changed);
  hub.cluster_bindings.AddHandler(changed);
  hub.works.AddHandler([this](const ObjectPointer& before, const ObjectPointer& after) {
    if (before == nullptr || !ChangesWorks(before, after)) return;
    const auto note = [&](const char* name) {
      return std::string(FindString(*before->json, {"metadata", "annotations", name}));
    };
    const std::string ns = note("resourcebinding.karmada.io/namespace"), name = note("resourcebinding.karmada.io/name");
    if (!name.empty()) controller_.Enqueue(ns + "/" + name);
    if (const std::string other = note("clusterresourcebinding.karmada.io/name"); !other.empty()) controller_.Enqueue(other);
  });
  hub.templates.AddHandler([this](const ObjectPointer& before, const ObjectPointer& after) {
    if (after == nullptr) return;
    const bool same = before != nullptr && before->meta.generation == after->meta.generation && after->meta.generation != 0 &&
                      before->meta.labels == after->meta.labels && before->meta.annotations == after->meta.annotations;
    if (same) return;
    const std::string name = karmada::BindingName(FindString(*after->json, {"kind"}), after->meta.name);
    controller_.Enqueue(after->meta.ns.empty() ? name : after->meta.ns + "/" + name);
  });
  for (ObjectInformer* informer : {&hub.overrides, &hub.cluster_overrides}) {
    informer->AddHandler(
        [this](const ObjectPointer& before, const ObjectPointer& after) { EnqueueAll((after ? after : before)->meta.ns); });
  }
  // One that comes back has lost its Works.
  hub.clusters.AddHandler([this](const ObjectPointer& before, const ObjectPointer&) {
    if (before == nullptr) EnqueueAll("");
  });
  hub.interpreters.AddHandler([this](const ObjectPointer&, const ObjectPointer&) { EnqueueAll(""); });
}

void WorkRenderer::EnqueueAll(const std::string& ns) {
  hub_.ForEachBinding([&](const ObjectPointer& binding) {
    if (ns.empty() || binding->meta.ns == ns) controller_.Enqueue(binding->meta.Key());
  });
}

WorkRenderer::Done WorkRenderer::Reconcile(const std::string& key) {
  const ObjectPointer binding = hub_.Binding(key);
  if (binding == nullptr) return {};
  if (binding->meta.deletion_time) return Finish(*binding);
  if (!binding->meta.HasFinalizer(FinalizerOf(*binding))) {
    // The write comes back as a change.
    EVENKEEL_TRY(KeepFinalizer(hub_.client, Hub::BindingResource(key), *binding, FinalizerOf(*binding), true));
    return {};
  }
  const std::vector<Share> targets = TargetsOf(*binding->json);
  std::set<std::string> names;
  for (const Share& target : targets) names.insert(target.name);
  std::vector<const Json*> works;
  const std::vector<ObjectPointer> present = hub_.WorksOf(*binding->json);
  for (const ObjectPointer& work : present) works.push_back(work->json.get());
  EVENKEEL_ASSIGN(const std::vector<const Json*> orphans, OrphanWorks(works, BindingIdOf(*binding->json), names));
  EVENKEEL_TRY(DeleteWorks(orphans));
  if (targets.empty()) return {};
  const auto object = hub_.TemplateOf(*binding->json);
  if (!object && object.error().code() == base::Code::kUnavailable) return controllers::runtime::ReconcileResult{kListingRetry};
  if (!object) return base::Fail(object.error());
  if (*object == nullptr || (*object)->meta.deletion_time) return {};
  if ((*object)->meta.uid != FindString(*binding->json, {"spec", "resource", "uid"})) return {};
  std::optional<base::Error> first;
  for (const Share& target : targets) {
    const auto rendered = RenderFor(*binding, **object, target);
    if (rendered) continue;
    const bool conflict = rendered.error().code() == base::Code::kConflict;
    if (!conflict)
      hub_.events.Warning(*binding->json, events::kSyncWorkFailed.reason, target.name + ": " + rendered.error().message());
    // A conflict only means "again", so it must not hide what is wrong.
    if (!first || (first->code() == base::Code::kConflict && !conflict))
      first = rendered.error().Wrap("cluster " + target.name);
  }
  if (first) return base::Fail(*first);
  return {};
}

WorkRenderer::Done WorkRenderer::Finish(const kube::Object& binding) {
  std::vector<const Json*> works;
  const std::vector<ObjectPointer> present = hub_.WorksOf(*binding.json);
  for (const ObjectPointer& work : present) works.push_back(work->json.get());
  EVENKEEL_ASSIGN(const bool gone, DeleteWorks(works));
  // Each Work that goes is a change of its own.
  if (!gone) return {};
  EVENKEEL_TRY(KeepFinalizer(hub_.client, Hub::BindingResource(binding.meta.Key()), binding, FinalizerOf(binding), false));
  return {};
}

base::Result<bool> WorkRenderer::DeleteWorks(const std::vector<const Json*>& works) {
  for (const Json* work : works) {
    if (base::Find(*work, {"metadata", "deletionTimestamp"}) != nullptr) continue;
    const auto deleted = hub_.client.Delete(karmada::Works(), kube::NamespaceOf(*work), kube::NameOf(*work));
    if (!deleted && deleted.error().code() != base::Code::kNotFound) return base::Fail(deleted.error());
  }
  return works.empty();
}

base::Status WorkRenderer::RenderFor(const kube::Object& binding, const kube::Object& object, const Share& target) {
  const ObjectPointer cluster = hub_.clusters.Get(target.name);
  if (cluster == nullptr || cluster->meta.deletion_time) return {};  // the scheduler hears of it, too
  WorkInput input;
  input.binding = binding.json.get();
  input.object = object.json.get();
  input.cluster = target.name;
  Json manifest = *object.json;
  if (IsWorkload(*binding.json)) {
    EVENKEEL_ASSIGN(manifest, hub_.interpreter.Revise(manifest, target.replicas));
  }
  std::vector<const Json*> policies;
  for (const ObjectInformer* informer : {&hub_.cluster_overrides, &hub_.overrides}) {
    for (const auto& [key, policy] : informer->items()) {
      if (policy->meta.ns.empty() || policy->meta.ns == object.meta.ns) policies.push_back(policy->json.get());
    }
  }
  input.overriders = SelectOverriders(policies, *object.json, *cluster->json);
  for (const Json* policy : policies) {
    const std::string name(kube::NameOf(*policy));
    if (std::ranges::find(input.overriders, name, &MatchedOverriders::policy) == input.overriders.end()) continue;
    if (auto valid = ValidateOverride(*policy); !valid) return base::Fail(valid.error().Wrap("policy " + name));
  }
  if (auto applied = ApplyAll(manifest, input.overriders); !applied) {
    hub_.events.Warning(*object.json, events::kApplyOverridePolicyFailed.reason,
                        fmt::format("cluster {}: {}", target.name, applied.error().message()));
    return applied;
  }
  input.manifest = PrunedManifest(manifest);
  for (const char* id : {kPolicyId, kClusterPolicyId}) base::Erase(input.manifest, {"metadata", "labels", id});
  return Write(MakeWork(std::move(input)));
}

base::Status WorkRenderer::Write(Json work) {
  const ObjectPointer present = hub_.works.Get(kube::KeyOf(work));
  if (present == nullptr) {
    const auto created = hub_.client.Create(karmada::Works(), work);
    if (created) return {};
    // It is there, but has not been seen yet.
    if (created.error().code() == base::Code::kAlreadyExists)
      return base::Fail(base::Code::kConflict, "the Work is there already");
    return base::Fail(created.error());
  }
  if (present->meta.deletion_time) return {};  // once it is gone, that is a change
  Json changed = *present->json;
  DropNotes(changed);
  base::Ensure(changed, {"spec"}) = *base::Find(work, {"spec"});
  for (const char* map : {"labels", "annotations"}) {
    for (const auto& [key, value] : base::FindObject(work, {"metadata", map}))
      base::Ensure(changed, {"metadata", map, std::string_view(key)}) = value;
  }
  if (base::Equal(changed, *present->json)) return {};
  EVENKEEL_TRY(hub_.client.Update(karmada::Works(), changed));
  return {};
}

}  // namespace evenkeel::embedded::federation
