#include "embedded/workloads/volume_binder.h"

namespace evenkeel::embedded::workloads {
namespace {

using base::Find;
using base::Json;
using base::JsonObject;

const kube::Resource& ClaimKind() {
  static const kube::Resource& resource = *kube::FindBuiltIn("", "v1", "persistentvolumeclaims");
  return resource;
}

}  // namespace

VolumeBinder::VolumeBinder(Context& context) : Reconciler(context, "persistentvolume-controller") {
  informers().Of(ClaimKind()).AddHandler([this](const ObjectPointer&, const ObjectPointer& after) {
    if (after != nullptr) Enqueue(after->meta.Key());
  });
}

base::Result<Again> VolumeBinder::Reconcile(const std::string& key) {
  const ObjectPointer claim = informers().Of(ClaimKind()).Get(key);
  if (claim == nullptr || claim->meta.deletion_time || base::FindString(*claim->json, {"status", "phase"}) == "Bound")
    return Again{};
  Json current = *claim->json;
  if (base::FindString(current, {"spec", "volumeName"}).empty()) {
    base::Ensure(current, {"spec", "volumeName"}) = "pvc-" + claim->meta.uid;
    auto updated = api().Update(ClaimKind(), current);
    if (!updated) return IsGone(updated.error()) ? base::Result<Again>(Again{}) : base::Fail(updated.error());
    current = *std::move(updated);
  }
  JsonObject status{{"phase", "Bound"}};
  if (const Json* modes = Find(current, {"spec", "accessModes"})) status["accessModes"] = *modes;
  if (const Json* size = Find(current, {"spec", "resources", "requests"})) status["capacity"] = *size;
  auto written = WriteStatus(api(), ClaimKind(), current, std::move(status));
  if (!written && !IsGone(written.error())) return base::Fail(written.error());
  return Again{};
}

}  // namespace evenkeel::embedded::workloads
