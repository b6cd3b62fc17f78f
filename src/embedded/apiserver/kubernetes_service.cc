#include "embedded/apiserver/kubernetes_service.h"

#include "base/log.h"
#include "embedded/apiserver/api.h"
#include "kube/validation_rules.h"

namespace evenkeel::embedded::apiserver {
namespace {

constexpr const char* kServiceOfApi = "kubernetes";
constexpr int kServicePort = 443;

std::string ReachableAddress(const std::string& address) {
  const bool one = kube::validation::IsIpAddress(address) && address != "0.0.0.0" && address != "::";
  return one ? address : "127.0.0.1";
}

Json NewOfApi(const kube::Resource& kind, base::JsonObject labels) {
  Json object = kube::NewObject(kind, "default", kServiceOfApi);
  base::Ensure(object, {"metadata", "labels"}) = std::move(labels);
  return object;
}

Json WantedService(int port) {
  Json service = NewOfApi(kube::resources::Services(), {{"component", "apiserver"}, {"provider", "kubernetes"}});
  service.get_object()["spec"] =
      base::JsonObject{{"type", "ClusterIP"},
                       {"clusterIP", kApiServiceAddress},
                       {"sessionAffinity", "None"},
                       {"ports", base::JsonArray{base::JsonObject{
                                     {"name", "https"}, {"protocol", "TCP"}, {"port", kServicePort}, {"targetPort", port}}}}};
  return service;
}

base::JsonArray PortsOfApi(int port) { return {base::JsonObject{{"name", "https"}, {"port", port}, {"protocol", "TCP"}}}; }

Json WantedEndpoints(const std::string& address, int port) {
  // Its slice is not made from it, but beside it.
  Json endpoints = NewOfApi(kube::resources::Endpoints(), {{"endpointslice.kubernetes.io/skip-mirror", "true"}});
  endpoints.get_object()["subsets"] = base::JsonArray{
      base::JsonObject{{"addresses", base::JsonArray{base::JsonObject{{"ip", address}}}}, {"ports", PortsOfApi(port)}}};
  return endpoints;
}

Json WantedSlice(const kube::Resource& kind, const std::string& address, int port) {
  Json slice = NewOfApi(kind, {{"kubernetes.io/service-name", kServiceOfApi}});
  slice.get_object()["addressType"] = address.contains(':') ? "IPv6" : "IPv4";
  slice.get_object()["endpoints"] = base::JsonArray{
      base::JsonObject{{"addresses", base::JsonArray{Json(address)}}, {"conditions", base::JsonObject{{"ready", true}}}}};
  slice.get_object()["ports"] = PortsOfApi(port);
  return slice;
}

}  // namespace

KubernetesService::KubernetesService(Api& api, base::Executor& executor, const std::string& address, int port)
    : client_(NewInProcessClient(api, {.name = "system:apiserver", .groups = {access::kMasters}})),
      address_(ReachableAddress(address)),
      port_(port),
      strand_(executor.NewStrand("kubernetes-service-" + api.options().name)) {
  strand_->Post([this] { Keep(); });
}

KubernetesService::~KubernetesService() { strand_->Close(); }

void KubernetesService::Keep() {
  if (const auto kept = Reconcile(); !kept) {
    base::log::Warn("the Service default/kubernetes could not be kept, and is tried again", {{"error", kept.error()}});
  }
  timer_ = strand_->PostAfter(kInterval, [this] { Keep(); });
}

base::Status KubernetesService::Reconcile() {
  static const kube::Resource& slices = *kube::FindBuiltIn("discovery.k8s.io", "v1", "endpointslices");
  EVENKEEL_TRY(KeepOne(kube::resources::Services(), WantedService(port_), {"type", "ports"}));
  EVENKEEL_TRY(KeepOne(kube::resources::Endpoints(), WantedEndpoints(address_, port_), {"subsets"}));
  return KeepOne(slices, WantedSlice(slices, address_, port_), {"endpoints", "ports"}, "addressType");
}

base::Status KubernetesService::KeepOne(const kube::Resource& kind, const Json& wanted,
                                        std::initializer_list<std::string_view> fields, std::string_view fixed) {
  auto found = client_->Get(kind, "default", kServiceOfApi, "");
  if (found && !fixed.empty() && base::FindString(*found, {fixed}) != base::FindString(wanted, {fixed})) {
    EVENKEEL_TRY(client_->Delete(kind, "default", kServiceOfApi, {}));
    found = base::Fail(base::Code::kNotFound, "it is of another kind");
  }
  if (!found) {
    if (found.error().code() != base::Code::kNotFound) return base::Fail(found.error());
    EVENKEEL_TRY(client_->Create(kind, wanted, {}));
    return {};
  }
  const bool in_spec = base::Find(wanted, {"spec"}) != nullptr;
  Json changed = *found;
  for (const std::string_view field : fields) {
    const Json* value = in_spec ? base::Find(wanted, {"spec", field}) : base::Find(wanted, {field});
    (in_spec ? base::Ensure(changed, {"spec", field}) : base::Ensure(changed, {field})) = *value;
  }
  for (const auto& [name, value] : base::FindObject(wanted, {"metadata", "labels"})) {
    base::Ensure(changed, {"metadata", "labels", name}) = value;
  }
  if (base::Equal(changed, *found)) return {};
  EVENKEEL_TRY(client_->Update(kind, changed, {}));
  return {};
}

}  // namespace evenkeel::embedded::apiserver
