#include "embedded/workloads/cluster/namespaces.h"

#include <algorithm>

namespace evenkeel::embedded::workloads {
namespace {

using base::FindArray;
using base::Json;
using base::JsonArray;
using base::JsonObject;

std::string Listing(const std::map<std::string, int64_t>& counts, const std::string& between, const std::string& after) {
  std::string text;
  for (const auto& [name, count] : counts) {
    if (!text.empty()) text += ", ";
    text += name + between + std::to_string(count) + after;
  }
  return text;
}

bool NamespaceIsFinalized(const Json& ns) {
  const JsonArray& finalizers = FindArray(ns, {"spec", "finalizers"});
  return std::find(finalizers.begin(), finalizers.end(), Json("kubernetes")) == finalizers.end();
}

}  // namespace

NamespaceController::NamespaceController(Context& context) : Reconciler(context, "namespace-controller") {
  informers().WatchEverything();
  informers().Of(kube::resources::Namespaces()).AddHandler([this](const ObjectPointer&, const ObjectPointer& after) {
    if (after != nullptr && after->meta.deletion_time) Enqueue(after->meta.name);
  });
}

base::Status NamespaceController::Empty(const std::string& ns, const kube::Resource& kind, Remaining& remaining) {
  client::ListOptions options;
  options.ns = ns;
  auto page = client::ListAll(api(), kind, options);
  if (!page) {
    // A kind that went away in the meantime has nothing left.
    const base::Code code = page.error().code();
    if (code == base::Code::kNotFound || code == base::Code::kMethodNotAllowed) return {};
    return base::Fail(page.error());
  }
  for (const Json& item : page->items) {
    const kube::ObjectMeta meta = kube::DecodeMeta(item);
    if (!meta.deletion_time) {
      client::DeleteOptions deletion;
      deletion.propagation_policy = "Background";
      deletion.uid = meta.uid;
      auto deleted = api().Delete(kind, ns, meta.name, deletion);
      if (!deleted && !IsGone(deleted.error()) && deleted.error().code() != base::Code::kConflict)
        return base::Fail(deleted.error());
    }
    auto left = api().Get(kind, ns, meta.name);
    if (!left) continue;
    ++remaining.objects;
    ++remaining.by_kind[kind.QualifiedPlural() + (kind.group.empty() ? "." : "")];
    for (const std::string& finalizer : kube::DecodeMeta(*left).finalizers) ++remaining.by_finalizer[finalizer];
  }
  return {};
}

base::Status NamespaceController::WriteConditions(const kube::Object& ns, const Remaining& remaining) {
  Json state = JsonObject{{"status", base::FindObject(*ns.json, {"status"})}};
  auto set = [&](const char* type, bool value, const char* reason, const std::string& message) {
    kube::SetCondition(state, type, value ? "True" : "False", reason, message, Now());
  };
  set("NamespaceDeletionDiscoveryFailure", false, "ResourcesDiscovered", "All resources successfully discovered");
  set("NamespaceDeletionGroupVersionParsingFailure", false, "ParsedGroupVersions", "All legacy kube types successfully parsed");
  set("NamespaceDeletionContentFailure", false, "ContentDeleted",
      "All content successfully deleted, may be waiting on finalization");
  set("NamespaceContentRemaining", remaining.objects > 0, remaining.objects > 0 ? "SomeResourcesRemain" : "ContentRemoved",
      remaining.objects > 0 ? "Some resources are remaining: " + Listing(remaining.by_kind, " has ", " resource instances")
                            : "All content successfully removed");
  const bool held = !remaining.by_finalizer.empty();
  set("NamespaceFinalizersRemaining", held, held ? "SomeFinalizersRemain" : "ContentHasNoFinalizers",
      held ? "Some content in the namespace has finalizers remaining: " +
                 Listing(remaining.by_finalizer, " in ", " resource instances")
           : "All content-preserving finalizers finished");
  return UnlessGone(WriteStatus(api(), kube::resources::Namespaces(), *ns.json, *base::Find(state, {"status"})));
}

base::Result<Again> NamespaceController::Reconcile(const std::string& key) {
  const ObjectPointer ns = informers().Of(kube::resources::Namespaces()).Get(key);
  if (ns == nullptr || !ns->meta.deletion_time || NamespaceIsFinalized(*ns->json)) return Again{};
  Remaining remaining;
  for (const kube::Resource* kind : informers().Kinds()) {
    if (kind->namespaced) EVENKEEL_TRY(Empty(ns->meta.name, *kind, remaining));
  }
  if (remaining.objects > 0) {
    EVENKEEL_TRY(WriteConditions(*ns, remaining));
    return Again(std::chrono::seconds(2));
  }
  auto current = api().Get(kube::resources::Namespaces(), "", ns->meta.name);
  if (!current) return IsGone(current.error()) ? base::Result<Again>(Again{}) : base::Fail(current.error());
  JsonArray kept;
  for (const Json& finalizer : FindArray(*current, {"spec", "finalizers"})) {
    if (finalizer != Json("kubernetes")) kept.push_back(finalizer);
  }
  base::Ensure(*current, {"spec", "finalizers"}) = std::move(kept);
  EVENKEEL_TRY(UnlessGone(api().Update(kube::resources::Namespaces(), *current,
                                       {.subresource = "finalize", .field_manager = "", .dry_run = false})));
  return Again{};
}

ServiceAccountController::ServiceAccountController(Context& context) : Reconciler(context, "serviceaccount-controller") {
  informers().Of(kube::resources::Namespaces()).AddHandler([this](const ObjectPointer&, const ObjectPointer& after) {
    if (after != nullptr) Enqueue(after->meta.name);
  });
  informers()
      .Of(kube::resources::ServiceAccounts())
      .AddHandler([this](const ObjectPointer& before, const ObjectPointer& after) {
        if (after == nullptr && before->meta.name == "default") Enqueue(before->meta.ns);
      });
}

base::Result<Again> ServiceAccountController::Reconcile(const std::string& key) {
  const ObjectPointer ns = informers().Of(kube::resources::Namespaces()).Get(key);
  if (ns == nullptr || ns->meta.deletion_time) return Again{};
  if (informers().Of(kube::resources::ServiceAccounts()).Get(key + "/default") != nullptr) return Again{};
  auto created =
      api().Create(kube::resources::ServiceAccounts(), kube::NewObject(kube::resources::ServiceAccounts(), key, "default"));
  if (!created && created.error().code() != base::Code::kAlreadyExists) {
    // The namespace may have begun to go.
    if (IsGone(created.error()) || created.error().code() == base::Code::kForbidden) return Again{};
    return base::Fail(created.error());
  }
  return Again{};
}

}  // namespace evenkeel::embedded::workloads
