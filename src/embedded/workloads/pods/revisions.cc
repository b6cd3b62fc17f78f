#include "embedded/workloads/pods/revisions.h"

#include <algorithm>

#include "base/hash.h"
#include "embedded/workloads/pods/ownership.h"

namespace evenkeel::embedded::workloads {
namespace {

using base::FindInt;
using base::FindObject;
using base::FindString;
using base::Json;
using base::JsonArray;
using base::JsonObject;

constexpr const char* kHashLabel = "controller.kubernetes.io/hash";

Json RevisionData(const Json& owner) {
  JsonObject pod_template = FindObject(owner, {"spec", "template"});
  pod_template["$patch"] = "replace";
  return JsonObject{{"spec", JsonObject{{"template", std::move(pod_template)}}}};
}

Revision RevisionOf(const Json& object) {
  return {std::string(kube::NameOf(object)), std::string(FindString(object, {"metadata", "labels", kHashLabel})),
          FindInt(object, {"revision"}), FindObject(object, {"data"})};
}

}  // namespace

Json TemplateOf(const Revision& revision) {
  Json pod_template = FindObject(revision.data, {"spec", "template"});
  base::Erase(pod_template, {"$patch"});
  return pod_template;
}

base::Result<std::vector<Revision>> SyncRevisions(Context& context, const kube::Resource& kind, const kube::Object& owner,
                                                  const kube::LabelSelector& selector) {
  const kube::Resource& resource = kube::resources::ControllerRevisions();
  EVENKEEL_ASSIGN(auto claimed,
                  Claim<kube::Object>(context.client, context.informers.Owned(resource), resource, kind, owner.meta, selector));
  std::vector<Revision> revisions;
  for (const ObjectPointer& object : claimed) revisions.push_back(RevisionOf(*object->json));
  const auto older = [](const Revision& a, const Revision& b) {
    return std::pair(a.number, a.name) < std::pair(b.number, b.name);
  };
  std::sort(revisions.begin(), revisions.end(), older);
  const Json data = RevisionData(*owner.json);
  const int64_t next = revisions.empty() ? 1 : revisions.back().number + 1;
  auto same = std::find_if(revisions.rbegin(), revisions.rend(), [&](const Revision& r) { return base::Equal(r.data, data); });
  if (same != revisions.rend()) {
    if (same == revisions.rbegin()) return revisions;
    // Back to an old template: its revision becomes the newest.
    EVENKEEL_TRY(
        context.client.Patch(resource, owner.meta.ns, same->name, client::PatchType::kMerge, JsonObject{{"revision", next}}));
    same->number = next;
    std::sort(revisions.begin(), revisions.end(), older);
    return revisions;
  }
  if (owner.meta.deletion_time) {
    if (revisions.empty()) return base::Fail(base::Code::kConflict, owner.meta.Key() + " is being deleted");
    return revisions;
  }
  std::string text = base::CanonicalText(data);
  if (const int64_t collisions = FindInt(*owner.json, {"status", "collisionCount"}); collisions > 0)
    text += "#" + std::to_string(collisions);
  const std::string hash = SafeName(base::Fnv1a32(text));
  Json object = kube::NewObject(resource, owner.meta.ns, owner.meta.name + "-" + hash);
  base::Ensure(object, {"metadata", "labels"}) = FindObject(*owner.json, {"spec", "template", "metadata", "labels"});
  base::Ensure(object, {"metadata", "labels", kHashLabel}) = hash;
  base::Ensure(object, {"metadata", "ownerReferences"}) =
      JsonArray{kube::ControllerReference(kind, owner.meta.name, owner.meta.uid)};
  object.get_object()["data"] = data;
  object.get_object()["revision"] = next;
  auto created = context.client.Create(resource, object);
  if (!created && created.error().code() == base::Code::kAlreadyExists) {
    auto existing = context.client.Get(resource, owner.meta.ns, owner.meta.name + "-" + hash);
    if (!existing) return base::Fail(existing.error());
    const kube::ObjectMeta meta = kube::DecodeMeta(*existing);
    const bool ours = meta.Controller() != nullptr && meta.Controller()->uid == owner.meta.uid;
    if (!ours || !base::Equal(FindObject(*existing, {"data"}), data)) {
      Json status = FindObject(*owner.json, {"status"});
      status.get_object()["collisionCount"] = FindInt(status, {"collisionCount"}) + 1;
      EVENKEEL_TRY(WriteStatus(context.client, kind, *owner.json, std::move(status)));
      return base::Fail(base::Code::kConflict, "the name of ControllerRevision " + meta.Key() + " is taken");
    }
    created = std::move(existing);
  }
  if (!created) return base::Fail(created.error());
  revisions.push_back(RevisionOf(*created));
  return revisions;
}

base::Status TrimRevisions(Context& context, const kube::Object& owner, const std::vector<Revision>& revisions,
                           const std::vector<std::string>& in_use) {
  const int64_t limit = FindInt(*owner.json, {"spec", "revisionHistoryLimit"}, 10);
  std::vector<const Revision*> history;
  for (size_t i = 0; i + 1 < revisions.size(); ++i) {
    const Revision& revision = revisions[i];
    const bool used = std::any_of(in_use.begin(), in_use.end(),
                                  [&](const std::string& name) { return name == revision.name || name == revision.hash; });
    if (!used) history.push_back(&revision);
  }
  for (int64_t i = 0; i + limit < static_cast<int64_t>(history.size()); ++i) {
    EVENKEEL_TRY(UnlessGone(
        context.client.Delete(kube::resources::ControllerRevisions(), owner.meta.ns, history[static_cast<size_t>(i)]->name)));
  }
  return {};
}

}  // namespace evenkeel::embedded::workloads
