#include "embedded/workloads/cluster/root_ca.h"

namespace evenkeel::embedded::workloads {
namespace {

constexpr const char* kRootCaName = "kube-root-ca.crt";
constexpr const char* kRootCaKey = "ca.crt";
constexpr const char* kDescriptionAnnotation = "kubernetes.io/description";
constexpr const char* kRootCaDescription =
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal "
    "service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.";

}  // namespace

RootCaPublisher::RootCaPublisher(Context& context) : Reconciler(context, "root-ca-certificate-publisher") {
  if (context.root_ca_pem.empty()) return;
  informers().Of(kube::resources::Namespaces()).AddHandler([this](const ObjectPointer& before, const ObjectPointer& after) {
    if (before == nullptr && after != nullptr) Enqueue(after->meta.name);
  });
  informers().Of(kube::resources::ConfigMaps()).AddHandler([this](const ObjectPointer& before, const ObjectPointer& after) {
    const kube::ObjectMeta& meta = (after ? after : before)->meta;
    // One that is new is what was asked for, or found when its namespace is.
    if (before != nullptr && meta.name == kRootCaName) Enqueue(meta.ns);
  });
}

base::Result<Again> RootCaPublisher::Reconcile(const std::string& key) {
  const kube::Resource& kind = kube::resources::ConfigMaps();
  const ObjectPointer ns = informers().Of(kube::resources::Namespaces()).Get(key);
  if (ns == nullptr || ns->meta.deletion_time) return Again{};
  const ObjectPointer existing = informers().Of(kind).Get(key + "/" + kRootCaName);
  const base::Json data = base::JsonObject{{kRootCaKey, context_.root_ca_pem}};
  if (existing != nullptr) {
    const auto told = existing->meta.annotations.find(kDescriptionAnnotation);
    const bool described = told != existing->meta.annotations.end() && !told->second.empty();
    if (described && base::Equal(base::FindObject(*existing->json, {"data"}), data)) return Again{};
  }
  base::Json object = existing != nullptr ? *existing->json : kube::NewObject(kind, key, kRootCaName);
  object.get_object()["data"] = data;
  base::Ensure(object, {"metadata", "annotations", kDescriptionAnnotation}) = kRootCaDescription;
  const auto written = existing != nullptr ? api().Update(kind, object) : api().Create(kind, object);
  if (written || IsGone(written.error())) return Again{};
  switch (written.error().code()) {
    case base::Code::kForbidden:  // the namespace may have begun to go
      return Again{};
    case base::Code::kAlreadyExists:
      return base::Fail(base::Code::kConflict, "the ConfigMap exists already");
    default:
      return base::Fail(written.error());
  }
}

}  // namespace evenkeel::embedded::workloads
