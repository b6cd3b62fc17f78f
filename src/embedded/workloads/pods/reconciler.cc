#include "embedded/workloads/pods/reconciler.h"

#include <algorithm>

#include "embedded/workloads/pods/pods.h"

namespace evenkeel::embedded::workloads {

using base::Json;

Again Sooner(Again a, Again b) {
  if (!a) return b;
  if (!b) return a;
  return std::min(*a, *b);
}

Reconciler::Reconciler(Context& context, std::string name)
    : context_(context),
      events_(context.client, context.strand, context.clock, context.random.Fork("events/" + name), name, ""),
      controller_(std::move(name), context.strand, context.clock,
                  [this](const std::string& key) -> base::Result<controllers::runtime::ReconcileResult> {
                    auto again = Reconcile(key);
                    if (!again) return base::Fail(std::move(again).error());
                    return controllers::runtime::ReconcileResult{*again};
                  }) {
  controller_.WaitFor([this] { return context_.informers.synced(); });
}

void Reconciler::WatchPodsOf(const kube::Resource& kind, Expectations& expectations) {
  client::Informer<kube::Object>& owners = informers().Of(kind);
  owners.AddHandler([this, &expectations](const ObjectPointer& before, const ObjectPointer& after) {
    if (after == nullptr) expectations.Forget(before->meta.Key());
    Enqueue((after ? after : before)->meta.Key());
  });
  informers().pods().AddHandler([this, &expectations, &owners, &kind](const PodPointer& before, const PodPointer& after) {
    for (const PodPointer& pod : {before, after}) {
      if (pod == nullptr) continue;
      const kube::OwnerReference* owner = pod->meta.Controller();
      if (owner == nullptr || owner->kind != kind.kind) continue;
      const std::string key = pod->meta.ns + "/" + owner->name;
      if (pod == after) expectations.SawCreated(key, pod->meta.uid);
      if (after == nullptr || after->meta.deletion_time) expectations.SawDeleted(key, pod->meta.uid);
      EnqueueSoon(key);
    }
    // A stray may be somebody's.
    if (after == nullptr || after->meta.Controller() != nullptr) return;
    const std::string prefix = after->meta.ns + "/";
    const auto& all = owners.items();
    for (auto at = all.lower_bound(prefix); at != all.end() && at->first.starts_with(prefix); ++at) {
      auto selector = SelectorOf(*at->second->json);
      if (selector && selector->Matches(after->meta.labels)) EnqueueSoon(at->first);
    }
  });
}

base::Result<Json> WriteStatus(client::Client& client, const kube::Resource& resource, const Json& object, Json status) {
  const Json* before = base::Find(object, {"status"});
  if (before != nullptr ? base::Equal(*before, status) : status.get_object().empty()) return object;
  Json changed = object;
  changed.get_object()["status"] = std::move(status);
  return client.Update(resource, changed, {.subresource = "status", .field_manager = "", .dry_run = false});
}

bool IsGone(const base::Error& error) { return error.code() == base::Code::kNotFound; }

}  // namespace evenkeel::embedded::workloads
