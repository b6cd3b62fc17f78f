#include "embedded/workloads/pods/ownership.h"

namespace evenkeel::embedded::workloads {

using base::Json;
using base::JsonArray;

base::Status Adopt(client::Client& client, const kube::Resource& resource, const kube::ObjectMeta& stray,
                   const kube::Resource& owner_kind, const kube::ObjectMeta& owner) {
  bool still_stray = true;
  auto stored = client::ReadModifyWrite(client, resource, stray.ns, stray.name, [&](Json& object) -> base::Result<bool> {
    const kube::ObjectMeta meta = kube::DecodeMeta(object);
    still_stray = meta.uid == stray.uid && meta.Controller() == nullptr && !meta.deletion_time;
    if (!still_stray) return false;
    Json& references = base::Ensure(object, {"metadata", "ownerReferences"});
    if (!references.is_array()) references.emplace_array();
    references.get_array().push_back(kube::ControllerReference(owner_kind, owner.name, owner.uid));
    return true;
  });
  if (!stored && !IsGone(stored.error())) return base::Fail(stored.error());
  if (!stored || !still_stray) return base::Fail(base::Code::kConflict, stray.Key() + " is not what it was");
  return {};
}

base::Status Release(client::Client& client, const kube::Resource& resource, const kube::ObjectMeta& object,
                     const std::string& owner_uid) {
  auto stored = client::ReadModifyWrite(client, resource, object.ns, object.name, [&](Json& current) -> base::Result<bool> {
    if (kube::UidOf(current) != object.uid) return false;
    JsonArray kept;
    const JsonArray& references = base::FindArray(current, {"metadata", "ownerReferences"});
    for (const Json& reference : references) {
      if (base::FindString(reference, {"uid"}) != owner_uid) kept.push_back(reference);
    }
    if (kept.size() == references.size()) return false;
    base::Ensure(current, {"metadata", "ownerReferences"}) = std::move(kept);
    return true;
  });
  return UnlessGone(stored);
}

bool MayAdopt(client::Client& client, const kube::Resource& owner_kind, const kube::ObjectMeta& owner) {
  auto fresh = client.Get(owner_kind, owner.ns, owner.name);
  if (!fresh) return false;
  const kube::ObjectMeta meta = kube::DecodeMeta(*fresh);
  return meta.uid == owner.uid && !meta.deletion_time;
}

}  // namespace evenkeel::embedded::workloads
